#!/usr/bin/env bash
# Writes the comment, and shows it in the job's summary: the verdict of the comparison first, then the report in the room that is left.
# In: STENO_ACTION_{PROGRAM,BUNDLE,COMPARISON}. Out: `report`, the path of the text.
set -euo pipefail

most=65000       # bytes; GitHub takes 65,536 letters, and no letter is less than a byte
most_compared=20000 # of these for the comparison; a longer one is in the summary
work="$(mktemp -d "$RUNNER_TEMP/steno-report.XXXXXX")"
report="$work/report.md"
compared="$work/compared.md"
: >"$compared"

comparison="$STENO_ACTION_COMPARISON"
if [ -n "$comparison" ] && [ -s "$comparison" ]; then
    if [ "$(wc -c <"$comparison")" -le "$most_compared" ]; then
        cat -- "$comparison" >"$compared"
    else
        # Its head: the verdict, the counts and what was compared. Lists begin with a heading or folded.
        awk '/^#### / || /^<details>/ { exit } { print }' "$comparison" | head -c "$most_compared" >"$compared"
        printf '\nThe lists of the comparison are too long for a comment; the summary of the job has them.\n' >>"$compared"
        cat -- "$comparison" >>"$GITHUB_STEP_SUMMARY"
    fi
    printf '\n' >>"$compared"
fi
room=$((most - $(wc -c <"$compared")))
"$STENO_ACTION_PROGRAM" report "$STENO_ACTION_BUNDLE" --markdown --most "$room" >"$work/record.md"
{
    head -n 1 -- "$work/record.md" # the mark by which the comment is found again
    cat -- "$compared"
    tail -n +2 -- "$work/record.md"
} >"$report"
cat -- "$report" >>"$GITHUB_STEP_SUMMARY"
printf 'report=%s\n' "$report" >>"$GITHUB_OUTPUT"
