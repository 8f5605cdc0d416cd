#!/bin/sh
# Usage: install-packages.sh PREFIX PACKAGE...
# Installs npm packages below PREFIX/node_modules: all of them, since npm removes there what it is not told of. The
# tests that need them say that they are skipped where this cannot be done, so that is no failure here; they fail
# where STENO_REQUIRE asks for agents.
set -eu

prefix=$1
shift
installed=$prefix/node_modules/.installed
[ "$(cat "$installed" 2>/dev/null)" != "$*" ] || exit 0

if ! command -v npm >/dev/null 2>&1; then
    echo "steno: npm is not installed; the tests that need one of these will say that they are skipped: $*" >&2
    exit 0
fi
echo "steno: installing what the tests drive from npm: $*" >&2
if timeout 240 npm install --silent --no-save --no-audit --no-fund --fetch-retries 1 --fetch-timeout 30000 \
    --prefix "$prefix" "$@"; then
    echo "$*" >"$installed"
else
    echo "steno: npm could not install them here; the tests that need one will say that they are skipped" >&2
    exit 0
fi
