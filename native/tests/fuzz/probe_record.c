// with: probe_record.c text.c
/* A record of the ring with any bytes: every part that is told of lies in it, and every reading of it ends. */
#include <errno.h>
#include <fcntl.h>

#include "fuzz.h"
#include "../unit/no_process.h"
#include "../unit/records.h"
#include "path.h"
#include "probe_record.h"
#include "procfs.h"
#include "trace.h"

static void look_at(const struct probed_call *seen, const struct probe_part *part)
{
    const uint8_t *end = seen->parts + seen->size;
    static char words[PATH_MAX];
    char into[64];
    CHECK(part_bytes(part) + part->length <= end);
    const struct stop stop = {.probed = seen};
    ssize_t got = probed_memory(seen, part->address, into, sizeof into);
    CHECK(got == -EFAULT || (got >= 0 && got <= (ssize_t)sizeof into));
    got = caller_string(&stop, part->address, into, sizeof into);
    CHECK(got < 0 || (size_t)got == strlen(into));
    if (probed_words(seen, (int)part->address, "a/../b", words))
        CHECK(strlen(words) < PATH_MAX);
    struct resolved_path place = {.fd = -1};
    probed_file(part, &place);
    CHECK(memchr(place.resolved, 0, sizeof place.resolved));
}

static void consume(const uint8_t *bytes, size_t length)
{
    static const enum op ops[] = {OP_STAT, OP_OPEN, OP_CHDIR, OP_MKDIR, OP_UNLINK};
    struct probed_call seen;
    if (!read_record(bytes, length, &seen))
        return;
    CHECK(seen.parts + seen.size <= bytes + length);
    for (const struct probe_part *part = NULL; (part = next_part(&seen, part));)
        look_at(&seen, part);
    static struct run run;
    struct call call = {.dir = 0, .path = 1, .flags = 2};
    struct stop stop = {.run = &run, .probed = &seen, .call = &call, .number = seen.record->call};
    memcpy(stop.args, seen.record->args, sizeof stop.args);
    for (size_t i = 0; i < sizeof ops / sizeof *ops; i++) {
        struct resolved_path place = {.fd = -1, .exists = i % 2 == 0};
        call.op = ops[i];
        if (probed_place(&stop, 0, i % 2 ? "file" : "/home/ada/file", i % 2, &place))
            CHECK(memchr(place.resolved, 0, sizeof place.resolved));
        probed_outcome(&stop, ops[i], stop.args[2], &place);
        CHECK(memchr(place.resolved, 0, sizeof place.resolved));
    }
    int16_t result = probed_result(&seen);
    CHECK(result == 0 || (result < 0 && result > -4096) || result == WIRE_RESULT_UNKNOWN || result == WIRE_RESULT_FAILED);
}

int main(int argc, char **argv)
{
    static struct made opened, looked, ran;
    const struct probe_file file = {.dev = 8u << 20, .ino = 5, .mode = S_IFREG | 0600, .created = 1};
    const struct stat status = {.st_ino = 5};
    begin_made(&opened, 3);
    header_of(&opened)->args[1] = 4096, header_of(&opened)->call = 257;
    add_made(&opened, PART_MEMORY, 0, 4096, "file", 5);
    add_made(&opened, PART_BASE, 0, 0, "/home/ada", 9);
    add_file_made(&opened, PART_FILE, 0, 3, &file, "/home/ada/file");
    begin_made(&looked, 0);
    header_of(&looked)->args[1] = 4096, header_of(&looked)->args[2] = 8192, header_of(&looked)->call = 262;
    add_made(&looked, PART_MEMORY, NAME_CUT, 4096, "/a/b", 5);
    add_made(&looked, PART_MEMORY, 0, 8192, &status, sizeof status);
    add_made(&looked, PART_BASE, NAME_DELETED, (uint64_t)(int64_t)AT_FDCWD, "/gone", 5);
    begin_made(&ran, 0);
    add_made(&ran, PART_MEMORY, 0, SEEN_PROGRAM, "./run", 6);
    add_file_made(&ran, PART_PROGRAM, NAME_DETACHED, 0, &file, "/memfd:run");
    add_made(&ran, PART_ARGUMENTS, 0, 0, "run\0-v", 7);
    const struct seed seeds[] = {{opened.bytes, opened.size}, {looked.bytes, looked.size}, {ran.bytes, ran.size}};
    return fuzz(argc, argv, consume, seeds, sizeof seeds / sizeof *seeds);
}
