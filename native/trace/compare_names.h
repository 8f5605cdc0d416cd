/* What a stop named, compared with what the probe saw. */
#ifndef STENO_COMPARE_NAMES_H
#define STENO_COMPARE_NAMES_H

#include "trace.h"

enum likeness { ALIKE, OTHER_WORDS, OTHER_FILE, OTHER_INTERPRETER };

void note_words(struct stop *stop, int argument, const char *words, size_t length);
void note_place(struct stop *stop, const struct resolved_path *place, bool is_interpreter);
enum likeness compare_names(const struct run *run, const struct named *named, const struct probed_call *seen);

#endif
