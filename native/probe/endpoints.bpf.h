/* Endpoints that the kernel is given by processes of the run's cgroup: also those that no system call of theirs names. */
#ifndef STENO_ENDPOINTS_BPF_H
#define STENO_ENDPOINTS_BPF_H

#include "scratch.bpf.h"

/* Unlike at a tracepoint, another program of ours may run on this processor before we end: neither the scratch nor the
 * sequence is ours alone. */
static __always_inline int endpoint(struct bpf_sock_addr *address, uint64_t is_send, uint64_t family)
{
    struct {
        struct probe_record record;
        uint64_t own;
    } sent = {.record = {.size = sizeof(struct probe_record)}};
    struct probe_record *record = &sent.record;
    begin_header(record, PROBE_ENDPOINT);
    record->args[0] = family;
    record->args[1] = address->user_port;
    record->args[2] = is_send;
    if (family == INET) {
        record->args[3] = address->user_ip4;
    } else {
        uint32_t first = address->user_ip6[0], second = address->user_ip6[1];
        uint32_t third = address->user_ip6[2], fourth = address->user_ip6[3];
        record->args[3] = first | (uint64_t)second << 32;
        record->args[4] = third | (uint64_t)fourth << 32;
    }
    if (bpf_ringbuf_output(&ring, &sent, sizeof sent, NO_WAKEUP) != 0) {
        uint32_t which = COUNT_UNNUMBERED_LOST;
        uint64_t *lost = bpf_map_lookup_elem(&counts, &which);
        if (lost)
            __sync_fetch_and_add(lost, 1);
    }
    return 1;
}

SEC("cgroup/connect4")
int connects4(struct bpf_sock_addr *address)
{
    return endpoint(address, 0, INET);
}

SEC("cgroup/connect6")
int connects6(struct bpf_sock_addr *address)
{
    return endpoint(address, 0, INET6);
}

SEC("cgroup/sendmsg4")
int sends4(struct bpf_sock_addr *address)
{
    return endpoint(address, 1, INET);
}

SEC("cgroup/sendmsg6")
int sends6(struct bpf_sock_addr *address)
{
    return endpoint(address, 1, INET6);
}

#endif
