#!/usr/bin/env bash
# Makes a lock of the run, and compares the run with the baseline that was kept from before it, if one is named.
# In: STENO_ACTION_{PROGRAM,BUNDLE}; STENO_ACTION_{BASELINE,IGNORE}, the names in the repository, each with KEPT_ (the copy) and
# _DIGEST (of the copy). Out: `lock`, and `comparison` (Markdown) and `gate-exit-code`.
set -euo pipefail

work="$(mktemp -d "$RUNNER_TEMP/steno-compare.XXXXXX")"
compared="$work/comparison.md"

ended() { # CODE
    {
        printf 'comparison=%s\n' "$compared"
        printf 'gate-exit-code=%s\n' "$1"
    } >>"$GITHUB_OUTPUT"
    exit 0
}

not_compared() { # WHY [HINT]
    echo "::error title=Steno::$1${2:+; $2}"
    printf '### ❌ Not compared: %s\n' "$1" >"$compared"
    ended 2
}

check_kept() { # INPUT COPY DIGEST
    if [ -z "$2" ]; then
        not_compared "the repository had no file of the name that \`$1\` gives when the run began" \
            "the output \`lock\` can become a baseline"
    fi
    local found
    found="$(sha256sum <"$2")" || found=""
    if [ -z "$3" ] || [ "${found%% *}" != "$3" ]; then
        not_compared "the copy of \`$1\` that was kept from before the run was changed while it ran"
    fi
}

if "$STENO_ACTION_PROGRAM" baseline "$STENO_ACTION_BUNDLE" --accept-partial -o "$work/capability.lock"; then
    printf 'lock=%s\n' "$work/capability.lock" >>"$GITHUB_OUTPUT"
fi
if [ -z "$STENO_ACTION_BASELINE" ]; then
    exit 0
fi
check_kept baseline "$STENO_ACTION_KEPT_BASELINE" "$STENO_ACTION_BASELINE_DIGEST"
changed=()
cmp -s -- "$STENO_ACTION_KEPT_BASELINE" "$STENO_ACTION_BASELINE" || changed+=('`baseline`')
rules=()
if [ -n "$STENO_ACTION_IGNORE" ]; then
    check_kept ignore "$STENO_ACTION_KEPT_IGNORE" "$STENO_ACTION_IGNORE_DIGEST"
    cmp -s -- "$STENO_ACTION_KEPT_IGNORE" "$STENO_ACTION_IGNORE" || changed+=('`ignore`')
    rules=(--ignore "$STENO_ACTION_KEPT_IGNORE")
fi
code=0
"$STENO_ACTION_PROGRAM" diff "$STENO_ACTION_KEPT_BASELINE" "$STENO_ACTION_BUNDLE" ${rules[@]+"${rules[@]}"} \
    --format markdown >"$work/diff.md" || code=$?
if [ ! -s "$work/diff.md" ]; then
    printf '### ❌ Not compared: `steno diff` ended with %s\n' "$code" >"$work/diff.md"
fi
# After the verdict, which stands first, and before any list, which may be left out.
head -n 1 -- "$work/diff.md" >"$compared"
for name in ${changed[@]+"${changed[@]}"}; do
    echo "::warning title=Steno::the run changed the file that $name names; it was compared with the file from before"
    printf '\n⚠️ **The run changed the file that %s names.** It was compared with the file from before.\n' "$name" >>"$compared"
done
tail -n +2 -- "$work/diff.md" >>"$compared"
ended "$code"
