/* Its own filter says that four calls succeeded, and none is carried out: `pretending FILE NEW PROGRAM` connects to
 * 192.0.2.77:443, opens FILE to read, makes NEW, deletes FILE and executes PROGRAM. Prints what it was told of each. */
#include <arpa/inet.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#define CALL_IS(number, then) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, number, then, 0)

static int pretend(void)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        CALL_IS(SYS_connect, 4),
        CALL_IS(SYS_openat, 3),
        CALL_IS(SYS_unlinkat, 2),
        CALL_IS(SYS_execve, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | 0),
    };
    struct sock_fprog program = {sizeof code / sizeof *code, code};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program);
}

int main(int argc, char **argv)
{
    struct sockaddr_in peer = {.sin_family = AF_INET, .sin_port = htons(443)};
    char *none[] = {NULL};
    if (argc != 4 || inet_pton(AF_INET, "192.0.2.77", &peer.sin_addr) != 1 || pretend())
        return 1;
    int udp = socket(AF_INET, SOCK_DGRAM, 0);
    printf("%ld\n", syscall(SYS_connect, udp, &peer, sizeof peer));
    printf("%ld\n", syscall(SYS_openat, AT_FDCWD, argv[1], O_RDONLY));
    printf("%ld\n", syscall(SYS_openat, AT_FDCWD, argv[2], O_CREAT | O_WRONLY, 0600));
    printf("%ld\n", syscall(SYS_unlinkat, AT_FDCWD, argv[1], 0));
    printf("%ld\n", syscall(SYS_execve, argv[3], argv + 3, none));
    return 0;
}
