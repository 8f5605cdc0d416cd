"""The names of the files of a recording. Spool and bundle use the same names for the same bytes."""

from __future__ import annotations

MANIFEST = "manifest.json"
EVENTS = "events.ndjson"
RUN = "run.json"
HASHES = "hashes.json"
REDACTION_REPORT = "redaction-report.json"
HEALTH = "observation-health.json"
SURFACE = "capability-surface.json"
CORRELATION = "correlation-report.json"

KERNEL_TABLE = "layers/kernel.parquet"
KERNEL_LINES = "layers/kernel.ndjson"
KERNEL_ROWS = "steno/kernel.ndjson"  # of an archive of the third seed
FILE_LINES = "layers/files.ndjson"
BLOBS = "blobs.parquet"
POLICY_LINES = "layers/policy.ndjson"
SDK_LINES = "layers/sdk.ndjson"
CLAIM_LAYERS = (POLICY_LINES, SDK_LINES)  # always there, and empty where nothing was told
PROCESSES = "processes.json"
FILES = "files.json"
CALLS = "calls.json"

STDIN = "terminal/stdin"
STDOUT = "terminal/stdout"
STDERR = "terminal/stderr"
OUTPUT = "terminal/output"
TIMING = "terminal/timing"
CAST = "terminal/session.cast"

REPO_BEFORE = "repo/before.json"
REPO_AFTER = "repo/after.json"
STATUS_BEFORE = "repo/status_before.txt"
STATUS_AFTER = "repo/status_after.txt"
DIFF = "repo/diff.patch"
WORKTREE_DIFF = "repo/worktree.patch"
CHANGES = "repo/changes.json"

SPOOL = "spool"

INDEX_SUFFIX = ".idx"
TABLE_SUFFIX = ".parquet"

# Streams whose bytes are recorded as they arrive; `output` is one of them only when stdout and
# stderr share one way out, else it is derived from the two. On a terminal that an observer splits, all of
# them are recorded: `output` as the terminal showed it, the two as the programs wrote it.
TAPES = (STDIN, STDOUT, STDERR, OUTPUT)
PRIMARY_FILES = (
    EVENTS,
    STATUS_BEFORE,
    STATUS_AFTER,
    DIFF,
    WORKTREE_DIFF,
    CHANGES,
    KERNEL_TABLE,
    FILE_LINES,
    BLOBS,
    *CLAIM_LAYERS,
)
# What follows from the files above, under the names that the first format gave it. `output` is one of them
# where it is made of the two streams.
JUDGED_FILES = (
    RUN,
    HASHES,
    REDACTION_REPORT,
    HEALTH,
    SURFACE,
    CORRELATION,
    CALLS,
    KERNEL_LINES,
    PROCESSES,
    FILES,
    REPO_BEFORE,
    REPO_AFTER,
    TIMING,
    CAST,
)


def index_of(tape: str) -> str:
    return tape + INDEX_SUFFIX


def typescript_header(run_id: str) -> bytes:
    """scriptreplay(1) skips the first line of each log; `output` and `stdin` begin with this one."""
    return f"Script started, recorded by steno as {run_id}\n".encode()


def has_header(tape: str) -> bool:
    return tape in (STDIN, OUTPUT)
