/* SPDX-License-Identifier: MIT
 * What became of the outputs that the run had. */
#include "record/reading.h"

#include "sink/record_words.h"

static struct output_summary *add(struct reading *r)
{
    struct summary *s = &r->summary;
    struct output_summary *longer = realloc(s->outputs, (s->output_count + 1) * sizeof *longer);
    if (!longer) {
        r->no_memory = true;
        return NULL;
    }
    s->outputs = longer;
    longer[s->output_count] = (struct output_summary){.format = "", .way = OUTPUT_SENT};
    return &longer[s->output_count++];
}

static void read_way(struct json_in *j, struct output_summary *o)
{
    int way = read_word(j, record_words_way, OUTPUT_WAYS);
    if (way >= 0)
        o->way = (enum output_way)way;
}

static void read_member(struct reading *r, const struct scan *key, struct output_summary *o)
{
    struct json_in *j = &r->json;
    if (json_in_is(key, "name"))
        read_name(j, o->name, sizeof o->name);
    else if (json_in_is(key, "format"))
        o->format = read_kept(r);
    else if (json_in_is(key, "way"))
        read_way(j, o);
    else if (json_in_is(key, "bytes"))
        o->has_bytes = !json_in_null(j) && read_u64(j, &o->bytes);
    else if (json_in_is(key, "scrapes"))
        read_u64(j, &o->scrapes);
    else if (json_in_is(key, "samples"))
        read_u64(j, &o->samples);
    else if (json_in_is(key, "delivered"))
        read_u64(j, &o->delivered);
    else if (json_in_is(key, "kept"))
        read_u64(j, &o->kept);
    else if (json_in_is(key, "dropped"))
        read_u64(j, &o->dropped);
    else if (json_in_is(key, "retries"))
        read_u64(j, &o->retries);
    else if (json_in_is(key, "complete"))
        json_in_bool(j, &o->is_whole);
    else if (!json_in_is(key, "failure"))
        reading_skip(r, key);
    else if (!json_in_null(j))
        read_name(j, o->why, sizeof o->why);
}

bool read_outputs(struct reading *r)
{
    struct json_in *j = &r->json;
    struct output_summary *o;
    struct scan key;
    json_in_array(j);
    while (json_in_item(j) && (o = add(r)))
        for (json_in_object(j); json_in_key(j, &key);)
            read_member(r, &key, o);
    return !j->failed;
}
