// with: dns.c
/* A message of a name server with any bytes: what is told is printable and no longer than a name or an address is. */
#include <arpa/inet.h>
#include <ctype.h>

#include "fuzz.h"
#include "dns.h"
#include "log.h"

#define QUESTION "\3www\7example\3org\0\0\1\0\1"

static void check(const char *name, const char *address, void *context)
{
    struct in6_addr parsed;
    ++*(size_t *)context;
    CHECK(strlen(name) < 256);
    for (; *name; name++)
        CHECK(isgraph((unsigned char)*name));
    CHECK(inet_pton(strchr(address, ':') ? AF_INET6 : AF_INET, address, &parsed) == 1);
}

static void consume(const uint8_t *bytes, size_t length)
{
    size_t count = 0;
    read_dns_answer(bytes, length, check, &count);
    CHECK(count <= length / 15); /* the least that an answer takes */
}

int main(int argc, char **argv)
{
    static const struct seed seeds[] = {
        SEED("\x12\x34\x81\x80\0\1\0\1\0\0\0\0" QUESTION "\xc0\x0c\0\1\0\1\0\0\0\74\0\4\x5d\xb8\xd8\x22"),
        SEED("\x12\x34\x81\x80\0\1\0\2\0\0\0\0" QUESTION "\xc0\x0c\0\5\0\1\0\0\0\74\0\6\3cdn\xc0\x10"
             "\3cdn\xc0\x10\0\x1c\0\1\0\0\0\74\0\x10\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\1"),
        SEED("\x12\x34\x81\x80\0\1\0\1\0\0\0\0\xc0\x0e\xc0\x0c\0\1\0\1\xc0\x0c\0\1\0\1\0\0\0\74\0\4\1\2\3\4"),
        SEED("\0\0\x80\0\0\1\0\1\0\0\0\0\0\0\1\0\1\0\0\1\0\1\0\0\0\0\0\4\1\2\3\4"),
    };
    return fuzz(argc, argv, consume, seeds, sizeof seeds / sizeof *seeds);
}
