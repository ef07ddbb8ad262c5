/* SPDX-License-Identifier: MIT */
#include "sink/record_json.h"
#include "sink/record_words.h"

void record_json_outputs(struct json_out *j, const struct summary *s)
{
    if (!s->output_count)
        return;
    json_key(j, "outputs");
    json_array(j);
    for (size_t i = 0; i < s->output_count; i++) {
        const struct output_summary *o = &s->outputs[i];
        json_object(j);
        json_put_string(j, "name", o->name);
        json_put_string(j, "format", o->format);
        json_put_string(j, "way", record_words_way[o->way]);
        json_put_u64(j, "samples", o->samples);
        json_put_u64(j, "delivered", o->delivered);
        json_put_u64(j, "kept", o->kept);
        json_put_u64(j, "dropped", o->dropped);
        json_put_u64(j, "retries", o->retries);
        json_key(j, "bytes");
        if (o->has_bytes)
            json_u64(j, o->bytes);
        else
            json_null(j);
        if (o->way == OUTPUT_SCRAPED)
            json_put_u64(j, "scrapes", o->scrapes);
        json_put_bool(j, "complete", o->is_whole);
        json_key(j, "failure");
        if (*o->why)
            json_string(j, o->why);
        else
            json_null(j);
        json_object_end(j);
    }
    json_array_end(j);
}
