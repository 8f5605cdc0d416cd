/* One check of a test; a failed one names its line and ends the test. */
#ifndef STENO_CHECK_H
#define STENO_CHECK_H

#include <stdio.h>
#include <stdlib.h>

#define CHECK(condition)                                                                 \
    do {                                                                                 \
        if (!(condition)) {                                                              \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);      \
            exit(1);                                                                     \
        }                                                                                \
    } while (0)

#endif
