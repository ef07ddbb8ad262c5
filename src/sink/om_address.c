/* SPDX-License-Identifier: MIT */
#include "sink/om_address.h"

#include "base/err.h"
#include "base/scan.h"
#include "base/util.h"

#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

/* To its host, which may be empty, and its port. */
static bool split(const char *text, char *host, size_t capacity, const char **ret_port)
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
    return split(text, host, sizeof host, &port);
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
    if (!split(address, host, sizeof host, &port))
        return err_set(e, -EINVAL, "invalid listen address '%s' (expected [HOST]:PORT)", address);
    int r = getaddrinfo(*host ? host : "127.0.0.1", port, &wanted, &found);
    if (r != 0)
        return err_set(e, -EINVAL, "cannot listen at '%s': %s", address, gai_strerror(r));
    int fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    int on = 1;
    r = 0;
    if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0 ||
        bind(fd, found->ai_addr, found->ai_addrlen) < 0 || listen(fd, SOMAXCONN) < 0)
        r = err_set(e, -errno, "cannot listen at '%s': %s", address, strerror(errno));
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
