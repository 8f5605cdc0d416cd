/* ChaCha20 (RFC 8439) as a stream whose keystream position is the file's offset, so that any part can be written
 * or read alone. */
#include <string.h>

#include "trace.h"

static uint32_t rotate(uint32_t value, int bits)
{
    return value << bits | value >> (32 - bits);
}

static void quarter(uint32_t state[16], int a, int b, int c, int d)
{
    state[a] += state[b], state[d] = rotate(state[d] ^ state[a], 16);
    state[c] += state[d], state[b] = rotate(state[b] ^ state[c], 12);
    state[a] += state[b], state[d] = rotate(state[d] ^ state[a], 8);
    state[c] += state[d], state[b] = rotate(state[b] ^ state[c], 7);
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
