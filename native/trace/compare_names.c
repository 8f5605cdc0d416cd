/* Whether the filter and the probe saw the same name, and the same file: another thread may swap one for the
 * other between the stop and the call. In: what the stop named, and the probe's record. Out: the likeness.
 * Ordinary changes of a file (another comes under its name, it gets another name) are none. */
#include <string.h>
#include <sys/stat.h>

#include "compare_names.h"
#include "log.h"
#include "path.h"
#include "probe_record.h"

static void note(struct stop *stop, int which, uint64_t address, const char *words, size_t length)
{
    stop->named.words[which] = fingerprint(stop->run, words, length);
    stop->named.addresses[which] = address;
}

void note_words(struct stop *stop, int argument, const char *words, size_t length)
{
    if (stop->run->correlation && !stop->probed)
        note(stop, argument != stop->call->path, stop->args[argument], words, length);
}

void note_place(struct stop *stop, const struct resolved_path *place, bool is_interpreter)
{
    const uint16_t unclear = NOTE_OTHER_ROOT | NOTE_NOT_RESOLVED | NOTE_DELETED;
    if (!stop->run->correlation || stop->probed)
        return;
    stop->named.is_script = is_interpreter;
    bool clear = !(place->notes & unclear) && place->resolved[0] == '/';
    stop->named.resolved = clear ? fingerprint(stop->run, place->resolved, strlen(place->resolved)) : 0;
    stop->named.dev = place->exists ? place->found.st_dev : 0;
    stop->named.ino = place->exists ? place->found.st_ino : 0;
    stop->named.is_device = place->exists && S_ISCHR(place->found.st_mode);
}

static bool same_words(const struct run *run, const struct named *named, int which, const struct probed_call *seen)
{
    static const char by_descriptor[] = "/dev/fd/"; /* so the kernel calls a program that was not asked for by its name */
    bool runs = seen->record->kind == PROBE_EXEC;
    if (!named->words[which] || (runs && which > 0))
        return true;
    const struct probe_part *part = find_part(seen, PART_MEMORY, runs ? SEEN_PROGRAM : named->addresses[which]);
    if (!part || part->flags & NAME_CUT || !part->length)
        return true; /* what could not be read is counted elsewhere */
    const char *words = (const char *)part_bytes(part);
    size_t length = strnlen(words, part->length);
    if (runs && length >= sizeof by_descriptor - 1 && memcmp(words, by_descriptor, sizeof by_descriptor - 1) == 0)
        return true;
    return fingerprint(run, words, length) == named->words[which];
}

static const struct probe_part *file_in(const struct probed_call *seen)
{
    const struct probe_part *part = NULL;
    uint16_t kind = seen->record->kind == PROBE_EXEC ? PART_PROGRAM : PART_FILE;
    while ((part = next_part(seen, part)) && part->kind != kind)
        ;
    return part;
}

static bool is_clear(const struct named *named, const struct probe_part *part)
{
    const uint16_t unclear = NAME_CUT | NAME_UNREAD | NAME_DETACHED | NAME_ELSEWHERE;
    return named->resolved && part->length > sizeof(struct probe_file) && !(part->flags & unclear);
}

static bool same_file(const struct run *run, const struct named *named, const struct probe_part *part)
{
    struct probe_file file;
    memcpy(&file, part_bytes(part), sizeof file);
    bool same_inode = !(part->flags & STATE_FOREIGN) && named->ino == file.ino && named->dev == device_of(file.dev);
    return same_inode || (named->is_device && S_ISCHR(file.mode)) ||
           fingerprint(run, (const char *)part_bytes(part) + sizeof file, part->length - sizeof file) == named->resolved;
}

/* A file that the call got is what the kernel made of the words when it read them; without one, the words
 * must do. */
enum likeness compare_names(const struct run *run, const struct named *named, const struct probed_call *seen)
{
    bool runs = seen->record->kind == PROBE_EXEC, interpreted = runs && find_part(seen, PART_MEMORY, SEEN_INTERPRETER);
    const struct probe_part *file = probed_success(seen) ? file_in(seen) : NULL;
    bool clear = file && is_clear(named, file), alike = clear && same_file(run, named, file);
    if ((!clear || runs) && !same_words(run, named, 0, seen))
        return runs ? OTHER_FILE : OTHER_WORDS;
    if (!same_words(run, named, 1, seen))
        return OTHER_WORDS;
    if (interpreted)
        return alike || (named->is_script && !clear) ? ALIKE : OTHER_INTERPRETER;
    return alike || !clear ? ALIKE : OTHER_FILE;
}
