/* What /proc and the memory of other processes tell. */
#ifndef STENO_PROCFS_H
#define STENO_PROCFS_H

#include "trace.h"

/* Bytes read, or -errno. Never more than asked for. */
ssize_t read_memory(pid_t tid, uint64_t address, void *into, size_t length);
/* A string with its NUL; -errno; -ENAMETOOLONG when there is no NUL within `size`. */
ssize_t read_string(pid_t tid, uint64_t address, char *into, size_t size);
/* One word of a pointer array: 8 bytes, or 4 in a 32-bit program. */
int read_word(const struct stop *stop, uint64_t address, uint64_t *word);
/* Reads a path argument; sets the notes of the stop. False: nothing is known of it (`path` is then empty). */
bool read_path(struct stop *stop, int argument, char path[PATH_MAX]);
/* Whether what was read is the caller's: its number may belong to another process by now. */
bool still_waiting(const struct stop *stop);

/* The same, and what the probe took along of a call that is over. */
ssize_t caller_memory(const struct stop *stop, uint64_t address, void *into, size_t length);
ssize_t caller_string(const struct stop *stop, uint64_t address, char *into, size_t size);

struct birth;
/* How many bytes, ended by NUL; not more than fit. Negative: it is not there. */
ssize_t read_small_file(const char *path, char *into, size_t size);
bool read_birth(pid_t pid, struct birth *birth);
pid_t thread_group(pid_t tid);
bool stacks_are_random(pid_t pid);
/* False: it is in another pid namespace. */
bool sees_our_numbers(pid_t tid);
/* False: it is in another mount namespace, or gone. */
bool sees_our_mounts(pid_t tid);
/* Of one that sees them. False: the kernel refuses it whatever it asks for. */
bool may_change_our_mounts(pid_t tid);

#endif
