#!/bin/sh
# Usage: test.sh [TEST...]
# Compiles and runs every native/tests/unit/test_*.c and native/tests/fuzz/*.c (or those named) with the address and
# undefined-behaviour sanitizers.
# A test names the sources of native/trace that it needs in its first line: `// with: text.c hash.c`.
set -eu
cd "$(dirname "$0")"
mkdir -p build
[ $# -gt 0 ] || set -- tests/unit/test_*.c tests/fuzz/*.c
for test in "$@"; do
    [ -e "$test" ] || continue
    sources=
    for source in $(sed -n '1s|^// with:||p' "$test"); do
        sources="$sources trace/$source"
    done
    program=build/$(basename "$(dirname "$test")")_$(basename "$test" .c)
    # shellcheck disable=SC2086 # lists of words on purpose
    ${CC:-cc} -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -O1 -g -fsanitize=address,undefined \
        -fno-sanitize-recover=all -fno-omit-frame-pointer -pthread -Itrace -o "$program" "$test" $sources
    echo "steno: $program" >&2
    "$program"
done
