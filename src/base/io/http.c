/* SPDX-License-Identifier: MIT */
#include "base/io/http.h"

#include "base/clock.h"
#include "base/err.h"
#include "base/process.h"
#include "base/text/buf.h"
#include "base/text/encoding.h"
#include "base/text/scan.h"
#include "base/text/secrets.h"
#include "toll.h"

#include <stdio.h>
#include <string.h>

/* ==== URL ===================================================================================== */

static struct scan url_cut(struct scan *s, const char *letters)
{
    struct scan part = {.at = s->at, .end = s->at};
    while (part.end < s->end && !strchr(letters, *part.end))
        part.end++;
    s->at = part.end;
    return part;
}

/* The last @ ends the user: a password may be written with one. */
static struct scan url_cut_user(struct scan *authority)
{
    struct scan user = {.at = authority->at, .end = authority->at};
    for (const char *c = authority->at; c < authority->end; c++)
        if (*c == '@')
            user.end = c;
    if (user.end > authority->at || (authority->at < authority->end && *authority->at == '@'))
        authority->at = user.end + 1;
    return user;
}

static bool url_split_host(struct scan authority, struct url *u)
{
    if (authority.at < authority.end && *authority.at == '[') {
        authority.at++;
        u->host = url_cut(&authority, "]");
        if (authority.at == authority.end)
            return false;
        authority.at++;
    } else {
        u->host = url_cut(&authority, ":");
    }
    size_t length = scan_length(u->host);
    if (memchr(u->host.at, '[', length) || memchr(u->host.at, ']', length))
        return false; /* they are around an address, not in it */
    u->port = (struct scan){.at = authority.end, .end = authority.end};
    if (authority.at == authority.end)
        return u->host.at < u->host.end;
    if (*authority.at != ':')
        return false;
    authority.at++;
    u->port = authority;
    struct scan digits = authority;
    uint64_t port;
    return u->host.at < u->host.end && scan_u64(&digits, &port) && scan_done(&digits) && port &&
           port < 65536 && *authority.at != ' ';
}

bool url_split(const char *text, struct url *ret)
{
    struct url u = {0};
    struct scan s = scan_string(text);
    for (const char *c = text; *c; c++)
        if ((unsigned char)*c <= 0x20 || (unsigned char)*c >= 0x7F || strchr("\"\\<>", *c))
            return false;
    u.scheme = url_cut(&s, ":");
    size_t length = scan_length(u.scheme);
    u.is_secure = length == 5 && strncasecmp(u.scheme.at, "https", 5) == 0;
    if (!u.is_secure && !(length == 4 && strncasecmp(u.scheme.at, "http", 4) == 0))
        return false;
    if (!scan_word(&s, "://"))
        return false;
    struct scan authority = url_cut(&s, "/?#");
    u.user = url_cut_user(&authority);
    if (!url_split_host(authority, &u))
        return false;
    u.path = url_cut(&s, "?#");
    if (s.at < s.end && *s.at == '?') {
        s.at++;
        u.query = url_cut(&s, "#");
    } else {
        u.query = (struct scan){.at = s.at, .end = s.at};
    }
    *ret = u;
    return true;
}

unsigned url_port(const struct url *u)
{
    struct scan digits = u->port;
    uint64_t port;
    return scan_u64(&digits, &port) ? (unsigned)port : u->is_secure ? 443 : 80;
}

void url_encode(struct buf *b, const char *text, size_t length, const char *kept)
{
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];
        bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                        (c >= '0' && c <= '9') || (c && (strchr("-._~", c) || strchr(kept, c)));
        if (is_plain)
            buf_putc(b, (char)c);
        else
            buf_printf(b, "%%%02X", c);
    }
}

bool url_decode(struct buf *b, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (text[i] != '%') {
            buf_putc(b, text[i]);
            continue;
        }
        int high = i + 2 < length ? scan_hex_digit(text[i + 1]) : -1;
        int low = high >= 0 ? scan_hex_digit(text[i + 2]) : -1;
        if (low < 0 || (high == 0 && low == 0))
            return false;
        buf_putc(b, (char)(high << 4 | low));
        i += 2;
    }
    return true;
}

