/* SPDX-License-Identifier: MIT */
#include "sink/openmetrics/openmetrics.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/text/scan.h"
#include "base/thread.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

/* ==== Requests ================================================================================ */

bool om_request_is_whole(const char *text)
{
    return strstr(text, "\r\n\r\n") || strstr(text, "\n\n");
}

/* The value of the first such header, without blanks around it; name is "\nname:". */
static struct scan om_request_header(const char *text, const char *name)
{
    const char *at = strcasestr(text, name);
    if (!at)
        return scan_text("", 0);
    at += strlen(name);
    at += strspn(at, " \t");
    size_t length = strcspn(at, "\r\n");
    while (length && (at[length - 1] == ' ' || at[length - 1] == '\t'))
        length--;
    return scan_text(at, length);
}

/* "name", "name:port", "1.2.3.4:port" or "[::1]:port". A browser always sends one. */
static bool om_request_is_this_machine(struct scan host)
{
    char name[256], own[256] = "";
    unsigned char address[16];
    bool has_brackets = host.at < host.end && *host.at == '[';
    host.at += has_brackets;
    size_t length = 0;
    while (host.at + length < host.end && host.at[length] != (has_brackets ? ']' : ':'))
        length++;
    if (length >= sizeof name)
        return false;
    memcpy(name, host.at, length);
    name[length] = '\0';
    gethostname(own, sizeof own - 1);
    return !length || inet_pton(AF_INET, name, address) == 1 ||
           inet_pton(AF_INET6, name, address) == 1 || strcasecmp(name, "localhost") == 0 ||
           strcasecmp(name, own) == 0;
}

enum om_check om_request_read(const char *text, bool local_only, struct om_request *ret)
{
    bool is_head = strncmp(text, "HEAD ", 5) == 0;
    if (!is_head && strncmp(text, "GET ", 4) != 0)
        return OM_METHOD;
    const char *path = text + (is_head ? 5 : 4);
    if (strncmp(path + strcspn(path, " \r\n"), " HTTP/1.", 8) != 0)
        return OM_BAD;
    if (local_only && !om_request_is_this_machine(om_request_header(text, "\nhost:")))
        return OM_HOST;
    size_t name = strcspn(path, "? ");
    if (name != 8 || strncmp(path, "/metrics", name) != 0)
        return OM_PATH;
    static const char type[] = "application/openmetrics-text";
    struct scan accept = om_request_header(text, "\naccept:");
    const char *found = strcasestr(accept.at, type);
    *ret = (struct om_request){is_head, found && found + sizeof type - 1 <= accept.end};
    return OM_SERVE;
}

/* ==== Addresses =============================================================================== */

/* Into its host, which may be empty, and its port. */
static bool om_address_split(const char *text, char *host, size_t capacity, const char **ret_port)
{
    const char *colon = strrchr(text, ':');
    uint64_t port;
    if (!colon || strchr(text, '/'))
        return false;
    struct scan digits = scan_string(colon + 1);
    if (!scan_u64(&digits, &port) || !scan_done(&digits) || port > 65535 || colon[1] == ' ')
        return false;
    bool has_brackets = text[0] == '[' && colon > text + 1 && colon[-1] == ']';
    size_t length = (size_t)(colon - text) - (has_brackets ? 2 : 0);
    const char *name = text + has_brackets;
    if (length >= capacity || (!has_brackets && memchr(name, ':', length)))
        return false;
    memcpy(host, name, length);
    host[length] = '\0';
    *ret_port = colon + 1;
    return true;
}

bool om_address_is(const char *text)
{
    char host[256];
    const char *port;
    return om_address_split(text, host, sizeof host, &port);
}

bool om_address_has_any_port(const char *text)
{
    const char *colon = strrchr(text, ':');
    return om_address_is(text) && strspn(colon + 1, "0") == strlen(colon + 1);
}

