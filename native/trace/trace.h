/* steno-trace: what its parts know of each other.
 *
 * Data flows: notification -> stop (serve.c) -> handler (on_*.c: read memory, resolve, look) -> event (emit.c).
 * A stop is one system call of one thread that waits for our answer. Everything read from the caller is hostile.
 */
#ifndef STENO_TRACE_H
#define STENO_TRACE_H

#include <limits.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "calls.h"
#include "wire.h"

#define MAX_THREADS 8
#define MAX_TOLD 12
#define MAX_DRAINS 3
#define MAX_ARGV_BYTES (256 * 1024)
#define INTERPRETER_LINE 256
/* Where terminals that the command opens are put, so that writes on them are seen. */
#define SPLIT_FIRST 960u
#define SPLIT_COUNT 64u
/* Where writes are seen as well: the first ten, and the number on which bash keeps its terminal. */
#define LOW_WATCHED 10u
#define ALONE_WATCHED 255u

struct run;
struct emitter;
struct store;

/* --- options and the whole run --------------------------------------------------------------------------- */

struct options {
    int status, leash, spool, key;          /* descriptors; -1: not given */
    int terminal;                           /* the command's terminal, or -1 */
    int standard[3];                        /* what the command gets as 0, 1, 2; -1: closed */
    int split;                              /* where terminal writes are told, or -1 */
    int drains[MAX_DRAINS];                 /* our ends of the command's outputs, for when the recorder dies; -1: none */
    int hold;                               /* the spool's lock: kept as long as we write, or -1 */
    const char *cwd;
    uint64_t origin_ns;
    uint64_t max_blob;
    bool allow_io_uring;
    int cgroup;                             /* the command is born into it, or -1 */
    int probe;                              /* where steno-probe hands over, or -1 */
    bool probe_optional;                    /* without the probe the filter stops all calls */
    bool filtered;                          /* a filter is wished for */
    uint64_t ended_by;                      /* signals that the C library keeps for itself, and that end the command: we find them ignored */
    char **ignored;                         /* prefixes whose contents nobody wants, NULL-ended */
    int store;                              /* the directory of all records, or -1 */
    int keys;                               /* that of the local keys, or -1 */
    const char *run_id;                     /* this run's folder in it */
    char **store_links;                     /* symbolic links by which it is reached, NULL-ended */
    char **command;
};

enum wish { WISH_RUN, WISH_PROBE, WISH_UNCLEAR };

enum wish read_options(int argc, char **argv, struct options *options);

struct run {
    struct options options;
    struct wire_header *header;
    struct emitter *emitter;
    struct tracees *tracees;
    struct keeping *keeping;
    struct store *store;                    /* NULL: it is not closed to the run */
    struct split *split;                    /* NULL: the terminal is not split */
    struct ring *ring;                      /* NULL: there is no probe */
    struct agreement *agreement;            /* NULL: there is one witness */
    int listener;
    pid_t own_pid;
    ino_t pipes[3];                         /* through which the recorder and we talk; 0: there is none */
    pid_t recorder;                         /* who started us, as long as it lives */
    bool no_new_privs;
    int64_t clock_ahead_ns;                 /* of the kernel's own: CLOCK_MONOTONIC as we see it */
    int64_t boot_clock_ahead_ns;            /* the same of CLOCK_BOOTTIME */
    atomic_bool looks_are_late;             /* a change was let through while the probe's ring was not read to its end */
    atomic_bool mounts_detached;            /* a mount may be in no directory: what /proc calls its files means others to us */
    atomic_bool roots_differ;               /* any process may see another root than we do */
    atomic_bool roots_shared;               /* by two processes: if one changes it, the other does */
    atomic_uint_fast64_t age;               /* begins anew whenever the run may move names about */
    atomic_bool released;                   /* the recording is over: answer, and write nothing */
};

/* --- swapped.c: what a stop named, to be compared with what the probe saw ------------------------------- */

struct named {
    uint64_t words[2];                      /* fingerprints of the strings read from the caller; 0: none was */
    uint64_t addresses[2];                  /* where they lay */
    uint64_t resolved;                      /* fingerprint of the name of the file; 0: it is not to be compared */
    uint64_t dev, ino;                      /* 0: nothing was there */
    bool is_device;
    bool is_script;                         /* the file is the interpreter that runs it */
};

