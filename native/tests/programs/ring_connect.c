/* Connects through io_uring: `ring_connect PORT...`, to 127.0.0.1, all in one submission. No system call names the ports.
 * Prints each result. 77: io_uring is not for us here. */
#include <arpa/inet.h>
#include <linux/io_uring.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define MOST 8
#define CANNOT 77

static void *part(int ring, size_t size, off_t offset)
{
    void *at = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, ring, offset);
    if (at == MAP_FAILED)
        exit(CANNOT);
    return at;
}

int main(int argc, char **argv)
{
    struct io_uring_params says = {0};
    struct sockaddr_in addresses[MOST];
    unsigned count = (unsigned)argc - 1;
    int ring = (int)syscall(SYS_io_uring_setup, MOST, &says);
    if (ring < 0 || count < 1 || count > MOST)
        return CANNOT;
    uint8_t *asked = part(ring, says.sq_off.array + says.sq_entries * sizeof(uint32_t), IORING_OFF_SQ_RING);
    uint8_t *done = part(ring, says.cq_off.cqes + says.cq_entries * sizeof(struct io_uring_cqe), IORING_OFF_CQ_RING);
    struct io_uring_sqe *entries = part(ring, says.sq_entries * sizeof *entries, IORING_OFF_SQES);
    for (unsigned i = 0; i < count; i++) {
        addresses[i] = (struct sockaddr_in){.sin_family = AF_INET, .sin_port = htons((uint16_t)atoi(argv[i + 1])),
                                            .sin_addr = {htonl(INADDR_LOOPBACK)}};
        entries[i] = (struct io_uring_sqe){.opcode = IORING_OP_CONNECT, .fd = socket(AF_INET, SOCK_STREAM, 0),
                                           .addr = (uintptr_t)&addresses[i], .off = sizeof addresses[i]};
        ((uint32_t *)(asked + says.sq_off.array))[i] = i;
    }
    __atomic_store_n((uint32_t *)(asked + says.sq_off.tail), count, __ATOMIC_RELEASE);
    if (syscall(SYS_io_uring_enter, ring, count, count, IORING_ENTER_GETEVENTS, NULL, 0) != (long)count)
        return 1;
    const struct io_uring_cqe *results = (void *)(done + says.cq_off.cqes);
    for (unsigned i = 0; i < count; i++)
        printf("%d\n", results[i].res);
    return 0;
}
