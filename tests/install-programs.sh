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
        clang) echo clang llvm ;;
        bpftool) echo bpftool libbpf-dev ;;
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
$as_root apt-get update -qq
# Ubuntu has its browser as a snap only; the tests that need one then say that they are skipped.
case "$missing" in
    *chromium*)
        apt-cache show chromium >/dev/null 2>&1 || {
            echo "steno: there is no package chromium here; the tests that need a browser will be skipped" >&2
            missing=$(echo "$missing" | sed 's/ chromium//')
        }
        ;;
esac
[ -n "$missing" ] || exit 0
# shellcheck disable=SC2086 # a list of words on purpose
$as_root apt-get install -y -qq --no-install-recommends $missing >&2
