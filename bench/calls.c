// Loops that ask the kernel for one thing again and again, and measure themselves.
//
// calls stat|open|mix|spin|flood|lines COUNT [DIRECTORY] [RESULT]: nanoseconds per turn go into the file RESULT
// last, so that writing them is not measured. DIRECTORY holds the files 0, 1, 2... that stat, open and mix look at.

#define _GNU_SOURCE
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { FILES = 1000, NAME = 16, BLOCK = 4096 };

static char names[FILES][NAME];
static const char line[] = "ok 1234 - the quick brown fox jumps over it\n";
static char block[BLOCK];

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static int look(const char *name) {
    struct stat found;
    return stat(name, &found);
}

static int open_and_close(const char *name) {
    int fd = open(name, O_RDONLY | O_CLOEXEC);
    return fd < 0 ? -1 : close(fd);
}

static int spin(void) {
    static volatile unsigned long state = 88172645463325252UL;
    for (int turn = 0; turn < 1000; turn++) {
        unsigned long next = state;
        next ^= next << 13;
        next ^= next >> 7;
        next ^= next << 17;
        state = next;
    }
    return 0;
}

static int put(const char *from, size_t size) {
    while (size > 0) {
        ssize_t written = write(STDOUT_FILENO, from, size);
        if (written < 0) return -1;
        from += written;
        size -= (size_t)written;
    }
    return 0;
}

static int turn(const char *mode, long number) {
    const char *name = names[number % FILES];
    switch (mode[0]) {
        case 's': return mode[1] == 't' ? look(name) : spin();
        case 'o': return open_and_close(name);
        case 'm': return number % 2 ? look(name) : open_and_close(name);
        case 'f': return put(block, sizeof block);
        case 'l': return put(line, sizeof line - 1);
        default: return -1;
    }
}

int main(int count, char **words) {
    if (count < 3) return 64;
    long turns = atol(words[2]);
    int result = count > 4 ? open(words[4], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644) : -1;
    if (count > 3 && chdir(words[3]) != 0) return 65;
    for (int file = 0; file < FILES; file++) snprintf(names[file], NAME, "%d", file);
    for (size_t at = 0; at < BLOCK; at++) block[at] = line[at % (sizeof line - 1)];

    double begin = seconds();
    for (long number = 0; number < turns; number++) {
        if (turn(words[1], number) != 0) return 66;
    }
    double nanoseconds = (seconds() - begin) * 1e9 / (double)(turns > 0 ? turns : 1);
    return result < 0 || dprintf(result, "%.1f\n", nanoseconds) > 0 ? 0 : 67;
}
