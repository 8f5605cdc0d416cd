/* What the two ways of resolving share: the kernel's own (resolve.c), and the shorter one (by_words.c). */
#ifndef STENO_RESOLVE_H
#define STENO_RESOLVE_H

#include "trace.h"

#define LOOK (O_PATH | O_CLOEXEC)

/* Nothing is known of it. */
void start_place(const struct stop *stop, struct place *place);
/* Paths that mean something else to each process. Rewrites `path` to what it means to the caller. */
const char *as_the_caller(const struct stop *stop, const char *path, char rewritten[PATH_MAX]);
/* The link in /proc that leads to a directory of the caller's. */
void base_path(const struct stop *stop, int dir, char base[64]);
ssize_t read_link(const char *path, char into[PATH_MAX]);
/* The name of what is open, as the kernel has it now. */
bool name_of(const struct stop *stop, int fd, struct place *place);
/* What is open is what is there; `place` has the descriptor from now on. */
void take(const struct stop *stop, int dir, const char *path, int fd, struct place *place);
void read_target(struct place *place);
/* Another root or mount namespace is no other place if the name means the same file to us. */
void compare_roots(struct place *place, const char *path, const struct stat *found);

/* One look instead of several, where that is enough. False: nothing was found out, and `place` is as it was. */
bool resolve_by_words(const struct stop *stop, int dir, const char *path, struct place *place);

/* Whether a name is that of a file or directory. */
bool is_called(const char *name, const struct stat *found);

#endif
