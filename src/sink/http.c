/* SPDX-License-Identifier: MIT */
#include "sink/http.h"

#include "base/err.h"
#include "base/io/file.h"
#include "base/io/http.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

enum { SECRET_BYTES = 8192 };

/* Figures that are refused one by one before the rest of a request is given up. */
enum { FIRST_TRIES_AT_MOST = 32, TRIES_AT_MOST = 1024 };

/* The first line of the file that an option names, which the caller frees. 0 without the option. */
static int http_sink_read_secret(const struct sink *s, const char *option, char **ret,
                                 struct toll_error *e)
{
    char text[SECRET_BYTES];
    const char *path = sink_options_text(&s->settings, option);
    if (!path)
        return 0;
    ssize_t n = file_read_at(AT_FDCWD, path, text, sizeof text);
    if (n < 0)
        return err_set(e, (int)n, "%s: %s: cannot read '%s': %s", s->kind->format.name, option,
                       path, strerror((int)-n));
    size_t line = 0;
    while (line < (size_t)n && text[line] != '\n' && text[line] != '\r')
        line++;
    if (!line)
        return err_set(e, -EINVAL, "%s: %s: first line of '%s' is empty", s->kind->format.name,
                       option, path);
    *ret = strndup(text, line);
    explicit_bzero(text, sizeof text);
    return *ret ? 0 : err_set(e, -ENOMEM, "cannot open the output: out of memory");
}

/* Options that contradict each other or would not be used are mistakes. */
static int http_sink_check(const struct sink *s, struct toll_error *e)
{
    const struct sink_settings *o = &s->settings;
    const char *name = s->kind->format.name, *headers = sink_options_text(o, "header");
    struct scan lines = scan_string(headers ? headers : ""), line;
    while (scan_line(&lines, &line)) {
        const char *colon = memchr(line.at, ':', (size_t)(line.end - line.at));
        bool is_plain = true;
        for (const char *c = line.at; c < line.end; c++)
            is_plain &= ((unsigned char)*c >= 0x20 && *c != 0x7F) || *c == '\t';
        if (!colon || colon == line.at || !is_plain) /* its value may be a secret */
            return err_set(e, -EINVAL, "%s: invalid header (expected 'Name: value')", name);
    }
    if (!sink_options_u64(o, "timeout"))
        return err_set(e, -EINVAL, "%s: invalid timeout (expected a time above 0)", name);
    if (sink_options_has(o, "password_file") && !sink_options_has(o, "user"))
        return err_set(e, -EINVAL, "%s: password_file needs the option user", name);
    if (sink_options_has(o, "token_file") && sink_options_has(o, "user"))
        return err_set(e, -EINVAL, "%s: user and token_file cannot be combined", name);
    if (sink_options_has(o, "key") && !sink_options_has(o, "cert"))
        return err_set(e, -EINVAL, "%s: key needs the option cert", name);
    return 0;
}

/* A file that is named, or that would be used, has to be there before anything runs. */
static int http_sink_check_file(const struct sink *s, const char *option, const char *what,
                                const char *file, struct toll_error *e)
{
    bool is_named = sink_options_has(&s->settings, option);
    if (!file || (!is_named && strncasecmp(s->place, "https:", 6) != 0) ||
        faccessat(AT_FDCWD, file, R_OK, AT_EACCESS) == 0)
        return 0;
    return err_set(e, -errno, "%s: cannot read the %s in '%s': %s", s->kind->format.name, what,
                   file, strerror(errno));
}

/* Options and the URL win over otherwise; user, password and token are taken from one of them. */
static int http_sink_open_with(struct sink *s, const struct http_settings *otherwise, bool has_user,
                               const char *password, const char *token, struct http **ret,
                               struct toll_error *e)
{
    const struct sink_settings *o = &s->settings;
    struct http_settings h = {
        .user = sink_options_text(o, "user"),
        .password = password,
        .token = token,
        .ca_file = sink_options_text(o, "ca"),
        .any_certificate = sink_options_u64(o, "insecure"),
        .cert_file = sink_options_text(o, "cert"),
        .key_file = sink_options_text(o, "key"),
        .headers = sink_options_text(o, "header"),
        .timeout_ns = sink_options_u64(o, "timeout"),
    };
    if (otherwise && !has_user && !h.user && !h.token) {
        h.user = otherwise->user;
        h.password = otherwise->password;
        h.token = otherwise->token;
    }
    if (otherwise && !h.ca_file)
        h.ca_file = otherwise->ca_file;
    if (otherwise && !h.cert_file) {
        h.cert_file = otherwise->cert_file;
        h.key_file = otherwise->key_file;
    }
    if (otherwise && otherwise->headers)
        h.headers = otherwise->headers;
    if (otherwise && otherwise->timeout_ns && !sink_options_has(o, "timeout"))
        h.timeout_ns = otherwise->timeout_ns;
    h.any_certificate |= otherwise && otherwise->any_certificate;
    int r = http_sink_check_file(s, "ca", "certificates", h.ca_file, e);
    if (r == 0)
        r = http_sink_check_file(s, "cert", "client certificate", h.cert_file, e);
    if (r == 0)
        r = http_sink_check_file(s, "key", "client key", h.key_file, e);
    if (r < 0)
        return r;
    r = http_open(ret, &h, e);
    return r < 0 ? err_wrap(e, r, "%s", s->kind->format.name) : 0;
}

