/* Fuzzing with what every compiler has: seeds, changed at random, under the sanitizers.
 *
 * Without arguments: ROUNDS inputs, the same ones every time. With files: each of them once, to see a failure again.
 * A failing input is left in the file `fuzz-failed` of the build directory.
 */
#ifndef STENO_FUZZ_H
#define STENO_FUZZ_H

#include <fcntl.h>
#include <sanitizer/common_interface_defs.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include "../check.h"
#include "log.h"

#define ROUNDS 100000u
#define LARGEST 6000u

struct seed {
    const void *bytes;
    size_t length;
};
#define SEED(text) {text, sizeof text - 1}

typedef void consumer(const uint8_t *bytes, size_t length);

static uint64_t next_random(void)
{
    static uint64_t state = 0x9e3779b97f4a7c15u;
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return state;
}

static size_t below(size_t limit)
{
    return limit ? (size_t)(next_random() % limit) : 0;
}

/* One change: another byte, a bit, a piece doubled, removed, or taken from another place, or the end cut off. */
static size_t change(uint8_t *bytes, size_t length)
{
    static const uint8_t telling[] = {0, 1, 0x7f, 0x80, 0xff, '/', '.', ' ', '\n', '\t', ')', '-', '0', '9', '@', '#', '!'};
    size_t at = below(length), piece = below(length - at) % 64;
    switch (below(6)) {
    case 0:
        if (length)
            bytes[at] = (uint8_t)next_random();
        return length;
    case 1:
        if (length)
            bytes[at] = telling[below(sizeof telling)];
        return length;
    case 2:
        if (length)
            bytes[at] ^= (uint8_t)(1u << below(8));
        return length;
    case 3:
        if (length + piece > LARGEST)
            return length;
        memmove(bytes + at + piece, bytes + at, length - at);
        return length + piece;
    case 4:
        memmove(bytes + at, bytes + at + piece, length - at - piece);
        return length - piece;
    default:
        return below(8) ? length : at;
    }
}

static uint8_t input[LARGEST];
static size_t input_length;

/* Called by a sanitizer that found something, and at every exit. */
static void leave_input(void)
{
    int fd = input_length ? open("build/fuzz-failed", O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : -1;
    if (fd >= 0 && write(fd, input, input_length) == (ssize_t)input_length)
        fputs("the input is in native/build/fuzz-failed\n", stderr);
}

/* Each input lies in memory of exactly its length, so that one byte too many is seen. */
static void consume_exactly(consumer *consume, const uint8_t *bytes, size_t length)
{
    uint8_t *exact = malloc(length ? length : 1);
    CHECK(exact);
    memcpy(exact, bytes, length);
    consume(exact, length);
    free(exact);
}

static int fuzz(int argc, char **argv, consumer *consume, const struct seed *seeds, size_t count)
{
    for (int i = 1; i < argc; i++) {
        int fd = open(argv[i], O_RDONLY | O_CLOEXEC);
        ssize_t length = read(fd, input, sizeof input);
        CHECK(length >= 0);
        close(fd);
        consume_exactly(consume, input, (size_t)length);
    }
    __sanitizer_set_death_callback(leave_input);
    atexit(leave_input);
    for (uint32_t round = 0; argc == 1 && round < ROUNDS; round++) {
        const struct seed *seed = &seeds[below(count)];
        input_length = seed->length;
        memcpy(input, seed->bytes, input_length);
        for (size_t changes = below(12); changes; changes--)
            input_length = change(input, input_length);
        consume_exactly(consume, input, input_length);
    }
    input_length = 0;
    return 0;
}

#endif
