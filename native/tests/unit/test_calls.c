// with: ../generated/calls.c seccomp.c
/* The call tables: sorted, whole, and every row is found by its number on its machine and on no other. */
#include <linux/audit.h>

#include "../check.h"
#include "handlers.h"
#include "log.h"
#include "seccomp.h"

static void rows_are_sorted_and_whole(const struct call_table *table)
{
    for (size_t i = 0; i < table->count; i++) {
        const struct call *call = &table->calls[i];
        const int8_t positions[] = {call->dir, call->path, call->flags, call->arg, call->arg2, call->dir2, call->path2};
        CHECK(i == 0 || table->calls[i - 1].number < call->number);
        CHECK(call->number <= table->highest);
        CHECK(call->class == CALL_RECORDED ? call->serve != NULL : call->class == CALL_COUNTED && !call->serve);
        bool changes = call->effect == EFFECT_CHANGE || call->effect == EFFECT_MOVE;
        CHECK(changes == (op_changes(call->op) || call->op == OP_CHDIR || call->op == OP_CHROOT || call->op == OP_NAMESPACE));
        for (size_t position = 0; position < sizeof positions; position++)
            CHECK(positions[position] >= -1 && positions[position] < 6);
    }
}

static void every_number_finds_its_row(uint32_t arch, const struct call_table *table)
{
    size_t row = 0;
    for (uint32_t number = 0; number <= table->highest + 2000; number++) {
        bool listed = row < table->count && table->calls[row].number == number;
        CHECK(find_call(arch, number) == (listed ? &table->calls[row] : NULL));
        row += listed;
    }
    CHECK(row == table->count);
    CHECK(!find_call(arch, UINT32_MAX));
}

int main(void)
{
#if defined(__x86_64__)
    rows_are_sorted_and_whole(&calls_x86_64);
    rows_are_sorted_and_whole(&calls_i386);
    every_number_finds_its_row(AUDIT_ARCH_X86_64, &calls_x86_64);
    every_number_finds_its_row(AUDIT_ARCH_I386, &calls_i386);
    for (uint32_t number = 0; number < 2000; number++)
        CHECK(!find_call(AUDIT_ARCH_X86_64, number | 0x40000000u)); /* x32 has numbers of its own */
#elif defined(__aarch64__)
    rows_are_sorted_and_whole(&calls_aarch64);
    every_number_finds_its_row(AUDIT_ARCH_AARCH64, &calls_aarch64);
#endif
    CHECK(!find_call(AUDIT_ARCH_MIPS, 1));
    return 0;
}
