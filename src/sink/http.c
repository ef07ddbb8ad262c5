/* SPDX-License-Identifier: MIT */
#include "sink/http.h"

#include "base/err.h"
#include "base/io/file.h"
#include "base/io/url.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>

enum { SECRET_BYTES = 8192 };

/* Figures that are sent one by one before a server is believed to take none. */
enum { FIRST_TRIES_AT_MOST = 32, TRIES_AT_MOST = 1024 };

/* The first line of the file that an option names, the caller's to free. 0 without such an option.
 */
static int read_secret(const struct sink *s, const char *option, char **ret, struct toll_error *e)
{
    char text[SECRET_BYTES];
    const char *path = sink_options_text(&s->settings, option);
    if (!path)
        return 0;
    ssize_t n = file_read_at(AT_FDCWD, path, text, sizeof text);
    if (n < 0)
        return err_set(e, (int)n, "%s of %s: cannot read '%s': %s", option, s->kind->format.name,
                       path, strerror((int)-n));
    size_t line = 0;
    while (line < (size_t)n && text[line] != '\n' && text[line] != '\r')
        line++;
    if (!line)
        return err_set(e, -EINVAL, "%s of %s: the first line of '%s' is empty", option,
                       s->kind->format.name, path);
    *ret = strndup(text, line);
    explicit_bzero(text, sizeof text);
    return *ret ? 0 : err_set(e, -ENOMEM, "no memory for an output");
}

/* What would not be used was meant to be. */
static int check_rest(const struct sink *s, struct toll_error *e)
{
    const struct sink_settings *o = &s->settings;
    if (!sink_options_u64(o, "timeout"))
        return err_set(e, -EINVAL, "the option timeout of %s takes a time above 0",
                       s->kind->format.name);
    if (sink_options_has(o, "password_file") && !sink_options_has(o, "user"))
        return err_set(e, -EINVAL, "the option password_file of %s needs the option user",
                       s->kind->format.name);
    if (sink_options_has(o, "token_file") && sink_options_has(o, "user"))
        return err_set(e, -EINVAL, "%s takes the option user or token_file, not both",
                       s->kind->format.name);
    if (sink_options_has(o, "key") && !sink_options_has(o, "cert"))
        return err_set(e, -EINVAL, "the option key of %s needs the option cert",
                       s->kind->format.name);
    return 0;
}

static int check_headers(const struct sink *s, struct toll_error *e)
{
    const char *headers = sink_options_text(&s->settings, "header");
    struct scan lines = scan_string(headers ? headers : ""), line;
    while (scan_line(&lines, &line)) {
        const char *colon = memchr(line.at, ':', (size_t)(line.end - line.at));
        bool is_plain = true;
        for (const char *c = line.at; c < line.end; c++)
            is_plain &= ((unsigned char)*c >= 0x20 && *c != 0x7F) || *c == '\t';
        if (!colon || colon == line.at || !is_plain) /* its value may be a secret */
            return err_set(e, -EINVAL, "the option header of %s takes 'Name: value'",
                           s->kind->format.name);
    }
    return check_rest(s, e);
}

/* A file that is named, or that would be used, has to be there before anything runs. */
static int check_tls_file(const struct sink *s, const char *option, const char *what,
                          const char *file, struct toll_error *e)
{
    bool is_named = sink_options_has(&s->settings, option);
    if (!file || (!is_named && strncasecmp(s->place, "https:", 6) != 0) ||
        faccessat(AT_FDCWD, file, R_OK, AT_EACCESS) == 0)
        return 0;
    return err_set(e, -errno, "%s: cannot read the %s in '%s': %s", s->kind->format.name, what,
                   file, strerror(errno));
}

static int name_sink(struct sink *s)
{
    struct buf b = {0};
    buf_printf(&b, "%s ", s->kind->format.name);
    url_show(&b, s->place);
    if (buf_failed(&b))
        return -ENOMEM;
    free(s->name);
    s->name = b.data;
    return 0;
}

