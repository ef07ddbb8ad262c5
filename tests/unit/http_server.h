/* SPDX-License-Identifier: MIT
 * A server for the tests of those who send over HTTP: it answers each request with what was set,
 * and keeps the last one. */
#pragma once

#include "base/util.h"
#include "unit.h"

#include <arpa/inet.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/socket.h>

struct http_server {
    int fd;
    unsigned port;
    pthread_t thread;
    atomic_bool stop;
    pthread_mutex_t lock;
    const char *answer;       /* whole; NULL: none, ever; "" closes at once */
    const char *const *first; /* answers before that one, each once; NULL behind the last */
    char request[65536];
    size_t length;
    unsigned requests;
};

static inline bool server_wait(struct http_server *s, int fd)
{
    struct pollfd p = {.fd = fd, .events = POLLIN};
    while (!atomic_load(&s->stop))
        if (poll(&p, 1, 10) > 0)
            return true;
    return false;
}

/* Reads one request; false when there is none any more. */
static inline bool server_read(struct http_server *s, int fd, char *text, size_t *ret_length)
{
    size_t length = 0, whole = SIZE_MAX;
    while (length < whole) {
        if (!server_wait(s, fd))
            return false;
        ssize_t n = recv(fd, text + length, 65535 - length, 0);
        if (n <= 0)
            return false;
        length += (size_t)n;
        text[length] = '\0';
        const char *end = memmem(text, length, "\r\n\r\n", 4);
        if (!end)
            continue;
        const char *size = strcasestr(text, "\r\nContent-Length: ");
        whole = (size_t)(end + 4 - text) + (size && size < end ? strtoul(size + 18, NULL, 10) : 0);
    }
    *ret_length = length;
    return true;
}

static inline void *server_run(void *arg)
{
    struct http_server *s = arg;
    char *text = malloc(65536);
    while (server_wait(s, s->fd)) {
        int fd = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC);
        size_t length;
        while (fd >= 0 && server_read(s, fd, text, &length)) {
            pthread_mutex_lock(&s->lock);
            memcpy(s->request, text, length + 1);
            s->length = length;
            s->requests++;
            bool has_first = s->first && *s->first;
            const char *answer = has_first ? *s->first++ : s->answer;
            pthread_mutex_unlock(&s->lock);
            if (!answer) {
                while (!atomic_load(&s->stop) && server_wait(s, -1))
                    ;
                break;
            }
            if (!*answer || send(fd, answer, strlen(answer), MSG_NOSIGNAL) < 0)
                break;
        }
        close(fd);
    }
    free(text);
    return NULL;
}

static inline void server_start(struct http_server *s)
{
    *s = (struct http_server){.answer = "HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n"};
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof a;
    s->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(s->fd, (struct sockaddr *)&a, sizeof a), 0);
    assert_int_equal(listen(s->fd, 5), 0);
    assert_int_equal(getsockname(s->fd, (struct sockaddr *)&a, &size), 0);
    s->port = ntohs(a.sin_port);
    pthread_mutex_init(&s->lock, NULL);
    assert_int_equal(pthread_create(&s->thread, NULL, server_run, s), 0);
}

static inline void server_answer(struct http_server *s, const char *answer)
{
    pthread_mutex_lock(&s->lock);
    s->answer = answer;
    pthread_mutex_unlock(&s->lock);
}

static inline void server_stop(struct http_server *s)
{
    atomic_store(&s->stop, true);
    pthread_join(s->thread, NULL);
    close(s->fd);
}