int om_address_listen(const char *address, int *ret_fd, struct toll_error *e)
{
    char host[256];
    const char *port;
    struct addrinfo wanted = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE}, *found = NULL;
    if (!om_address_split(address, host, sizeof host, &port))
        return err_set(e, -EINVAL, "invalid listen address '%s' (expected [HOST]:PORT)", address);
    int r = getaddrinfo(*host ? host : "127.0.0.1", port, &wanted, &found);
    if (r != 0)
        return err_set(e, -EINVAL, "cannot listen on '%s': %s", address, gai_strerror(r));
    int fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int on = 1;
    r = 0;
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0 ||
        bind(fd, found->ai_addr, found->ai_addrlen) < 0 || listen(fd, SOMAXCONN) < 0)
        r = err_set(e, -errno, "cannot listen on '%s': %s", address, strerror(errno));
    freeaddrinfo(found);
    if (r < 0) {
        close_p(&fd);
        return r;
    }
    *ret_fd = fd;
    return 0;
}

bool om_address_name(int fd, char *ret, size_t capacity)
{
    struct sockaddr_storage a;
    socklen_t size = sizeof a;
    char host[64], port[8];
    if (getsockname(fd, (struct sockaddr *)&a, &size) < 0 ||
        getnameinfo((struct sockaddr *)&a, size, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        return false;
    snprintf(ret, capacity, strchr(host, ':') ? "[%s]:%s" : "%s:%s", host, port);
    return true;
}

/* ==== Server ================================================================================== */

#define REQUEST_NS (5 * NS_PER_SECOND)
#define ANSWER_NS  (10 * NS_PER_SECOND)

enum { CLIENTS = 32, REQUEST_BYTES = 4096 };
enum { PAUSE_US = 100 * 1000 };

struct om_client {
    int fd; /* -1: free */
    uint64_t until_ns;
    size_t asked; /* bytes of the request so far */
    char request[REQUEST_BYTES];
    struct buf answer; /* being sent, unless it is empty */
    size_t sent;
};

struct om_server {
    int fd, stop;
    bool is_local; /* listens on loopback */
    om_server_text *text;
    void *arg;
    pthread_t thread;
    _Atomic pid_t thread_id;
    _Atomic uint64_t scrapes, bytes;
    struct om_client clients[CLIENTS];
};

static void om_client_close(struct om_client *c)
{
    close_p(&c->fd);
    buf_done(&c->answer);
    c->asked = c->sent = 0;
}

static void om_server_answer(struct om_client *c, const char *status, const char *type,
                             const char *more, const struct buf *body, bool with_body)
{
    buf_printf(&c->answer,
               "HTTP/1.1 %s\r\nContent-Type: %s\r\nContent-Length: %zu\r\nConnection: "
               "close\r\n%s\r\n",
               status, type, body->length, more);
    if (with_body)
        buf_add(&c->answer, body->data, body->length);
    c->until_ns = clock_mono(NULL) + ANSWER_NS;
}

static void om_server_refuse(struct om_client *c, const char *status, const char *more)
{
    struct buf body = {0};
    buf_printf(&body, "%s\n", status);
    om_server_answer(c, status, "text/plain", more, &body, true);
    buf_done(&body);
}

static void om_server_respond(struct om_server *s, struct om_client *c)
{
    struct om_request q;
    struct buf body = {0};
    switch (om_request_read(c->request, s->is_local, &q)) {
    case OM_SERVE:
        s->text(s->arg, q.wants_openmetrics, &body);
        om_server_answer(c, "200 OK",
                         q.wants_openmetrics
                             ? "application/openmetrics-text; version=1.0.0; charset=utf-8"
                             : "text/plain; version=0.0.4; charset=utf-8",
                         "", &body, !q.is_head);
        c->answer.failed |= buf_failed(&body);
        atomic_fetch_add(&s->scrapes, 1);
        atomic_fetch_add(&s->bytes, q.is_head ? 0 : body.length);
        buf_done(&body);
        break;
    case OM_BAD: om_server_refuse(c, "400 Bad Request", ""); break;
    case OM_METHOD: om_server_refuse(c, "405 Method Not Allowed", "Allow: GET, HEAD\r\n"); break;
    case OM_PATH: om_server_refuse(c, "404 Not Found", ""); break;
    case OM_HOST: om_server_refuse(c, "421 Misdirected Request", ""); break;
    }
}

static void om_server_receive(struct om_server *s, struct om_client *c)
{
    ssize_t n = recv(c->fd, c->request + c->asked, sizeof c->request - 1 - c->asked, 0);
    if (n <= 0) {
        if (n == 0 || (errno != EAGAIN && errno != EINTR))
            om_client_close(c);
        return;
    }
    c->asked += (size_t)n;
    c->request[c->asked] = '\0';
    if (strlen(c->request) < c->asked)
        om_server_refuse(c, "400 Bad Request", "");
    else if (om_request_is_whole(c->request))
        om_server_respond(s, c);
    else if (c->asked == sizeof c->request - 1)
        om_server_refuse(c, "431 Request Header Fields Too Large", "");
    if (buf_failed(&c->answer))
        om_client_close(c);
}

static void om_server_send(struct om_client *c)
{
    ssize_t n = send(c->fd, c->answer.data + c->sent, c->answer.length - c->sent, MSG_NOSIGNAL);
    if (n < 0 && (errno == EAGAIN || errno == EINTR))
        return;
    if (n > 0)
        c->sent += (size_t)n;
    if (n <= 0 || c->sent == c->answer.length) {
        /* With unread data, close() would send a reset that overtakes the answer. */
        char unread[REQUEST_BYTES];
        for (unsigned i = 0; i < 64 && recv(c->fd, unread, sizeof unread, 0) > 0; i++)
            ;
        shutdown(c->fd, SHUT_WR);
        om_client_close(c);
    }
}

/* When all places are in use, further connections wait in the kernel's queue until the limits of
 * time free one. */
static void om_server_accept(struct om_server *s)
{
    for (size_t i = 0; i < CLIENTS; i++) {
        struct om_client *c = &s->clients[i];
        if (c->fd >= 0)
            continue;
        c->fd = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        if (c->fd < 0) {
            if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM)
                usleep(PAUSE_US); /* the connection stays in the queue: do not spin */
            return;
        }
        c->until_ns = clock_mono(NULL) + REQUEST_NS;
    }
}

static int om_server_prepare(struct om_server *s, struct pollfd fds[CLIENTS + 2], uint64_t now_ns)
{
    uint64_t until_ns = UINT64_MAX;
    bool has_place = false;
    for (size_t i = 0; i < CLIENTS; i++) {
        struct om_client *c = &s->clients[i];
        if (c->fd >= 0 && now_ns >= c->until_ns)
            om_client_close(c);
        has_place |= c->fd < 0;
        fds[i] = (struct pollfd){.fd = c->fd, .events = c->answer.length ? POLLOUT : POLLIN};
        if (c->fd >= 0)
            until_ns = min_u64(until_ns, c->until_ns);
    }
    fds[CLIENTS] = (struct pollfd){.fd = has_place ? s->fd : -1, .events = POLLIN};
    fds[CLIENTS + 1] = (struct pollfd){.fd = s->stop, .events = POLLIN};
    return until_ns == UINT64_MAX ? -1 : (int)((until_ns - now_ns) / NS_PER_MS) + 1;
}

static void *om_server_serve(void *arg)
{
    struct om_server *s = arg;
    struct pollfd fds[CLIENTS + 2];
    prctl(PR_SET_NAME, "toll-scrape");
    atomic_store(&s->thread_id, (pid_t)syscall(SYS_gettid));
    for (;;) {
        int timeout_ms = om_server_prepare(s, fds, clock_mono(NULL));
        if (poll(fds, CLIENTS + 2, timeout_ms) < 0 && errno != EINTR)
            break;
        if (fds[CLIENTS + 1].revents)
            break;
        for (size_t i = 0; i < CLIENTS; i++) {
            struct om_client *c = &s->clients[i];
            if (c->fd < 0 || !fds[i].revents)
                continue;
            if (c->answer.length)
                om_server_send(c);
            else
                om_server_receive(s, c);
        }
        if (fds[CLIENTS].revents)
            om_server_accept(s);
    }
    for (size_t i = 0; i < CLIENTS; i++)
        om_client_close(&s->clients[i]);
    return NULL;
}

static bool om_address_is_loopback(int fd)
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
    s->is_local = om_address_is_loopback(fd);
    s->text = text;
    s->arg = arg;
    for (size_t i = 0; i < CLIENTS; i++)
        s->clients[i].fd = -1;
    s->stop = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    int r = s->stop < 0 ? -errno : thread_start(&s->thread, THREAD_STACK_BYTES, om_server_serve, s);
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
    pid_t id = atomic_load(&s->thread_id);
    thread_join(s->thread, &id);
    close(s->stop);
    free(s);
}
