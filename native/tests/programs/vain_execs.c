/* Executes a program that is not there, as fast as it can: `vain_execs TIMES PATH`. */
#include <stdlib.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    for (int left = atoi(argv[1]); left > 0; left--)
        execv(argv[2], argv + 2);
    return 0;
}
