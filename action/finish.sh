#!/usr/bin/env bash
# Ends the action as its user wants: with the exit code of the command, of the gate, or of whichever is not 0.
# In: STENO_ACTION_{EXIT_CODE,COMMAND_CODE,GATE_CODE}; the last is empty without a baseline, and then no gate.
set -euo pipefail

command="$STENO_ACTION_COMMAND_CODE"
gate="$STENO_ACTION_GATE_CODE"

if [ -z "$gate" ] && [ "$STENO_ACTION_EXIT_CODE" != command ]; then
    echo "::error title=Steno::\`exit-code\` asks for the gate, and \`baseline\` names no file to compare with"
    exit 2
fi
case "$STENO_ACTION_EXIT_CODE" in
command) exit "$command" ;;
gate) exit "$gate" ;;
both)
    if [ "$command" -ne 0 ]; then
        exit "$command"
    fi
    exit "$gate"
    ;;
*)
    echo "::error title=Steno::\`exit-code\` must be command, gate or both"
    exit 2
    ;;
esac
