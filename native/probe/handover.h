/* What steno-probe hands to steno-trace over a socket: one datagram, with descriptors when `state` is PROBE_READY. */
#ifndef STENO_PROBE_HANDOVER_H
#define STENO_PROBE_HANDOVER_H

#include <stdint.h>

/* Numbers and words as capture/observer.py has them. */
enum probe_state {
    PROBE_READY,
    PROBE_NO_LIBBPF,
    PROBE_NO_BTF,
    PROBE_NOT_PERMITTED,
    PROBE_LOAD_FAILED,
    PROBE_ATTACH_FAILED,
    PROBE_GONE, /* nothing was handed over */
    PROBE_NO_CGROUP,
    PROBE_NO_OBJECT,
};

enum { HANDED_RING, HANDED_SHAPES, HANDED_COUNTS, HANDED_LINKS, MOST_HANDED = 64 };

struct handover {
    uint32_t state;
    /* Pairs after the three maps: a link, which keeps its program in place as long as it is open, and the program. */
    uint32_t links;
    uint64_t ring_bytes;
    uint32_t processors;
    char says[224]; /* when it failed */
};

#endif
