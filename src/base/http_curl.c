/* SPDX-License-Identifier: MIT */
#include "base/http_curl.h"

#include "base/dynlib.h"
#include "base/err.h"
#include "base/url.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <resolv.h>
#include <stdio.h>
#include <string.h>

#define FUNCTION(name)                                                                             \
    {                                                                                              \
        offsetof(struct http_curl, name),                                                          \
        {                                                                                          \
            "curl_" #name                                                                          \
        }                                                                                          \
    }

int http_curl_load(struct http_curl *ret, struct toll_error *e)
{
    /* The same library, made with different others. */
    static const char *const names[] = {"libcurl.so.4", "libcurl-gnutls.so.4", "libcurl-nss.so.4"};
    static const struct dynlib_symbol functions[] = {
        FUNCTION(global_init),      FUNCTION(global_cleanup),      FUNCTION(easy_init),
        FUNCTION(easy_reset),       FUNCTION(easy_cleanup),        FUNCTION(easy_setopt),
        FUNCTION(easy_getinfo),     FUNCTION(easy_strerror),       FUNCTION(multi_init),
        FUNCTION(multi_add_handle), FUNCTION(multi_remove_handle), FUNCTION(multi_perform),
        FUNCTION(multi_poll),       FUNCTION(multi_info_read),     FUNCTION(multi_cleanup),
        FUNCTION(slist_append),     FUNCTION(slist_free_all),
    };
    struct http_curl c = {0};
    char why[256] = "", first[256] = "";
    for (size_t i = 0; i < ARRAY_LEN(names) && !c.library; i++) {
        c.library = dynlib_open(names[i], why, sizeof why);
        if (!i)
            memcpy(first, why, sizeof first);
    }
    if (!c.library)
        return err_set(e, -EOPNOTSUPP, "HTTP needs libcurl, which cannot be loaded: %s", first);
    if (dynlib_find(c.library, functions, ARRAY_LEN(functions), &c) != ARRAY_LEN(functions) ||
        c.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
        dynlib_close(c.library);
        return err_set(e, -EOPNOTSUPP, "HTTP needs a libcurl that is not older than 7.66");
    }
    *ret = c;
    return 0;
}

/* The library stays: what it loaded itself may have left things behind that call it at the end. */
void http_curl_unload(struct http_curl *c)
{
    c->global_cleanup();
}

enum { PROXY_PORT = 1080 }; /* where libcurl looks for one without a number */

static bool is_number(const char *host)
{
    unsigned char address[16];
    return inet_pton(AF_INET, host, address) == 1 || inet_pton(AF_INET6, host, address) == 1;
}

/* Nothing can call it back from this. It asks each server once, for a second, where 5 s and twice
 * are usual: whoever is asked for in vain is asked for again later, and at the end what cannot be
 * sent still has to be put aside. */
static int look_up(const char *host, struct addrinfo **ret)
{
    struct addrinfo wanted = {.ai_socktype = SOCK_STREAM};
    if (!(_res.options & RES_INIT))
        res_init();
    int wait = _res.retrans, times = _res.retry;
    _res.retrans = 1;
    _res.retry = 1;
    int r = getaddrinfo(host, NULL, &wanted, ret);
    _res.retrans = wait;
    _res.retry = times;
    return r;
}

static int resolve(struct http_curl *c, const struct url *u, unsigned port, struct curl_slist **ret,
                   char *why, size_t capacity)
{
    char host[256], address[INET6_ADDRSTRLEN];
    size_t length = (size_t)(u->host.end - u->host.at);
    if (length >= sizeof host)
        return -EHOSTUNREACH;
    memcpy(host, u->host.at, length);
    host[length] = '\0';
    if (is_number(host))
        return 0;
    struct addrinfo *found = NULL;
    int r = look_up(host, &found);
    if (r != 0) {
        snprintf(why, capacity, "'%s' cannot be looked up: %s", host, gai_strerror(r));
        return -EHOSTUNREACH;
    }
    struct buf line = {0};
    buf_printf(&line, "%s:%u:", host, port);
    const char *between = "";
    for (struct addrinfo *a = found; a; a = a->ai_next) {
        if (getnameinfo(a->ai_addr, a->ai_addrlen, address, sizeof address, NULL, 0,
                        NI_NUMERICHOST) != 0)
            continue;
        buf_printf(&line, strchr(address, ':') ? "%s[%s]" : "%s%s", between, address);
        between = ",";
    }
    freeaddrinfo(found);
    struct curl_slist *longer = buf_failed(&line) ? NULL : c->slist_append(*ret, line.data);
    buf_done(&line);
    if (!longer)
        return -ENOMEM;
    *ret = longer;
    return 0;
}

/* A variable may have a proxy without a scheme. */
static void resolve_proxy(struct http_curl *c, const char *variable, struct curl_slist **ret)
{
    const char *value = getenv(variable);
    struct url u;
    char text[300], why[200];
    if (!value || !*value)
        return;
    snprintf(text, sizeof text, "%s%s", strstr(value, "://") ? "" : "http://", value);
    if (url_split(text, &u))
        resolve(c, &u, u.port.at < u.port.end ? url_port(&u) : PROXY_PORT, ret, why,
                sizeof why); /* it says so itself when it is to be used */
}

int http_curl_resolve(struct http_curl *c, const char *url, struct curl_slist **ret, char *why,
                      size_t capacity)
{
    static const char *const variables[] = {"http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy",
                                            "ALL_PROXY"};
    struct url u;
    if (!url_split(url, &u)) {
        snprintf(why, capacity, "that is no URL");
        return -EINVAL;
    }
    bool has_proxy = false;
    for (size_t i = 0; i < ARRAY_LEN(variables); i++) {
        has_proxy |= getenv(variables[i]) != NULL;
        resolve_proxy(c, variables[i], ret);
    }
    int r = resolve(c, &u, url_port(&u), ret, why, capacity);
    return has_proxy && r == -EHOSTUNREACH ? 0 : r; /* the proxy may know the name */
}
