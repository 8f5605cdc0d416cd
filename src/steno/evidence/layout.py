"""The names of the files of a record: what was recorded is below `evidence/`, in a spool as in a bundle."""

from __future__ import annotations

MANIFEST = "manifest.json"
EVIDENCE = "evidence"
EVENTS = "evidence/events.ndjson"
KERNEL_TABLE = "evidence/syscalls.parquet"
FILE_LINES = "evidence/files.ndjson"
BLOBS = "evidence/blobs.parquet"
CLAIMS = "evidence/claims.ndjson"

STDIN = "evidence/terminal/stdin"
STDOUT = "evidence/terminal/stdout"
STDERR = "evidence/terminal/stderr"
OUTPUT = "evidence/terminal/output"
INDEX = "evidence/terminal/index"  # of a bundle; in a spool each stream has one of its own

STATUS_BEFORE = "evidence/git/status_before.txt"
STATUS_AFTER = "evidence/git/status_after.txt"
DIFF = "evidence/git/diff.patch"
WORKTREE_BEFORE = "evidence/git/worktree_before.patch"
WORKTREE_DIFF = "evidence/git/worktree_after.patch"
CHANGES = "evidence/git/changes.json"

SPOOL = "spool"

INDEX_SUFFIX = ".idx"
TABLE_SUFFIX = ".parquet"

# Streams whose bytes are recorded as they arrive. On a terminal that an observer splits, all of them are
# recorded: `output` as the terminal showed it, stdout and stderr as the programs wrote it.
TAPES = (STDIN, STDOUT, STDERR, OUTPUT)
EVIDENCE_FILES = (
    EVENTS,
    STATUS_BEFORE,
    STATUS_AFTER,
    DIFF,
    WORKTREE_BEFORE,
    WORKTREE_DIFF,
    CHANGES,
    KERNEL_TABLE,
    FILE_LINES,
    BLOBS,
    CLAIMS,
    *TAPES,
    INDEX,
)
# Of these a file without a byte is left out of the bundle: the events tell that somebody looked.
EMPTY_IS_ABSENT = frozenset(EVIDENCE_FILES) - {EVENTS, KERNEL_TABLE, FILE_LINES, BLOBS}

# What follows from the evidence, as JSON or as a file that other programs read. No bundle has it: whoever
# reads one makes it, and a page or an export carries a copy.
RUN = "run.json"
REDACTION_REPORT = "redaction-report.json"
HEALTH = "observation-health.json"
SURFACE = "capability-surface.json"
CORRELATION = "correlation-report.json"
CALLS = "calls.json"
KERNEL_LINES = "syscalls.ndjson"
PROCESSES = "processes.json"
FILES = "files.json"
REPO_BEFORE = "git-before.json"
REPO_AFTER = "git-after.json"
CAST = "session.cast"
JUDGED_FILES = (
    RUN,
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
    CAST,
)


def index_of(tape: str) -> str:
    return tape + INDEX_SUFFIX


def shown(path: str) -> str:
    """The name of a file in events and messages."""
    return path.removeprefix(f"{EVIDENCE}/")