enum likeness { ALIKE, OTHER_WORDS, OTHER_FILE, OTHER_INTERPRETER };

struct seen;
struct stop;
struct place;
void note_words(struct stop *stop, int argument, const char *words, size_t length);
void note_place(struct stop *stop, const struct place *place, bool is_interpreter);
enum likeness compare_names(const struct run *run, const struct named *named, const struct seen *seen);

/* --- one stop -------------------------------------------------------------------------------------------- */

struct stop {
    struct run *run;
    const struct seccomp_notif *notif;      /* NULL: it is over, and `seen` is what the probe tells of it */
    const struct seen *seen;
    const struct call *call;
    uint32_t number;
    uint64_t args[6];
    pid_t tid;
    pid_t pid;                              /* thread group */
    uint32_t process;                       /* its number */
    uint16_t notes;
    bool compat;
    bool alone;                             /* a process of one thread that shares its working directory with nobody */
    bool other_root;                        /* it may see another root or other mounts than we do */
    struct known *known;                    /* of the thread that serves it */
    bool answered;                          /* the handler answered itself */
    bool expected;                          /* the probe is to tell of it as well */
    bool only_looks;                        /* changes nothing: the answer will tell whether the caller was there */
    int error;                              /* refuse with this errno; 0: let it through */
    bool replaces;                          /* answer `value` in the kernel's place */
    int64_t value;
    uint64_t told_at[MAX_TOLD];             /* where its events lie */
    size_t told_count;
    uint64_t told_ns;                       /* the time of the last one */
    struct named named;
};

/* --- memory.c -------------------------------------------------------------------------------------------- */

/* Bytes read, or -errno. Never more than asked for. */
ssize_t read_memory(pid_t tid, uint64_t address, void *into, size_t length);
/* A string with its NUL; -errno; -ENAMETOOLONG when there is no NUL within `size`. */
ssize_t read_string(pid_t tid, uint64_t address, char *into, size_t size);
/* One word of a pointer array: 8 bytes, or 4 in a 32-bit program. */
int read_word(const struct stop *stop, uint64_t address, uint64_t *word);
/* Reads a path argument; sets the notes of the stop. False: nothing is known of it (`path` is then empty). */
bool read_path(struct stop *stop, int argument, char path[PATH_MAX]);
/* Whether what was read is the caller's: its number may belong to another process by now. */
bool still_waiting(const struct stop *stop);

/* The same, and what the probe took along of a call that is over. */
ssize_t caller_memory(const struct stop *stop, uint64_t address, void *into, size_t length);
ssize_t caller_string(const struct stop *stop, uint64_t address, char *into, size_t size);

/* --- resolve.c ------------------------------------------------------------------------------------------- */

struct place {
    char resolved[PATH_MAX];
    char target[PATH_MAX];                  /* of a symbolic link */
    int fd;                                 /* O_PATH on what is there, or -1 */
    int error;                              /* why there is nothing, an errno */
    bool exists;
    struct stat found;
    uint16_t notes;
    bool known_result;                      /* `error` is what the call will meet, too */
    bool compared;                          /* whether it is another place than ours of that name is known */
};

enum { FOLLOW = 0, NOFOLLOW = 1 };

/* Looks at what `path` means to the caller. `dir` is a descriptor of the caller's, or AT_FDCWD. */
void resolve(struct stop *stop, int dir, const char *path, int nofollow, struct place *place);
/* As openat2(2) with its own rules of resolving. */
void resolve_as_asked(struct stop *stop, int dir, const char *path, uint64_t rules, int nofollow, struct place *place);
/* `place` is a link that leads nowhere; it becomes the place where it would lead. */
void resolve_dangling(struct stop *stop, struct place *place);
/* The file behind a descriptor of the caller's. */
void resolve_descriptor(struct stop *stop, int fd, struct place *place);
/* The file of a handle in the caller's memory; `mount` is the descriptor that goes with it. */
void resolve_handle(struct stop *stop, int mount, uint64_t address, struct place *place);
/* Whether a path means something else to each process, as /dev/stdout does. */
bool differs_by_caller(const struct stop *stop, const char *path);
void close_place(struct place *place);
/* Opens what is there to read it, and leaves the time of its last access as it is where that is permitted; a descriptor or -1. */
int open_for_us(const struct place *place);

