/* ChaCha20, and SipHash for tables keyed by what a hostile program chooses. */
#ifndef STENO_CRYPTO_H
#define STENO_CRYPTO_H

#include "trace.h"

void chacha20_xor(const uint8_t key[32], const uint8_t nonce[12], uint64_t position, uint8_t *data, size_t length);
uint64_t siphash(const uint8_t key[16], const void *data, size_t length);

#endif
