/* Calls that name an endpoint. */
#include <errno.h>
#include <fcntl.h>
#include <linux/net.h>
#include <string.h>
#include <sys/socket.h>

#include "log.h"
#include "path.h"
#include "path_event.h"
#include "procfs.h"
#include "text.h"

#define MOST_MESSAGES 1024u /* the kernel takes no more at once */
#define ADDRESS_TEXT 256

/* A socket in the file system: where it is, and, when it is bound, that it is made. */
static void look_at_socket_file(struct stop *stop, struct wire_event *event, const char *name)
{
    struct resolved_path place;
    look(stop, AT_FDCWD, name, event->op == OP_BIND, &place);
    struct wire_event made = event_at(stop, OP_MKNOD, name, &place, false, 0);
    made.arg = S_IFSOCK;
    if (event->op == OP_BIND)
        log_event(stop, &made);
    event->resolved = made.resolved;
    event->state = made.state;
    event->notes |= place.notes;
    close_place(&place);
}

static void tell_address(struct stop *stop, enum op op, uint64_t descriptor, uint64_t address, uint64_t length)
{
    char bytes[sizeof(struct sockaddr_storage)], text[ADDRESS_TEXT];
    size_t size = length < sizeof bytes ? (size_t)length : sizeof bytes;
    ssize_t got = caller_memory(stop, address, bytes, size);
    struct wire_event event = event_of(stop, op);
    event.arg = descriptor;
    if (got == (ssize_t)size) {
        size_t used = format_address(bytes, size, text, sizeof text - 1);
        text[used] = 0;
        event.path = intern(stop->run, text, used);
        if (strncmp(text, "unix:", 5) == 0 && text[5] && text[5] != '@')
            look_at_socket_file(stop, &event, text + 5);
    } else
        event.notes |= NOTE_PATH_UNREADABLE | (got == -EPERM ? NOTE_NO_ACCESS : 0);
    if (got == -EPERM)
        count(&stop->run->header->unreadable);
    if (still_waiting(stop))
        log_event(stop, &event);
}

void sys_address(struct stop *stop)
{
    int address = stop->call->path;
    tell_address(stop, stop->call->op, argument(stop, stop->call->arg), stop->args[address], stop->args[address + 1]);
}

/* A message names its receiver only if it likes; those on a connected socket do not. */
static void tell_messages(struct stop *stop, uint64_t descriptor, uint64_t message, uint64_t messages)
{
    uint64_t word = stop->compat ? 4 : 8;
    uint64_t size = stop->compat ? 32 : 64; /* struct mmsghdr: the message and its length, to a whole word */
    for (uint64_t i = 0; i < messages && i < MOST_MESSAGES; i++, message += size) {
        uint64_t name = 0, length = 0;
        int error = read_word(stop, message, &name);
        if (error == -EPERM)
            count(&stop->run->header->unreadable);
        if (error)
            return; /* memory that is not there fails the call as well */
        if (name && caller_memory(stop, message + word, &length, 4) == 4 && length)
            tell_address(stop, OP_SEND, descriptor, name, length);
    }
}

void sys_message(struct stop *stop)
{
    uint64_t messages = stop->call->traits & TRAIT_MANY ? stop->args[stop->call->path + 1] : 1;
    tell_messages(stop, argument(stop, stop->call->arg), stop->args[stop->call->path], messages);
}

/* i386: one call for all of them, its arguments in memory. */
void sys_socketcall(struct stop *stop)
{
    uint32_t words[6] = {0};
    uint64_t which = stop->args[0];
    size_t wanted = which == SYS_SENDTO ? sizeof words : 3 * sizeof *words;
    ssize_t got = caller_memory(stop, stop->args[1], words, wanted);
    if (got == -EPERM)
        count(&stop->run->header->unreadable);
    if (got != (ssize_t)wanted)
        return;
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
        tell_messages(stop, words[0], words[1], 1);
        return;
    case SYS_SENDMMSG:
        tell_messages(stop, words[0], words[1], words[2]);
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
    log_event(stop, &event);
}