void url_show(struct buf *b, const char *text)
{
    struct url u;
    if (!url_split(text, &u)) {
        buf_puts(b, "?"); /* a password may be anywhere in it */
        return;
    }
    bool has_colon = memchr(u.host.at, ':', scan_length(u.host));
    buf_add(b, u.scheme.at, scan_length(u.scheme));
    buf_puts(b, has_colon ? "://[" : "://");
    buf_add(b, u.host.at, scan_length(u.host));
    buf_puts(b, has_colon ? "]" : "");
    if (u.port.at < u.port.end) {
        buf_putc(b, ':');
        buf_add(b, u.port.at, scan_length(u.port));
    }
    buf_add(b, u.path.at, scan_length(u.path));
}

/* ==== Request ================================================================================= */

bool http_is_worth_a_retry(int status)
{
    return status == 408 || status == 429 || (status >= 500 && status != 501);
}

void http_describe(const struct http_response *response, char *ret, size_t capacity)
{
    size_t line = 0;
    while (line < response->length && line < 160 && response->body[line] != '\n' &&
           response->body[line] != '\r')
        line++;
    bool is_page = line && response->body[0] == '<'; /* a line of HTML is of no use */
    snprintf(ret, capacity, "server answered %d%s%.*s", response->status,
             line && !is_page ? ": " : "", is_page ? 0 : (int)line, line ? response->body : "");
    secrets_mask_sentence(ret, capacity);
    text_make_printable(ret);
}

/* ==== Credentials ============================================================================= */

/* Shorter ones would blot out ordinary words, and "***" must fit in their place. */
enum { CREDENTIAL_BYTES = 4 };

/* Also the beginning of one that was cut at the end of the sentence. */
static void credential_mask(char *sentence, const char *secret, size_t length)
{
    static const char mask[] = {'*', '*', '*'};
    for (char *at = sentence; *at; at++) {
        size_t left = strlen(at), n = left < length ? left : length;
        if (n < CREDENTIAL_BYTES || memcmp(at, secret, n) != 0)
            continue;
        memcpy(at, mask, sizeof mask);
        memmove(at + sizeof mask, at + n, left - n + 1);
        at += sizeof mask - 1;
    }
}

/* As it is written in a URL, and what that means. */
static void credential_mask_encoded(char *sentence, struct scan text)
{
    struct buf plain = {0};
    credential_mask(sentence, text.at, scan_length(text));
    if (url_decode(&plain, text.at, scan_length(text)) && !buf_failed(&plain) && plain.data)
        credential_mask(sentence, plain.data, plain.length);
    buf_done(&plain);
}

static void credential_mask_basic(char *sentence, const char *text, size_t length)
{
    struct buf b = {0};
    base64_add(&b, text, length, false);
    if (!buf_failed(&b) && b.data)
        credential_mask(sentence, b.data, b.length);
    buf_done(&b);
}

static void credentials_mask_url(char *sentence, const char *url)
{
    struct url u;
    struct buf login = {0};
    if (!url_split(url, &u))
        return;
    struct scan password = u.user, query = u.query;
    url_cut(&password, ":");
    if (password.at < password.end) {
        password.at++;
        credential_mask_encoded(sentence, password);
        if (url_decode(&login, u.user.at, scan_length(u.user)) && !buf_failed(&login))
            credential_mask_basic(sentence, login.data, login.length);
        buf_done(&login);
    }
    while (query.at < query.end) { /* what of it is secret is not known */
        struct scan value = url_cut(&query, "&");
        url_cut(&value, "=");
        value.at += value.at < value.end;
        credential_mask_encoded(sentence, value);
        query.at += query.at < query.end;
    }
}

