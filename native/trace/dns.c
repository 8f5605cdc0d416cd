/* The addresses in a message of a name server (RFC 1035). In: hostile bytes. Out: names with the addresses
 * they stand for; names that lead to other names (CNAME) give the name that was asked for. Pure. */
#include <arpa/inet.h>
#include <ctype.h>
#include <string.h>

#include "dns.h"
#include "path_event.h"

#define HEADER 12u
#define MOST_JUMPS 16
#define MOST_ANSWERS 64u
#define NAME_ROOM 256
#define POINTER 0xc0u
enum { TYPE_A = 1, TYPE_AAAA = 28, CLASS_IN = 1 };

struct message {
    const uint8_t *bytes;
    size_t length, at;
};

static bool take16(struct message *message, uint16_t *value)
{
    if (message->length - message->at < 2)
        return false;
    *value = (uint16_t)(message->bytes[message->at] << 8 | message->bytes[message->at + 1]);
    message->at += 2;
    return true;
}

/* A name at the current place; `into` may be NULL. False: it is not one. */
static bool take_name(struct message *message, char into[NAME_ROOM])
{
    size_t at = message->at, used = 0, after = 0;
    for (int jumps = 0;;) {
        if (at >= message->length)
            return false;
        uint8_t size = message->bytes[at];
        if ((size & POINTER) == POINTER) {
            if (at + 1 >= message->length || ++jumps > MOST_JUMPS)
                return false;
            after = after ? after : at + 2;
            at = (size_t)(size & ~POINTER) << 8 | message->bytes[at + 1];
            continue;
        }
        if (size & POINTER || (size && at + 1 + size > message->length))
            return false;
        if (size == 0)
            break;
        if (used + size + 2 > NAME_ROOM)
            return false;
        if (used)
            into[used++] = '.';
        for (uint8_t i = 0; i < size; i++) {
            uint8_t byte = message->bytes[at + 1 + i];
            into[used++] = isgraph(byte) && byte != '.' ? (char)tolower(byte) : '?';
        }
        at += 1u + size;
    }
    into[used] = 0;
    message->at = after ? after : at + 1;
    return true;
}

/* One answer; `asked` is what it is told of. */
static bool take_answer(struct message *message, const char *asked,
                        void (*tell)(const char *name, const char *address, void *context), void *context)
{
    char owner[NAME_ROOM], text[INET6_ADDRSTRLEN];
    uint16_t type, class, size, lifetime;
    if (!take_name(message, owner) || !take16(message, &type) || !take16(message, &class) || !take16(message, &lifetime) ||
        !take16(message, &lifetime) || !take16(message, &size) || message->length - message->at < size)
        return false;
    const uint8_t *data = message->bytes + message->at;
    message->at += size;
    bool v4 = type == TYPE_A && size == 4, v6 = type == TYPE_AAAA && size == 16;
    if (class == CLASS_IN && (v4 || v6) && inet_ntop(v4 ? AF_INET : AF_INET6, data, text, sizeof text))
        tell(asked, text, context);
    return true;
}

void read_dns_answer(const uint8_t *bytes, size_t length, void (*tell)(const char *name, const char *address, void *context),
                     void *context)
{
    struct message message = {bytes, length, 2};
    uint16_t flags, questions, answers, ignored;
    char asked[NAME_ROOM];
    if (length < HEADER || !take16(&message, &flags) || !take16(&message, &questions) || !take16(&message, &answers))
        return;
    bool is_answer = flags & 0x8000u && !(flags & 0xfu);
    message.at = HEADER;
    if (!is_answer || questions != 1 || !take_name(&message, asked) || !take16(&message, &ignored) || !take16(&message, &ignored))
        return;
    for (uint16_t i = 0; i < answers && i < MOST_ANSWERS; i++) {
        if (!take_answer(&message, asked, tell, context))
            return;
    }
}
