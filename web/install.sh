#!/bin/sh
# Usage: install.sh FOLDER, or install.sh --lock
# Installs what package-lock.json names below FOLDER, digests compared, and lets web/node_modules point there: the tree keeps
# its sources only, and editors still find the types. With --lock it makes package-lock.json again from package.json.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
if [ "$1" = --lock ]; then
    # Without the addresses that this machine's npm fetched them from: they are another's elsewhere.
    cd "$here" && exec npm install --package-lock-only --omit-lockfile-registry-resolved --silent --no-audit --no-fund
fi
mkdir -p "$1"
folder=$(cd "$1" && pwd)
if ! cmp -s "$here/package-lock.json" "$folder/.installed"; then
    if ! command -v npm >/dev/null 2>&1; then
        echo "steno: npm is not installed; it is needed to build the script of the report" >&2
        exit 1
    fi
    cp "$here/package.json" "$here/package-lock.json" "$folder"
    if ! timeout 240 npm ci --silent --no-audit --no-fund --fetch-retries 1 --fetch-timeout 30000 --prefix "$folder"; then
        echo "steno: npm could not install what the script of the report is made of" >&2
        exit 1
    fi
    cp "$here/package-lock.json" "$folder/.installed"
fi
ln -sfn "$folder/node_modules" "$here/node_modules"
