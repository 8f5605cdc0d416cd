/* Handlers for tests that need the call tables and serve nobody. */
#ifndef STENO_HANDLERS_H
#define STENO_HANDLERS_H

#include "trace.h"

#define HANDLER(name)            \
    void name(struct stop *stop) \
    {                            \
        (void)stop;              \
    }

HANDLERS(HANDLER)

#endif
