#!/usr/bin/env bash
# Installs Steno from the checkout that this action is part of, into a place of its own.
# In: STENO_ACTION_PYTHON, RUNNER_TEMP. Out: `program`, the path of steno.
set -euo pipefail

place="$RUNNER_TEMP/steno-program"
source_tree="$(cd -- "$(dirname -- "${BASH_SOURCE[0]}")/.." && pwd)"

if [ ! -x "$place/bin/steno" ]; then # a second use in one job finds the first one's
    "$STENO_ACTION_PYTHON" -m venv "$place"
    "$place/bin/python" -m pip install --quiet --disable-pip-version-check "$source_tree"
fi
printf 'program=%s\n' "$place/bin/steno" >>"$GITHUB_OUTPUT"
