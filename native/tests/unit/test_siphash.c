// with: crypto.c
/* SipHash-2-4 against the vectors of its authors: key 00..0f, messages 00, 00 01, 00 01 02 ... */
#include <string.h>

#include "../check.h"
#include "crypto.h"

static const uint64_t expected[] = {
    0x726fdb47dd0e0e31, 0x74f839c593dc67fd, 0x0d6c8009d9a94f5a, 0x85676696d7fb7e2d, 0xcf2794e0277187b7,
    0x18765564cd99a68d, 0xcbc9466e58fee3ce, 0xab0200f58b01d137, 0x93f5f5799a932462, 0x9e0082df0ba9e4b0,
    0x7a5dbbc594ddb9f3, 0xf4b32f46226bada7, 0x751e8fbc860ee5fb, 0x14ea5627c0843d90, 0xf723ca908e7af2ee,
    0xa129ca6149be45e5, 0x3f2acc7f57c29bdb, 0x699ae9f52cbe4794, 0x4bc1b3f0968dd39c, 0xbb6dc91da77961bd,
    0xbed65cf21aa2ee98, 0xd0f2cbb02e3b67c7, 0x93536795e3a33e88, 0xa80c038ccd5ccec8, 0xb8ad50c6f649af94,
};

int main(void)
{
    uint8_t key[16];
    for (size_t i = 0; i < sizeof key; i++)
        key[i] = (uint8_t)i;
    for (size_t length = 0; length < sizeof expected / sizeof *expected; length++) {
        uint8_t *message = malloc(length ? length : 1); /* exactly as long, so that a read behind it is seen */
        CHECK(message);
        for (size_t i = 0; i < length; i++)
            message[i] = (uint8_t)i;
        CHECK(siphash(key, message, length) == expected[length]);
        free(message);
    }
    uint8_t other[16] = {1};
    CHECK(siphash(key, "path", 4) != siphash(other, "path", 4));
    CHECK(siphash(key, "path", 4) != siphash(key, "path", 5));
    return 0;
}
