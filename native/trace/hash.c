/* SipHash-2-4: a table keyed by what a hostile program chooses needs a hash it cannot aim at. */
#include <string.h>

#include "trace.h"

/* Left to itself the compiler calls these for every word. */
#define INLINE static inline __attribute__((always_inline))

INLINE uint64_t rotate(uint64_t value, int bits)
{
    return value << bits | value >> (64 - bits);
}

INLINE void mix(uint64_t v[4])
{
    v[0] += v[1], v[1] = rotate(v[1], 13) ^ v[0], v[0] = rotate(v[0], 32);
    v[2] += v[3], v[3] = rotate(v[3], 16) ^ v[2];
    v[0] += v[3], v[3] = rotate(v[3], 21) ^ v[0];
    v[2] += v[1], v[1] = rotate(v[1], 17) ^ v[2], v[2] = rotate(v[2], 32);
}

INLINE void absorb(uint64_t v[4], uint64_t word)
{
    v[3] ^= word;
    mix(v), mix(v);
    v[0] ^= word;
}

uint64_t siphash(const uint8_t key[16], const void *data, size_t length)
{
    uint64_t k[2];
    memcpy(k, key, sizeof k);
    uint64_t v[4] = {k[0] ^ 0x736f6d6570736575ull, k[1] ^ 0x646f72616e646f6dull, k[0] ^ 0x6c7967656e657261ull,
                     k[1] ^ 0x7465646279746573ull};
    const uint8_t *bytes = data;
    size_t left = length;
    for (; left >= 8; left -= 8, bytes += 8) {
        uint64_t word;
        memcpy(&word, bytes, 8);
        absorb(v, word);
    }
    uint64_t last = (uint64_t)length << 56;
    memcpy(&last, bytes, left); /* at most seven low bytes; the length stays on top */
    absorb(v, last);
    v[2] ^= 0xff;
    mix(v), mix(v), mix(v), mix(v);
    return v[0] ^ v[1] ^ v[2] ^ v[3];
}
