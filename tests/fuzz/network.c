/* SPDX-License-Identifier: MIT
 * What servers and clients send, and what sinks are asked to do. */
#include "base/text/scan.h"
#include "fuzz.h"
#include "sink/mlflow/mlflow.h"
#include "sink/openmetrics/openmetrics.h"
#include "sink/otlp/otlp.h"
#include "sink/sink.h"
#include "sink/spool.h"

/* ---- sink_options --------------------------------------------------------------------------- */

static const struct sink_option option_table[] = {
    {{"every", "TIME", "5s", "a time"}, OPTION_DURATION, false},
    {{"queue", "SIZE", "16MiB", "a size"}, OPTION_SIZE, false},
    {{"name", "TEXT", "", "a text"}, OPTION_TEXT, false},
    {{"header", "TEXT", "", "several"}, OPTION_TEXT, true},
    {{"mode", "no|yes", "no", "a word"}, OPTION_WORD, false},
    {.facts = {0}},
};

/* Every comma is doubled or ends something. */
static size_t options_in(const char *text)
{
    size_t count = 0;
    for (; *text; text++)
        if (*text == ',' && text[1] == ',')
            text++;
        else
            count += *text == ',';
    return count;
}

/* What is accepted has its defaults; what is not says why; a kind without options takes all as it
 * is. */
FUZZ_TARGET(sink_options)
{
    CLEANUP_FREE char *text = fuzz_string(data, size);
    struct sink_settings s;
    struct toll_error e = {0};
    char *place = NULL;
    CHECK(sink_options_read(&s, &place, "x", NULL, text, &e) == 0 && strcmp(place, text) == 0);
    sink_options_done(&s);
    free(place);
    place = NULL;
    int r = sink_options_read(&s, &place, "x", option_table, text, &e);
    if (r < 0) {
        CHECK(r == -EINVAL && e.code == r && *e.message && !place);
        CHECK(options_in(text) > 0);
        return 0;
    }
    CHECK(place && strlen(place) <= strlen(text));
    CHECK(sink_options_text(&s, "every") && sink_options_text(&s, "queue"));
    CHECK(sink_options_u64(&s, "mode") <= 1);
    CHECK(sink_options_has(&s, "every") || sink_options_u64(&s, "every") == 5000000000U);
    const char *name = sink_options_text(&s, "name");
    CHECK(!name == !sink_options_has(&s, "name") && (!name || *name));
    sink_options_done(&s);
    free(place);
    return 0;
}

/* ---- om_request ----------------------------------------------------------------------------- */

/* One verdict for one text; nothing is asked for unless it is served, and whoever may ask on
 * loopback may ask anywhere. */
FUZZ_TARGET(om_request)
{
    CLEANUP_FREE char *text = fuzz_string(data, size);
    struct om_request q, other;
    fuzz_fill(&q, sizeof q);
    enum om_check local = om_request_read(text, true, &q);
    enum om_check anywhere = om_request_read(text, false, &other);
    CHECK(anywhere != OM_HOST);
    CHECK(local == OM_HOST || local == anywhere);
    if (local != OM_SERVE) {
        CHECK(fuzz_is_filled(&q, sizeof q));
        return 0;
    }
    CHECK(q.is_head == other.is_head && q.wants_openmetrics == other.wants_openmetrics);
    CHECK(strncmp(text, q.is_head ? "HEAD /metrics" : "GET /metrics", q.is_head ? 13 : 12) == 0);
    CHECK(!q.wants_openmetrics || strcasestr(text, "accept:"));
    om_request_is_whole(text);
    return 0;
}

/* ---- otlp_answer ---------------------------------------------------------------------------- */

FUZZ_TARGET(otlp_answer)
{
    struct scan text = fuzz_text(data, size);
    struct otlp_answer a;
    otlp_answer_read(text.at, (size_t)(text.end - text.at), &a);
    CHECK(!a.message.at ||
          (a.message.at >= text.at && a.message.end <= text.end && a.message.at <= a.message.end));
    return 0;
}

/* ---- mlflow_answer -------------------------------------------------------------------------- */

FUZZ_TARGET(mlflow_answer)
{
    struct scan text = fuzz_text(data, size);
    char found[32];
    fuzz_fill(found, sizeof found);
    if (mlflow_answer_text(text.at, (size_t)(text.end - text.at), "run_id", found, sizeof found))
        CHECK(memchr(found, 0, sizeof found) && *found);
    mlflow_answer_is(text.at, (size_t)(text.end - text.at), "X");
    return 0;
}

/* ---- spool_ops ------------------------------------------------------------------------------ */

FUZZ_TARGET(spool_ops)
{
    struct scan text = fuzz_text(data, size);
    struct spool_op op;
    int r;
    while ((r = spool_op_next(&text, &op)) > 0)
        CHECK(op.kind < SPOOL_OPS && op.name.at <= op.name.end && op.body.at <= op.body.end &&
              op.body.end < text.end && text.at <= text.end);
    CHECK(r == 0 || r == -EBADMSG);
    return 0;
}
