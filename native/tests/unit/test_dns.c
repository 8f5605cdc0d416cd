// with: dns.c
/* Messages of name servers: the addresses of the name that was asked for, and nothing of a message that lies. */
#include <string.h>

#include "../check.h"
#include "dns.h"
#include "log.h"

#define QUESTION "\3www\7Example\3org\0\0\1\0\1"
#define OWNER "\xc0\x0c" /* the name of the question */
#define CLASS_AND_LIFE "\0\1\0\0\0\74"
#define ONE_ADDRESS OWNER "\0\1" CLASS_AND_LIFE "\0\4\x5d\xb8\xd8\x22"
#define ANSWERS(count) "\x12\x34\x81\x80\0\1\0" count "\0\0\0\0"
#define BYTES(text) text, sizeof text - 1

static char told[8192];

static void note(const char *name, const char *address, void *context)
{
    CHECK(context == told);
    size_t used = strlen(told);
    snprintf(told + used, sizeof told - used, "%s=%s ", name, address);
}

/* In memory of exactly that length, so that one byte too many is seen. */
static const char *read_it(const char *bytes, size_t length)
{
    uint8_t *exact = malloc(length ? length : 1);
    CHECK(exact);
    memcpy(exact, bytes, length);
    told[0] = 0;
    read_dns_answer(exact, length, note, told);
    free(exact);
    return told;
}

#define TELLS(expected, text) CHECK(strcmp(read_it(BYTES(text)), expected) == 0)

static void addresses_are_told_with_the_name_that_was_asked_for(void)
{
    TELLS("www.example.org=93.184.216.34 ", ANSWERS("\1") QUESTION ONE_ADDRESS);
    TELLS("www.example.org=2001:db8::1 ",
          ANSWERS("\1") QUESTION OWNER "\0\x1c" CLASS_AND_LIFE "\0\x10\x20\x01\x0d\xb8\0\0\0\0\0\0\0\0\0\0\0\1");
    TELLS("www.example.org=93.184.216.34 www.example.org=93.184.216.34 ", ANSWERS("\2") QUESTION ONE_ADDRESS ONE_ADDRESS);
}

static void a_name_that_leads_to_another_gives_the_one_that_was_asked_for(void)
{
    TELLS("www.example.org=93.184.216.34 ",
          ANSWERS("\2") QUESTION OWNER "\0\5" CLASS_AND_LIFE "\0\6\3cdn\xc0\x10"
                        "\3cdn\xc0\x10\0\1" CLASS_AND_LIFE "\0\4\x5d\xb8\xd8\x22");
}

static void what_is_no_answer_tells_nothing(void)
{
    TELLS("", "");
    TELLS("", "\x12\x34\x81\x80");
    TELLS("", "\x12\x34\x01\x00\0\1\0\1\0\0\0\0" QUESTION ONE_ADDRESS); /* a question */
    TELLS("", "\x12\x34\x81\x83\0\1\0\1\0\0\0\0" QUESTION ONE_ADDRESS); /* no such name */
    TELLS("", "\x12\x34\x81\x80\0\2\0\1\0\0\0\0" QUESTION ONE_ADDRESS); /* two questions */
    TELLS("", "\x12\x34\x81\x80\0\0\0\1\0\0\0\0" ONE_ADDRESS);
    TELLS("", ANSWERS("\1") QUESTION OWNER "\0\1\0\3\0\0\0\74\0\4\x5d\xb8\xd8\x22"); /* another class */
    TELLS("", ANSWERS("\1") QUESTION OWNER "\0\1" CLASS_AND_LIFE "\0\5\x5d\xb8\xd8\x22\x01"); /* no address has five bytes */
}

static void a_message_that_is_cut_tells_what_came_before(void)
{
    static const char whole[] = ANSWERS("\2") QUESTION ONE_ADDRESS ONE_ADDRESS;
    size_t second = sizeof whole - 1 - (sizeof ONE_ADDRESS - 1);
    for (size_t length = 0; length < sizeof whole - 1; length++) {
        const char *expected = length < second ? "" : "www.example.org=93.184.216.34 ";
        CHECK(strcmp(read_it(whole, length), expected) == 0);
    }
}

static void pointers_that_go_in_circles_end(void)
{
    TELLS("", ANSWERS("\1") "\xc0\x0c\0\1\0\1" ONE_ADDRESS);             /* to itself */
    TELLS("", ANSWERS("\1") "\xc0\x0e\xc0\x0c\0\1\0\1" ONE_ADDRESS);     /* to each other */
    TELLS("", ANSWERS("\1") "\1a\xc0\x0c\0\1\0\1" ONE_ADDRESS);          /* and growing */
    TELLS("", ANSWERS("\1") "\xff\xff\0\1\0\1" ONE_ADDRESS);             /* out of the message */
    TELLS("", ANSWERS("\1") "\x40www\0\0\1\0\1" ONE_ADDRESS);            /* a kind of label that nobody uses */
    TELLS("", ANSWERS("\1") "\x3fwww\0\0\1\0\1" ONE_ADDRESS);            /* longer than the message */
}

static void a_name_is_printable_whatever_it_is_made_of(void)
{
    TELLS("a?b?.c=93.184.216.34 ", ANSWERS("\1") "\4a.b\n\1c\0\0\1\0\1" ONE_ADDRESS);
    TELLS("?\?.x=93.184.216.34 ", ANSWERS("\1") "\2\xff \1x\0\0\1\0\1" ONE_ADDRESS);
    TELLS("=93.184.216.34 ", ANSWERS("\1") "\0\0\1\0\1" ONE_ADDRESS); /* the root */
}

static void a_name_is_not_longer_than_names_are(void)
{
    char message[2048];
    for (int labels = 1; labels < 8; labels++) {
        size_t used = sizeof ANSWERS("\1") - 1;
        memcpy(message, ANSWERS("\1"), used);
        for (int label = 0; label < labels; label++) {
            message[used] = 63;
            memset(message + used + 1, 'a', 63);
            used += 64;
        }
        memcpy(message + used, "\0\0\1\0\1" ONE_ADDRESS, sizeof "\0\0\1\0\1" ONE_ADDRESS - 1);
        used += sizeof "\0\0\1\0\1" ONE_ADDRESS - 1;
        CHECK((read_it(message, used)[0] != 0) == (labels <= 4));
    }
}

static void not_more_answers_are_read_than_a_message_has(void)
{
    static const char head[] = "\x12\x34\x81\x80\0\1\xff\xff\0\0\0\0" QUESTION;
    char message[sizeof head + 100 * (sizeof ONE_ADDRESS - 1)];
    size_t used = sizeof head - 1;
    memcpy(message, head, used);
    for (int i = 0; i < 100; i++, used += sizeof ONE_ADDRESS - 1)
        memcpy(message + used, ONE_ADDRESS, sizeof ONE_ADDRESS - 1);
    size_t count = 0;
    for (const char *at = read_it(message, used); (at = strchr(at, '=')); at++)
        count++;
    CHECK(count == 64);
}

int main(void)
{
    addresses_are_told_with_the_name_that_was_asked_for();
    a_name_that_leads_to_another_gives_the_one_that_was_asked_for();
    what_is_no_answer_tells_nothing();
    a_message_that_is_cut_tells_what_came_before();
    pointers_that_go_in_circles_end();
    a_name_is_printable_whatever_it_is_made_of();
    a_name_is_not_longer_than_names_are();
    not_more_answers_are_read_than_a_message_has();
    return 0;
}
