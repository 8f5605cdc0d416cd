/* steno-trace: runs a command under a seccomp filter and writes what the kernel was asked to do.
 *
 * In: descriptors and options from the recorder (see `usage`). Out: the files of native/wire.toml in the spool, and
 * status records. It is started by `steno run`; by hand only `--probe` is of use.
 */
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "spool.h"
#include "trace.h"

#define MOST_IGNORED 4096
#define OWN_FAILURE 125

static int usage(void)
{
    fputs("usage: steno-trace --probe\n"
          "       steno-trace --status FD --leash FD --spool FD --key FD --origin NS --cwd DIR [--terminal FD]\n"
          "                   --stdin FD --stdout FD --stderr FD [--split FD] [--max-blob BYTES] [--allow-io-uring]\n"
          "                   [--ignore PREFIX]... -- COMMAND [ARGUMENT]...\n",
          stderr);
    return 2;
}

enum { STATUS = 1, LEASH, SPOOL, KEY, ORIGIN, CWD, TERMINAL, STDIN, STDOUT, STDERR, SPLIT, MAX_BLOB, IO_URING, IGNORE, PROBE };

static const struct option long_options[] = {
    {"status", required_argument, NULL, STATUS},     {"leash", required_argument, NULL, LEASH},
    {"spool", required_argument, NULL, SPOOL},       {"key", required_argument, NULL, KEY},
    {"origin", required_argument, NULL, ORIGIN},     {"cwd", required_argument, NULL, CWD},
    {"terminal", required_argument, NULL, TERMINAL}, {"stdin", required_argument, NULL, STDIN},
    {"stdout", required_argument, NULL, STDOUT},     {"stderr", required_argument, NULL, STDERR},
    {"split", required_argument, NULL, SPLIT},       {"max-blob", required_argument, NULL, MAX_BLOB},
    {"allow-io-uring", no_argument, NULL, IO_URING}, {"ignore", required_argument, NULL, IGNORE},
    {"probe", no_argument, NULL, PROBE},             {NULL, 0, NULL, 0},
};

/* The command must not inherit what is ours. */
static int own_descriptor(const char *text)
{
    int fd = (int)strtol(text, NULL, 10);
    if (fd > 2 && fcntl(fd, F_SETFD, FD_CLOEXEC) != 0)
        return -1;
    return fd;
}

static bool take_option(struct options *options, int option)
{
    static size_t ignored_count;
    switch (option) {
    case STATUS:
        return (options->status = own_descriptor(optarg)) >= 0;
    case LEASH:
        return (options->leash = own_descriptor(optarg)) >= 0;
    case SPOOL:
        return (options->spool = own_descriptor(optarg)) >= 0;
    case KEY:
        return (options->key = own_descriptor(optarg)) >= 0;
    case SPLIT:
        return (options->split = own_descriptor(optarg)) >= 0;
    case TERMINAL:
        return (options->terminal = own_descriptor(optarg)) >= 0;
    case STDIN:
    case STDOUT:
    case STDERR:
        options->standard[option - STDIN] = own_descriptor(optarg);
        return true;
    case ORIGIN:
        options->origin_ns = strtoull(optarg, NULL, 10);
        return true;
    case MAX_BLOB:
        options->max_blob = strtoull(optarg, NULL, 10);
        return true;
    case CWD:
        options->cwd = optarg;
        return true;
    case IO_URING:
        return options->allow_io_uring = true;
    case IGNORE:
        if (ignored_count < MOST_IGNORED)
            options->ignored[ignored_count++] = optarg;
        return true;
    default:
        return false;
    }
}

static int start(struct run *run)
{
    int error = survive_truncation();
    error = error ? error : start_emitting(run);
    if (error)
        return error;
    run->tracees = start_tracees(run);
    run->keeping = start_keeping(run);
    if (!run->tracees || !run->keeping)
        return -ENOMEM;
    return launch_and_watch(run);
}

int main(int argc, char **argv)
{
    struct run run = {.options = {.status = -1, .leash = -1, .spool = -1, .key = -1, .terminal = -1,
                                  .standard = {-1, -1, -1}, .split = -1, .cwd = ".", .max_blob = 64 << 20},
                      .listener = -1, .own_pid = getpid()};
    run.options.ignored = calloc(MOST_IGNORED + 1, sizeof *run.options.ignored);
    if (!run.options.ignored)
        return OWN_FAILURE;
    for (int option; (option = getopt_long(argc, argv, "+", long_options, NULL)) != -1;) {
        if (option == PROBE)
            return probe();
        if (!take_option(&run.options, option))
            return usage();
    }
    run.options.command = argv + optind;
    if (!*run.options.command || run.options.status < 0 || run.options.leash < 0 || run.options.spool < 0 ||
        run.options.key < 0)
        return usage();
    int error = start(&run);
    if (error)
        fprintf(stderr, "steno-trace: %s\n", strerror(-error));
    return error ? OWN_FAILURE : 0;
}
