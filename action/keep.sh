#!/usr/bin/env bash
# Puts the baseline and the file of rules aside before the command runs, so that it is not compared with what it wrote itself.
# In: STENO_ACTION_{BASELINE,IGNORE}, RUNNER_TEMP. Out: for each that is there, `baseline` or `ignore`, the copy, and its digest.
set -euo pipefail

place="$(mktemp -d "$RUNNER_TEMP/steno-kept.XXXXXX")" # 0700

keep() { # OUTPUT FILE: what is no file is not kept, and the comparison says so
    if [ -z "$2" ] || [ ! -f "$2" ]; then
        return
    fi
    cat <"$2" >"$place/$1"
    chmod 400 "$place/$1"
    local digest
    digest="$(sha256sum <"$place/$1")"
    # GitHub takes the outputs of a step when it ends: no later step changes them.
    {
        printf '%s=%s\n' "$1" "$place/$1"
        printf '%s-digest=%s\n' "$1" "${digest%% *}"
    } >>"$GITHUB_OUTPUT"
}

keep baseline "$STENO_ACTION_BASELINE"
keep ignore "$STENO_ACTION_IGNORE"