/* How long what was just learned is believed: docs/coverage.md says so. */
#define MOMENT_NS 50000000u

/* --- known.c: what was just learned ---------------------------------------------------------------------- */

struct known *start_knowing(void);
/* The caller is about to move names: what is known of them will not be true. */
void note_move(const struct stop *stop);
/* The caller is back, and if it moved names, that is over. */
void settle_move(const struct stop *stop);
/* Where a directory really is, if that was just found out; NULL otherwise. The root is "". */
const char *known_directory(const struct stop *stop, const char *words, size_t length);
void note_directory(const struct stop *stop, const char *words, size_t length, const char *real, size_t real_length);
/* The caller's working directory, if it was just read; NULL otherwise. */
const char *known_cwd(const struct stop *stop);
void note_cwd(const struct stop *stop, const char *path);

/* --- keep.c: contents as they were ----------------------------------------------------------------------- */

struct keeping *start_keeping(void);
/* Fills `blob` and `content` of a state. Called before a call that may change what is there. */
void keep_content(struct run *run, enum op op, uint64_t flags, const struct place *place, struct wire_state *state);
/* The same of a file that is only looked at, if the run has changed it under another of its names. */
void recall_content(struct run *run, const struct place *place, struct wire_state *state);
/* Nothing is there, and the run is about to make something: whatever it changes there from now on is its own. */
void note_made(struct run *run, const struct place *place);
/* A name goes along with its directory: what comes to the new one is what the old one had. `to_nothing`: the new directory is not
 * there yet; else the call fails or exchanges, and what will be there is kept once more, at worst for nothing. */
void note_moved(struct run *run, const struct place *old, const struct place *new, bool to_nothing);

/* --- store.c: the records, which the run cannot change --------------------------------------------------- */

struct store *close_store(int fd, const char *own, int keys, char **links);
/* Whether a call that may change what is there is to be refused. */
bool is_closed(struct stop *stop, enum op op, const struct place *place);

/* --- names.c: names of which nothing more is to be kept --------------------------------------------------- */

struct names *start_names(void);
bool is_settled_name(struct names *names, const struct place *place);
/* The run made what is there. */
bool is_made_name(struct names *names, const struct place *place);
void settle_name(struct names *names, const struct place *place);
void settle_made_name(struct names *names, const struct place *place);
void unsettle_name(struct names *names, const struct place *place);

/* --- emit.c: the spool ----------------------------------------------------------------------------------- */

int start_emitting(struct run *run);
/* A new event of this stop, with time, process, call and notes filled in. */
struct wire_event event_of(const struct stop *stop, enum op op);
uint32_t intern(struct run *run, const char *bytes, size_t length);
uint32_t intern_text(struct run *run, const char *text);
/* Stands for the bytes while the run lasts; never 0. */
uint64_t fingerprint(const struct run *run, const char *bytes, size_t length);
uint32_t intern_state(struct run *run, uint32_t resolved, const struct wire_state *state);
/* Appends an event of this stop, and remembers where it lies. */
void record_event(struct stop *stop, const struct wire_event *event);
/* The caller was killed before it was answered. */
void call_never_ran(struct stop *stop);
/* Appends; returns where the event lies, for `amend_result`, or UINT64_MAX when it was lost. */
uint64_t emit(struct run *run, const struct wire_event *event);
void amend_result(struct run *run, uint64_t at, int16_t result);
void end_emitting(struct run *run);
const uint8_t *spool_key(const struct run *run);
void count(uint64_t *counter);
/* A call that is not decoded. */
void count_call(const struct stop *stop);

bool read_event(struct run *run, uint64_t at, struct wire_event *event);
/* The result, and that the other witness saw it as well or should have. */
void amend_witnessed(struct run *run, uint64_t at, int16_t result, uint16_t notes);

/* --- clock.c --------------------------------------------------------------------------------------------- */

#define NANOSECONDS_A_TICK 10000000u /* of /proc/PID/stat, which counts in hundredths of a second */

