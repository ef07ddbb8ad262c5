/* SPDX-License-Identifier: MIT */
#include "sink/om_server.h"

#include "base/clock.h"
#include "base/worker.h"
#include "sink/om_request.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#define REQUEST_NS (5 * NS_PER_SECOND)
#define ANSWER_NS  (10 * NS_PER_SECOND)

enum { CLIENTS = 32, REQUEST_BYTES = 4096 };
enum { PAUSE_US = 100 * 1000 };

struct client {
    int fd; /* -1: nobody */
    uint64_t until_ns;
    size_t asked; /* bytes of the request so far */
    char request[REQUEST_BYTES];
    struct buf answer; /* with something in it: being sent */
    size_t sent;
};

struct om_server {
    int fd, stop;
    bool is_local; /* it listens on loopback */
    om_server_text *text;
    void *arg;
    pthread_t thread;
    _Atomic pid_t thread_id;
    _Atomic uint64_t scrapes, bytes;
    struct client clients[CLIENTS];
};

/* ---- One request ----------------------------------------------------------------------------- */

static void leave(struct client *c)
{
    close_p(&c->fd);
    buf_done(&c->answer);
    c->asked = c->sent = 0;
}

static void answer(struct client *c, const char *status, const char *type, const char *more,
                   const struct buf *body, bool with_body)
{
    buf_printf(&c->answer,
               "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\nConnection: "
               "close\r\n%s\r\n",
               status, type, body->length, more);
    if (with_body)
        buf_add(&c->answer, body->data, body->length);
    c->until_ns = clock_mono(NULL) + ANSWER_NS;
}

static void refuse(struct client *c, const char *status, const char *more)
{
    struct buf body = {0};
    buf_printf(&body, "%s\n", status);
    answer(c, status, "text/plain", more, &body, true);
    buf_done(&body);
}

static void serve_text(struct om_server *s, struct client *c, const struct om_request *q)
{
    struct buf body = {0};
    s->text(s->arg, q->wants_openmetrics, &body);
    answer(c, "200 OK",
           q->wants_openmetrics ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                                : "text/plain; version=0.0.4; charset=utf-8",
           "", &body, !q->is_head);
    c->answer.failed |= buf_failed(&body);
    atomic_fetch_add(&s->scrapes, 1);
    atomic_fetch_add(&s->bytes, q->is_head ? 0 : body.length);
    buf_done(&body);
}

static void respond(struct om_server *s, struct client *c)
{
    struct om_request q;
    switch (om_request_read(c->request, s->is_local, &q)) {
    case OM_SERVE: serve_text(s, c, &q); break;
    case OM_BAD: refuse(c, "400 Bad Request", ""); break;
    case OM_METHOD: refuse(c, "405 Method Not Allowed", "Allow: GET, HEAD\r\n"); break;
    case OM_PATH: refuse(c, "404 Not Found", ""); break;
    case OM_HOST: refuse(c, "421 Misdirected Request", ""); break;
    }
}

static void receive(struct om_server *s, struct client *c)
{
    ssize_t n = recv(c->fd, c->request + c->asked, sizeof c->request - 1 - c->asked, 0);
    if (n <= 0) {
        if (n == 0 || (errno != EAGAIN && errno != EINTR))
            leave(c);
        return;
    }
    c->asked += (size_t)n;
    c->request[c->asked] = '\0';
    if (strlen(c->request) < c->asked)
        refuse(c, "400 Bad Request", "");
    else if (om_request_is_whole(c->request))
        respond(s, c);
    else if (c->asked == sizeof c->request - 1)
        refuse(c, "431 Request Header Fields Too Large", "");
    if (buf_failed(&c->answer))
        leave(c);
}

static void send_on(struct client *c)
{
    ssize_t n = send(c->fd, c->answer.data + c->sent, c->answer.length - c->sent, MSG_NOSIGNAL);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n > 0)
        c->sent += (size_t)n;
    if (n <= 0 || c->sent == c->answer.length) {
        /* With something unread, close() would send a reset that overtakes the answer. */
        char unread[REQUEST_BYTES];
        for (unsigned i = 0; i < 64 && recv(c->fd, unread, sizeof unread, 0) > 0; i++)
            ;
        shutdown(c->fd, SHUT_WR);
        leave(c);
    }
}

/* ---- The thread ------------------------------------------------------------------------------ */

