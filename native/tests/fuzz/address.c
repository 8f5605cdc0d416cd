// with: text.c
/* A socket address of any bytes becomes text that fits. */
#include "fuzz.h"
#include "text.h"

static void consume(const uint8_t *bytes, size_t length)
{
    size_t size = length ? bytes[0] % 160u + 1 : 1; /* room for the text, from none to plenty */
    char *into = malloc(size);
    CHECK(into);
    size_t used = format_address(bytes + (length > 0), length - (length > 0), into, size);
    CHECK(used <= size);
    CHECK(size < 10 || memcmp(into, "unix:", 5) == 0 || memcmp(into, "inet", 4) == 0 || memcmp(into, "family:", 7) == 0 ||
          memcmp(into, "netlink:", 8) == 0);
    free(into);
}

int main(int argc, char **argv)
{
    static const struct seed seeds[] = {
        SEED("\x9f\x02\x00\x00\x50\x01\x02\x03\x04\0\0\0\0\0\0\0\0"),
        SEED("\x9f\x0a\x00\x01\xbb\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\x01\0\0\0\0"),
        SEED("\x9f\x01\x00/run/user/1000/bus"),
        SEED("\x9f\x01\x00\0/tmp/.X11-unix/X0"),
        SEED("\x9f\x10\x00\0\0\0\0\0\0\0\0\0\0"),
        SEED(""),
    };
    return fuzz(argc, argv, consume, seeds, sizeof seeds / sizeof *seeds);
}
