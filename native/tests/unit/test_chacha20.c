// with: crypto.c
/* ChaCha20 against RFC 8439, and every part of a stream against the whole. */
#include <string.h>

#include "../check.h"
#include "crypto.h"

static void from_hex(const char *hex, uint8_t *bytes)
{
    for (size_t i = 0; hex[2 * i]; i++) {
        char pair[3] = {hex[2 * i], hex[2 * i + 1], 0};
        bytes[i] = (uint8_t)strtoul(pair, NULL, 16);
    }
}

static void counting_key(uint8_t key[32])
{
    for (int i = 0; i < 32; i++)
        key[i] = (uint8_t)i;
}

/* RFC 8439, 2.3.2: one block, counter 1. */
static void the_block_of_the_standard(void)
{
    uint8_t key[32], nonce[12], expected[64], stream[64] = {0};
    counting_key(key);
    from_hex("000000090000004a00000000", nonce);
    from_hex("10f1e7e4d13b5915500fdd1fa32071c4c7d1f4c733c068030422aa9ac3d46c4e"
             "d2826446079faa0914c2d705d98b02a2b5129cd1de164eb9cbd083e8a2503c4e",
             expected);
    chacha20_xor(key, nonce, 64, stream, sizeof stream);
    CHECK(memcmp(stream, expected, sizeof stream) == 0);
}

/* RFC 8439, 2.4.2: a text, from counter 1. */
static void the_text_of_the_standard(void)
{
    uint8_t key[32], nonce[12], expected[114];
    char text[] = "Ladies and Gentlemen of the class of '99: If I could offer you only one tip for the future, sunscreen "
                  "would be it.";
    counting_key(key);
    from_hex("000000000000004a00000000", nonce);
    from_hex("6e2e359a2568f98041ba0728dd0d6981e97e7aec1d4360c20a27afccfd9fae0b"
             "f91b65c5524733ab8f593dabcd62b3571639d624e65152ab8f530c359f0861d8"
             "07ca0dbf500d6a6156a38e088a22b65e52bc514d16ccf806818ce91ab7793736"
             "5af90bbf74a35be6b40b8eedf2785e42874d",
             expected);
    CHECK(strlen(text) == sizeof expected);
    chacha20_xor(key, nonce, 64, (uint8_t *)text, sizeof expected);
    CHECK(memcmp(text, expected, sizeof expected) == 0);
}

/* RFC 8439, A.1, vectors 1 and 2: everything zero, counters 0 and 1. */
static void the_zeros_of_the_standard(void)
{
    uint8_t key[32] = {0}, nonce[12] = {0}, expected[128], stream[128] = {0};
    from_hex("76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"
             "da41597c5157488d7724e03fb8d84a376a43b8f41518a11cc387b669b2ee6586"
             "9f07e7be5551387a98ba977c732d080dcb0f29a048e3656912c6533e32ee7aed"
             "29b721769ce64e43d57133b074d839d531ed1f28510afb45ace10a1f4b794d6f",
             expected);
    chacha20_xor(key, nonce, 0, stream, sizeof stream);
    CHECK(memcmp(stream, expected, sizeof stream) == 0);
}

static void any_part_is_that_part_of_the_whole(void)
{
    enum { LENGTH = 300 };
    uint8_t key[32], nonce[12] = {7}, whole[LENGTH] = {0}, part[LENGTH];
    counting_key(key);
    chacha20_xor(key, nonce, 0, whole, LENGTH);
    for (size_t start = 0; start <= LENGTH; start++) {
        for (size_t end = start; end <= LENGTH; end++) {
            memset(part, 0, sizeof part);
            chacha20_xor(key, nonce, start, part + start, end - start);
            CHECK(memcmp(part + start, whole + start, end - start) == 0);
            CHECK(start == 0 || part[start - 1] == 0);
            CHECK(end == LENGTH || part[end] == 0);
        }
    }
}

static void twice_is_not_at_all(void)
{
    uint8_t key[32], nonce[12] = {1};
    char text[] = "what was written";
    counting_key(key);
    chacha20_xor(key, nonce, 4096 - 5, (uint8_t *)text, sizeof text);
    CHECK(memcmp(text, "what was written", sizeof text) != 0);
    chacha20_xor(key, nonce, 4096 - 5, (uint8_t *)text, sizeof text);
    CHECK(memcmp(text, "what was written", sizeof text) == 0);
}

int main(void)
{
    the_block_of_the_standard();
    the_text_of_the_standard();
    the_zeros_of_the_standard();
    any_part_is_that_part_of_the_whole();
    twice_is_not_at_all();
    return 0;
}
