// with: tty_told.c
/* Telling who wrote what: neighbours of one stream become one record, nothing is lost when the pipe is full. */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../check.h"
#include "clock.h"
#include "log.h"
#include "trace.h"
#include "tty.h"
#include "tty_told.h"

#define HEAD 13
#define ONE_MOMENT_NS 2000000u

static uint64_t clock_ns = 10 * ONE_MOMENT_NS;

uint64_t now_ns(const struct run *run)
{
    (void)run;
    return clock_ns;
}

struct ends {
    int read, write;
    struct tty_told *telling;
};

static struct ends start(void)
{
    int ends[2];
    CHECK(pipe(ends) == 0);
    struct tty_told *telling = start_tty_told(NULL, ends[1]);
    CHECK(telling);
    CHECK(fcntl(ends[0], F_SETFL, O_NONBLOCK) == 0);
    return (struct ends){ends[0], ends[1], telling};
}

static void stop(struct ends ends)
{
    end_tty_told(ends.telling);
    close(ends.read);
    free(ends.telling);
}

static bool is_record(const uint8_t *bytes, uint8_t stream, const char *text)
{
    uint32_t length;
    memcpy(&length, bytes + 9, sizeof length);
    return bytes[8] == stream && length == strlen(text) && memcmp(bytes + HEAD, text, length) == 0;
}

static void the_first_words_are_told_at_once(void)
{
    uint8_t got[64];
    struct ends ends = start();
    tell_written(ends.telling, STREAM_STDOUT, "one", 3);
    CHECK(read(ends.read, got, sizeof got) == HEAD + 3);
    CHECK(is_record(got, STREAM_STDOUT, "one"));
    CHECK(telling_timeout(ends.telling) == -1);
    stop(ends);
}

static void neighbours_become_one_record(void)
{
    uint8_t got[128];
    struct ends ends = start();
    tell_written(ends.telling, STREAM_STDOUT, "first", 5);
    CHECK(read(ends.read, got, sizeof got) == HEAD + 5);
    tell_written(ends.telling, STREAM_STDOUT, "a", 1);
    tell_written(ends.telling, STREAM_STDOUT, "b", 1);
    tell_written(ends.telling, STREAM_STDERR, "c", 1);
    tell_written(ends.telling, STREAM_STDOUT, "d", 1);
    CHECK(read(ends.read, got, sizeof got) == -1);
    CHECK(telling_timeout(ends.telling) > 0);
    flush_telling(ends.telling);
    CHECK(read(ends.read, got, sizeof got) == 3 * HEAD + 4);
    CHECK(is_record(got, STREAM_STDOUT, "ab"));
    CHECK(is_record(got + HEAD + 2, STREAM_STDERR, "c"));
    CHECK(is_record(got + 2 * HEAD + 3, STREAM_STDOUT, "d"));
    stop(ends);
}

static void a_full_pipe_loses_nothing(void)
{
    static uint8_t piece[4096], got[65536];
    struct ends ends = start();
    size_t told = 0, heard = 0;
    while (can_tell(ends.telling, sizeof piece)) {
        tell_written(ends.telling, told / sizeof piece % 2 ? STREAM_STDOUT : STREAM_STDERR, piece, sizeof piece);
        told += sizeof piece;
    }
    CHECK(telling_waits_for(ends.telling) == ends.write);
    for (;;) {
        ssize_t count = read(ends.read, got, sizeof got);
        if (count > 0)
            heard += (size_t)count;
        else if (telling_waits_for(ends.telling) >= 0)
            flush_telling(ends.telling);
        else
            break;
    }
    CHECK(heard == told + told / sizeof piece * HEAD);
    stop(ends);
}

static void a_listener_that_is_gone_is_no_trouble(void)
{
    struct ends ends = start();
    close(ends.read);
    for (int i = 0; i < 1000; i++) {
        clock_ns += ONE_MOMENT_NS;
        CHECK(can_tell(ends.telling, 4));
        tell_written(ends.telling, STREAM_STDOUT, "void", 4);
    }
    CHECK(telling_waits_for(ends.telling) == -1);
    ends.read = -1;
    stop(ends);
}

int main(void)
{
    CHECK(signal(SIGPIPE, SIG_IGN) != SIG_ERR);
    the_first_words_are_told_at_once();
    neighbours_become_one_record();
    a_full_pipe_loses_nothing();
    a_listener_that_is_gone_is_no_trouble();
    return 0;
}
