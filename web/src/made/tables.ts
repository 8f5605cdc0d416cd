// The rows of a run's tables; made by docs/generate_tables.py from src/steno/judge/types.py.
/** A whole number as canonical JSON has it: beyond 2^53 as text. */
export type Whole = number | string;

/** What the values of a column are; of a state, those of each of its columns. */
export type Kind = "boolean" | "number" | "string" | "string[]" | "number[]" | "Whole";
export interface Shape {
  [column: string]: Kind | `${Kind}?` | Shape;
}

/** A path at one moment. `kind` is `absent` where nothing was there, and null where that is not known. */
export interface FileState {
  kind: string | null;
  mode: number | null;
  size: Whole | null;
  mtime_ns: Whole | null;
  uid: number | null;
  gid: number | null;
  target: string | null;
  target_bytes: string | null;
  blob: string | null;
  no_content_reason: string | null;
}

/** What is known of a run as a whole. */
export interface RunInfo {
  run_id: string;
  name: string | null;
  state: string;
  command: string[];
  cwd: string;
  started_at_ms: Whole;
  duration_ns: Whole;
  command_ns: Whole | null;
  exit_code: Whole | null;
  signal: string | null;
  completed: boolean;
  /** Nothing that should be in the record is missing. */
  complete: boolean;
  observer: string;
  kernel_layer: string;
  machine: string;
  steno_version: string;
  format: Whole | null;
  rules: Whole;
  root: string | null;
}

/** What one process did to one path in one way, however often. */
export interface Access {
  process: Whole;
  operation: string;
  path: string;
  path_bytes: string | null;
  /** Read, write or read_write, where it was opened. */
  access: string | null;
  creates: boolean;
  truncates: boolean;
  outcome: "done" | "failed" | "unknown";
  error: string | null;
  times: Whole;
  first_ns: Whole;
  last_ns: Whole;
}

/** A content that the record keeps. `before` and `after` of a file name it. */
export interface Blob {
  blob: string;
  size: Whole;
  /** It holds a secret, and only the store that it was recorded in can read it. */
  encrypted: boolean;
}

/** A tool call, as an agent told of it or a proxy let it through, and what the kernel saw of it. */
export interface Call {
  call: number;
  tool_call_id: string;
  tool: string;
  server: string | null;
  verdict: string;
  /** The agent or its framework; null where none said it. */
  told_by: string | null;
  corroboration: string | null;
  corroborated_by: string | null;
  decision: string | null;
  reason: string | null;
  /** Whether what policy decided was not enforced. */
  dry_run: boolean;
  /** How the call ended, as its proxy told it. */
  decision_outcome: string | null;
  started_ns: Whole | null;
  ended_ns: Whole | null;
  window_told_by: string | null;
  window_ended_by: string | null;
  process: number | null;
  /** null where nobody could see. */
  n_events: number | null;
  files_changed: string[];
  files_read: string[];
  programs: string[];
  endpoints: string[];
  /** As the agent said, else as policy saw it. */
  input: string | null;
  /** As policy saw them. */
  arguments: string | null;
}

/** A path that the run touched, before and after. */
export interface File {
  path: string;
  path_bytes: string | null;
  /** As `steno files` shows it: A, M, D, m for metadata, o by somebody else, t, r for read, ? or -. */
  letter: string;
  /** Of what is there: created, modified, deleted, metadata, none or unknown. */
  change: string;
  operations: string[];
  /** null where it is not known. */
  size_change: Whole | null;
  before: FileState;
  after: FileState;
  changed_by_others: boolean;
  git_root: string | null;
  /** What git makes of it: ignored, untracked, dirty or clean. */
  git_class: string | null;
}

/** What an agent said held against what was seen: of one call, or of its last words. */
export interface Check {
  call: number | null;
  claim: number | null;
  rule: string;
  result: string;
  detail: string;
}

/** What an agent said at the end, of all that it did. */
export interface Claim {
  claim: number;
  source: string;
  kind: string;
  corroboration: string;
}

