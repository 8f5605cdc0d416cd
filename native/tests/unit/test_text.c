// with: text.c
/* Socket addresses, joined paths, first lines of scripts and the text of /proc, at and beyond every edge. */
#include <arpa/inet.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "../check.h"
#include "clock.h"
#include "path_event.h"
#include "text.h"
#include "trace.h"

#define PLENTY 512

/* The address lies in memory of exactly its length, the text in memory of exactly its size. */
static bool address_is(const void *address, size_t length, size_t size, const char *text, size_t text_length)
{
    uint8_t *exact = malloc(length ? length : 1);
    char *into = malloc(size);
    CHECK(exact && into);
    memcpy(exact, address, length);
    size_t used = format_address(exact, length, into, size);
    bool same = used == text_length && memcmp(into, text, used) == 0;
    free(exact);
    free(into);
    return same;
}

static void addresses_of_the_internet(void)
{
    struct sockaddr_in v4 = {.sin_family = AF_INET, .sin_port = htons(80)};
    struct sockaddr_in6 v6 = {.sin6_family = AF_INET6, .sin6_port = htons(65535), .sin6_addr = in6addr_loopback};
    inet_pton(AF_INET, "1.2.3.4", &v4.sin_addr);
    CHECK(address_is(&v4, sizeof v4, PLENTY, "inet:1.2.3.4:80", 15));
    CHECK(address_is(&v4, sizeof v4 - 1, PLENTY, "family:2", 8));
    CHECK(address_is(&v6, sizeof v6, PLENTY, "inet6:[::1]:65535", 17));
    CHECK(address_is(&v6, 24, PLENTY, "inet6:[::1]:65535", 17));
    CHECK(address_is(&v6, 23, PLENTY, "family:10", 9));
    CHECK(address_is(&v4, sizeof v4, 10, "inet:1.2.", 9));
}

static void sockets_in_the_file_system(void)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX, .sun_path = "/run/x"};
    size_t start = offsetof(struct sockaddr_un, sun_path);
    CHECK(address_is(&name, sizeof name, PLENTY, "unix:/run/x", 11));
    CHECK(address_is(&name, start + 6, PLENTY, "unix:/run/x", 11)); /* no NUL is needed */
    CHECK(address_is(&name, start + 4, PLENTY, "unix:/run", 9));
    CHECK(address_is(&name, start, PLENTY, "unix:", 5));
    memset(name.sun_path, 'x', sizeof name.sun_path);
    char longest[5 + sizeof name.sun_path];
    memcpy(longest, "unix:", 5);
    memset(longest + 5, 'x', sizeof name.sun_path);
    CHECK(address_is(&name, sizeof name, PLENTY, longest, sizeof longest));
    CHECK(address_is(&name, sizeof name, 20, longest, 20));
}

static void sockets_without_a_file(void)
{
    struct sockaddr_un name = {.sun_family = AF_UNIX, .sun_path = "\0a\0b"};
    size_t start = offsetof(struct sockaddr_un, sun_path);
    CHECK(address_is(&name, start + 4, PLENTY, "unix:@a\0b", 9)); /* its length tells, and it may hold NULs */
    CHECK(address_is(&name, start + 1, PLENTY, "unix:@", 6));
}

static void other_families(void)
{
    uint16_t netlink[6] = {AF_NETLINK}, packet[10] = {AF_PACKET}, none[1] = {AF_UNSPEC};
    CHECK(address_is(netlink, sizeof netlink, PLENTY, "netlink:", 8));
    CHECK(address_is(packet, sizeof packet, PLENTY, "family:17", 9));
    CHECK(address_is(none, sizeof none, PLENTY, "family:0", 8));
    CHECK(address_is("\1", 1, PLENTY, "family:?", 8));
    CHECK(address_is("", 0, PLENTY, "family:?", 8));
}

static void every_family_every_length_every_byte(void)
{
    uint8_t bytes[sizeof(struct sockaddr_storage)];
    for (unsigned family = 0; family < 256; family++) {
        for (unsigned byte = 0; byte < 256; byte += 15) {
            memset(bytes, (int)byte, sizeof bytes);
            bytes[0] = (uint8_t)family, bytes[1] = 0;
            for (size_t length = 0; length <= sizeof bytes; length += length < 30 ? 1 : 7) {
                for (size_t size = 1; size < 128; size += 21) {
                    char *into = malloc(size);
                    CHECK(into && format_address(bytes, length, into, size) <= size);
                    free(into);
                }
            }
        }
    }
}

static bool joined_is(const char *base, const char *path, const char *expected)
{
    char into[PATH_MAX];
    return join_paths(base, path, into, sizeof into) == strlen(expected) && strcmp(into, expected) == 0;
}

static void paths_are_joined(void)
{
    CHECK(joined_is("/a", "b", "/a/b"));
    CHECK(joined_is("/a/", "./b//c/.", "/a/b/c"));
    CHECK(joined_is("/a", "/b", "/b"));
    CHECK(joined_is("/a", "../b", "/a/../b"));
    CHECK(joined_is("/", "b", "/b"));
    CHECK(joined_is("", "//b/", "/b"));
    CHECK(joined_is("", "", "/"));
    CHECK(joined_is("/a", "", "/a"));
    CHECK(joined_is("/a", "...", "/a/..."));
    CHECK(joined_is("/a", "\xff\x01 b", "/a/\xff\x01 b"));
}

static void a_path_that_is_too_long_is_cut_at_a_component(void)
{
    for (size_t size = 2; size < 20; size++) {
        char *into = malloc(size);
        CHECK(into);
        size_t used = join_paths("/one/two", "three/four", into, size);
        CHECK(used < size && into[used] == 0 && into[0] == '/' && strlen(into) == used);
        free(into);
    }
}

