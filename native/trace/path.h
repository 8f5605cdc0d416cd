/* What a path means to the caller: the kernel's own way (path.c), and a shorter one (path_fast.c). */
#ifndef STENO_PATH_H
#define STENO_PATH_H

#include "trace.h"

struct resolved_path {
    char resolved[PATH_MAX];
    char target[PATH_MAX];                  /* of a symbolic link */
    int fd;                                 /* O_PATH on what is there, or -1 */
    int error;                              /* why there is nothing, an errno */
    bool exists;
    struct stat found;
    uint16_t notes;
    bool known_result;                      /* `error` is what the call will meet, too */
    bool compared;                          /* whether it is another place than ours of that name is known */
};

enum { FOLLOW = 0, NOFOLLOW = 1 };

/* Looks at what `path` means to the caller. `dir` is a descriptor of the caller's, or AT_FDCWD. */
void resolve(struct stop *stop, int dir, const char *path, int nofollow, struct resolved_path *place);
/* As openat2(2) with its own rules of resolving. */
void resolve_as_asked(struct stop *stop, int dir, const char *path, uint64_t rules, int nofollow, struct resolved_path *place);
/* `place` is a link that leads nowhere; it becomes the place where it would lead. */
void resolve_dangling(struct stop *stop, struct resolved_path *place);
/* The file behind a descriptor of the caller's. */
void resolve_descriptor(struct stop *stop, int fd, struct resolved_path *place);
/* The file of a handle in the caller's memory; `mount` is the descriptor that goes with it. */
void resolve_handle(struct stop *stop, int mount, uint64_t address, struct resolved_path *place);
/* Whether a path means something else to each process, as /dev/stdout does. */
bool differs_by_caller(const struct stop *stop, const char *path);
void close_place(struct resolved_path *place);
/* Opens what is there to read it, and leaves the time of its last access as it is where that is permitted; a
 * descriptor or -1. */
int open_for_us(const struct resolved_path *place);

/* How long what was just learned is believed: docs/coverage.md says so. */
#define CACHE_NS 50000000u

/* --- shared by the two ways --- */

#define LOOK (O_PATH | O_CLOEXEC)

/* Nothing is known of it. */
void start_place(const struct stop *stop, struct resolved_path *place);
/* Paths that mean something else to each process. Rewrites `path` to what it means to the caller. */
const char *as_the_caller(const struct stop *stop, const char *path, char rewritten[PATH_MAX]);
/* The link in /proc that leads to a directory of the caller's. */
void base_path(const struct stop *stop, int dir, char base[64]);
ssize_t read_link(const char *path, char into[PATH_MAX]);
/* The name of what is open, as the kernel has it now. */
bool name_of(const struct stop *stop, int fd, struct resolved_path *place);
/* What is open is what is there; `place` has the descriptor from now on. */
void take(const struct stop *stop, int dir, const char *path, int fd, struct resolved_path *place);
void read_target(struct resolved_path *place);
/* Another root or mount namespace is no other place if the name means the same file to us. */
void compare_roots(struct resolved_path *place, const char *path, const struct stat *found);

/* One look instead of several, where that is enough. False: nothing was found out, and `place` is as it was. */
bool resolve_by_words(const struct stop *stop, int dir, const char *path, struct resolved_path *place);

/* Whether a name is that of a file or directory. */
bool is_called(const char *name, const struct stat *found);

#endif
