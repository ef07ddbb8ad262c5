/* SPDX-License-Identifier: MIT */
#include "sink/otlp/otlp.h"

#include "base/err.h"
#include "base/io/http.h"

#include <stdio.h>
#include <string.h>

#define GENERAL     "OTEL_EXPORTER_OTLP_"
#define FOR_METRICS "OTEL_EXPORTER_OTLP_METRICS_"
#define NO_LIMIT_NS (3600 * NS_PER_SECOND)

static const char *otlp_setup_variable(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

/* The variable for metrics, or else that for all signals; ret_name is its name. */
static const char *otlp_setup_exporter(const char *what, char ret_name[64])
{
    snprintf(ret_name, 64, FOR_METRICS "%s", what);
    const char *value = otlp_setup_variable(ret_name);
    if (value)
        return value;
    snprintf(ret_name, 64, GENERAL "%s", what);
    return otlp_setup_variable(ret_name);
}

/* Only the first one is noted. */
static void otlp_setup_note_ignored(struct sink *s, const char *name, const char *expected)
{
    if (!*s->notice)
        snprintf(s->notice, sizeof s->notice, "variable %s is ignored (expected %s)", name,
                 expected);
}

static bool otlp_setup_read_ms(struct sink *s, const char *name, const char *value,
                               uint64_t *ret_ns)
{
    struct scan digits = scan_string(value);
    uint64_t ms;
    if (scan_u64(&digits, &ms) && scan_done(&digits) && ms <= NO_LIMIT_NS / NS_PER_MS * 24 * 365) {
        *ret_ns = ms * NS_PER_MS;
        return true;
    }
    otlp_setup_note_ignored(s, name, "a number of milliseconds");
    return false;
}

/* ---- name=value,name=value ------------------------------------------------------------------- */

static struct scan otlp_setup_trim(struct scan s)
{
    while (s.at < s.end && (*s.at == ' ' || *s.at == '\t'))
        s.at++;
    while (s.at < s.end && (s.end[-1] == ' ' || s.end[-1] == '\t'))
        s.end--;
    return s;
}

/* Percent-decoded; each is called only when all pairs are valid. */
static bool otlp_setup_each_pair(const char *text,
                                 void (*each)(void *arg, const char *key, const char *value),
                                 void *arg)
{
    struct buf key = {0}, value = {0};
    bool is_fine = true;
    for (unsigned round = 0; round < (each ? 2 : 1) && is_fine; round++) {
        const char *next;
        for (const char *at = text; at && is_fine; at = next) {
            next = strchr(at, ',');
            struct scan pair = otlp_setup_trim(
                scan_text(at, next ? (size_t)(next - at) : strlen(at)));
            next = next ? next + 1 : NULL;
            if (pair.at == pair.end)
                continue;
            const char *equals = memchr(pair.at, '=', (size_t)(pair.end - pair.at));
            struct scan k = otlp_setup_trim(
                (struct scan){.at = pair.at, .end = equals ? equals : pair.at});
            struct scan v = otlp_setup_trim(
                (struct scan){.at = equals ? equals + 1 : pair.end, .end = pair.end});
            buf_clear(&key);
            buf_clear(&value);
            buf_puts(&value, "");
            is_fine = k.at < k.end && url_decode(&key, k.at, (size_t)(k.end - k.at)) &&
                      url_decode(&value, v.at, (size_t)(v.end - v.at)) && !buf_failed(&key) &&
                      !buf_failed(&value);
            if (is_fine && round)
                each(arg, key.data, value.data ? value.data : "");
        }
    }
    buf_done(&key);
    buf_done(&value);
    return is_fine;
}

void otlp_setup_attributes(struct sink *s,
                           void (*each)(void *arg, const char *key, const char *value), void *arg)
{
    const char *name = "OTEL_RESOURCE_ATTRIBUTES", *text = otlp_setup_variable(name);
    if (text && !otlp_setup_each_pair(text, each, arg))
        otlp_setup_note_ignored(s, name, "key=value,key=value");
}

const char *otlp_setup_service(void)
{
    return otlp_setup_variable("OTEL_SERVICE_NAME");
}

/* ---- Headers --------------------------------------------------------------------------------- */

struct otlp_headers {
    const char *options; /* lines of the option header, whose names win; or NULL */
    struct buf lines;
    bool is_bad;
};

static bool otlp_headers_have(const char *lines, const char *name)
{
    struct scan rest = scan_string(lines ? lines : ""), line;
    size_t length = strlen(name);
    while (scan_line(&rest, &line))
        if ((size_t)(line.end - line.at) > length && line.at[length] == ':' &&
            strncasecmp(line.at, name, length) == 0)
            return true;
    return false;
}

static void otlp_headers_add(void *arg, const char *key, const char *value)
{
    struct otlp_headers *h = arg;
    bool is_plain = true;
    for (const char *c = key; *c; c++)
        is_plain &= *c > 0x20 && *c < 0x7F && *c != ':';
    for (const char *c = value; *c; c++)
        is_plain &= (unsigned char)*c >= 0x20 && *c != 0x7F;
    h->is_bad |= !is_plain;
    if (is_plain && !otlp_headers_have(h->options, key))
        buf_printf(&h->lines, "%s: %s\n", key, value);
}

static int otlp_setup_read_headers(struct sink *s, struct otlp_setup *ret, struct toll_error *e)
{
    char name[64];
    const char *text = otlp_setup_exporter("HEADERS", name);
    struct otlp_headers h = {.options = sink_options_text(&s->settings, "header")};
    if (!text)
        return 0;
    if (!otlp_setup_each_pair(text, otlp_headers_add, &h) || h.is_bad) {
        otlp_setup_note_ignored(s, name, "key=value,key=value");
        buf_clear(&h.lines);
    }
    if (h.lines.failed) {
        buf_done(&h.lines);
        return err_set(e, -ENOMEM, "cannot open the output: out of memory");
    }
    if (h.lines.length && h.options)
        buf_puts(&h.lines, h.options);
    ret->http.headers = h.lines.length ? h.lines.data : NULL;
    if (!h.lines.length)
        buf_done(&h.lines);
    return 0;
}

/* ---- Where to -------------------------------------------------------------------------------- */

/* The URL with more after its path. */
static char *otlp_setup_add_path(const char *url, const struct url *u, const char *more)
{
    struct buf b = {0};
    const char *end = u->path.end;
    while (end > u->path.at && end[-1] == '/')
        end--;
    buf_add(&b, url, (size_t)(end - url));
    buf_puts(&b, more);
    buf_puts(&b, u->path.end);
    if (!buf_failed(&b))
        return b.data;
    buf_done(&b);
    return NULL;
}

/* A URL of the user is used as it is, with /v1/metrics when it has no path. The variable for
 * metrics is used as it is, that for all signals with /v1/metrics after its path. */
static int otlp_setup_find_url(struct sink *s, struct otlp_setup *ret, struct toll_error *e)
{
    const char *name = NULL, *text = *s->place ? s->place : NULL, *more = "/v1/metrics";
    struct url u;
    if (!text && (text = otlp_setup_variable(FOR_METRICS "ENDPOINT"))) {
        name = FOR_METRICS "ENDPOINT";
        more = "/";
    } else if (!text && (text = otlp_setup_variable(GENERAL "ENDPOINT"))) {
        name = GENERAL "ENDPOINT";
    } else if (!text) {
        text = "http://localhost:4318";
    }
    if (!url_split(text, &u)) /* which may have a password in it */
        return err_set(e, -EINVAL,
                       "otlp: invalid URL in %s (expected one such as http://localhost:4318)",
                       name ? name : "the destination");
    bool has_path = u.path.end - u.path.at > 1;
    bool is_base = name && strcmp(name, GENERAL "ENDPOINT") == 0;
    ret->url = !has_path || is_base ? otlp_setup_add_path(text, &u, more) : strdup(text);
    char *place = *s->place || !ret->url ? NULL : strdup(ret->url); /* what a spool keeps */
    if (!ret->url || (!*s->place && !place)) {
        free(place);
        return err_set(e, -ENOMEM, "cannot open the output: out of memory");
    }
    if (place) {
        free(s->place);
        s->place = place;
    }
    return 0;
}

static int otlp_setup_check_protocol(const struct sink *s, struct toll_error *e)
{
    char name[64];
    const char *option = sink_options_text(&s->settings, "protocol");
    const char *protocol = option ? option : otlp_setup_exporter("PROTOCOL", name);
    if (!protocol || strcmp(protocol, "http/protobuf") == 0)
        return 0;
    return err_set(e, -EINVAL,
                   "otlp: unsupported protocol '%.40s' in %s (expected http/protobuf, usually on "
                   "port 4318; add ',protocol=http/protobuf' to use it)",
                   protocol, option ? "the option protocol" : name);
}

int otlp_setup_read(struct sink *s, struct otlp_setup *ret, struct toll_error *e)
{
    char name[64];
    uint64_t ns;
    *ret = (struct otlp_setup){0};
    int r = otlp_setup_find_url(s, ret, e);
    if (r == 0)
        r = otlp_setup_check_protocol(s, e);
    if (r == 0)
        r = otlp_setup_read_headers(s, ret, e);
    if (r < 0)
        return r;
    const char *compression = sink_options_has(&s->settings, "compression")
                                  ? sink_options_text(&s->settings, "compression")
                                  : otlp_setup_exporter("COMPRESSION", name);
    ret->wants_gzip = compression && strcmp(compression, "gzip") == 0;
    if (compression && !ret->wants_gzip && strcmp(compression, "none") != 0)
        otlp_setup_note_ignored(s, name, "gzip or none");
    ret->http.ca_file = otlp_setup_exporter("CERTIFICATE", name);
    ret->http.cert_file = otlp_setup_exporter("CLIENT_CERTIFICATE", name);
    ret->http.key_file = otlp_setup_exporter("CLIENT_KEY", name);
    const char *timeout = otlp_setup_exporter("TIMEOUT", name);
    if (timeout && otlp_setup_read_ms(s, name, timeout, &ns))
        ret->http.timeout_ns = ns ? ns : NO_LIMIT_NS;
    const char *interval = otlp_setup_variable("OTEL_METRIC_EXPORT_INTERVAL");
    if (interval && !sink_options_has(&s->settings, "every") &&
        otlp_setup_read_ms(s, "OTEL_METRIC_EXPORT_INTERVAL", interval, &ns))
        s->plan.gather_ns = ns;
    const char *disabled = otlp_setup_variable("OTEL_SDK_DISABLED");
    ret->is_disabled = disabled && strcasecmp(disabled, "true") == 0;
    return 0;
}

void otlp_setup_done(struct otlp_setup *setup)
{
    free(setup->url);
    free((char *)(uintptr_t)setup->http.headers);
    *setup = (struct otlp_setup){0};
}