/* What is not said is taken from elsewhere; who one is, only as a whole. */
static void http_sink_complete(struct http_settings *settings,
                               const struct http_settings *otherwise, bool has_user)
{
    if (!has_user && !settings->user && !settings->token) {
        settings->user = otherwise->user;
        settings->password = otherwise->password;
        settings->token = otherwise->token;
    }
    if (!settings->ca_file)
        settings->ca_file = otherwise->ca_file;
    if (!settings->cert_file) {
        settings->cert_file = otherwise->cert_file;
        settings->key_file = otherwise->key_file;
    }
    if (otherwise->headers) /* which has those of the options in it */
        settings->headers = otherwise->headers;
    settings->any_certificate |= otherwise->any_certificate;
}

static int open_with_secrets(struct sink *s, const struct http_settings *otherwise, bool has_user,
                             struct http **ret, const char *password, const char *token,
                             struct toll_error *e)
{
    const struct sink_settings *o = &s->settings;
    struct http_settings settings = {
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
    if (otherwise)
        http_sink_complete(&settings, otherwise, has_user);
    if (otherwise && otherwise->timeout_ns && !sink_options_has(o, "timeout"))
        settings.timeout_ns = otherwise->timeout_ns;
    int r = check_tls_file(s, "ca", "certificates", settings.ca_file, e);
    if (r == 0)
        r = check_tls_file(s, "cert", "certificate of the client", settings.cert_file, e);
    if (r == 0)
        r = check_tls_file(s, "key", "key of the client", settings.key_file, e);
    if (r < 0)
        return r;
    r = http_open(ret, &settings, e);
    return r < 0 ? err_wrap(e, r, "%s", s->kind->format.name) : 0;
}

int http_sink_open_with(struct sink *s, const struct http_settings *otherwise, struct http **ret,
                        struct toll_error *e)
{
    struct url u;
    char *password = NULL, *token = NULL;
    if (!url_split(s->place, &u)) /* which may have a password in it */
        return err_set(e, -EINVAL, "%s takes a URL such as http://host:9090/path",
                       s->kind->format.name);
    if (name_sink(s) < 0)
        return err_set(e, -ENOMEM, "no memory for an output");
    s->way = OUTPUT_SENT;
    int r = check_headers(s, e);
    if (r == 0)
        r = read_secret(s, "password_file", &password, e);
    if (r == 0)
        r = read_secret(s, "token_file", &token, e);
    if (r == 0)
        r = open_with_secrets(s, otherwise, u.user.at < u.user.end, ret, password, token, e);
    if (password)
        explicit_bzero(password, strlen(password));
    if (token)
        explicit_bzero(token, strlen(token));
    free(password);
    free(token);
    return r;
}

int http_sink_open(struct sink *s, struct http **ret, struct toll_error *e)
{
    return http_sink_open_with(s, NULL, ret, e);
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
        /* What is no URL will not become one. */
        return r == -EINVAL ? DELIVERY_REFUSED : DELIVERY_AGAIN;
    }
    if (answer->status >= 200 && answer->status < 300) {
        s->bytes += request->length;
        return DELIVERY_DONE;
    }
    http_describe(answer, a->why, sizeof a->why);
    a->wait_ns = answer->retry_after_ns;
    return http_is_worth_a_retry(answer->status) ? DELIVERY_AGAIN : DELIVERY_REFUSED;
}

bool http_parts_is_too_large(const struct http_response *answer)
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
    bool is_any_taken = *done > 0;
    while (*done < figures) {
        uint64_t count = figures - *done, lacking_before = a->lacking;
        struct scan message = request;
        bool is_too_large = false;
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
        enum delivery d = p->send(p->arg, message, count, &is_too_large, a);
        if (d == DELIVERY_AGAIN || d == DELIVERY_KEPT)
            return d;
        if (d == DELIVERY_REFUSED && is_too_large && count > 1) {
            p->most_figures = count / 2;
            continue;
        }
        if (d == DELIVERY_REFUSED) {
            p->refused_alone += is_too_large;
            if (p->refused_alone >= (p->has_taken ? TRIES_AT_MOST : FIRST_TRIES_AT_MOST))
                count = figures - *done;
            a->lacking = lacking_before + count;
        } else {
            p->refused_alone = 0;
            p->has_taken = is_any_taken = true;
        }
        *done += count;
    }
    a->is_partly |= a->lacking > 0;
    return is_any_taken || !figures ? DELIVERY_DONE : DELIVERY_REFUSED;
}
