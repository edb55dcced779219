#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# layout.sh LAYOUT_TXT PROGRAM...: each program prints the layout that is written down.
set -eu
golden=$1
shift
for program in "$@"; do
    "$program" | diff -u "$golden" -
done
