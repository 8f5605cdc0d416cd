/* Usage: swapping open|exec TIMES FIRST SECOND
 * Opens or runs a path whose words another thread swaps all the time: FIRST and SECOND, of equal length. Prints how often a program
 * that ran ended with 0. A thread that is not the first one runs the programs. */
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char path[256];
static char *const *words;

static void *swap(void *unused)
{
    for (size_t i = 0;; i++) {
        const char *from = words[i % 2];
        for (size_t at = 0; from[at]; at++)
            ((volatile char *)path)[at] = from[at];
    }
    return unused;
}

static void *run(void *unused)
{
    char *const arguments[] = {"swapped", NULL};
    for (int tries = 0; tries < 1000; tries++)
        execv(path, arguments);
    _exit(2);
    return unused;
}

int main(int count, char **arguments)
{
    pthread_t swapper, runner;
    int succeeded = 0;
    if (count != 5 || strlen(arguments[3]) >= sizeof path || strlen(arguments[3]) != strlen(arguments[4]))
        return 2;
    words = arguments + 3;
    strcpy(path, words[0]);
    for (int i = 0, times = atoi(arguments[2]); i < times; i++) {
        if (strcmp(arguments[1], "open") == 0) {
            if (i == 0 && pthread_create(&swapper, NULL, swap, NULL) != 0)
                return 2;
            int fd = open(path, O_WRONLY);
            if (fd >= 0)
                close(fd);
            continue;
        }
        pid_t child = fork();
        if (child == 0) {
            if (pthread_create(&swapper, NULL, swap, NULL) != 0 || pthread_create(&runner, NULL, run, NULL) != 0)
                _exit(2);
            pause();
        }
        int status = 1;
        waitpid(child, &status, 0);
        succeeded += status == 0;
    }
    printf("%d\n", succeeded);
    return 0;
}
