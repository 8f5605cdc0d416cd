/* steno-probe: loads the probe into the kernel, attaches it to a cgroup, hands it over and ends.
 *
 * In: the object file beside this program, the run's cgroup. Out: one datagram of handover.h. The probe is in
 * place before the datagram is sent. libbpf is opened at run time, so that a machine without it can still build and run
 * everything else. `--check` loads and attaches nothing for long: it tells whether that can be done here.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <linux/bpf.h>

#include "handover.h"
#include "record.h"

#define KERNEL_TYPES "/sys/kernel/btf/vmlinux"
#define OBJECT "probe.bpf.o"
#define FIRST_NUMBERS "pid:[4026531836]" /* PROC_PID_INIT_INO */
#define DEFAULT_RING (16u << 20)
#define WAKE_PART 16 /* the reader is woken when this part of the ring is full */

struct bpf_object;
struct bpf_map;
struct bpf_program;
struct bpf_link;

/* As in libbpf.h of 1.0 and later. */
static struct {
    struct bpf_object *(*bpf_object__open_file)(const char *path, const void *options);
    int (*bpf_object__load)(struct bpf_object *object);
    struct bpf_map *(*bpf_object__find_map_by_name)(const struct bpf_object *object, const char *name);
    struct bpf_program *(*bpf_object__next_program)(const struct bpf_object *object, struct bpf_program *previous);
    int (*bpf_map__fd)(const struct bpf_map *map);
    int (*bpf_map__set_max_entries)(struct bpf_map *map, uint32_t entries);
    void *(*bpf_map__initial_value)(struct bpf_map *map, size_t *size);
    struct bpf_link *(*bpf_program__attach)(const struct bpf_program *program);
    struct bpf_link *(*bpf_program__attach_cgroup)(const struct bpf_program *program, int cgroup);
    const char *(*bpf_program__section_name)(const struct bpf_program *program);
    int (*bpf_program__fd)(const struct bpf_program *program);
    int (*bpf_link__fd)(const struct bpf_link *link);
    int (*libbpf_num_possible_cpus)(void);
    int (*(*libbpf_set_print)(int (*print)(int level, const char *format, va_list words)))(int, const char *, va_list);
} bpf;

struct wishes {
    int to, cgroup;
    uint64_t ring_bytes;
    char object[4096];
    bool check;
};

struct loaded {
    struct handover says;
    int handed[MOST_HANDED];
};

static bool failed(struct loaded *loaded, enum probe_state state, const char *format, ...)
{
    va_list words;
    va_start(words, format);
    loaded->says.state = state;
    vsnprintf(loaded->says.says, sizeof loaded->says.says, format, words);
    va_end(words);
    return false;
}

static int say_nothing(int level, const char *format, va_list words)
{
    (void)level, (void)format, (void)words;
    return 0;
}