/* Before anything is told. */
void compare_clocks(struct run *run);
/* Since the run began; 0 where the clock went back. */
uint64_t now_ns(const struct run *run);
/* The same, of a time that the probe told. */
uint64_t told_at_ns(const struct run *run, uint64_t kernel_ns);
/* When a process began, as /proc tells it to us. */
uint64_t start_ticks(const struct run *run, uint64_t kernel_ns);

/* --- proc.c ---------------------------------------------------------------------------------------------- */

struct birth;
/* How many bytes, ended by NUL; not more than fit. Negative: it is not there. */
ssize_t read_small_file(const char *path, char *into, size_t size);
bool read_birth(pid_t pid, struct birth *birth);
pid_t thread_group(pid_t tid);
bool stacks_are_random(pid_t pid);
/* False: it is in another pid namespace. */
bool sees_our_numbers(pid_t tid);
/* False: it is in another mount namespace, or gone. */
bool sees_our_mounts(pid_t tid);
/* Of one that sees them. False: the kernel refuses it whatever it asks for. */
bool may_change_our_mounts(pid_t tid);

/* --- tracees.c: the processes of the run ----------------------------------------------------------------- */

struct tracees *start_tracees(struct run *run);
/* Finds the process of a thread, or meets it for the first time. False: it is gone already. */
bool identify(struct stop *stop);
/* Reads the first process before it runs. */
void meet_command(struct run *run, pid_t pid);
void note_fork(struct stop *stop, uint64_t flags);
void note_exec(struct stop *stop, uint64_t event_at);
/* The caller, and what it makes from now on, may see another root or other mounts; `family`: what it made already, too. */
void note_other_root(struct stop *stop, bool family);
void note_exit_request(struct stop *stop, int code);
void note_thread_end(struct stop *stop);
void note_reaped(struct run *run, pid_t pid, int wait_status);
/* The same, told by the probe. */
void let_probe_tell(struct run *run);
bool identify_seen(struct stop *stop, uint64_t start_ns, uint64_t at_ns);
void note_birth(struct run *run, pid_t maker, pid_t tid, pid_t pid, uint64_t start_ns, uint64_t at_ns);
void note_end(struct run *run, pid_t pid, pid_t tid, uint64_t start_ns, bool last, int wait_status, uint64_t at_ns);
int tracees_poll_fd(const struct run *run);
/* Learns of ends that the kernel tells through pidfds. */
void collect_exits(struct run *run);
/* How many processes are alive; their `outlived` events when `tell`. */
uint32_t tell_survivors(struct run *run, bool tell);
/* For how many milliseconds nothing needs to be looked for; -1: the kernel will tell. */
int tracees_patience(struct run *run);
/* Whether it is a process or thread of the run that has not ended, as far as was told. */
bool is_of_the_run(struct run *run, pid_t tid);
/* Whether the question is true of a living process. */
bool any_process(struct run *run, bool (*question)(pid_t pid, void *context), void *context);

/* --- mounts.c -------------------------------------------------------------------------------------------- */

/* The last event of this stop may change our mounts, and nobody will tell its result. */
void note_mount(struct stop *stop);
/* The caller is back: if our mounts are as they were, its call failed. */
void settle_mount(struct stop *stop);
/* The directory that a descriptor of the caller's was made of, as text. */
uint32_t source_of_mount(struct stop *stop, int descriptor);

/* --- filter.c, serve.c, launch.c, split.c ---------------------------------------------------------------- */

struct sock_fprog;
/* What the filter stops: every call of the tables, or, beside a probe, those that may change something. */
enum stopping { STOP_ALL, STOP_CHANGES };
int build_filter(struct sock_fprog *program, bool split, enum stopping stopping);
/* Whether the filter beside a probe stops this call. */
bool stops_beside_probe(const struct call *call, const uint64_t args[6]);
/* Whether a signal may end or stop us, or the recorder. */
bool ends_or_stops(uint64_t number);
const struct call *find_call(uint32_t arch, uint32_t number);

/* Holds the command's open files of the terminal; called before the command is made. */
int start_split(struct run *run);
bool begin_split(struct run *run);
/* A terminal that is opened is put on a watched descriptor; the stop is then answered. */
void split_on_open(struct stop *stop, const struct place *place, uint64_t flags);
/* Lets go of the terminal, unless a process of the run has it and it need not be at once. */
void end_split(struct run *run, bool at_once);
/* How long to wait until `end_split` is worth another try: nobody tells that a process closed the terminal. */
int split_patience(const struct run *run);

