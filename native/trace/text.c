/* Text made of hostile bytes: socket addresses, joined paths, the first line of a script, what /proc tells.
 * Pure: no system call. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "text.h"

static size_t written(int wanted, size_t size)
{
    if (wanted < 0)
        return 0;
    return (size_t)wanted < size ? (size_t)wanted : size - 1;
}

/* "unix:/path", "unix:@name" for an abstract one, "unix:" for one without a name. */
static size_t format_unix(const void *address, size_t length, char *into, size_t size)
{
    struct sockaddr_un unix_address = {0};
    memcpy(&unix_address, address, length < sizeof unix_address ? length : sizeof unix_address);
    size_t start = offsetof(struct sockaddr_un, sun_path);
    size_t room = length > start ? length - start : 0;
    if (room > sizeof unix_address.sun_path)
        room = sizeof unix_address.sun_path;
    bool abstract = room && !unix_address.sun_path[0];
    const char *name = unix_address.sun_path + abstract;
    size_t name_length = abstract ? room - 1 : strnlen(name, room);
    size_t used = written(snprintf(into, size, "unix:%s", abstract ? "@" : ""), size);
    if (name_length > size - used)
        name_length = size - used;
    memcpy(into + used, name, name_length);
    return used + name_length;
}

size_t format_address(const void *address, size_t length, char *into, size_t size)
{
    sa_family_t family;
    char host[INET6_ADDRSTRLEN];
    if (length < sizeof family)
        return written(snprintf(into, size, "family:?"), size);
    memcpy(&family, address, sizeof family);
    if (family == AF_UNIX)
        return format_unix(address, length, into, size);
    if (family == AF_INET && length >= sizeof(struct sockaddr_in)) {
        struct sockaddr_in v4;
        memcpy(&v4, address, sizeof v4);
        if (inet_ntop(AF_INET, &v4.sin_addr, host, sizeof host))
            return written(snprintf(into, size, "inet:%s:%u", host, ntohs(v4.sin_port)), size);
    }
    if (family == AF_INET6 && length >= 24) { /* without a scope id, as the kernel takes it, too */
        struct sockaddr_in6 v6 = {0};
        memcpy(&v6, address, length < sizeof v6 ? length : sizeof v6);
        if (inet_ntop(AF_INET6, &v6.sin6_addr, host, sizeof host))
            return written(snprintf(into, size, "inet6:[%s]:%u", host, ntohs(v6.sin6_port)), size);
    }
    if (family == AF_NETLINK)
        return written(snprintf(into, size, "netlink:"), size);
    return written(snprintf(into, size, "family:%u", family), size);
}

/* Appends one component after a slash; "." and "" are nothing. */
static size_t append(char *into, size_t used, size_t size, const char *part, size_t length)
{
    if (length == 0 || (length == 1 && part[0] == '.') || used + 1 + length >= size)
        return used;
    if (used == 0 || into[used - 1] != '/')
        into[used++] = '/';
    memcpy(into + used, part, length);
    return used + length;
}

size_t join_paths(const char *base, const char *path, char *into, size_t size)
{
    size_t used = 0;
    const char *sources[] = {path[0] == '/' ? "" : base, path};
    for (size_t source = 0; source < 2; source++) {
        const char *part = sources[source];
        while (*part) {
            size_t length = strcspn(part, "/");
            used = append(into, used, size, part, length);
            part += length + (part[length] == '/');
        }
    }
    if (used == 0)
        into[used++] = '/';
    into[used] = 0;
    return used;
}

bool ends_as_directory(const char *path)
{
    size_t length = strlen(path);
    if (length > 1 && path[length - 1] == '.')
        length--;
    return length && path[length - 1] == '/';
}

const char *last_name(const char *words)
{
    const char *slash = strrchr(words, '/');
    return slash && slash[1] && strcmp(slash, "/..") != 0 ? slash + 1 : NULL;
}

/* As fs/binfmt_script.c: what is cut off within the interpreter's name is no script at all. */
bool read_interpreter_line(char *line, size_t length, const char **name, const char **argument)
{
    static const char blank[] = " \t";
    if (length < 3 || line[0] != '#' || line[1] != '!')
        return false;
    line[length] = 0;
    size_t end = strcspn(line, "\n");
    bool whole = line[end] == '\n' || end < INTERPRETER_LINE;
    while (end > 2 && (line[end - 1] == ' ' || line[end - 1] == '\t'))
        whole = true, end--;
    line[end] = 0;
    char *start = line + 2 + strspn(line + 2, blank);
    char *after = start + strcspn(start, blank);
    if (after == start || (!*after && !whole))
        return false;
    *name = start;
    *argument = after + strspn(after, blank);
    *after = 0;
    return true;
}

/* Fields by their numbers in proc(5); the name before them may hold anything, so they count from its end. */
bool read_birth_text(char *text, struct birth *birth)
{
    enum { STATE = 3, PARENT = 4, START = 22, STACK = 28, EXIT_CODE = 52 };
    char *name_end = strrchr(text, ')'), *rest = NULL;
    if (!name_end)
        return false;
    int field = STATE;
    for (char *word = strtok_r(name_end + 1, " ", &rest); word; word = strtok_r(NULL, " ", &rest), field++) {
        if (field == STATE)
            birth->state = word[0];
        else if (field == PARENT)
            birth->parent = (pid_t)strtol(word, NULL, 10);
        else if (field == START)
            birth->start_ticks = strtoull(word, NULL, 10);
        else if (field == STACK)
            birth->stack = strtoull(word, NULL, 10);
        else if (field == EXIT_CODE)
            birth->exit_code = (int)strtol(word, NULL, 10);
    }
    return field > START;
}

pid_t read_thread_group_text(const char *text)
{
    const char *line = strstr(text, "\nTgid:");
    return line ? (pid_t)strtol(line + 6, NULL, 10) : 0;
}

uint64_t read_capabilities_text(const char *text)
{
    const char *line = strstr(text, "\nCapEff:");
    return line ? strtoull(line + 8, NULL, 16) : UINT64_MAX;
}

pid_t next_child(const char **text)
{
    char *end;
    long child = strtol(*text, &end, 10);
    if (end == *text || *end != ' ' || child <= 0 || child > INT_MAX)
        return 0;
    *text = end;
    return (pid_t)child;
}
