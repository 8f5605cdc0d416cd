/* What the kernel would do with a seccomp program: a small interpreter of classic BPF. */
#ifndef STENO_CLASSIC_BPF_H
#define STENO_CLASSIC_BPF_H

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "../check.h"

#define FORWARD_AT_MOST 64 /* instructions that one verdict may take */

/* A jump out of the program or an instruction seccomp does not know fails the test. */
static uint32_t run(const struct sock_fprog *program, const struct seccomp_data *data)
{
    uint32_t accumulator = 0;
    size_t steps = 0;
    for (size_t at = 0; at < program->len; at++) {
        const struct sock_filter *now = &program->filter[at];
        CHECK(++steps <= FORWARD_AT_MOST);
        switch (now->code) {
        case BPF_LD | BPF_W | BPF_ABS:
            CHECK(now->k % 4 == 0 && now->k + 4 <= sizeof *data);
            memcpy(&accumulator, (const uint8_t *)data + now->k, 4);
            break;
        case BPF_JMP | BPF_JA:
            at += now->k;
            break;
        case BPF_JMP | BPF_JEQ | BPF_K:
            at += accumulator == now->k ? now->jt : now->jf;
            break;
        case BPF_JMP | BPF_JGE | BPF_K:
            at += accumulator >= now->k ? now->jt : now->jf;
            break;
        case BPF_JMP | BPF_JSET | BPF_K:
            at += accumulator & now->k ? now->jt : now->jf;
            break;
        case BPF_RET | BPF_K:
            return now->k;
        default:
            CHECK(!"an instruction that the filter uses");
        }
    }
    CHECK(!"a program that ends with a return");
    return 0;
}

static bool stops(const struct sock_fprog *program, uint32_t arch, uint32_t number, const uint64_t args[6])
{
    struct seccomp_data data = {.nr = (int)number, .arch = arch};
    memcpy(data.args, args, sizeof data.args);
    uint32_t verdict = run(program, &data);
    CHECK(verdict == SECCOMP_RET_USER_NOTIF || verdict == SECCOMP_RET_ALLOW);
    return verdict == SECCOMP_RET_USER_NOTIF;
}

#endif
