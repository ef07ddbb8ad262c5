/* SPDX-License-Identifier: MIT
 * Pushgateway: the newest figures as one group, replaced by each push and left there at the end,
 * for Prometheus to scrape. The group is the run: job="toll", run, instance, id, rank, and the
 * labels of the user, which may replace job. */
#include "base/err.h"
#include "base/io/http.h"
#include "base/text/encoding.h"
#include "sink/http.h"
#include "sink/points.h"
#include "sink/sink.h"

#include <string.h>

struct pushgateway {
    struct points points;
    struct exposition exposition;
    struct http *http;
    struct buf url; /* of the group, once the run is known */
    struct buf body;
};

static void pushgateway_frame(struct sink *s, const struct frame *f)
{
    struct pushgateway *p = s->state;
    points_add(&p->points, s->run, &s->selection, f, &s->text);
}

static void pushgateway_summary(struct sink *s, const struct summary *summary)
{
    exposition_add_end(&s->text, summary);
}

/* ---- The group ------------------------------------------------------------------------------- */

/* Values with a slash, which cannot be in a path even if encoded, and dots alone are in base64. */
static void pushgateway_add_group(struct buf *b, const char *before, const char *name,
                                  const char *value)
{
    bool is_special = strchr(value, '/') || strspn(value, ".") == strlen(value);
    buf_printf(b, "/%s%s%s/", before, name, is_special ? "@base64" : "");
    if (is_special)
        base64_add(b, value, strlen(value), true);
    else
        url_encode(b, value, strlen(value), "");
}

/* A URL that names a group is used as it is. Otherwise the labels of the run are the group. Every
 * series gets them, which would hide labels of instances with the same name: those get another
 * name. */
static void pushgateway_begin(struct sink *s, const struct run *run)
{
    struct pushgateway *p = s->state;
    struct url u;
    exposition_begin(&p->exposition, run);
    url_split(s->place, &u);
    buf_add(&p->url, s->place, (size_t)(u.path.end - s->place));
    if (memmem(u.path.at, (size_t)(u.path.end - u.path.at), "/metrics/job", 12))
        return;
    while (p->url.length && p->url.data[p->url.length - 1] == '/')
        p->url.length--;
    buf_puts(&p->url, "/metrics");
    const struct labels *l = &p->exposition.of_run;
    const char *job = "toll";
    for (size_t i = 0; i < l->count; i++)
        if (strcmp(l->items[i].name, "job") == 0)
            job = l->items[i].value;
    pushgateway_add_group(&p->url, "", "job", job);
    for (size_t i = 0; i < l->count; i++)
        if (strcmp(l->items[i].name, "job") != 0)
            pushgateway_add_group(&p->url, labels_is_of_instances(l->items[i].name) ? "label_" : "",
                                  l->items[i].name, l->items[i].value);
}

/* ---- In the sender's thread ----------------------------------------------------------------- */

static enum delivery pushgateway_deliver(struct sink *s, const struct batch *b, struct attempt *a)
{
    static const char *const headers[] = {"Content-Type: text/plain; version=0.0.4", NULL};
    struct pushgateway *p = s->state;
    if (!b->attempt) {
        exposition_take_batch(&p->exposition, b);
        buf_clear(&p->body);
        exposition_write(&p->exposition, &p->body, EXPOSITION_TEXT);
    }
    if (buf_failed(&p->body) || buf_failed(&p->url))
        return sender_lacks_memory(a);
    struct http_request request = {
        .method = "PUT",
        .url = p->url.data,
        .headers = headers,
        .body = p->body.data,
        .length = p->body.length,
    };
    return http_sink_send(s, p->http, &request, NULL, a);
}

/* ---- Its life -------------------------------------------------------------------------------- */

static int pushgateway_open(struct sink *s, struct toll_error *e)
{
    struct pushgateway *p = s->state = calloc(1, sizeof *p);
    if (!p)
        return err_set(e, -ENOMEM, "cannot open the output: out of memory");
    points_init(&p->points);
    p->points.with_id = sink_options_u64(&s->settings, "id");
    p->exposition.points = &p->points;
    return http_sink_open(s, NULL, &p->http, e);
}

static void pushgateway_close(struct sink *s)
{
    struct pushgateway *p = s->state;
    if (!p)
        return;
    exposition_done(&p->exposition);
    points_done(&p->points);
    http_close(p->http);
    buf_done(&p->url);
    buf_done(&p->body);
    free(p);
}

static const struct sink_option options[] = {
    SINK_SENDER_OPTIONS("15s", "5s"),
    SINK_ID_OPTION,
    SINK_HTTP_OPTIONS,
    {.facts = {0}},
};

const struct sink_kind sink_pushgateway = {
    .format = {"pushgateway", "", "Pushgateway: the newest figures, for Prometheus to scrape",
               "URL"},
    .options = options,
    .open = pushgateway_open,
    .begin = pushgateway_begin,
    .frame = pushgateway_frame,
    .summary = pushgateway_summary,
    .deliver = pushgateway_deliver,
    .close = pushgateway_close,
};