static void the_end_of_a_path(void)
{
    CHECK(ends_as_directory("/") && ends_as_directory("a/") && ends_as_directory("/a//") && ends_as_directory("a/."));
    CHECK(ends_as_directory("/.") && ends_as_directory("./."));
    CHECK(!ends_as_directory("") && !ends_as_directory(".") && !ends_as_directory("a.") && !ends_as_directory("/a"));
    CHECK(!ends_as_directory("a/..") && !ends_as_directory("a/.b"));
}

static bool last_is(const char *words, const char *expected)
{
    const char *name = last_name(words);
    return name && expected ? strcmp(name, expected) == 0 : name == expected;
}

static void the_last_name(void)
{
    CHECK(last_is("/a", "a") && last_is("/a/b.c", "b.c") && last_is("/a/../b", "b") && last_is("/...", "..."));
    CHECK(last_is("/..a", "..a"));
    CHECK(last_is("/", NULL) && last_is("/..", NULL) && last_is("/a/..", NULL) && last_is("", NULL));
}

static bool script_is(const char *text, size_t length, const char *name, const char *argument)
{
    char *line = malloc(length + 1);
    const char *found_name = NULL, *found_argument = NULL;
    CHECK(line);
    memcpy(line, text, length);
    bool is_script = read_interpreter_line(line, length, &found_name, &found_argument);
    bool same = is_script ? name && strcmp(found_name, name) == 0 && strcmp(found_argument, argument) == 0 : !name;
    free(line);
    return same;
}

#define SCRIPT(text, name, argument) CHECK(script_is(text, sizeof text - 1, name, argument))

static void first_lines_of_scripts(void)
{
    SCRIPT("#!/bin/sh\nexit", "/bin/sh", "");
    SCRIPT("#!/bin/sh", "/bin/sh", "");
    SCRIPT("#! \t/usr/bin/env \t python3 -u \t\nx", "/usr/bin/env", "python3 -u");
    SCRIPT("#!x", "x", "");
    SCRIPT("#!\n/bin/sh", NULL, NULL);
    SCRIPT("#!   \n", NULL, NULL);
    SCRIPT("#!", NULL, NULL);
    SCRIPT("#", NULL, NULL);
    SCRIPT("", NULL, NULL);
    SCRIPT("\x7f" "ELF", NULL, NULL);
    SCRIPT("#!/bin/s\0h a\n", "/bin/s", "");
    char longest[INTERPRETER_LINE];
    memset(longest, 'x', sizeof longest);
    memcpy(longest, "#!/", 3);
    CHECK(script_is(longest, sizeof longest, NULL, NULL)); /* the name may go on behind what was read */
    longest[sizeof longest - 1] = ' ';
    longest[sizeof longest - 2] = 0;
    CHECK(script_is(longest, sizeof longest, longest + 2, ""));
}

static bool birth_is(const char *stat, pid_t parent, uint64_t start, uint64_t stack, int exit_code, char state)
{
    char text[2048];
    struct birth birth = {0};
    snprintf(text, sizeof text, "%s", stat);
    return read_birth_text(text, &birth) && birth.parent == parent && birth.start_ticks == start && birth.stack == stack &&
           birth.exit_code == exit_code && birth.state == state;
}

#define FIELDS_5_TO_21 " 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20 21"
#define FIELDS_29_TO_51 " 29 30 31 32 33 34 35 36 37 38 39 40 41 42 43 44 45 46 47 48 49 50 51"

static void births(void)
{
    char text[] = "1 (a) R 1";
    struct birth birth = {0};
    CHECK(birth_is("7 (sh) S 4" FIELDS_5_TO_21 " 22 23 24 25 26 27 28" FIELDS_29_TO_51 " 256\n", 4, 22, 28, 256, 'S'));
    CHECK(birth_is("7 (a) Z 1 (b) Z 9" FIELDS_5_TO_21 " 5\n", 9, 5, 0, 0, 'Z')); /* a name that looks like fields */
    CHECK(!read_birth_text(text, &birth));
    char empty[] = "", no_name[] = "1 a R 1 2 3 4";
    CHECK(!read_birth_text(empty, &birth) && !read_birth_text(no_name, &birth));
    CHECK(read_thread_group_text("Name:\tx\\nTgid:\t5\nUmask:\t0\nTgid:\t12\nNgid:\t0\n") == 12);
    CHECK(read_thread_group_text("Name:\tx\n") == 0 && read_thread_group_text("") == 0);
    CHECK(read_capabilities_text("Name:\tx\nCapPrm:\t3\nCapEff:\t0000000000200000\nCapBnd:\t1\n") == 0x200000);
    CHECK(read_capabilities_text("") == UINT64_MAX); /* it may have them */
}

static void children(void)
{
    const char *text = "12 345 6";
    CHECK(next_child(&text) == 12);
    CHECK(next_child(&text) == 345);
    CHECK(next_child(&text) == 0); /* 6 may be the beginning of 67 */
    const char *none = "", *words = "x ", *negative = "-5 ", *huge = "99999999999999999999 ";
    CHECK(!next_child(&none) && !next_child(&words) && !next_child(&negative) && !next_child(&huge));
}

int main(void)
{
    addresses_of_the_internet();
    sockets_in_the_file_system();
    sockets_without_a_file();
    other_families();
    every_family_every_length_every_byte();
    paths_are_joined();
    a_path_that_is_too_long_is_cut_at_a_component();
    the_end_of_a_path();
    the_last_name();
    first_lines_of_scripts();
    births();
    children();
    return 0;
}
