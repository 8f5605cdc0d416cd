/* Looks at a file with one call whose answer has a place beside or upon the path: `overlapping CALL PATH DISTANCE...`.
 * Once for each DISTANCE: so many bytes after the path does the answer begin; it may be negative. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MIDDLE 4096
#define LINK_ROOM 64

static long look(const char *call, const char *path, char *answer)
{
    if (strcmp(call, "readlink") == 0)
        return syscall(SYS_readlinkat, AT_FDCWD, path, answer, LINK_ROOM);
    if (strcmp(call, "stat") == 0)
        return syscall(SYS_newfstatat, AT_FDCWD, path, answer, 0);
    if (strcmp(call, "statx") == 0)
        return syscall(SYS_statx, AT_FDCWD, path, 0, STATX_BASIC_STATS, answer);
    return strcmp(call, "statfs") == 0 ? syscall(SYS_statfs, path, answer) : -1;
}

int main(int argc, char **argv)
{
    static char room[2 * MIDDLE];
    for (int i = 3; i < argc; i++) {
        strcpy(room + MIDDLE, argv[2]);
        if (look(argv[1], room + MIDDLE, room + MIDDLE + atoi(argv[i])) < 0) {
            perror(argv[1]);
            return 1;
        }
    }
    return 0;
}
