/* Asks many times whether a file is there that is not, when told to, and makes no other call that is recorded meanwhile.
 *
 * Reads letters: `f` asks COUNT times, `m` makes one call that is counted and changes nothing; each is answered with itself.
 * At the end of its input it ends at once. usage: flood COUNT PATH */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/fsuid.h>
#include <sys/stat.h>
#include <unistd.h>

static void ask(long count, const char *path)
{
    struct stat found;
    for (; count > 0; count--)
        (void)!fstatat(AT_FDCWD, path, &found, 0);
}

int main(int argc, char **argv)
{
    char letter;
    while (argc == 3 && read(0, &letter, 1) == 1) {
        if (letter == 'f')
            ask(atol(argv[1]), argv[2]);
        else
            (void)setfsuid((uid_t)-1);
        (void)!write(1, &letter, 1);
    }
    _exit(0); /* without what a library does at the end */
}
