#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
#
# docker_in_docker.sh BUILD: host_demo runs in a container that has the engine's socket, so that what it calls
# a folder is none for the engine. Once its workspace is its own, and is copied; once it is shared with the
# engine's machine, and bind_dir says how it is called there.
set -euo pipefail
build=$1
image=python:3-slim
socket=${DOCKER_HOST#unix://}
skip() {
    echo "skipped: $*"
    [ -z "${CODE_EXECUTOR_REQUIRE_ALL:-}" ] || exit 1
    exit 77
}
docker image inspect "$image" > /dev/null 2>&1 || skip "no engine with the image $image answers"
[ -S "$socket" ] || skip "the engine is not on a local socket"
[ -h /lib ] || skip "this system's libraries cannot be given to a container: /lib is no link to /usr/lib"

work=$(mktemp -d)
name=code-executor-in-docker-$$
trap 'docker rm -f "$name" > /dev/null 2>&1 || true; rm -rf "$work"' EXIT
mkdir "$work/shared"
cat > "$work/message.md" << 'END'
```sh
# filename: first.sh
cat given.txt
echo made in the inner container > made.txt
```
```sh
cat made.txt
```
END

# The container's own folder /data, but this machine's programs and libraries, and what a sanitizer is told.
in_container() { # CONFIGURATION DOCKER-RUN-OPTION...
    local configuration=$1
    shift
    docker run --rm --name "$name" -i "$@" -v /usr:/usr:ro -v "$build:$build:ro" -v "$socket:/engine.sock" \
        -v "$work/message.md:/message.md:ro" -e DOCKER_HOST=unix:///engine.sock \
        -e ASAN_OPTIONS -e UBSAN_OPTIONS "$image" \
        sh -c 'mkdir -p /data && echo given > /data/given.txt && "$@" && cat /data/made.txt' sh \
        "$build/bin/host_demo" run -e docker -c "$configuration" -w /data /message.md < /dev/null
}

expected=$'given\nmade in the inner container\nmade in the inner container'
check() { # WHAT OUTPUT
    [ "$2" = "$expected" ] || {
        printf '%s: instead of\n%s\nit printed\n%s\n' "$1" "$expected" "$2"
        exit 1
    }
}
check "a workspace of its own" "$(in_container '{}')"
check "a shared workspace" "$(in_container "{\"bind_dir\": \"$work/shared\"}" -v "$work/shared:/data")"
[ -f "$work/shared/first.sh" ] || { echo "the shared workspace is not the one of the engine's machine"; exit 1; }
