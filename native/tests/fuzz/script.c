// with: text.c
/* The first bytes of a program: whatever they are, the words that come out lie within them. */
#include "fuzz.h"
#include "path_event.h"
#include "text.h"
#include "trace.h"

static void consume(const uint8_t *bytes, size_t length)
{
    if (length > INTERPRETER_LINE)
        length = INTERPRETER_LINE;
    char *line = malloc(length + 1);
    const char *name, *argument;
    CHECK(line);
    memcpy(line, bytes, length);
    if (read_interpreter_line(line, length, &name, &argument)) {
        CHECK(name >= line + 2 && name <= line + length && argument > name && argument <= line + length);
        CHECK(*name && !strpbrk(name, " \t\n") && !strchr(argument, '\n') && !strchr(" \t", *argument) == !!*argument);
    }
    free(line);
}

int main(int argc, char **argv)
{
    static char longest[INTERPRETER_LINE + 44];
    memset(longest, 'x', sizeof longest);
    memcpy(longest, "#!/opt/ ", 8);
    const struct seed seeds[] = {
        SEED("#!/bin/sh\necho"), SEED("#! /usr/bin/env -S python3 -u\t \n"), SEED("#!\n"), SEED("\x7f" "ELF\x02\x01\x01"),
        {longest, sizeof longest},
    };
    return fuzz(argc, argv, consume, seeds, sizeof seeds / sizeof *seeds);
}