static void credentials_mask_settings(char *sentence, const struct http_settings *s)
{
    struct scan lines = scan_string(s->headers ? s->headers : ""), line;
    while (scan_line(&lines, &line)) {
        for (int part = 0; part < 2 && line.at < line.end; part++) { /* "Bearer X", then X alone */
            url_cut(&line, part ? " " : ":");
            while (line.at < line.end && (*line.at == ' ' || *line.at == ':'))
                line.at++;
            credential_mask(sentence, line.at, scan_length(line));
        }
    }
    if (s->token)
        credential_mask(sentence, s->token, strlen(s->token));
    if (s->user && s->password) {
        struct buf login = {0};
        buf_printf(&login, "%s:%s", s->user, s->password);
        credential_mask(sentence, s->password, strlen(s->password));
        if (!buf_failed(&login))
            credential_mask_basic(sentence, login.data, login.length);
        buf_done(&login);
    }
}

#ifdef HAS_CURL

#include <arpa/inet.h>
#include <netdb.h>
#include <resolv.h>
#include <sys/socket.h>

/* Some of the names used here are deprecated; old versions have no others. */
#define CURL_DISABLE_DEPRECATION
#include <curl/curl.h>

/* What is used of libcurl, loaded at run time. */
struct http_curl {
    void *library;
    CURLcode (*global_init)(long flags);
    void (*global_cleanup)(void);
    CURL *(*easy_init)(void);
    void (*easy_reset)(CURL *easy);
    void (*easy_cleanup)(CURL *easy);
    CURLcode (*easy_setopt)(CURL *easy, CURLoption option, ...);
    CURLcode (*easy_getinfo)(CURL *easy, CURLINFO info, ...);
    const char *(*easy_strerror)(CURLcode code);
    CURLM *(*multi_init)(void);
    CURLMcode (*multi_add_handle)(CURLM *multi, CURL *easy);
    CURLMcode (*multi_remove_handle)(CURLM *multi, CURL *easy);
    CURLMcode (*multi_perform)(CURLM *multi, int *running);
    CURLMcode (*multi_poll)(CURLM *multi, struct curl_waitfd *fds, unsigned count, int timeout_ms,
                            int *ret_ready);
    CURLMsg *(*multi_info_read)(CURLM *multi, int *ret_left);
    CURLMcode (*multi_cleanup)(CURLM *multi);
    struct curl_slist *(*slist_append)(struct curl_slist *list, const char *text);
    void (*slist_free_all)(struct curl_slist *list);
};

/* ==== Http curl =============================================================================== */

#define FUNCTION(name)                                                                             \
    {                                                                                              \
        offsetof(struct http_curl, name),                                                          \
        {                                                                                          \
            "curl_" #name                                                                          \
        }                                                                                          \
    }

/* -EOPNOTSUPP and a sentence when it is missing or older than 7.66. */
static int http_curl_load(struct http_curl *ret, struct toll_error *e)
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
        return err_set(e, -EOPNOTSUPP, "cannot load libcurl: %s (HTTP needs libcurl 7.66 or later)",
                       first);
    if (dynlib_find(c.library, functions, ARRAY_LEN(functions), &c) != ARRAY_LEN(functions) ||
        c.global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK) {
        dynlib_close(c.library);
        return err_set(e, -EOPNOTSUPP, "libcurl is too old (HTTP needs 7.66 or later)");
    }
    *ret = c;
    return 0;
}

enum { PROXY_PORT = 1080 }; /* where libcurl looks for one without a number */

/* A lookup cannot be cancelled, so each name server is asked once, for a second, instead of twice
 * for 5 s: a failed request is repeated later, and at the end there must be time for the spool. */
static int http_look_up(const char *host, struct addrinfo **ret)
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

