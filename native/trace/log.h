/* The events, states and strings of the run. */
#ifndef STENO_LOG_H
#define STENO_LOG_H

#include "trace.h"

int start_log(struct run *run);
/* A new event of this stop, with time, process, call and notes filled in. */
struct wire_event event_of(const struct stop *stop, enum op op);
uint32_t intern(struct run *run, const char *bytes, size_t length);
uint32_t intern_text(struct run *run, const char *text);
/* Stands for the bytes while the run lasts; never 0. */
uint64_t fingerprint(const struct run *run, const char *bytes, size_t length);
uint32_t intern_state(struct run *run, uint32_t resolved, const struct wire_state *state);
/* Appends an event of this stop, and remembers where it lies. */
void log_event(struct stop *stop, const struct wire_event *event);
/* The caller was killed before it was answered. */
void call_never_ran(struct stop *stop);
/* Appends; returns where the event lies, for `amend_result`, or UINT64_MAX when it was lost. */
uint64_t append_event(struct run *run, const struct wire_event *event);
void amend_result(struct run *run, uint64_t at, int16_t result);
void end_log(struct run *run);
const uint8_t *spool_key(const struct run *run);
void count(uint64_t *counter);
/* A call that is not decoded. */
void count_call(const struct stop *stop);

bool read_event(struct run *run, uint64_t at, struct wire_event *event);
/* The result, and that the other witness saw it as well or should have. */
void amend_witnessed(struct run *run, uint64_t at, int16_t result, uint16_t notes);

#endif
