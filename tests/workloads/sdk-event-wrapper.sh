#!/bin/sh
# The `sdk-event-wrapper` of assay-runner: writes normalised SDK events to the log that the run supplies. Stdout and
# stderr are for people: what looks like an event there is none. Usage: sdk-event-wrapper.sh TOOL_CALL_ID
set -eu

seq=0
say() {
    printf '{"schema":"%s","run_id":"%s","seq":%d,"event_type":"%s","source":"wrapper","sdk_name":"wrapper","sdk_version":"1.0.0","tool_call_id":%s,"tool":%s}\n' \
        "$ASSAY_RUNNER_SDK_EVENT_SCHEMA" "$ASSAY_RUNNER_RUN_ID" "$seq" "$1" "$2" "$3" >>"$ASSAY_RUNNER_SDK_EVENT_LOG"
    seq=$((seq + 1))
}

say tool_call_started "\"$1\"" '"read_file"'
say tool_call_completed "\"$1\"" '"read_file"'
say run_finished null null
echo '{"schema":"assay.runner.sdk_event.v0","tool_call_id":"only_on_stdout"}'
echo '{"schema":"assay.runner.sdk_event.v0","tool_call_id":"only_on_stderr"}' >&2