/** An address, and all that was done with it. */
export interface Connection {
  connection: number;
  family: string;
  address: string;
  /** As people write it: 1.2.3.4:80, [::1]:80, a path. */
  name: string;
  operations: string[];
  /** The operations, each with the errors that it ended with. */
  calls: string[];
  /** What came of connecting; null where nobody tried. */
  result: string | null;
  /** The same in words, with the errors of connecting. */
  outcome: string | null;
  /** Of all that was tried: connected, sent to, bound …. */
  came_of_all: string | null;
  /** All that was tried is known to have failed. */
  all_failed: boolean;
  errors: string[];
  sent: boolean;
  processes: number[];
  times: number;
  first_ns: Whole;
  last_ns: Whole;
}

/** What policy decided about a call of a tool, as its proxy told it. */
export interface Decision {
  seq: Whole;
  tool_call_id: string;
  tool: string;
  server: string;
  decision: string;
  reason: string;
  dry_run: boolean;
  /** How the call ended; null where no end was seen. */
  outcome: string | null;
  started_ns: Whole;
  ended_ns: Whole | null;
  arguments: string | null;
}

/** A directory that got another name, with everything in it. */
export interface DirectoryRename {
  old_path: string;
  old_path_bytes: string | null;
  new_path: string;
  new_path_bytes: string | null;
  /** With what had the other name. */
  exchanged: boolean;
}

/** What the kernel saw in the window of one call, of one of several, or in that of none. */
export interface Effects {
  call: number | null;
  /** The ids of calls of which one did it. */
  candidates: string[];
  /** What this server did of what is in the window of no call. */
  server: string | null;
  n_events: number;
  files_created: string[];
  /** Written, but for those that were created. */
  files_written: string[];
  files_deleted: string[];
  /** Created, written or deleted. Terminals, sinks and the logs of the run itself are no files. */
  files_changed: string[];
  files_read: string[];
  files_tried: string[];
  /** What it connected to or sent to; whether a connect succeeded is not always known. */
  endpoints: string[];
  sockets: string[];
  programs: string[];
  /** Of the agent. */
  own_state: string[];
}

/** A call that the kernel saw. */
export interface Event {
  event: Whole;
  at_ns: Whole;
  /** null: it tells of the recording itself. */
  process: Whole | null;
  thread: Whole;
  operation: string;
  syscall: string | null;
  requested: string | null;
  path: string | null;
  other: string | null;
  outcome: "done" | "failed" | "unknown";
  error: string | null;
  argument: Whole;
  argument2: Whole;
  notes: string[];
  found: FileState | null;
}

/** A program that a process became, or tried to become. */
export interface Exec {
  exec: number;
  process: number;
  at_ns: Whole;
  requested: string | null;
  executable: string | null;
  arguments: string[];
  /** With those that are not kept. */
  n_arguments: Whole;
  arguments_cut: boolean;
  interpreter: string | null;
  outcome: "done" | "failed" | "unknown";
  error: string | null;
  privilege_lost: boolean;
}

/** A path that the run touched, before and after. */
export interface File {
  path: string;
  path_bytes: string | null;
  /** As `steno files` shows it: A, M, D, m for metadata, o by somebody else, t, r for read, ? or -. */
  letter: string;
  /** Of what is there: created, modified, deleted, metadata, none or unknown. */
  change: string;
  operations: string[];
  /** null where it is not known. */
  size_change: Whole | null;
  before: FileState;
  after: FileState;
  changed_by_others: boolean;
  git_root: string | null;
  /** What git makes of it: ignored, untracked, dirty or clean. */
  git_class: string | null;
}

/** What is missing from the record, and why. */
export interface Gap {
  reason: string;
  detail: string;
  lost_bytes: Whole | null;
}

/** An event of the recording itself, as it was recorded. */
export interface LogEntry {
  seq: Whole;
  at_ns: Whole;
  logged_at_ms: Whole;
  kind: string;
  data: string;
}

/** What an agent or its framework said of itself: a claim, never a fact. */
export interface Message {
  seq: Whole;
  source: string;
  kind: string;
  /** When it says that it was. */
  told_ns: Whole | null;
  tool_call_id: string | null;
  tool: string | null;
  server: string | null;
  text: string | null;
  input: string | null;
  output: string | null;
}

/** Bytes of a stream of the terminal, or of a pipe, as they came. */
export interface Output {
  stream: string;
  position: Whole;
  at_ns: Whole;
  data: string;
}

