"""The assay-runner contract: an archive of a run, its verification, and variables that a command gets."""

from __future__ import annotations

from steno.evidence.intake_names import RUN_ID, SDK_LOG, SDK_LOG_SCHEMA

# By our own names; a recorded command has both.
VARIABLES = {
    RUN_ID: "ASSAY_RUNNER_RUN_ID",
    SDK_LOG: "ASSAY_RUNNER_SDK_EVENT_LOG",
    SDK_LOG_SCHEMA: "ASSAY_RUNNER_SDK_EVENT_SCHEMA",
}
