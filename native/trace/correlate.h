/* Each stop of the filter, and what the probe saw of the same call. */
#ifndef STENO_CORRELATE_H
#define STENO_CORRELATE_H

#include "trace.h"

struct correlation *start_correlation(void);
/* A stop is about to be answered: the probe must tell of it. */
void expect_probe(struct stop *stop);
/* It will not: the caller was killed before. */
void forget_expected(const struct stop *stop);
enum verdict { NOT_STOPPED, AGREED, SWAPPED, RUN_BY_ANOTHER };
/* The probe tells of a call that is over. AGREED: the filter stopped it, and its events have the result now.
 * SWAPPED: it stopped another name, and what the probe saw is yet to be told. RUN_BY_ANOTHER: the program is
 * the same, its interpreter is not. */
enum verdict correlate(struct run *run, pid_t tid, uint32_t number, bool compat, uint64_t end_ns, int16_t result,
                       const struct probed_call *seen);
/* The same, of a program that runs: any of the calls that can bring it about. */
enum verdict correlate_exec(struct run *run, pid_t tid, uint64_t end_ns, const struct probed_call *seen);
/* The thread is gone; what it was stopped for and never ended was seen by the filter alone. */
void settle_thread(struct run *run, pid_t tid);
/* The probe told all it will, up to this time: what it should have told of and did not was seen by the filter
 * alone. */
void settle_all(struct run *run, uint64_t until_ns, bool (*is_alive)(pid_t tid));

#endif