static int http_curl_look_up(struct http_curl *c, const struct url *u, unsigned port,
                             struct curl_slist **ret, char *why, size_t capacity)
{
    char host[256], address[INET6_ADDRSTRLEN];
    size_t length = scan_length(u->host);
    if (length >= sizeof host)
        return -EHOSTUNREACH;
    memcpy(host, u->host.at, length);
    host[length] = '\0';
    unsigned char number[16];
    if (inet_pton(AF_INET, host, number) == 1 || inet_pton(AF_INET6, host, number) == 1)
        return 0;
    struct addrinfo *found = NULL;
    int r = http_look_up(host, &found);
    if (r != 0) {
        snprintf(why, capacity, "cannot resolve host '%s': %s", host, gai_strerror(r));
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
static void http_resolve_proxy(struct http_curl *c, const char *variable, struct curl_slist **ret)
{
    const char *value = getenv(variable);
    struct url u;
    char text[300], why[200];
    if (!value || !*value)
        return;
    snprintf(text, sizeof text, "%s%s", strstr(value, "://") ? "" : "http://", value);
    if (url_split(text, &u))
        http_curl_look_up(c, &u, u.port.at < u.port.end ? url_port(&u) : PROXY_PORT, ret, why,
                          sizeof why); /* it says so itself when it is to be used */
}

/* The addresses of the host of a URL, and of the proxies that are named in the environment, as
 * lines for libcurl. Left to itself it would start a thread for that, whose reads would be taken
 * for those of a child. -EHOSTUNREACH, or -EINVAL for an invalid URL, and a sentence. */
static int http_curl_resolve(struct http_curl *c, const char *url, struct curl_slist **ret,
                             char *why, size_t capacity)
{
    static const char *const variables[] = {"http_proxy", "https_proxy", "HTTPS_PROXY", "all_proxy",
                                            "ALL_PROXY"};
    struct url u;
    if (!url_split(url, &u)) {
        snprintf(why, capacity, "invalid URL");
        return -EINVAL;
    }
    bool has_proxy = false;
    for (size_t i = 0; i < ARRAY_LEN(variables); i++) {
        has_proxy |= getenv(variables[i]) != NULL;
        http_resolve_proxy(c, variables[i], ret);
    }
    int r = http_curl_look_up(c, &u, url_port(&u), ret, why, capacity);
    return has_proxy && r == -EHOSTUNREACH ? 0 : r; /* the proxy may know the name */
}

/* ==== Http ==================================================================================== */

#define TIMEOUT_NS    (10 * NS_PER_SECOND)
#define NAMES_HOLD_NS (60 * NS_PER_SECOND)

enum { ASK_MS = 100 };

/* An answer is read this far, so that its connection can be used again, and no further. */
enum { DRAIN_BYTES = 1024 * 1024, HEADER_BYTES = 256 * 1024 };

struct http {
    struct http_curl curl;
    struct http_settings settings; /* its strings are owned */
    CURL *easy;                    /* made by the thread that sends; NULL: not yet */
    CURLM *multi;
    struct curl_slist *names; /* addresses of hosts */
    char *names_of;           /* owned: the host and port they are for */
    uint64_t named_ns;
    struct buf body;
    size_t body_bytes, header_bytes; /* of the answer so far */
    bool is_cut;                     /* its body is longer than what is read of it */
    uint64_t retry_after_ns;
};

/* ---- Its life -------------------------------------------------------------------------------- */

static void http_free_settings(struct http_settings *s)
{
    const char **strings[] = {&s->user,      &s->password, &s->token,  &s->ca_file,
                              &s->cert_file, &s->key_file, &s->headers};
    for (size_t i = 0; i < ARRAY_LEN(strings); i++) {
        free((char *)(uintptr_t)*strings[i]);
        *strings[i] = NULL;
    }
}

static int http_copy_settings(struct http_settings *to, const struct http_settings *from)
{
    *to = from ? *from : (struct http_settings){0};
    const char **strings[] = {&to->user,      &to->password, &to->token,  &to->ca_file,
                              &to->cert_file, &to->key_file, &to->headers};
    int r = 0;
    for (size_t i = 0; i < ARRAY_LEN(strings); i++)
        if (*strings[i] && !(*strings[i] = strdup(*strings[i])))
            r = -ENOMEM;
    if (!to->timeout_ns)
        to->timeout_ns = TIMEOUT_NS;
    return r;
}

int http_open(struct http **ret, const struct http_settings *settings, struct toll_error *e)
{
    struct http *h = calloc(1, sizeof *h);
    if (!h)
        return err_set(e, -ENOMEM, "cannot prepare HTTP: out of memory");
    int r = http_copy_settings(&h->settings, settings);
    if (r < 0)
        err_set(e, r, "cannot prepare HTTP: out of memory");
    else
        r = http_curl_load(&h->curl, e);
    if (r < 0) {
        http_free_settings(&h->settings);
        free(h);
        return r;
    }
    *ret = h;
    return 0;
}

void http_close(struct http *h)
{
    if (!h)
        return;
    if (h->easy)
        h->curl.easy_cleanup(h->easy);
    if (h->multi)
        h->curl.multi_cleanup(h->multi);
    h->curl.slist_free_all(h->names);
    h->curl.global_cleanup(); /* the library stays loaded: its dependencies may call it at exit */
    http_free_settings(&h->settings);
    free(h->names_of);
    buf_done(&h->body);
    free(h);
}

/* ---- A request ------------------------------------------------------------------------------- */

static size_t http_take_body(char *data, size_t size, size_t count, void *arg)
{
    struct http *h = arg;
    size_t room = HTTP_BODY_BYTES - h->body.length;
    buf_add(&h->body, data, min_u64(room, size * count));
    h->body_bytes += size * count;
    h->is_cut = h->body_bytes > DRAIN_BYTES;
    return h->is_cut ? 0 : size * count; /* 0: libcurl closes the connection */
}

static size_t http_take_header(char *data, size_t size, size_t count, void *arg)
{
    static const char name[] = "retry-after:";
    struct http *h = arg;
    size_t length = size * count;
    uint64_t seconds;
    h->header_bytes += length;
    if (h->header_bytes > HEADER_BYTES)
        return 0;
    if (length < sizeof name || strncasecmp(data, name, sizeof name - 1) != 0)
        return length;
    struct scan s = scan_text(data + sizeof name - 1, length - (sizeof name - 1));
    if (scan_u64(&s, &seconds) && seconds < 86400) /* dates are ignored */
        h->retry_after_ns = seconds * NS_PER_SECOND;
    return length;
}

/* Commands that are started meanwhile must not inherit it. */
static curl_socket_t http_open_socket(void *arg, curlsocktype purpose, struct curl_sockaddr *a)
{
    return socket(a->family, a->socktype | SOCK_CLOEXEC, a->protocol);
}

static bool http_add_line(struct http *h, struct curl_slist **list, const char *line)
{
    struct curl_slist *longer = h->curl.slist_append(*list, line);
    if (longer)
        *list = longer;
    return longer;
}

static bool http_make_headers(struct http *h, const struct http_request *q, struct curl_slist **ret)
{
    const struct http_settings *s = &h->settings;
    bool fine = http_add_line(h, ret,
                              "Expect:"); /* do not wait for "100 Continue" before the body */
    for (const char *const *line = q->headers; line && *line; line++)
        fine &= http_add_line(h, ret, *line);
    struct buf b = {0};
    if (s->token && !s->user) {
        buf_printf(&b, "Authorization: Bearer %s", s->token);
        fine &= !buf_failed(&b) && http_add_line(h, ret, b.data);
    }
    struct scan lines = scan_string(s->headers ? s->headers : ""), line;
    while (scan_line(&lines, &line)) {
        buf_clear(&b);
        buf_add(&b, line.at, scan_length(line));
        fine &= !buf_failed(&b) && (!b.length || http_add_line(h, ret, b.data));
    }
    buf_done(&b);
    return fine;
}

static void http_set_request(struct http *h, const struct http_request *q,
                             struct curl_slist *headers, uint64_t timeout_ns, char *sentence)
{
    long ms = (long)(timeout_ns / NS_PER_MS) + 1;
    const char *method = q->method ? q->method : q->body ? "POST" : "GET";
    struct http_curl *c = &h->curl;
    c->easy_reset(h->easy); /* connections stay */
    c->easy_setopt(h->easy, CURLOPT_URL, q->url);
    c->easy_setopt(h->easy, CURLOPT_NOSIGNAL, 1L);
    c->easy_setopt(h->easy, CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
    c->easy_setopt(h->easy, CURLOPT_USERAGENT, "toll/" TOLL_VERSION);
    c->easy_setopt(h->easy, CURLOPT_HTTPHEADER, headers);
    c->easy_setopt(h->easy, CURLOPT_RESOLVE, h->names);
    c->easy_setopt(h->easy, CURLOPT_TIMEOUT_MS, ms);
    c->easy_setopt(h->easy, CURLOPT_CONNECTTIMEOUT_MS, ms);
    c->easy_setopt(h->easy, CURLOPT_ERRORBUFFER, sentence);
    c->easy_setopt(h->easy, CURLOPT_OPENSOCKETFUNCTION, http_open_socket);
    c->easy_setopt(h->easy, CURLOPT_WRITEFUNCTION, http_take_body);
    c->easy_setopt(h->easy, CURLOPT_WRITEDATA, h);
    c->easy_setopt(h->easy, CURLOPT_HEADERFUNCTION, http_take_header);
    c->easy_setopt(h->easy, CURLOPT_HEADERDATA, h);
    if (q->body) {
        c->easy_setopt(h->easy, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)q->length);
        c->easy_setopt(h->easy, CURLOPT_POSTFIELDS, q->body);
    } else if (strcmp(method, "HEAD") == 0) {
        c->easy_setopt(h->easy, CURLOPT_NOBODY, 1L);
    }
    c->easy_setopt(h->easy, CURLOPT_CUSTOMREQUEST, method);
    const struct http_settings *s = &h->settings;
    if (s->user) {
        c->easy_setopt(h->easy, CURLOPT_USERNAME, s->user);
        c->easy_setopt(h->easy, CURLOPT_PASSWORD, s->password ? s->password : "");
    }
    if (s->ca_file)
        c->easy_setopt(h->easy, CURLOPT_CAINFO, s->ca_file);
    if (s->cert_file) {
        c->easy_setopt(h->easy, CURLOPT_SSLCERT, s->cert_file);
        c->easy_setopt(h->easy, CURLOPT_SSLKEY, s->key_file ? s->key_file : s->cert_file);
    }
    c->easy_setopt(h->easy, CURLOPT_SSL_VERIFYPEER, s->any_certificate ? 0L : 1L);
    c->easy_setopt(h->easy, CURLOPT_SSL_VERIFYHOST, s->any_certificate ? 0L : 2L);
}

static int http_code_of(CURLcode result)
{
    switch (result) {
    case CURLE_OK: return 0;
    case CURLE_COULDNT_CONNECT: return -ECONNREFUSED;
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY: return -EHOSTUNREACH;
    case CURLE_OPERATION_TIMEDOUT: return -ETIMEDOUT;
    case CURLE_OUT_OF_MEMORY: return -ENOMEM;
    case CURLE_SSL_CONNECT_ERROR:
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_UNSUPPORTED_PROTOCOL: return -EPROTO;
    default: return -EIO;
    }
}

/* Until it is done, the time is over or is_over says so. */
static int http_perform(struct http *h, const struct http_request *q, uint64_t until_ns,
                        char *sentence, size_t capacity)
{
    struct http_curl *c = &h->curl;
    int running = 1, messages;
    do {
        if (c->multi_perform(h->multi, &running) != CURLM_OK)
            return -EIO;
        if (!running)
            break;
        if (q->is_over && q->is_over(q->is_over_arg))
            return -ECANCELED;
        if (clock_mono(NULL) >= until_ns)
            return -ETIMEDOUT;
        c->multi_poll(h->multi, NULL, 0, ASK_MS, NULL);
    } while (running);
    CURLMsg *m = c->multi_info_read(h->multi, &messages);
    CURLcode result = m && m->msg == CURLMSG_DONE ? m->data.result : CURLE_RECV_ERROR;
    if (result == CURLE_WRITE_ERROR && h->is_cut)
        return 0; /* its status and beginning were read */
    if (result == CURLE_WRITE_ERROR && h->header_bytes > HEADER_BYTES) {
        snprintf(sentence, capacity, "response has more than %d KiB of headers",
                 HEADER_BYTES / 1024);
        return -EPROTO;
    }
    if (result != CURLE_OK && !*sentence)
        snprintf(sentence, capacity, "%s", c->easy_strerror(result));
    return http_code_of(result);
}

static const char *http_in_words(int r)
{
    return r == -ECANCELED   ? "no time left to wait for a response"
           : r == -ETIMEDOUT ? "no response in time"
                             : strerror(-r);
}

static int http_send_with(struct http *h, const struct http_request *q, struct curl_slist *headers,
                          struct http_response *ret)
{
    char sentence[CURL_ERROR_SIZE] = "";
    uint64_t timeout_ns = q->timeout_ns ? q->timeout_ns : h->settings.timeout_ns;
    uint64_t until_ns = sum_u64(clock_mono(NULL), timeout_ns);
    http_set_request(h, q, headers, timeout_ns, sentence);
    if (h->curl.multi_add_handle(h->multi, h->easy) != CURLM_OK)
        return -ENOMEM;
    int r = http_perform(h, q, until_ns, sentence, sizeof sentence);
    long status = 0;
    h->curl.easy_getinfo(h->easy, CURLINFO_RESPONSE_CODE, &status);
    h->curl.multi_remove_handle(h->multi, h->easy);
    h->curl.easy_setopt(h->easy, CURLOPT_ERRORBUFFER, NULL);
    ret->status = (int)status;
    ret->body = h->body.data ? h->body.data : "";
    ret->length = h->body.length;
    ret->retry_after_ns = h->retry_after_ns;
    if (r < 0)
        snprintf(ret->why, sizeof ret->why, "%s",
                 *sentence && r != -ETIMEDOUT ? sentence : http_in_words(r));
    return r;
}

/* The addresses of the host and of proxies are kept for a while. */
static int http_look_up_names(struct http *h, const char *url, struct http_response *ret)
{
    uint64_t now = clock_mono(NULL);
    struct url u;
    struct buf place = {0};
    if (url_split(url, &u)) {
        buf_add(&place, u.host.at, scan_length(u.host));
        buf_printf(&place, ":%u", url_port(&u));
    }
    if (buf_failed(&place)) {
        buf_done(&place);
        return -ENOMEM;
    }
    bool is_known = place.data && h->names_of && strcmp(h->names_of, place.data) == 0 &&
                    now - h->named_ns <= NAMES_HOLD_NS;
    if (is_known) {
        buf_done(&place);
        return 0;
    }
    h->curl.slist_free_all(h->names);
    h->names = NULL;
    free(h->names_of);
    h->names_of = place.data;
    h->named_ns = now;
    return http_curl_resolve(&h->curl, url, &h->names, ret->why, sizeof ret->why);
}

void http_mask_credentials(const struct http *h, const char *url, char *sentence)
{
    credentials_mask_url(sentence, url);
    credentials_mask_settings(sentence, &h->settings);
}

int http_send(struct http *h, const struct http_request *q, struct http_response *ret)
{
    struct curl_slist *headers = NULL;
    *ret = (struct http_response){.body = ""};
    buf_clear(&h->body);
    h->body_bytes = h->header_bytes = 0;
    h->is_cut = false;
    h->retry_after_ns = 0;
    if (!h->easy)
        h->easy = h->curl.easy_init();
    if (!h->multi)
        h->multi = h->curl.multi_init();
    int r = h->easy && h->multi && http_make_headers(h, q, &headers) ? 0 : -ENOMEM;
    if (r == 0)
        r = http_look_up_names(h, q->url, ret);
    if (r == 0)
        r = http_send_with(h, q, headers, ret);
    else if (!*ret->why)
        snprintf(ret->why, sizeof ret->why, "%s", http_in_words(r));
    if (r < 0)
        h->named_ns = 0; /* its address may have changed */
    h->curl.slist_free_all(headers);
    return r;
}

#else

void http_mask_credentials(const struct http *h, const char *url, char *sentence)
{
    credentials_mask_url(sentence, url);
    credentials_mask_settings(sentence, &(struct http_settings){0});
}

int http_open(struct http **ret, const struct http_settings *settings, struct toll_error *e)
{
    return err_set(e, -EOPNOTSUPP, "HTTP is not available: toll was built without libcurl");
}

void http_close(struct http *h)
{
}

int http_send(struct http *h, const struct http_request *request, struct http_response *ret)
{
    *ret = (struct http_response){.body = ""};
    return -EOPNOTSUPP;
}

#endif
