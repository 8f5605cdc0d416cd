/* Calls that name an endpoint. */
#include <errno.h>
#include <linux/net.h>
#include <sys/socket.h>
#include <sys/uio.h>

#include "look.h"

#define MOST_MESSAGES 64u
#define ADDRESS_TEXT 256

static void tell_address(struct stop *stop, enum op op, uint64_t descriptor, uint64_t address, uint64_t length)
{
    char bytes[sizeof(struct sockaddr_storage)], text[ADDRESS_TEXT];
    size_t size = length < sizeof bytes ? (size_t)length : sizeof bytes;
    ssize_t got = read_memory(stop->tid, address, bytes, size);
    struct wire_event event = event_of(stop, op);
    event.arg = descriptor;
    if (got == (ssize_t)size)
        event.path = intern(stop->run, text, format_address(bytes, size, text, sizeof text));
    else
        event.notes |= NOTE_PATH_UNREADABLE | (got == -EPERM ? NOTE_NO_ACCESS : 0);
    if (got == -EPERM)
        count(&stop->run->header->unreadable);
    if (still_waiting(stop))
        hold(stop, &event);
}

void on_address(struct stop *stop)
{
    int address = stop->call->path;
    tell_address(stop, stop->call->op, argument(stop, stop->call->arg), stop->args[address], stop->args[address + 1]);
}

/* A message names its receiver only if it likes; those on a connected socket do not. */
static void tell_message(struct stop *stop, uint64_t message)
{
    uint64_t name = 0, length = 0;
    size_t word = stop->compat ? 4 : 8;
    if (read_word(stop, message, &name) != 0 || !name)
        return;
    if (read_memory(stop->tid, message + word, &length, 4) == 4 && length)
        tell_address(stop, OP_SEND, argument(stop, stop->call->arg), name, length);
}

void on_message(struct stop *stop)
{
    uint64_t message = stop->args[stop->call->path];
    uint64_t messages = stop->call->traits & TRAIT_MANY ? stop->args[stop->call->path + 1] : 1;
    /* struct mmsghdr: the message, then its length, to a whole word */
    uint64_t size = stop->compat ? 32 : 64;
    for (uint64_t i = 0; i < messages && i < MOST_MESSAGES; i++)
        tell_message(stop, message + i * size);
}

/* i386: one call for all of them, its arguments in memory. */
void on_socketcall(struct stop *stop)
{
    uint32_t words[6] = {0};
    uint64_t which = stop->args[0];
    size_t wanted = which == SYS_SENDTO ? sizeof words : 3 * sizeof *words;
    if (read_memory(stop->tid, stop->args[1], words, wanted) != (ssize_t)wanted) {
        count(&stop->run->header->unreadable);
        return;
    }
    struct wire_event event = event_of(stop, OP_SOCKET);
    event.arg = words[0];
    switch (which) {
    case SYS_SOCKET:
        event.arg2 = words[1];
        break;
    case SYS_CONNECT:
        tell_address(stop, OP_CONNECT, words[0], words[1], words[2]);
        return;
    case SYS_BIND:
        tell_address(stop, OP_BIND, words[0], words[1], words[2]);
        return;
    case SYS_SENDTO:
        if (words[4])
            tell_address(stop, OP_SEND, words[0], words[4], words[5]);
        return;
    case SYS_SENDMSG:
    case SYS_SENDMMSG:
        tell_message(stop, words[1]);
        return;
    case SYS_LISTEN:
        event.op = OP_LISTEN;
        break;
    case SYS_ACCEPT:
    case SYS_ACCEPT4:
        event.op = OP_ACCEPT;
        break;
    default:
        return;
    }
    hold(stop, &event);
}
