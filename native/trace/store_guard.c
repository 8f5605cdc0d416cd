/* The store of records is closed to the run: whatever the command removes, its own record and the earlier
 * ones stay.
 *
 * To the run the store is like a file system in use (EBUSY): what lies in it cannot be changed, and neither
 * can the way to it. New names may be made, and a run that the command records may be written by it: its
 * folder was made by the run. The directory of the keys, which lies apart, is closed altogether. Names are
 * compared, as they are in our own root; a thread that swaps the argument of another's call, and another
 * root, can pass by.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "path.h"
#include "path_event.h"
#include "store_guard.h"

#define RUN_ID_LENGTH 33u /* YYYY-MM-DDTHH-mm-ss-SSSZ_<8hex> */
#define UNPUBLISHED ".new-"
#define INTAKE "spool/intake"
#define MOST_NESTED 4096u

struct store {
    char path[PATH_MAX];
    size_t length;
    char own[NAME_MAX + 1];                 /* the folder of this run */
    char **links;                           /* on the way to it or to the keys, NULL-ended */
    char keys[PATH_MAX];                    /* the directory of the local keys; empty: they have none */
    size_t keys_length;
    pthread_mutex_t lock;
    char (*nested)[RUN_ID_LENGTH + 1];      /* runs that the command records, in the same store */
    uint32_t nested_count;
};

/* 0: the directory has no path that we could compare with. */
static size_t path_of(int fd, char path[PATH_MAX])
{
    char link[64];
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    ssize_t length = readlink(link, path, PATH_MAX - 1);
    return length < 2 || path[0] != '/' ? 0 : (size_t)length;
}

struct store *guard_store(int fd, const char *own, int keys, char **links)
{
    struct store *store = calloc(1, sizeof *store);
    if (!store || snprintf(store->own, sizeof store->own, "%s", own) >= (int)sizeof store->own)
        return NULL;
    store->length = path_of(fd, store->path);
    store->keys_length = keys < 0 ? 0 : path_of(keys, store->keys);
    store->nested = calloc(MOST_NESTED, sizeof *store->nested);
    if (!store->length || (keys >= 0 && !store->keys_length) || !store->nested || pthread_mutex_init(&store->lock, NULL) != 0)
        return NULL;
    store->links = links;
    return store;
}

static bool digits(const char *text, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        if (text[i] < '0' || text[i] > '9')
            return false;
    }
    return true;
}

static bool is_run_id(const char *name, size_t length)
{
    return length == RUN_ID_LENGTH && digits(name, 4) && name[4] == '-' && digits(name + 5, 2) && name[7] == '-' && digits(name + 8, 2) &&
           name[10] == 'T' && name[23] == 'Z' && name[24] == '_';
}

static bool is_nested(struct store *store, const char *id)
{
    bool found = false;
    pthread_mutex_lock(&store->lock);
    for (uint32_t i = 0; i < store->nested_count && !found; i++)
        found = memcmp(store->nested[i], id, RUN_ID_LENGTH) == 0;
    pthread_mutex_unlock(&store->lock);
    return found;
}

static bool note_nested(struct store *store, const char *id)
{
    bool is_room;
    pthread_mutex_lock(&store->lock);
    is_room = store->nested_count < MOST_NESTED;
    if (is_room)
        memcpy(store->nested[store->nested_count++], id, RUN_ID_LENGTH);
    pthread_mutex_unlock(&store->lock);
    return is_room;
}

static bool lies_below(const char *path, const char *directory, size_t length)
{
    return strncmp(path, directory, length) == 0 && path[length] == '/';
}

/* `inner` is a name in the store, with what is below it. */
static bool is_closed_inside(struct store *store, enum op op, const char *inner, bool is_there)
{
    size_t length = strcspn(inner, "/");
    const char *id = strncmp(inner, UNPUBLISHED, sizeof UNPUBLISHED - 1) == 0 ? inner + sizeof UNPUBLISHED - 1 : inner;
    size_t id_length = length - (size_t)(id - inner);
    if (strcmp(store->own, inner) == 0 || lies_below(inner, store->own, strlen(store->own))) {
        const char *below = inner + strlen(store->own) + 1;
        return !(lies_below(inner, store->own, strlen(store->own)) && lies_below(below, INTAKE, sizeof INTAKE - 1));
    }
    if (!is_run_id(id, id_length))
        return is_there;
    if (is_nested(store, id))
        return false;
    return is_there || inner[length] || op != OP_MKDIR || !note_nested(store, id);
}

/* Of a closed directory itself and those above it: they stay where they are, and whoever owns them can enter
 * them. */
static bool is_closed_way(const struct stop *stop, enum op op, bool is_the_end)
{
    switch (op) {
    case OP_RENAME:
    case OP_RENAME_TO:
        return true;
    case OP_CHMOD:
        return is_the_end || !(argument(stop, stop->call->arg) & S_IXUSR);
    case OP_CHOWN:
    case OP_SETXATTR:
    case OP_REMOVEXATTR:
    case OP_SETATTR:
    case OP_UTIMES:
        return is_the_end;
    default:
        return false;
    }
}

bool is_guarded(struct stop *stop, enum op op, const struct resolved_path *place)
{
    struct store *store = stop->run->store;
    const char *path = place->resolved;
    if (!store || stop->probed || path[0] != '/' || place->notes & (NOTE_OTHER_ROOT | NOTE_DELETED) || op == OP_MOUNT || op == OP_UMOUNT)
        return false;
    if (lies_below(path, store->path, store->length))
        return is_closed_inside(store, op, path + store->length + 1, place->exists);
    if (store->keys_length && lies_below(path, store->keys, store->keys_length))
        return true;
    size_t length = strlen(path);
    bool is_the_end = strcmp(path, store->path) == 0 || strcmp(path, store->keys) == 0;
    if (is_the_end || lies_below(store->path, path, length == 1 ? 0 : length) || lies_below(store->keys, path, length == 1 ? 0 : length))
        return is_closed_way(stop, op, is_the_end);
    for (char **link = store->links; *link; link++) {
        if (strcmp(path, *link) == 0)
            return true;
        if (lies_below(*link, path, length == 1 ? 0 : length))
            return is_closed_way(stop, op, false);
    }
    return false;
}
