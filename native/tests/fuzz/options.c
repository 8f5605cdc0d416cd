// with: options.c
/* Any argument list: it is understood or it is not; what is understood is whole. */
#include <getopt.h>

#include "fuzz.h"
#include "log.h"

#define MOST_WORDS 200

/* The input's NULs end its words. */
static void consume(const uint8_t *bytes, size_t length)
{
    char *text = malloc(length + 1), *words[MOST_WORDS + 2] = {(char[]){"steno-trace"}};
    int count = 1;
    CHECK(text);
    memcpy(text, bytes, length);
    text[length] = 0;
    for (size_t at = 0; at < length && count < MOST_WORDS; at += strlen(text + at) + 1)
        words[count++] = text + at;
    struct options options;
    optind = 0; /* getopt begins anew */
    opterr = 0;
    enum wish wish = read_options(count, words, &options);
    if (wish == WISH_RUN) {
        CHECK(options.status >= 0 && options.leash >= 0 && options.spool >= 0 && options.key >= 0);
        CHECK(options.command > words && options.command < words + count && options.command[0] && options.cwd);
    }
    int ignored = 0;
    while (options.ignored[ignored])
        ignored++;
    CHECK(ignored <= count);
    free(options.ignored);
    free(options.store_links);
    free(text);
}

int main(int argc, char **argv)
{
    static const struct seed seeds[] = {
        SEED("--status\0" "0\0--leash\0" "1\0--spool\0" "2\0--key\0" "0\0--origin\0" "123\0--cwd\0/\0--\0true"),
        SEED("--status=1\0--leash=1\0--spool=1\0--key=1\0--stdin\0" "0\0--stdout\0" "1\0--stderr\0" "2\0--max-blob\0" "64\0true\0-x"),
        SEED("--ignore\0/tmp\0--ignore\0/var\0--allow-io-uring\0--split\0" "1\0--terminal\0" "2\0--stat\0-1\0cmd"),
        SEED("--store\0" "1\0--run-id\0x\0--keys\0" "2\0--store-link\0/a\0--store-link\0/b"),
        SEED("--probe"),
    };
    return fuzz(argc, argv, consume, seeds, sizeof seeds / sizeof *seeds);
}
