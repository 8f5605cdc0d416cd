/* Threads that name paths in memory which another thread fills only after calls of its own: whoever reads those paths
 * waits for somebody whom it must serve meanwhile. Ends with 77 where the kernel has no such memory for us. */
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define ASKERS 12u /* more than there are threads to serve them at first */
#define PAGE 4096u
#define CANNOT 77

static void *ask(void *path)
{
    struct stat found;
    return stat(path, &found) == 0 ? path : NULL;
}

static int make_memory(char **pages)
{
    int faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
    struct uffdio_api api = {.api = UFFD_API};
    *pages = mmap(NULL, ASKERS * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct uffdio_register range = {.range = {(uintptr_t)*pages, ASKERS * PAGE}, .mode = UFFDIO_REGISTER_MODE_MISSING};
    if (faults < 0 || ioctl(faults, UFFDIO_API, &api) != 0 || ioctl(faults, UFFDIO_REGISTER, &range) != 0)
        return -1;
    return faults;
}

int main(void)
{
    static _Alignas(PAGE) char content[PAGE] = "/";
    char *pages;
    pthread_t askers[ASKERS];
    int faults = make_memory(&pages);
    if (faults < 0)
        return CANNOT;
    for (unsigned i = 0; i < ASKERS; i++)
        pthread_create(&askers[i], NULL, ask, pages + i * PAGE);
    for (unsigned i = 0; i < ASKERS; i++) {
        struct uffd_msg fault;
        struct stat found;
        if (read(faults, &fault, sizeof fault) != sizeof fault || stat("/", &found) != 0)
            return 1;
        struct uffdio_copy copy = {.dst = fault.arg.pagefault.address & ~(uint64_t)(PAGE - 1), .src = (uintptr_t)content, .len = PAGE};
        if (ioctl(faults, UFFDIO_COPY, &copy) != 0)
            return 1;
    }
    for (unsigned i = 0; i < ASKERS; i++) {
        void *answered = NULL;
        pthread_join(askers[i], &answered);
        if (!answered)
            return 1;
    }
    puts("all were answered");
    return 0;
}
