/* Text that says something, read without a look at anything. Pure. */
#ifndef STENO_TEXT_H
#define STENO_TEXT_H

#include "trace.h"

/* Writes a socket address as text; returns its length. Unix paths keep their bytes. */
size_t format_address(const void *address, size_t length, char *into, size_t size);
/* Joins without looking: `base` + "/" + `path`, or `path` when it is absolute; "." and "//" go, ".." stays. */
size_t join_paths(const char *base, const char *path, char *into, size_t size);
/* Whether a path ends in "/" or "/.": it means a directory, and a link there is followed. */
bool ends_as_directory(const char *path);
/* The last name of absolute words; NULL when they end in none: "/" and "/..". */
const char *last_name(const char *words);
/* The first bytes of a program, at most INTERPRETER_LINE and room for one more: is it a script, and for whom? */
bool read_interpreter_line(char *line, size_t length, const char **name, const char **argument);

/* Of /proc/PID/stat. */
struct birth {
    pid_t parent;
    uint64_t start_ticks;
    uint64_t stack;
    int exit_code;
    char state;
};
bool read_birth_text(char *text, struct birth *birth);
/* Of /proc/TID/status; 0: it does not say. */
pid_t read_thread_group_text(const char *text);
/* Of the same: the effective ones, or all where it does not say. */
uint64_t read_capabilities_text(const char *text);
/* The next number of /proc/TID/children, or 0: a number at the very end may be cut, and is none. */
pid_t next_child(const char **text);

#endif
