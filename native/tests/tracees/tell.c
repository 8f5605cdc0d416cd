/* The frame around the cases: `TRACEE --list` names them with their calls, `TRACEE CASE DIRECTORY` runs one. */
#define _GNU_SOURCE
#include "tell.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

extern const struct one_case *const __start_cases[];
extern const struct one_case *const __stop_cases[];

char scratch[1 << 16];
const char *program;
static const char *directory;
static int outcome;

char *in(const char *name)
{
    static char kept[8][PATH_MAX];
    static unsigned next;
    char *path = kept[next++ % 8];
    if ((size_t)snprintf(path, PATH_MAX, "%s/%s", directory, name) >= PATH_MAX)
        abort();
    return path;
}

long attempt(long result)
{
    outcome = result < 0 ? errno : 0;
    return result;
}

long must(long result)
{
    if (result < 0) {
        dprintf(2, "tracee: %s\n", strerrorname_np(errno));
        _exit(99);
    }
    return result;
}

/* One write for one line, so that lines of several processes never mix. */
static void put(const char *line, const char *end)
{
    char text[3 * PATH_MAX];
    size_t used = 0;
    for (; *line && used < sizeof text - PATH_MAX - 64; line++) {
        if (*line == '@')
            used += (size_t)sprintf(text + used, "%s", directory);
        else
            text[used++] = *line;
    }
    used += (size_t)sprintf(text + used, "%s\n", end);
    if (write(1, text, used) != (ssize_t)used)
        _exit(98);
}

void say(const char *line)
{
    char end[40];
    snprintf(end, sizeof end, " = %s", outcome ? strerrorname_np(outcome) : "0");
    put(line, end);
}

void say_only(const char *line)
{
    put(line, "");
}

void skip(const char *why)
{
    dprintf(1, "skip %s\n", why);
    _exit(0);
}

void await(pid_t child)
{
    int status;
    while (waitpid(child, &status, __WALL) < 0)
        if (errno != EINTR)
            must(-1);
    if (WIFEXITED(status))
        dprintf(1, "exit %d\n", WEXITSTATUS(status));
    else
        dprintf(1, "killed %d\n", WTERMSIG(status));
}

pid_t child_of(int (*run)(void))
{
    pid_t child = (pid_t)must(fork());
    if (child == 0)
        _exit(run());
    say_only("fork");
    return child;
}

static int list(void)
{
    for (const struct one_case *const *entry = __start_cases; entry < __stop_cases; entry++)
        printf("%s\t%s\n", (*entry)->name, (*entry)->calls);
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 2 && !strcmp(argv[1], "--list"))
        return list();
    if (argc < 3)
        return 2;
    program = argv[0];
    directory = argv[2];
    for (const struct one_case *const *entry = __start_cases; entry < __stop_cases; entry++) {
        if (!strcmp((*entry)->name, argv[1])) {
            (*entry)->run();
            return 0;
        }
    }
    return 2;
}