int seccomp_sizes(struct seccomp_notif_sizes *sizes);
/* Puts the calling thread under the filter, and sends its listener through the channel. */
void install_and_send(int channel, bool split, enum stopping stopping);
/* The listener, or -errno. `filtered`: the other side is under the filter, whether we have its listener or not. */
int receive_listener(int channel, uint64_t *features, bool *filtered);
/* Takes a descriptor of another process; -errno. */
int take_descriptor(pid_t pid, int descriptor);
/* Stops that were made and that we did not take. */
uint64_t stops_missed(void);
int start_serving(struct run *run, int threads);
int launch_and_watch(struct run *run);
/* Tries everything once and says what works. */
int probe(void);

/* --- ring.c, agreement.c: the probe beside the filter ----------------------------------------------------- */

/* Takes the probe over; an enum probe_state. */
int take_probe(struct run *run);
/* From now on calls are told. */
int start_ring(struct run *run);
/* Reads all that is there. False: not all of it, because somebody else reads and takes long. */
bool drain_ring(struct run *run);
/* Takes the probe away, reads what is left and counts what was lost. */
void end_ring(struct run *run);

struct agreement *start_agreement(void);
/* A stop is about to be answered: the probe must tell of it. */
void expect_witness(struct stop *stop);
/* It will not: the caller was killed before. */
void expect_nothing(const struct stop *stop);
enum verdict { NOT_STOPPED, AGREED, SWAPPED, RUN_BY_ANOTHER };
/* The probe tells of a call that is over. AGREED: the filter stopped it, and its events have the result now. SWAPPED: it stopped
 * another name, and what the probe saw is yet to be told. RUN_BY_ANOTHER: the program is the same, its interpreter is not. */
enum verdict agree(struct run *run, pid_t tid, uint32_t number, bool compat, uint64_t end_ns, int16_t result, const struct seen *seen);
/* The same, of a program that runs: any of the calls that can bring it about. */
enum verdict agree_on_exec(struct run *run, pid_t tid, uint64_t end_ns, const struct seen *seen);
/* The thread is gone; what it was stopped for and never ended was seen by the filter alone. */
void settle_thread(struct run *run, pid_t tid);
/* The probe told all it will, up to this time: what it should have told of and did not was seen by the filter alone. */
void settle_all(struct run *run, uint64_t until_ns, bool (*is_alive)(pid_t tid));

/* --- cipher.c, hash.c, text.c: pure ---------------------------------------------------------------------- */

void chacha20_xor(const uint8_t key[32], const uint8_t nonce[12], uint64_t position, uint8_t *data, size_t length);
uint64_t siphash(const uint8_t key[16], const void *data, size_t length);
/* Calls `tell` for every address that a name server's message gives for a name. */
void read_dns_answer(const uint8_t *message, size_t length, void (*tell)(const char *name, const char *address, void *context),
                     void *context);
/* Writes a socket address as text; returns its length. Unix paths keep their bytes. */
size_t format_address(const void *address, size_t length, char *into, size_t size);
/* Joins without looking: `base` + "/" + `path`, or `path` when it is absolute; "." and "//" go, ".." stays. */
size_t join_paths(const char *base, const char *path, char *into, size_t size);
/* Whether a path ends in "/" or "/.": it means a directory, and a link there is followed. */
bool ends_as_directory(const char *path);
/* The last name of absolute words; NULL when they end in none: "/" and "/..". */
const char *last_name(const char *words);
/* The first bytes of a program, at most INTERPRETER_LINE and room for one more: is it a script, and for whom? */
bool read_interpreter_line(char *line, size_t length, const char **name, const char **argument);

/* Of /proc/PID/stat. */
struct birth {
    pid_t parent;
    uint64_t start_ticks;
    uint64_t stack;
    int exit_code;
    char state;
};
bool read_birth_text(char *text, struct birth *birth);
/* Of /proc/TID/status; 0: it does not say. */
pid_t read_thread_group_text(const char *text);
/* Of the same: the effective ones, or all where it does not say. */
uint64_t read_capabilities_text(const char *text);
/* The next number of /proc/TID/children, or 0: a number at the very end may be cut, and is none. */
pid_t next_child(const char **text);

#endif
