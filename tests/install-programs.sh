#!/bin/sh
# Usage: install-programs.sh PROGRAM...
# Installs the Debian packages of the programs that are missing, where it may. Where it may not, it says which are
# missing: the tests that need one of them are skipped, with the reason.
set -eu
PATH=$PATH:/usr/sbin:/sbin # bpftool is there, and an ordinary user's PATH often has no sbin

package_of() {
    case "$1" in
        script | scriptreplay) echo bsdutils ;;
        gcc) echo gcc libc6-dev ;;
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
elif sudo -n true 2>/dev/null; then
    as_root=sudo
else
    echo "steno: these packages are missing, and only root can install them:$missing" >&2
    echo "hint: sudo apt-get install$missing" >&2
    case " $missing " in
        *" gcc "* | *" libc6-dev "* | *" git "*) exit 1 ;; # nothing works without these
    esac
    echo "steno: going on; the tests that need them say that they are skipped" >&2
    exit 0
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
DEBIAN_FRONTEND=noninteractive $as_root apt-get install -y -qq --no-install-recommends $missing >&2
