/* SPDX-License-Identifier: MIT
 * The summary as one JSON document, for programs. docs/formats.md describes it. */
#include "sink/record_json.h"
#include "sink/record_words.h"
#include "sink/sinks.h"

static void json_summary(struct sink *s, const struct summary *summary)
{
    struct json_out j;
    json_begin(&j, &s->text, 2);
    json_object(&j);
    json_put_string(&j, "schema", SUMMARY_SCHEMA);
    record_json_summary(&j, summary, &s->selection);
    json_object_end(&j);
    buf_putc(&s->text, '\n');
}

const struct sink_kind sink_json = {
    .format = {"json", ".json", "the summary as one JSON document", "FILE"},
    .holds_one_run = true,
    .summary = json_summary,
};
