// with: path_cache.c crypto.c hashtable.c
/* What was learned is used for a moment, and not after anybody moved names. */
#include <string.h>

#include "../check.h"
#include "clock.h"
#include "path_cache.h"
#include "trace.h"

#define MOMENT 50000000u

static uint64_t clock_ns;

uint64_t now_ns(const struct run *run)
{
    (void)run;
    return clock_ns;
}

static void note(const struct stop *stop, const char *words, const char *real)
{
    cache_directory(stop, words, strlen(words), real, strlen(real));
}

static bool leads_to(const struct stop *stop, const char *words, const char *expected)
{
    const char *real = cached_directory(stop, words, strlen(words));
    return real && expected ? strcmp(real, expected) == 0 : real == expected;
}

static void a_directory_is_known_by_its_words(const struct stop *stop)
{
    note(stop, "/lib/x", "/usr/lib/x");
    note(stop, "", "");
    CHECK(leads_to(stop, "/lib/x", "/usr/lib/x"));
    CHECK(leads_to(stop, "", "")); /* the root */
    CHECK(leads_to(stop, "/lib", NULL) && leads_to(stop, "/lib/x/y", NULL) && leads_to(stop, "/usr/lib/x", NULL));
    CHECK(cached_directory(stop, "/lib/x/more", 6) != NULL);
    note(stop, "/lib/x", "/elsewhere");
    CHECK(leads_to(stop, "/lib/x", "/elsewhere"));
}

static void a_name_that_is_too_long_is_not_kept(const struct stop *stop)
{
    char real[PATH_MAX] = "/";
    memset(real + 1, 'd', 254);
    note(stop, "/long", real);
    CHECK(leads_to(stop, "/long", real));
    memset(real + 1, 'e', 255);
    note(stop, "/longer", real);
    CHECK(leads_to(stop, "/longer", NULL));
}

static void more_directories_than_there_is_room_for(const struct stop *stop)
{
    char words[32];
    for (int number = 0; number < 10000; number++) {
        snprintf(words, sizeof words, "/d%d", number);
        note(stop, words, words);
        CHECK(leads_to(stop, words, words));
    }
    for (int number = 0; number < 10000; number++) {
        snprintf(words, sizeof words, "/d%d", number);
        CHECK(leads_to(stop, words, words) || leads_to(stop, words, NULL));
    }
}

static void the_moment_passes(struct stop *stop)
{
    note(stop, "/a", "/b");
    cache_cwd(stop, "/c");
    clock_ns += MOMENT - 1;
    CHECK(leads_to(stop, "/a", "/b") && cached_cwd(stop));
    clock_ns++;
    CHECK(leads_to(stop, "/a", NULL) && !cached_cwd(stop));
}

static void names_are_moved(struct stop *stop)
{
    note(stop, "/a", "/b");
    cache_cwd(stop, "/c");
    atomic_fetch_add(&stop->run->age, 1);
    CHECK(leads_to(stop, "/a", NULL) && !cached_cwd(stop));
}

static void what_is_learned_during_a_move_is_forgotten_when_it_is_over(struct stop *stop)
{
    struct stop other = *stop;
    stop->tid = 7, other.tid = 8;
    note_move(stop);
    note(&other, "/a", "/of before");
    settle_move(&other);
    CHECK(leads_to(&other, "/a", "/of before")); /* who moved names is not back yet */
    settle_move(stop);
    CHECK(leads_to(&other, "/a", NULL));
    note(stop, "/a", "/of after");
    settle_move(stop);
    CHECK(leads_to(stop, "/a", "/of after")); /* it moved nothing since */
}

static void a_working_directory_is_of_one_process(struct stop *stop)
{
    cache_cwd(stop, "/c");
    CHECK(cached_cwd(stop) && strcmp(cached_cwd(stop), "/c") == 0);
    stop->single_threaded = false; /* another thread may change it */
    CHECK(!cached_cwd(stop));
    stop->single_threaded = true;
    stop->process++;
    CHECK(!cached_cwd(stop));
}

int main(void)
{
    struct run run = {.own_pid = 1};
    struct stop stop = {.run = &run, .process = 1, .single_threaded = true, .cache = start_path_cache()};
    CHECK(stop.cache);
    a_directory_is_known_by_its_words(&stop);
    a_name_that_is_too_long_is_not_kept(&stop);
    more_directories_than_there_is_room_for(&stop);
    the_moment_passes(&stop);
    names_are_moved(&stop);
    what_is_learned_during_a_move_is_forgotten_when_it_is_over(&stop);
    a_working_directory_is_of_one_process(&stop);
    free(stop.cache);
    return 0;
}
