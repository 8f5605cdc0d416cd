#!/bin/sh
# Usage: install.sh FOLDER
# Installs the packages of package.json, as it pins them, below FOLDER, and lets web/node_modules point there: the tree keeps
# its sources only, and editors still find the types.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$1"
folder=$(cd "$1" && pwd)
if ! cmp -s "$here/package.json" "$folder/.installed"; then
    if ! command -v npm >/dev/null 2>&1; then
        echo "steno: npm is not installed; it is needed to build the script of the report" >&2
        exit 1
    fi
    cp "$here/package.json" "$folder/package.json"
    if ! timeout 240 npm install --silent --no-audit --no-fund --no-package-lock --fetch-retries 1 \
        --fetch-timeout 30000 --prefix "$folder"; then
        echo "steno: npm could not install what the script of the report is made of" >&2
        exit 1
    fi
    cp "$here/package.json" "$folder/.installed"
fi
ln -sfn "$folder/node_modules" "$here/node_modules"
