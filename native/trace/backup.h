/* Contents as they were, kept before the run changes them. */
#ifndef STENO_BACKUP_H
#define STENO_BACKUP_H

#include "trace.h"

struct backups *start_backups(void);
/* Fills `blob` and `content` of a state. Called before a call that may change what is there. */
void backup_content(struct run *run, enum op op, uint64_t flags, const struct resolved_path *place, struct wire_state *state);
/* The same of a file that is only looked at, if the run has changed it under another of its names. */
void recall_backup(struct run *run, const struct resolved_path *place, struct wire_state *state);
/* Nothing is there, and the run is about to make something: whatever it changes there from now on is its own. */
void note_made(struct run *run, const struct resolved_path *place);
/* A name goes along with its directory: what comes to the new one is what the old one had. `to_nothing`: the
 * new directory is not there yet; else the call fails or exchanges, and what will be there is kept once more,
 * at worst for nothing. */
void note_moved(struct run *run, const struct resolved_path *old, const struct resolved_path *new, bool to_nothing);

struct names *start_names(void);
bool is_settled_name(struct names *names, const struct resolved_path *place);
/* The run made what is there. */
bool is_made_name(struct names *names, const struct resolved_path *place);
void settle_name(struct names *names, const struct resolved_path *place);
void settle_made_name(struct names *names, const struct resolved_path *place);
void unsettle_name(struct names *names, const struct resolved_path *place);

#endif
