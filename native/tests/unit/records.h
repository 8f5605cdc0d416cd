/* Records as the probe sends them, made by hand: a header, the probe's own eight bytes, and parts. */
#ifndef STENO_RECORDS_H
#define STENO_RECORDS_H

#include <string.h>

#include "../check.h"
#include "probe_record.h"

#define OWN_BYTES 8u

struct made {
    size_t size;
    uint64_t bytes[8192];
};

static inline struct probe_record *header_of(struct made *made)
{
    return (struct probe_record *)made->bytes;
}

static inline void begin_made(struct made *made, int64_t result)
{
    memset(made, 0, sizeof *made);
    made->size = sizeof(struct probe_record) + OWN_BYTES;
    *header_of(made) = (struct probe_record){.size = sizeof(struct probe_record), .kind = PROBE_CALL, .result = result};
}

static inline struct probe_part *add_made(struct made *made, uint16_t kind, uint16_t flags, uint64_t address, const void *bytes,
                                          size_t length)
{
    size_t room = sizeof(struct probe_part) + ((length + 7) & ~(size_t)7);
    struct probe_part *part = (struct probe_part *)((uint8_t *)made->bytes + made->size);
    CHECK(made->size + room <= sizeof made->bytes);
    *part = (struct probe_part){.kind = kind, .flags = flags, .length = (uint32_t)length, .address = address};
    memcpy(part + 1, bytes, length);
    made->size += room;
    header_of(made)->size += (uint32_t)room;
    return part;
}

static inline void add_file_made(struct made *made, uint16_t kind, uint16_t flags, uint64_t address,
                                 const struct probe_file *file, const char *name)
{
    uint8_t bytes[sizeof *file + PATH_MAX + 8];
    memcpy(bytes, file, sizeof *file);
    memcpy(bytes + sizeof *file, name, strlen(name));
    add_made(made, kind, flags, address, bytes, sizeof *file + strlen(name));
}

static inline struct probed_call seen_of(const struct made *made)
{
    struct probed_call seen;
    CHECK(read_record(made->bytes, made->size, &seen));
    return seen;
}

#endif
