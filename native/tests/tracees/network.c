/* Cases about endpoints: sockets made, addresses named, daemons spoken to. */
#define _GNU_SOURCE
#include "tell.h"

#include <arpa/inet.h>
#include <linux/netlink.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

static int made(int family, int type, const char *line)
{
    int fd = (int)attempt(syscall(SYS_socket, family, type, 0));
    say(line);
    return fd;
}

static struct sockaddr_in v4(const char *host, unsigned short port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    must(inet_pton(AF_INET, host, &address.sin_addr));
    return address;
}

static socklen_t named(struct sockaddr_un *address, const char *path)
{
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address->sun_path)
        skip("the path is too long for a socket");
    strcpy(address->sun_path, path);
    return (socklen_t)(offsetof(struct sockaddr_un, sun_path) + strlen(path) + 1);
}

CASE(connect_to_a_closed_port, "socket connect")
{
    int fd = made(AF_INET, SOCK_STREAM, "socket 2:1");
    struct sockaddr_in address = v4("127.0.0.1", 1);
    attempt(syscall(SYS_connect, fd, &address, sizeof address));
    say("connect inet:127.0.0.1:1");
}

CASE(connect_over_version_six, "socket connect")
{
    int fd = made(AF_INET6, SOCK_STREAM, "socket 10:1");
    struct sockaddr_in6 address = {.sin6_family = AF_INET6, .sin6_port = htons(1), .sin6_addr = in6addr_loopback};
    attempt(syscall(SYS_connect, fd, &address, sizeof address));
    say("connect inet6:[::1]:1");
}

CASE(connect_with_a_short_address, "socket connect")
{
    int fd = made(AF_INET, SOCK_STREAM, "socket 2:1");
    struct sockaddr_in address = v4("127.0.0.1", 1);
    attempt(syscall(SYS_connect, fd, &address, 3));
    say_only("connect");
}

CASE(connect_with_an_unreadable_address, "socket connect")
{
    int fd = made(AF_INET, SOCK_STREAM, "socket 2:1");
    attempt(syscall(SYS_connect, fd, 16L, sizeof(struct sockaddr_in)));
    say_only("connect");
}

/* A listener, a client and the accepted end, in one process. */
static void serve_once(int type, long accept_call)
{
    int listener = made(AF_UNIX, type, type == SOCK_STREAM ? "socket 1:1" : "socket 1:5");
    int client = made(AF_UNIX, type, type == SOCK_STREAM ? "socket 1:1" : "socket 1:5");
    struct sockaddr_un address;
    socklen_t length = named(&address, in("s"));
    attempt(syscall(SYS_bind, listener, &address, length));
    say("mknod @/s");
    say("bind unix:@/s");
    attempt(syscall(SYS_listen, listener, 1));
    say("listen");
    attempt(syscall(SYS_connect, client, &address, length));
    say("connect unix:@/s");
    attempt(syscall(accept_call, listener, 0, 0, 0));
    say("accept");
}

CASE(accept_old, "bind listen accept") { serve_once(SOCK_STREAM, SYS_accept); }
CASE(accept4_on_packets, "bind listen accept4") { serve_once(SOCK_SEQPACKET, SYS_accept4); }

CASE(connect_to_an_abstract_name, "connect")
{
    int fd = made(AF_UNIX, SOCK_STREAM, "socket 1:1");
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = "\0nobody"};
    attempt(syscall(SYS_connect, fd, &address, offsetof(struct sockaddr_un, sun_path) + 7));
    say_only("connect unix:\\x40nobody");
}

CASE(connect_relative, "chdir connect")
{
    int fd = made(AF_UNIX, SOCK_STREAM, "socket 1:1");
    struct sockaddr_un address;
    attempt(chdir(in("dir")));
    say("chdir @/dir");
    socklen_t length = named(&address, "nobody");
    attempt(syscall(SYS_connect, fd, &address, length));
    say("connect unix:@/dir/nobody");
}

CASE(bind_netlink, "bind")
{
    int fd = made(AF_NETLINK, SOCK_RAW, "socket 16:3");
    struct sockaddr_nl address = {.nl_family = AF_NETLINK};
    attempt(syscall(SYS_bind, fd, &address, sizeof address));
    say("bind netlink:");
}

CASE(bind_an_odd_family, "socket bind")
{
    int fd = made(AF_INET, SOCK_DGRAM, "socket 2:2");
    struct sockaddr address = {.sa_family = 77};
    attempt(syscall(SYS_bind, fd, &address, sizeof address));
    say("bind family:77");
}

CASE(send_to_an_address, "sendto sendmsg sendmmsg")
{
    int fd = made(AF_INET, SOCK_DGRAM, "socket 2:2");
    struct sockaddr_in address = v4("127.0.0.1", 9);
    struct iovec word = {"x", 1};
    struct msghdr message = {.msg_name = &address, .msg_namelen = sizeof address, .msg_iov = &word, .msg_iovlen = 1};
    attempt(syscall(SYS_sendto, fd, "x", 1, MSG_NOSIGNAL, &address, sizeof address));
    say_only("send inet:127.0.0.1:9");
    address.sin_port = htons(10);
    attempt(syscall(SYS_sendmsg, fd, &message, MSG_NOSIGNAL));
    say_only("send inet:127.0.0.1:10");
    struct sockaddr_in second = v4("127.0.0.2", 11);
    struct mmsghdr many[2] = {{message, 0}, {message, 0}};
    many[1].msg_hdr.msg_name = &second;
    attempt(syscall(SYS_sendmmsg, fd, many, 2, MSG_NOSIGNAL));
    say_only("send inet:127.0.0.1:10");
    say_only("send inet:127.0.0.2:11");
}

CASE(send_without_an_address, "sendto sendmsg socketpair")
{
    int both[2];
    struct iovec word = {"x", 1};
    struct msghdr message = {.msg_iov = &word, .msg_iovlen = 1};
    must(attempt(syscall(SYS_socketpair, AF_UNIX, SOCK_STREAM, 0, both)));
    say_only("maybe socket 1:1");
    must(syscall(SYS_sendto, both[0], "x", 1, 0, 0, 0));
    must(syscall(SYS_sendmsg, both[0], &message, 0));
}

static int daemon_end[2];

static int serve(void)
{
    int listener = made(AF_UNIX, SOCK_STREAM, "socket 1:1");
    struct sockaddr_un address;
    socklen_t length = named(&address, in("daemon"));
    attempt(bind(listener, (struct sockaddr *)&address, length));
    say("mknod @/daemon");
    say("bind unix:@/daemon");
    attempt(listen(listener, 1));
    say("listen");
    must(write(daemon_end[1], "!", 1));
    int fd = (int)must(attempt(accept(listener, 0, 0)));
    must(read(fd, scratch, 1));
    must(unlink(in("file")));
    must(write(fd, "!", 1));
    return 0;
}

CASE(work_handed_to_a_daemon, "connect fork")
{
    must(pipe(daemon_end));
    pid_t child = child_of(serve);
    must(read(daemon_end[0], scratch, 1));
    int fd = made(AF_UNIX, SOCK_STREAM, "socket 1:1");
    struct sockaddr_un address;
    socklen_t length = named(&address, in("daemon"));
    attempt(connect(fd, (struct sockaddr *)&address, length));
    must(write(fd, "!", 1));
    must(read(fd, scratch, 1));
    say_only("unordered accept");
    say_only("unordered connect unix:@/daemon");
    say_only("unordered unlink @/file");
    await(child);
}
