#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# outside.sh BUILD SOURCE: plugins and hosts outside of the project build against an installation, in C and
# C++, by pkg-config and by find_package, and run each other; also when the installation was moved.
set -eu
build=$1
source=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

fail() {
    echo "outside.sh: $*" >&2
    exit 1
}

# expect OUTPUT STATUS COMMAND...: what a host prints for the message, and how it exits.
expect() {
    expected=$1
    expected_status=$2
    shift 2
    status=0
    output=$("$@" <"$work/message.md") || status=$?
    [ "$output" = "$expected" ] || fail "$* printed '$output' instead of '$expected'"
    [ "$status" = "$expected_status" ] || fail "$* exited with $status instead of $expected_status"
}

cat >"$work/message.md" <<'END'
1. Sum:

   ```text
   2 3 +
   4 *
   ```

```other
2 1
```
END
sum='20
2
1'
routed='20

1 2'

# ---- installed elsewhere than configured, then moved ----
cmake --install "$build" --prefix "$work/first" >"$work/install.log" || fail "$(cat "$work/install.log")"
mv "$work/first" "$work/prefix"
grep -rlF "$source" "$work/prefix" --include='*.pc' --include='*.cmake' --include='*.h' &&
    fail "an installed file names the source folder"
libdir=$(dirname "$(find "$work/prefix" -name libcode_executor_host.so)")

# ---- pkg-config ----
export PKG_CONFIG_PATH="$libdir/pkgconfig"
api=$(pkg-config --cflags code_executor)
host=$(pkg-config --cflags --libs code_executor_host)
plugins=$(pkg-config --variable=plugindir code_executor)
[ -z "$(pkg-config --libs code_executor)" ] || fail "a plugin must link nothing"
[ "$(cd "$plugins" && pwd -P)" = "$(cd "$libdir/code_executor" && pwd -P)" ] || fail "plugindir is $plugins"
cd "$source/tests/abi/outside"
warnings="-Wall -Wextra -Werror"
# The flags are lists of words.
# shellcheck disable=SC2086
{
    ${CC:-cc} $warnings -Wno-unused-parameter -shared -fPIC plugin.c $api -o "$work/rpn.so"
    ${CXX:-c++} -std=c++11 $warnings -shared -fPIC plugin.cc $api -o "$work/reverse.so"
    ${CC:-cc} $warnings host.c $host -o "$work/host_c"
    ${CXX:-c++} -std=c++11 $warnings host.cc $host -o "$work/host_cc"
}
export LD_LIBRARY_PATH="$libdir"
expect "$sum" 0 "$work/host_c" "$work/rpn.so"
expect "$routed" 0 "$work/host_cc" "$work/rpn.so" "$work/reverse.so"
cp "$work/rpn.so" "$work/reverse.so" "$plugins"
expect "$sum" 0 "$work/host_c" rpn # found beside the library
rm "$plugins/rpn.so" "$plugins/reverse.so"
CODE_EXECUTOR_PLUGIN_PATH=$work expect "$routed" 0 "$work/host_cc" rpn reverse
expect "" 125 "$work/host_c" nothing 2>"$work/error"
grep -q 'no plugin "nothing"' "$work/error" || fail "$(cat "$work/error")"

# ---- the rules, by what is installed ----
"$work/prefix/bin/host_demo" check "$work/rpn.so" --probes "@$source/tests/cases/check/rpn.json" >"$work/rules" ||
    fail "$(cat "$work/rules")"

# ---- find_package ----
unset LD_LIBRARY_PATH
cmake -S . -B "$work/build" -DCMAKE_PREFIX_PATH="$work/prefix" >"$work/cmake.log" 2>&1 || fail "$(cat "$work/cmake.log")"
cmake --build "$work/build" >"$work/make.log" 2>&1 || fail "$(cat "$work/make.log")"
cmake --install "$work/build" >"$work/install.log" || fail "$(cat "$work/install.log")"
expect "$sum" 0 "$work/build/host_c" rpn
expect "$routed" 0 "$work/build/host_cc" rpn reverse
