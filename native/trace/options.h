/* What steno-trace is asked for. */
#ifndef STENO_OPTIONS_H
#define STENO_OPTIONS_H

#include <stdbool.h>
#include <stdint.h>


#define MAX_DRAINS 3

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

#endif