int http_sink_open(struct sink *s, const struct http_settings *otherwise, struct http **ret,
                   struct toll_error *e)
{
    struct url u;
    struct buf name = {0};
    char *password = NULL, *token = NULL;
    if (!url_split(s->place, &u)) /* which may have a password in it */
        return err_set(e, -EINVAL, "%s: invalid URL (expected one such as http://host:9090/path)",
                       s->kind->format.name);
    buf_printf(&name, "%s ", s->kind->format.name);
    url_show(&name, s->place);
    if (buf_failed(&name)) {
        buf_done(&name);
        return err_set(e, -ENOMEM, "cannot open the output: out of memory");
    }
    free(s->name);
    s->name = name.data;
    s->way = OUTPUT_SENT;
    int r = http_sink_check(s, e);
    if (r == 0)
        r = http_sink_read_secret(s, "password_file", &password, e);
    if (r == 0)
        r = http_sink_read_secret(s, "token_file", &token, e);
    if (r == 0)
        r = http_sink_open_with(s, otherwise, u.user.at < u.user.end, password, token, ret, e);
    if (password)
        explicit_bzero(password, strlen(password));
    if (token)
        explicit_bzero(token, strlen(token));
    free(password);
    free(token);
    return r;
}

enum delivery http_sink_send(struct sink *s, struct http *h, struct http_request *request,
                             struct http_response *ret_answer, struct attempt *a)
{
    struct http_response own, *answer = ret_answer ? ret_answer : &own;
    request->is_over = s->sender ? sender_is_over : NULL;
    request->is_over_arg = s->sender;
    int r = http_send(h, request, answer);
    if (r < 0) {
        snprintf(a->why, sizeof a->why, "%s", answer->why);
        http_mask_credentials(h, s->place, a->why);
        return r == -EINVAL ? DELIVERY_REFUSED : DELIVERY_AGAIN; /* -EINVAL: not a URL */
    }
    if (answer->status >= 200 && answer->status < 300) {
        s->bytes += request->length;
        return DELIVERY_DONE;
    }
    http_describe(answer, a->why, sizeof a->why);
    http_mask_credentials(h, s->place, a->why);
    a->wait_ns = answer->retry_after_ns;
    if (http_is_worth_a_retry(answer->status))
        return DELIVERY_AGAIN;
    /* The answer is about the credentials or the URL, not about this request. */
    bool is_about_caller = answer->status == 401 || answer->status == 403 ||
                           answer->status == 407 || (answer->status >= 300 && answer->status < 400);
    return s->spool && is_about_caller ? DELIVERY_KEPT : DELIVERY_REFUSED;
}

/* 413, or 400 with the words of VictoriaMetrics or of an older Mimir. */
static bool http_parts_is_too_large(const struct http_response *answer)
{
    static const char *const words[] = {"too big", "larger than max"};
    bool is_said = answer->status == 413;
    for (size_t i = 0; answer->status == 400 && i < ARRAY_LEN(words); i++)
        is_said |= memmem(answer->body, answer->length, words[i], strlen(words[i])) != NULL;
    return is_said;
}

enum delivery http_parts_send(struct http_parts *p, struct scan request, uint64_t figures,
                              uint64_t *done, struct attempt *a)
{
    bool is_any_sent = *done > 0;
    while (*done < figures) {
        uint64_t count = figures - *done, lacking_before = a->lacking;
        struct scan message = request;
        struct http_response answer = {.body = ""};
        if (p->most_figures && count > p->most_figures)
            count = p->most_figures;
        if (count < figures) {
            buf_clear(&p->part);
            p->cut(&p->part, request, *done, count);
            if (buf_failed(&p->part)) {
                buf_done(&p->part);
                return sender_lacks_memory(a);
            }
            message = scan_text(p->part.data, p->part.length);
        }
        enum delivery d = p->send(p->sink, message, count, &answer, a);
        bool is_too_large = http_parts_is_too_large(&answer);
        if (d == DELIVERY_AGAIN || d == DELIVERY_KEPT)
            return d;
        if (d == DELIVERY_REFUSED && is_too_large && count > 1) {
            p->most_figures = count / 2;
            continue;
        }
        if (d == DELIVERY_REFUSED) {
            p->refused_alone += is_too_large;
            if (p->refused_alone >= (p->has_sent ? TRIES_AT_MOST : FIRST_TRIES_AT_MOST))
                count = figures - *done;
            a->lacking = lacking_before + count;
        } else {
            p->refused_alone = 0;
            p->has_sent = is_any_sent = true;
        }
        *done += count;
    }
    a->is_partly |= a->lacking > 0;
    return is_any_sent || !figures ? DELIVERY_DONE : DELIVERY_REFUSED;
}
