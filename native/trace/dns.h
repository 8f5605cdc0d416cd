/* Answers of name servers. */
#ifndef STENO_DNS_H
#define STENO_DNS_H

#include "trace.h"

/* Calls `tell` for every address that a name server's message gives for a name. */
void read_dns_answer(const uint8_t *message, size_t length, void (*tell)(const char *name, const char *address, void *context),
                     void *context);

#endif
