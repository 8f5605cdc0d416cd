/* What every tracee shares: cases that do something to the system and say so, one line per effect.
 *
 * A line is `operation words = outcome`, in the vocabulary of native/wire.toml, with absolute paths; in a case's
 * source `@` stands for the directory that the case was given. The harness holds the lines against the record.
 * A line `skip why` means that this machine does not let the case happen. */
#ifndef STENO_TELL_H
#define STENO_TELL_H

#include <sys/types.h>

struct one_case {
    const char *name;
    const char *calls; /* the system calls that it exercises, separated by blanks */
    void (*run)(void);
};

#define CASE(name, calls)                                                                             \
    static void name(void);                                                                           \
    static const struct one_case name##_case = {#name, calls, name};                                  \
    static const struct one_case *const name##_entry __attribute__((section("cases"), used)) = &name##_case; \
    static void name(void)

/* A case of one call and one line. */
#define ONE(name, calls, line, expression) \
    CASE(name, calls)                      \
    {                                      \
        attempt(expression);               \
        say(line);                         \
    }

extern char scratch[1 << 16];
extern const char *program; /* absolute path of this tracee */

/* The absolute path of a name in the case's directory; a few of them stay usable at once. */
char *in(const char *name);

/* Keeps errno for the line that follows; returns the result. */
long attempt(long result);
/* Ends the tracee with status 99 when the call failed. */
long must(long result);

void say(const char *line);          /* with the outcome of the last attempt */
void say_only(const char *line);     /* an effect that has no outcome of its own */
void skip(const char *why) __attribute__((noreturn));

/* Waits for a child and says how it ended. */
void await(pid_t child);
/* A child that runs a function and ends with its result. */
pid_t child_of(int (*run)(void));

#endif
