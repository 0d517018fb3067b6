// What no proxy on sockets can be faster than: one connection to the API for each client, and bytes
// that go from one to the other unread. It parses, checks, counts and limits nothing.
//
//     forwarder PORT UPSTREAM_PORT
#include <arpa/inet.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

enum { EVENTS_MAX = 64, BUFFER = 16 * 1024 };

struct end {
    int descriptor;
    struct end *other;
};

static int queue;

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static struct sockaddr_in local(const char *port) {
    struct sockaddr_in address = {
        .sin_family = AF_INET,
        .sin_port = htons((unsigned short)atoi(port)),
        .sin_addr.s_addr = htonl(INADDR_LOOPBACK),
    };
    return address;
}

static void watch(struct end *end) {
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = end};
    if (epoll_ctl(queue, EPOLL_CTL_ADD, end->descriptor, &event) != 0) fail("epoll_ctl");
}

static void forward_from(int client, const struct sockaddr_in *upstream) {
    int on = 1;
    int server = socket(AF_INET, SOCK_STREAM, 0);
    if (server < 0 || connect(server, (const struct sockaddr *)upstream, sizeof *upstream) != 0)
        fail("connect");
    setsockopt(client, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    setsockopt(server, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    struct end *ends = calloc(2, sizeof *ends);
    if (ends == NULL) fail("calloc");
    ends[0] = (struct end){client, &ends[1]};
    ends[1] = (struct end){server, &ends[0]};
    watch(&ends[0]);
    watch(&ends[1]);
}

// Both ends are closed with either; their memory stays, since events of this turn may name it.
static void close_both(struct end *end) {
    close(end->descriptor);
    close(end->other->descriptor);
    end->descriptor = end->other->descriptor = -1;
}

int main(int count, char **arguments) {
    static char buffer[BUFFER];
    if (count != 3) {
        fprintf(stderr, "usage: forwarder PORT UPSTREAM_PORT\n");
        return 2;
    }
    struct sockaddr_in own = local(arguments[1]), upstream = local(arguments[2]);
    struct end listener = {socket(AF_INET, SOCK_STREAM, 0), NULL};
    int on = 1;
    setsockopt(listener.descriptor, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    if (bind(listener.descriptor, (struct sockaddr *)&own, sizeof own) != 0) fail("bind");
    if (listen(listener.descriptor, SOMAXCONN) != 0) fail("listen");
    queue = epoll_create1(0);
    watch(&listener);
    for (;;) {
        struct epoll_event events[EVENTS_MAX];
        int ready = epoll_wait(queue, events, EVENTS_MAX, -1);
        for (int index = 0; index < ready; index++) {
            struct end *end = events[index].data.ptr;
            if (end == &listener) {
                int client = accept(listener.descriptor, NULL, NULL);
                if (client >= 0) forward_from(client, &upstream);
                continue;
            }
            if (end->descriptor < 0) continue;
            ssize_t bytes = recv(end->descriptor, buffer, sizeof buffer, 0);
            // Messages of the benchmark fit into any socket's buffer.
            if (bytes <= 0 || send(end->other->descriptor, buffer, bytes, MSG_NOSIGNAL) != bytes)
                close_both(end);
        }
    }
}
