#!/usr/bin/env bash
# Records the command. Its exit code is kept for the last step, so that the report is made whatever it was.
# In: STENO_ACTION_{PROGRAM,COMMAND,DIRECTORY,OBSERVER}, RUNNER_TEMP. Out: `run-id`, `bundle`, `command-exit-code`.
set -euo pipefail

program="$STENO_ACTION_PROGRAM"
command="$STENO_ACTION_COMMAND"
observer="$STENO_ACTION_OBSERVER"
store="$(mktemp -d "$RUNNER_TEMP/steno-runs.XXXXXX")" # a store for this run alone
cd -- "$STENO_ACTION_DIRECTORY"
unset "${!STENO_ACTION_@}" # the command has the environment that it would have without us

code=0
"$program" run --store "$store" --observer "$observer" -- \
    bash --noprofile --norc -eo pipefail -c "$command" || code=$?

shopt -s nullglob
bundles=("$store"/*Z_*)
if [ "${#bundles[@]}" -ne 1 ]; then
    echo "::error title=Steno::nothing was recorded (exit code $code)"
    exit 125
fi
# Not appended: what the command wrote there is none of the outputs of this step, and could hide them.
{
    printf 'run-id=%s\n' "${bundles[0]##*/}"
    printf 'bundle=%s\n' "${bundles[0]}"
    printf 'command-exit-code=%s\n' "$code"
} >"$GITHUB_OUTPUT"
