/* SipHash-2-4: a table keyed by what a hostile program chooses needs a hash it cannot aim at. */
#include <string.h>

#include "crypto.h"

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

/* ChaCha20 (RFC 8439) as a stream whose keystream position is the file's offset, so that any part can be
 * written or read alone. */
static uint32_t rotate32(uint32_t value, int bits)
{
    return value << bits | value >> (32 - bits);
}

static void quarter(uint32_t state[16], int a, int b, int c, int d)
{
    state[a] += state[b], state[d] = rotate32(state[d] ^ state[a], 16);
    state[c] += state[d], state[b] = rotate32(state[b] ^ state[c], 12);
    state[a] += state[b], state[d] = rotate32(state[d] ^ state[a], 8);
    state[c] += state[d], state[b] = rotate32(state[b] ^ state[c], 7);
}

static uint32_t little_endian(const uint8_t *bytes)
{
    return bytes[0] | (uint32_t)bytes[1] << 8 | (uint32_t)bytes[2] << 16 | (uint32_t)bytes[3] << 24;
}

static void block(const uint8_t key[32], const uint8_t nonce[12], uint32_t counter, uint8_t out[64])
{
    uint32_t start[16] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};
    for (int i = 0; i < 8; i++)
        start[4 + i] = little_endian(key + 4 * i);
    start[12] = counter;
    for (int i = 0; i < 3; i++)
        start[13 + i] = little_endian(nonce + 4 * i);
    uint32_t state[16];
    memcpy(state, start, sizeof state);
    for (int round = 0; round < 10; round++) {
        quarter(state, 0, 4, 8, 12);
        quarter(state, 1, 5, 9, 13);
        quarter(state, 2, 6, 10, 14);
        quarter(state, 3, 7, 11, 15);
        quarter(state, 0, 5, 10, 15);
        quarter(state, 1, 6, 11, 12);
        quarter(state, 2, 7, 8, 13);
        quarter(state, 3, 4, 9, 14);
    }
    for (int i = 0; i < 16; i++) {
        uint32_t word = state[i] + start[i];
        for (int byte = 0; byte < 4; byte++)
            out[4 * i + byte] = (uint8_t)(word >> (8 * byte));
    }
}

void chacha20_xor(const uint8_t key[32], const uint8_t nonce[12], uint64_t position, uint8_t *data, size_t length)
{
    uint8_t stream[64];
    while (length) {
        size_t skip = position % 64;
        size_t part = 64 - skip < length ? 64 - skip : length;
        block(key, nonce, (uint32_t)(position / 64), stream);
        for (size_t i = 0; i < part; i++)
            data[i] ^= stream[skip + i];
        data += part, position += part, length -= part;
    }
}