/* When all places are taken, further connections wait in the kernel's queue for their turn, which the
 * limits of time bring. */
static void meet(struct om_server *s)
{
    for (size_t i = 0; i < CLIENTS; i++) {
        struct client *c = &s->clients[i];
        if (c->fd >= 0)
            continue;
        c->fd = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (c->fd < 0) {
            if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
                usleep(PAUSE_US); /* they stay at the door: not as fast as we can */
            return;
        }
        c->until_ns = clock_mono(NULL) + REQUEST_NS;
    }
}

static int prepare(struct om_server *s, struct pollfd fds[CLIENTS + 2], uint64_t now_ns)
{
    uint64_t until_ns = UINT64_MAX;
    bool has_place = false;
    for (size_t i = 0; i < CLIENTS; i++) {
        struct client *c = &s->clients[i];
        if (c->fd >= 0 && now_ns >= c->until_ns)
            leave(c);
        has_place |= c->fd < 0;
        fds[i] = (struct pollfd){.fd = c->fd, .events = c->answer.length ? POLLOUT : POLLIN};
        if (c->fd >= 0)
            until_ns = min_u64(until_ns, c->until_ns);
    }
    fds[CLIENTS] = (struct pollfd){.fd = has_place ? s->fd : -1, .events = POLLIN};
    fds[CLIENTS + 1] = (struct pollfd){.fd = s->stop, .events = POLLIN};
    return until_ns == UINT64_MAX ? -1 : (int)((until_ns - now_ns) / NS_PER_MS) + 1;
}

static void *serve(void *arg)
{
    struct om_server *s = arg;
    struct pollfd fds[CLIENTS + 2];
    prctl(PR_SET_NAME, "toll-scrape");
    atomic_store(&s->thread_id, (pid_t)syscall(SYS_gettid));
    for (;;) {
        int timeout_ms = prepare(s, fds, clock_mono(NULL));
        if (poll(fds, CLIENTS + 2, timeout_ms) < 0 && errno != EINTR)
            break;
        if (fds[CLIENTS + 1].revents)
            break;
        for (size_t i = 0; i < CLIENTS; i++) {
            struct client *c = &s->clients[i];
            if (c->fd < 0 || !fds[i].revents)
                continue;
            if (c->answer.length)
                send_on(c);
            else
                receive(s, c);
        }
        if (fds[CLIENTS].revents)
            meet(s);
    }
    for (size_t i = 0; i < CLIENTS; i++)
        leave(&s->clients[i]);
    return NULL;
}

static bool is_loopback(int fd)
{
    union {
        struct sockaddr any;
        struct sockaddr_in four;
        struct sockaddr_in6 six;
    } a;
    socklen_t size = sizeof a;
    if (getsockname(fd, &a.any, &size) < 0)
        return false;
    return a.any.sa_family == AF_INET
               ? ntohl(a.four.sin_addr.s_addr) >> 24 == 127
               : a.any.sa_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&a.six.sin6_addr);
}

int om_server_start(struct om_server **ret, int fd, om_server_text *text, void *arg)
{
    struct om_server *s = calloc(1, sizeof *s);
    if (!s)
        return -ENOMEM;
    s->fd = fd;
    s->is_local = is_loopback(fd);
    s->text = text;
    s->arg = arg;
    for (size_t i = 0; i < CLIENTS; i++)
        s->clients[i].fd = -1;
    s->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int r = s->stop < 0 ? -errno : thread_start(&s->thread, THREAD_STACK_BYTES, serve, s);
    if (r < 0) {
        close_p(&s->stop);
        free(s);
        return r;
    }
    while (!atomic_load(&s->thread_id))
        usleep(100);
    *ret = s;
    return 0;
}

bool om_server_is_local(const struct om_server *s)
{
    return s->is_local;
}

pid_t om_server_thread(const struct om_server *s)
{
    return atomic_load(&s->thread_id);
}

void om_server_count(struct om_server *s, uint64_t *ret_scrapes, uint64_t *ret_bytes)
{
    *ret_scrapes = atomic_load(&s->scrapes);
    *ret_bytes = atomic_load(&s->bytes);
}

void om_server_stop(struct om_server *s)
{
    if (!s)
        return;
    uint64_t one = 1;
    while (write(s->stop, &one, sizeof one) < 0 && errno == EINTR)
        ;
    pthread_join(s->thread, NULL);
    close(s->stop);
    free(s);
}