static bool open_library(struct loaded *loaded)
{
    void *library = dlopen("libbpf.so.1", RTLD_NOW | RTLD_LOCAL);
    if (!library)
        return failed(loaded, PROBE_NO_LIBBPF, "%s", dlerror());
#define FIND(name)                                      \
    *(void **)&bpf.name = dlsym(library, #name);        \
    if (!bpf.name)                                      \
        return failed(loaded, PROBE_NO_LIBBPF, "libbpf has no %s", #name);
    FIND(bpf_object__open_file)
    FIND(bpf_object__load)
    FIND(bpf_object__find_map_by_name)
    FIND(bpf_object__next_program)
    FIND(bpf_map__fd)
    FIND(bpf_map__set_max_entries)
    FIND(bpf_map__initial_value)
    FIND(bpf_program__attach)
    FIND(bpf_program__attach_cgroup)
    FIND(bpf_program__section_name)
    FIND(bpf_program__fd)
    FIND(bpf_link__fd)
    FIND(libbpf_num_possible_cpus)
    FIND(libbpf_set_print)
#undef FIND
    if (!secure_getenv("STENO_PROBE_VERBOSE"))
        bpf.libbpf_set_print(say_nothing);
    return true;
}

static struct bpf_map *find_map(const struct bpf_object *object, const char *name)
{
    struct bpf_map *map = bpf.bpf_object__find_map_by_name(object, name);
    if (!map) {
        fprintf(stderr, "steno-probe: the object has no map %s\n", name);
        exit(1);
    }
    return map;
}

/* The probe tells the machine's numbers of processes; in a container they may be others than ours. */
static bool numbers_are_the_machines(void)
{
    char name[64];
    ssize_t length = readlink("/proc/self/ns/pid", name, sizeof name - 1);
    name[length > 0 ? length : 0] = 0;
    return strcmp(name, FIRST_NUMBERS) == 0;
}

static bool load(struct loaded *loaded, const struct wishes *wishes, struct bpf_object **object)
{
    if (!numbers_are_the_machines())
        return failed(loaded, PROBE_NOT_PERMITTED, "processes have numbers of their own here (a pid namespace)");
    if (access(KERNEL_TYPES, R_OK) != 0)
        return failed(loaded, PROBE_NO_BTF, "%s: %s", KERNEL_TYPES, strerror(errno));
    if (access(wishes->object, R_OK) != 0)
        return failed(loaded, PROBE_NO_OBJECT, "%s: %s", wishes->object, strerror(errno));
    *object = bpf.bpf_object__open_file(wishes->object, NULL);
    if (!*object)
        return failed(loaded, PROBE_LOAD_FAILED, "%s: %s", wishes->object, strerror(errno));
    int processors = bpf.libbpf_num_possible_cpus();
    if (processors < 1)
        return failed(loaded, PROBE_LOAD_FAILED, "how many processors there are is not known");
    loaded->says.processors = (uint32_t)processors;
    loaded->says.ring_bytes = wishes->ring_bytes;
    size_t size = 0;
    struct stat scope = {0};
    struct probe_constants *constants = bpf.bpf_map__initial_value(find_map(*object, ".rodata"), &size);
    if (!constants || size < sizeof *constants)
        return failed(loaded, PROBE_LOAD_FAILED, "the object has no constants");
    if (!wishes->check && fstat(wishes->cgroup, &scope) != 0)
        return failed(loaded, PROBE_NO_CGROUP, "%s", strerror(errno));
    *constants = (struct probe_constants){.wake_bytes = wishes->ring_bytes / WAKE_PART, .scope = scope.st_ino};
    if (bpf.bpf_map__set_max_entries(find_map(*object, "ring"), (uint32_t)wishes->ring_bytes) != 0 ||
        bpf.bpf_map__set_max_entries(find_map(*object, "scratches"), loaded->says.processors) != 0)
        return failed(loaded, PROBE_LOAD_FAILED, "the maps cannot be sized: %s", strerror(errno));
    int error = bpf.bpf_object__load(*object);
    if (error == -EPERM || error == -EACCES)
        return failed(loaded, PROBE_NOT_PERMITTED, "%s", strerror(-error));
    return error ? failed(loaded, PROBE_LOAD_FAILED, "%s", strerror(-error)) : true;
}

static bool set_scope(const struct bpf_object *object, int cgroup)
{
    uint32_t zero = 0;
    union bpf_attr attr = {.map_fd = (uint32_t)bpf.bpf_map__fd(find_map(object, "scope")), .key = (uint64_t)(uintptr_t)&zero,
                           .value = (uint64_t)(uintptr_t)&cgroup};
    return syscall(SYS_bpf, BPF_MAP_UPDATE_ELEM, &attr, sizeof attr) == 0;
}

/* Or whoever may start us could watch the processes of others: we may have privileges that our user has not. */
static bool is_of_our_user(struct loaded *loaded, int cgroup)
{
    struct stat found;
    if (fstat(cgroup, &found) != 0)
        return failed(loaded, PROBE_NO_CGROUP, "%s", strerror(errno));
    return found.st_uid == getuid() || getuid() == 0 || failed(loaded, PROBE_NOT_PERMITTED, "the cgroup belongs to another user");
}

static bool attach(struct loaded *loaded, const struct bpf_object *object, int cgroup)
{
    if (cgroup < 0 || !set_scope(object, cgroup))
        return failed(loaded, PROBE_NO_CGROUP, "%s", strerror(cgroup < 0 ? EBADF : errno));
    loaded->handed[HANDED_RING] = bpf.bpf_map__fd(find_map(object, "ring"));
    loaded->handed[HANDED_SHAPES] = bpf.bpf_map__fd(find_map(object, "shapes"));
    loaded->handed[HANDED_COUNTS] = bpf.bpf_map__fd(find_map(object, "counts"));
    for (struct bpf_program *program = NULL; (program = bpf.bpf_object__next_program(object, program));) {
        const char *section = bpf.bpf_program__section_name(program);
        bool of_cgroup = strncmp(section, "cgroup/", 7) == 0;
        struct bpf_link *link = of_cgroup ? bpf.bpf_program__attach_cgroup(program, cgroup) : bpf.bpf_program__attach(program);
        if (!link)
            return failed(loaded, PROBE_ATTACH_FAILED, "%s: %s", section, strerror(errno));
        if (HANDED_LINKS + 2 * (loaded->says.links + 1) > MOST_HANDED)
            return failed(loaded, PROBE_ATTACH_FAILED, "too many programs");
        int *pair = loaded->handed + HANDED_LINKS + 2 * loaded->says.links++;
        pair[0] = bpf.bpf_link__fd(link);
        pair[1] = bpf.bpf_program__fd(program);
    }
    return true;
}

static int hand_over(const struct wishes *wishes, struct loaded *loaded)
{
    size_t count = loaded->says.state == PROBE_READY ? HANDED_LINKS + 2 * loaded->says.links : 0;
    char room[CMSG_SPACE(MOST_HANDED * sizeof(int))];
    struct iovec words = {&loaded->says, sizeof loaded->says};
    struct msghdr message = {.msg_iov = &words, .msg_iovlen = 1};
    if (count) {
        memset(room, 0, sizeof room);
        message.msg_control = room;
        message.msg_controllen = CMSG_SPACE(count * sizeof(int));
        struct cmsghdr *control = CMSG_FIRSTHDR(&message);
        *control = (struct cmsghdr){.cmsg_len = CMSG_LEN(count * sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
        memcpy(CMSG_DATA(control), loaded->handed, count * sizeof(int));
    }
    return sendmsg(wishes->to, &message, MSG_NOSIGNAL) == sizeof loaded->says && loaded->says.state == PROBE_READY ? 0 : 1;
}

static const char *const words_of_states[] = {"ready", "no_libbpf", "no_btf", "not_permitted", "load_failed",
                                              "attach_failed", "gone", "no_cgroup", "no_object"};

static bool read_wishes(int argc, char **argv, struct wishes *wishes)
{
    static const struct option options[] = {
        {"to", required_argument, NULL, 't'},
        {"cgroup", required_argument, NULL, 'c'},
        {"ring-bytes", required_argument, NULL, 'r'},
        {"check", no_argument, NULL, 'k'},
        {NULL, 0, NULL, 0},
    };
    *wishes = (struct wishes){.to = -1, .cgroup = -1, .ring_bytes = DEFAULT_RING};
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        switch (option) {
        case 't':
            wishes->to = atoi(optarg);
            break;
        case 'c':
            wishes->cgroup = atoi(optarg);
            break;
        case 'r':
            wishes->ring_bytes = strtoull(optarg, NULL, 10);
            break;
        case 'k':
            wishes->check = true;
            break;
        default:
            return false;
        }
    }
    bool sized = wishes->ring_bytes >= 4096 && wishes->ring_bytes <= 1u << 30 && !(wishes->ring_bytes & (wishes->ring_bytes - 1));
    return sized && (wishes->check || wishes->to >= 0) && optind == argc;
}

static void find_object(struct wishes *wishes)
{
    ssize_t length = readlink("/proc/self/exe", wishes->object, sizeof wishes->object - sizeof OBJECT);
    char *slash = length > 0 ? memrchr(wishes->object, '/', (size_t)length) : NULL;
    memcpy(slash ? slash + 1 : wishes->object, OBJECT, sizeof OBJECT);
}

int main(int argc, char **argv)
{
    struct wishes wishes;
    struct loaded loaded = {.says = {.state = PROBE_READY}};
    struct bpf_object *object = NULL;
    if (!read_wishes(argc, argv, &wishes)) {
        fputs("usage: steno-probe --check\n"
              "       steno-probe --to FD --cgroup FD [--ring-bytes POWER_OF_TWO]\n",
              stderr);
        return 2;
    }
    if (prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) != 0) /* what we hand over is not for others of our user */
        return 1;
    find_object(&wishes);
    bool done = (wishes.check || is_of_our_user(&loaded, wishes.cgroup)) && open_library(&loaded) && load(&loaded, &wishes, &object);
    if (wishes.check) {
        if (!done)
            printf("%s: %s\n", words_of_states[loaded.says.state], loaded.says.says);
        return done ? 0 : 1;
    }
    if (done)
        (void)attach(&loaded, object, wishes.cgroup); /* `says` tells */
    return hand_over(&wishes, &loaded);
}
