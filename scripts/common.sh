# shellcheck shell=bash disable=SC2034
# SPDX-License-Identifier: Apache-2.0
#
# common.sh: what the scripts of this folder share; to be sourced. Messages go to stderr, so that what
# a script prints on stdout is only what it was asked for. Packages are installed only where something
# is missing, and nothing is asked: a script must get through without a terminal.

repository=$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)
build=${CODE_EXECUTOR_BUILD:-$repository/build}

say() { printf '%s\n' "$*" >&2; }

die() {
    say "${0##*/}: $*"
    exit 1
}

have() { command -v "$1" > /dev/null 2>&1; }

# Daemons and administration tools live in sbin, which a user's PATH need not have.
PATH=$PATH:/usr/local/sbin:/usr/sbin:/sbin
export PATH

# Runs a command as root: as it is for root, else through sudo.
as_root() {
    if [ "$(id -u)" -eq 0 ]; then
        "$@"
    elif have sudo; then
        sudo "$@"
    else
        die "'$*' needs root: run as root or install sudo"
    fi
}

package_installed() {
    [ "$(dpkg-query -W -f '${db:Status-Status}' "$1" 2> /dev/null)" = installed ]
}

apt_install() {
    as_root env DEBIAN_FRONTEND=noninteractive apt-get -q -y -o DPkg::Lock::Timeout=600 \
        --no-install-recommends install "$@" < /dev/null 1>&2
}

# install_packages PACKAGE...: installs those that are missing. "a|b" is whichever of the two there is.
install_packages() {
    local choice name missing=()
    for choice in "$@"; do
        for name in ${choice//|/ }; do
            package_installed "$name" && continue 2
        done
        missing+=("$choice")
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    have apt-get || die "these are missing, and only Debian's and Ubuntu's packages are known here:" \
        "${missing[*]}"
    say "Installing ${missing[*]} ..."
    if [ -z "${apt_updated:-}" ]; then
        # Some source may be out of reach without ours being so: what counts is whether the install works.
        as_root apt-get -q -o DPkg::Lock::Timeout=600 update < /dev/null 1>&2 || true
        apt_updated=1
    fi
    local chosen=()
    for choice in "${missing[@]}"; do
        for name in ${choice//|/ }; do
            if [ -n "$(apt-cache madison "$name" 2> /dev/null)" ]; then
                chosen+=("$name")
                continue 2
            fi
        done
        die "no package named ${choice//|/ or } is known to apt: is the 'main' (Ubuntu: 'universe') component enabled?"
    done
    apt_install "${chosen[@]}" || die "could not install ${chosen[*]}: see apt-get's words above"
}

# ---- what is needed for what ------------------------------------------------------------------------

build_packages=(build-essential cmake ninja-build pkg-config musl-tools libcurl4-openssl-dev
    libjson-c-dev libssl-dev libcmark-dev libcmocka-dev libedit-dev libseccomp-dev)
engine_packages=(docker.io iptables iproute2 debootstrap util-linux)
run_packages=(python3 bubblewrap)
# What runs the languages of tests/cases/execute/languages.json: the large ones only where no test may be
# skipped, as they take more than two gigabytes.
test_packages=(procps docker-registry busybox-static openssl zsh ruby perl php-cli lua5.4 gawk sqlite3)
have node || test_packages+=(nodejs)
if [ -n "${CODE_EXECUTOR_REQUIRE_ALL:-}" ]; then
    test_packages+=(podman 'netavark|containernetworking-plugins' golang-go rustc default-jdk-headless r-base-core elixir mono-csharp-shell ts-node ghc kotlin scala)
fi

# configure FOLDER [CMAKE-OPTION...]: a build folder that was made by another generator or for another
# place of the sources is of no use, and is made anew.
configure() {
    local folder=$1
    shift
    if [ -f "$folder/CMakeCache.txt" ] && ! { [ -f "$folder/build.ninja" ] &&
        grep -qxF "CMAKE_HOME_DIRECTORY:INTERNAL=$repository" "$folder/CMakeCache.txt"; }; then
        rm -rf "$folder"
    fi
    cmake -S "$repository" -B "$folder" -G Ninja "$@" > "$folder.log" 2>&1 || {
        cat "$folder.log" >&2
        die "cmake could not configure $folder"
    }
    rm -f "$folder.log"
}

# compile FOLDER [TARGET...]: quiet unless it fails.
compile() {
    ninja -C "$1" --quiet "${@:2}" 1>&2 || die "the build in $1 failed"
}

# run_tests FOLDER [CTEST-ARGUMENT...]: with an engine for them, and without what a machine's environment
# may hide faults with (PYTHONUNBUFFERED) or mislead clients with. $test_wrapper goes before ctest.
run_tests() {
    "$repository/scripts/test-engine" run env -u PYTHONUNBUFFERED -u DOCKER_CONTEXT -u DOCKER_TLS_VERIFY \
        -u DOCKER_CERT_PATH -u CODE_EXECUTOR_PLUGIN_PATH \
        "${test_wrapper[@]}" ctest --test-dir "$1" --output-on-failure --no-tests=error "${@:2}"
}
test_wrapper=()