/** A process that was seen, with the last program that it became. */
export interface Process {
  process: number;
  parent: number | null;
  pid: number | null;
  program: string | null;
  /** The command line of the last program that it became, quoted for a shell. */
  command: string | null;
  started_ns: Whole;
  ended_ns: Whole | null;
  exit_code: number | null;
  signal: string | null;
  core_dumped: boolean;
  /** By whom its end is told: kernel, asked (it only asked for it) or unknown. */
  end_known: string;
  /** When the recording ended; of a run that goes on, now. */
  still_running: boolean;
  threads: number;
  n_events: number;
  /** Its program; a copy of a process is what that is. */
  label: string;
  /** All that it was, its last command line in full. */
  title: string;
  /** The same number where two, with all that they started, did the same. */
  alike: number;
  role: string;
}

/** A git repository that touched paths lie in. */
export interface Repository {
  root: string;
  head: string | null;
  dirty: boolean | null;
}

/** A name in the capability surface: what the run could do and did. */
export interface Capability {
  category: string;
  entry: string;
}

/** Sockets that were made, or calls on a descriptor whose address is not told. */
export interface Unaddressed {
  operation: string;
  /** What kind of sockets were made, as `inet stream`. */
  sockets: string | null;
  times: number;
}

/** Those that a page carries. */
export interface Tables {
  calls: Call;
  checks: Check;
  claims: Claim;
  connections: Connection;
  directory_renames: DirectoryRename;
  effects: Effects;
  execs: Exec;
  files: File;
  processes: Process;
  unaddressed: Unaddressed;
}

export const TABLES: Record<keyof Tables, Shape> = {
  calls: { call: "number", tool_call_id: "string", tool: "string", server: "string?", verdict: "string", told_by: "string?", corroboration: "string?", corroborated_by: "string?", decision: "string?", reason: "string?", dry_run: "boolean", decision_outcome: "string?", started_ns: "Whole?", ended_ns: "Whole?", window_told_by: "string?", window_ended_by: "string?", process: "number?", n_events: "number?", files_changed: "string[]", files_read: "string[]", programs: "string[]", endpoints: "string[]", input: "string?", arguments: "string?" },
  checks: { call: "number?", claim: "number?", rule: "string", result: "string", detail: "string" },
  claims: { claim: "number", source: "string", kind: "string", corroboration: "string" },
  connections: { connection: "number", family: "string", address: "string", name: "string", operations: "string[]", calls: "string[]", result: "string?", outcome: "string?", came_of_all: "string?", all_failed: "boolean", errors: "string[]", sent: "boolean", processes: "number[]", times: "number", first_ns: "Whole", last_ns: "Whole" },
  directory_renames: { old_path: "string", old_path_bytes: "string?", new_path: "string", new_path_bytes: "string?", exchanged: "boolean" },
  effects: { call: "number?", candidates: "string[]", server: "string?", n_events: "number", files_created: "string[]", files_written: "string[]", files_deleted: "string[]", files_changed: "string[]", files_read: "string[]", files_tried: "string[]", endpoints: "string[]", sockets: "string[]", programs: "string[]", own_state: "string[]" },
  execs: { exec: "number", process: "number", at_ns: "Whole", requested: "string?", executable: "string?", arguments: "string[]", n_arguments: "Whole", arguments_cut: "boolean", interpreter: "string?", outcome: "string", error: "string?", privilege_lost: "boolean" },
  files: { path: "string", path_bytes: "string?", letter: "string", change: "string", operations: "string[]", size_change: "Whole?", before: { kind: "string?", mode: "number?", size: "Whole?", mtime_ns: "Whole?", uid: "number?", gid: "number?", target: "string?", target_bytes: "string?", blob: "string?", no_content_reason: "string?" }, after: { kind: "string?", mode: "number?", size: "Whole?", mtime_ns: "Whole?", uid: "number?", gid: "number?", target: "string?", target_bytes: "string?", blob: "string?", no_content_reason: "string?" }, changed_by_others: "boolean", git_root: "string?", git_class: "string?" },
  processes: { process: "number", parent: "number?", pid: "number?", program: "string?", command: "string?", started_ns: "Whole", ended_ns: "Whole?", exit_code: "number?", signal: "string?", core_dumped: "boolean", end_known: "string", still_running: "boolean", threads: "number", n_events: "number", label: "string", title: "string", alike: "number", role: "string" },
  unaddressed: { operation: "string", sockets: "string?", times: "number" },
};
