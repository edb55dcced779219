#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
#
# exports.sh NM LIBRARY HEADER: the library exports the functions that the header declares, all and only.
set -eu
declared=$(grep -o 'code_executor_[a-z_]*(' "$3" | tr -d '(' | sort -u)
exported=$("$1" -D --defined-only "$2" | awk '{ print $NF }' | sed 's/@.*//' | sort -u)
[ "$declared" = "$exported" ] && exit 0
printf 'declared:\n%s\nexported:\n%s\n' "$declared" "$exported" >&2
exit 1
