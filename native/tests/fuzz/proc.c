// with: text.c
/* The text of /proc/PID/{stat,status} and of /proc/TID/children, with names that a program chose. */
#include "fuzz.h"
#include "text.h"

static void consume(const uint8_t *bytes, size_t length)
{
    char *text = malloc(length + 1);
    struct birth birth = {0};
    CHECK(text);
    memcpy(text, bytes, length);
    text[length] = 0;
    CHECK(read_thread_group_text(text) == 0 || strstr(text, "\nTgid:"));
    const char *rest = text;
    for (pid_t child; (child = next_child(&rest));)
        CHECK(child > 0 && rest <= text + length);
    (void)read_birth_text(text, &birth); /* it may be any; it must only read within the text */
    free(text);
}

int main(int argc, char **argv)
{
    static const struct seed seeds[] = {
        SEED("1234 (sh) S 1 1234 1234 34816 1234 4194304 1 2 3 4 5 6 7 8 20 0 1 0 998877 2572288 200 18446744073709551615 "
             "94 95 140722 0 0 0 0 0 65538 1 0 0 17 0 0 0 0 0 0 1 2 3 4 5 6 7 256\n"),
        SEED("7 (a) b) (c) Z 1 1 1 0 -1 4 0 0 0 0 0 0 0 0 20 0 1 0 5 0 0\n"),
        SEED("Name:\tsh\nUmask:\t0022\nState:\tS (sleeping)\nTgid:\t4242\nNgid:\t0\nPid:\t4243\n"),
        SEED("12 345 67890 4194304 "),
    };
    return fuzz(argc, argv, consume, seeds, sizeof seeds / sizeof *seeds);
}
