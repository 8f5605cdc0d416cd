/* What the probe took along of one call. In: a record of the ring, checked. Out: its parts. Pure. */
#ifndef STENO_TRACE_PROBE_RECORD_H
#define STENO_TRACE_PROBE_RECORD_H

#include "../probe/record.h"
#include "trace.h"

struct probed_call {
    const struct probe_record *record;
    const uint8_t *parts;
    size_t size; /* of all parts */
};

/* Under these addresses the probe puts the names of a program that runs. */
enum { SEEN_PROGRAM = 1, SEEN_INTERPRETER = 2 };

/* False: the record is not whole. `size` is what the ring says it holds. */
bool read_record(const void *bytes, size_t size, struct probed_call *seen);

/* The first part of a kind, and for those that have one, with this address; NULL: there is none. */
const struct probe_part *find_part(const struct probed_call *seen, uint16_t kind, uint64_t address);
const struct probe_part *next_part(const struct probed_call *seen, const struct probe_part *previous);
const uint8_t *part_bytes(const struct probe_part *part);

ssize_t probed_memory(const struct probed_call *seen, uint64_t address, void *into, size_t length);
/* Whether the kernel carried it out. An answer without a beginning is one of the program's own filter. */
bool probed_success(const struct probed_call *seen);
/* Whether a signal ended it before anything was done: the kernel begins it anew, or tells the program EINTR. */
bool probed_interrupted(const struct probed_call *seen);
/* 0, -errno, or WIRE_RESULT_UNKNOWN; WIRE_RESULT_FAILED: it was not carried out, whatever the program was
 * told */
int16_t probed_result(const struct probed_call *seen);
/* Absolute words for a path that starts from a descriptor; false: that descriptor is not known. */
bool probed_words(const struct probed_call *seen, int dir, const char *path, char words[PATH_MAX]);
/* What the caller had open as N, of a path "/proc/self/fd/N". */
bool probed_own_descriptor(const struct probed_call *seen, const char *path, char name[PATH_MAX]);
/* A device as stat(2) tells it, from the number that the kernel has. */
dev_t device_of(uint64_t number);
/* The file of a PART_FILE or PART_PROGRAM. */
void probed_file(const struct probe_part *part, struct resolved_path *place);
/* What the probe alone tells, where that is enough: the file that was opened has the name that was asked for,
 * or the status is that of an entry of a known directory. False: it must be looked up. */
bool probed_place(const struct stop *stop, int dir, const char *path, bool nofollow, struct resolved_path *place);
/* What the call's own answer tells of the place that was looked up after it. */
void probed_outcome(struct stop *stop, enum op op, uint64_t flags, struct resolved_path *place);

#endif
