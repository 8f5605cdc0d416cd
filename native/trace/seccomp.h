/* The seccomp filter: what it stops, and how a process is put under it. */
#ifndef STENO_SECCOMP_H
#define STENO_SECCOMP_H

#include "trace.h"

struct sock_fprog;
/* What the filter stops: every call of the tables, or, beside a probe, those that may change something. */
enum stopping { STOP_ALL, STOP_CHANGES };
int build_filter(struct sock_fprog *program, bool split, enum stopping stopping);
/* Whether the filter beside a probe stops this call. */
bool stops_beside_probe(const struct call *call, const uint64_t args[6]);
/* Whether a signal may end or stop us, or the recorder. */
bool ends_or_stops(uint64_t number);
const struct call *find_call(uint32_t arch, uint32_t number);

int seccomp_sizes(struct seccomp_notif_sizes *sizes);
/* Puts the calling thread under the filter, and sends its listener through the channel. */
void install_and_send(int channel, bool split, enum stopping stopping);
/* The listener, or -errno. `filtered`: the other side is under the filter, whether we have its listener or
 * not. */
int receive_listener(int channel, uint64_t *features, bool *filtered);
/* Takes a descriptor of another process; -errno. */
int take_descriptor(pid_t pid, int descriptor);

#endif
