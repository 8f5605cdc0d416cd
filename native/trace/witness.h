/* Tells what the probe saw: a record becomes events. */
#ifndef STENO_WITNESS_H
#define STENO_WITNESS_H

#include "seen.h"

struct witness;

/* --- recent.c */
struct recent *start_remembering(void);
/* True: the same was just told, and is told again. */
bool tell_again(struct recent *recent, struct stop *stop);
/* What was told of the call that was just asked for, which began at that age. */
void remember(struct recent *recent, const struct stop *stop, uint64_t age);

struct witness *start_witness(void);
void tell_record(struct run *run, struct witness *witness, const struct seen *seen);
/* Tells what waited for a call that has not come. */
void end_witness(struct run *run, struct witness *witness);

/* on_process.c: the interpreter of a script that runs, as the probe has it. */
void tell_what_ran(struct stop *stop);

#endif
