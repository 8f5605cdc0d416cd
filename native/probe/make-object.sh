#!/bin/sh
# Compiles the probe: `sh native/probe/make-object.sh OUTPUT`. The same sources, the same clang and the same libbpf headers
# give the same bytes: no paths, no debug sections beside .BTF and .BTF.ext.
set -eu
here=$(dirname "$0")
draft=$(mktemp)
trap 'rm -f "$draft"' EXIT
(cd "$here" && clang -g -O2 -target bpf -mcpu=v3 -Wall -Wextra -Werror -Wno-unused-parameter \
    -ffile-prefix-map="$PWD"=. -fdebug-compilation-dir=. -c probe.bpf.c -o "$draft")
llvm-strip -g "$draft"
cp "$draft" "$1"
