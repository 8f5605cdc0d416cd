#!/bin/sh
# Usage: install-programs.sh PROGRAM...
# Installs the Debian packages of the programs that are missing, saying so; stops with a hint where it cannot.
set -eu

package_of() {
    case "$1" in
        script | scriptreplay) echo bsdutils ;;
        gcc) echo gcc libc6-dev ;;
        vim) echo vim-tiny ;;
        bwrap) echo bubblewrap ;;
        *) echo "$1" ;;
    esac
}

missing=
for program in "$@"; do
    command -v "$program" >/dev/null 2>&1 || missing="$missing $(package_of "$program")"
done
# A compiler may be there without the headers that it needs.
case " $* " in
    *" gcc "*) [ -e /usr/include/stdio.h ] || missing="$missing libc6-dev" ;;
esac
[ -n "$missing" ] || exit 0

if [ "$(id -u)" = 0 ]; then
    as_root=
elif command -v sudo >/dev/null 2>&1; then
    as_root=sudo
else
    echo "steno: the tests need these packages:$missing" >&2
    echo "hint: as root, run: apt-get install$missing" >&2
    exit 1
fi
echo "steno: installing what the tests drive:$missing" >&2
# shellcheck disable=SC2086 # a list of words on purpose
$as_root apt-get update -qq && $as_root apt-get install -y -qq --no-install-recommends $missing >&2
