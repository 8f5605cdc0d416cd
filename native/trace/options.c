/* What the recorder asks for, in words. In: the arguments. Out: `struct options`. Opens nothing. */
#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>

#include "options.h"

enum {
    STATUS = 1, LEASH, SPOOL, KEY, ORIGIN, CWD, TERMINAL, STDIN, STDOUT, STDERR, SPLIT, MAX_BLOB, IO_URING, IGNORE,
    DRAIN, HOLD, CGROUP, OBSERVER, PROBE_AT, PROBE_OPTIONAL, ENDED_BY, PROBE, STORE, RUN_ID, KEYS, STORE_LINK,
};

static const struct option long_options[] = {
    {"status", required_argument, NULL, STATUS},     {"leash", required_argument, NULL, LEASH},
    {"spool", required_argument, NULL, SPOOL},       {"key", required_argument, NULL, KEY},
    {"origin", required_argument, NULL, ORIGIN},     {"cwd", required_argument, NULL, CWD},
    {"terminal", required_argument, NULL, TERMINAL}, {"stdin", required_argument, NULL, STDIN},
    {"stdout", required_argument, NULL, STDOUT},     {"stderr", required_argument, NULL, STDERR},
    {"split", required_argument, NULL, SPLIT},       {"max-blob", required_argument, NULL, MAX_BLOB},
    {"allow-io-uring", no_argument, NULL, IO_URING}, {"ignore", required_argument, NULL, IGNORE},
    {"drain", required_argument, NULL, DRAIN},       {"hold", required_argument, NULL, HOLD},
    {"cgroup", required_argument, NULL, CGROUP},     {"observer", required_argument, NULL, OBSERVER},
    {"probe-at", required_argument, NULL, PROBE_AT}, {"probe-optional", no_argument, NULL, PROBE_OPTIONAL},
    {"probe", no_argument, NULL, PROBE},             {"store", required_argument, NULL, STORE},
    {"run-id", required_argument, NULL, RUN_ID},     {"store-link", required_argument, NULL, STORE_LINK},
    {"keys", required_argument, NULL, KEYS},         {"ended-by", required_argument, NULL, ENDED_BY},
    {NULL, 0, NULL, 0},
};

/* Digits and nothing else: whoever starts us wrongly must hear of it. */
static bool read_number(const char *text, uint64_t most, uint64_t *number)
{
    char *end;
    errno = 0;
    *number = strtoull(text, &end, 10);
    return isdigit((unsigned char)text[0]) && !*end && errno == 0 && *number <= most;
}

/* The command must not inherit what is ours. */
static bool read_descriptor(const char *text, int *fd)
{
    uint64_t number;
    if (!read_number(text, INT_MAX, &number))
        return false;
    *fd = (int)number;
    return fcntl(*fd, *fd > 2 ? F_SETFD : F_GETFD, FD_CLOEXEC) >= 0;
}

static bool read_next_drain(struct options *options)
{
    for (size_t i = 0; i < MAX_DRAINS; i++) {
        if (options->drains[i] < 0)
            return read_descriptor(optarg, &options->drains[i]);
    }
    return false;
}

/* A set has a bit for every signal, the first for signal 1. */
static bool read_signal(const char *text, uint64_t *set)
{
    uint64_t number;
    if (!read_number(text, 64, &number) || number == 0)
        return false;
    *set |= UINT64_C(1) << (number - 1);
    return true;
}

/* `notify`, `ebpf` or `both`; a probe is there when it is told where. */
static bool read_observer(const char *text, struct options *options)
{
    options->filtered = strcmp(text, "ebpf") != 0;
    return !options->filtered || strcmp(text, "notify") == 0 || strcmp(text, "both") == 0;
}

static bool take_option(struct options *options, int option, char ***next_ignored, char ***next_link)
{
    switch (option) {
    case STATUS:
        return read_descriptor(optarg, &options->status);
    case LEASH:
        return read_descriptor(optarg, &options->leash);
    case SPOOL:
        return read_descriptor(optarg, &options->spool);
    case KEY:
        return read_descriptor(optarg, &options->key);
    case SPLIT:
        return read_descriptor(optarg, &options->split);
    case TERMINAL:
        return read_descriptor(optarg, &options->terminal);
    case STDIN:
    case STDOUT:
    case STDERR:
        if (!read_descriptor(optarg, &options->standard[option - STDIN]))
            options->standard[option - STDIN] = -1; /* the command will find it closed, as we do */
        return true;
    case ORIGIN:
        return read_number(optarg, UINT64_MAX, &options->origin_ns);
    case MAX_BLOB:
        return read_number(optarg, UINT64_MAX, &options->max_blob);
    case HOLD:
        return read_descriptor(optarg, &options->hold);
    case CGROUP:
        return read_descriptor(optarg, &options->cgroup);
    case OBSERVER:
        return read_observer(optarg, options);
    case PROBE_AT:
        return read_descriptor(optarg, &options->probe);
    case PROBE_OPTIONAL:
        return options->probe_optional = true;
    case DRAIN:
        return read_next_drain(options);
    case ENDED_BY:
        return read_signal(optarg, &options->ended_by);
    case CWD:
        options->cwd = optarg;
        return true;
    case IO_URING:
        return options->allow_io_uring = true;
    case IGNORE:
        *(*next_ignored)++ = optarg;
        return true;
    case STORE:
        return read_descriptor(optarg, &options->store);
    case KEYS:
        return read_descriptor(optarg, &options->keys);
    case RUN_ID:
        options->run_id = optarg;
        return true;
    case STORE_LINK:
        *(*next_link)++ = optarg;
        return true;
    default:
        return false;
    }
}

enum wish read_options(int argc, char **argv, struct options *options)
{
    *options = (struct options){.status = -1, .leash = -1, .spool = -1, .key = -1, .terminal = -1,
                                .standard = {-1, -1, -1}, .split = -1, .drains = {-1, -1, -1}, .hold = -1,
                                 .cgroup = -1, .probe = -1, .store = -1, .keys = -1,
                                .filtered = true, .cwd = ".", .max_blob = 16 << 20};
    options->ignored = calloc((size_t)argc + 1, sizeof *options->ignored); /* more than they can be */
    options->store_links = calloc((size_t)argc + 1, sizeof *options->store_links);
    if (!options->ignored || !options->store_links)
        return WISH_UNCLEAR;
    char **next_ignored = options->ignored, **next_link = options->store_links;
    for (int option; (option = getopt_long(argc, argv, "+", long_options, NULL)) != -1;) {
        if (option == PROBE)
            return WISH_PROBE;
        if (!take_option(options, option, &next_ignored, &next_link))
            return WISH_UNCLEAR;
    }
    options->command = argv + optind;
    bool given = *options->command && options->status >= 0 && options->leash >= 0 && options->spool >= 0 &&
                 options->key >= 0 && (options->store < 0) == !options->run_id;
    return given ? WISH_RUN : WISH_UNCLEAR;
}
