/* SPDX-License-Identifier: MIT
 * What a figure came to. A series is made that says what was read: its mean is the one that was
 * recorded, as if of one second, and its distribution has the quantiles that were recorded. */
#include "record/reading.h"

#include "sink/record_words.h"

struct found {
    double mean;
    bool has_mean, has_extremes;
    double quantiles[RECORD_QUANTILES];
    unsigned quantile_count;
};

static int quantile_of(const struct scan *key)
{
    for (int i = 0; i < RECORD_QUANTILES; i++)
        if (json_in_is(key, record_words_quantile[i].key))
            return i;
    return -1;
}

static void read_mean(struct json_in *j, struct found *f)
{
    f->has_mean = !json_in_null(j);
    if (f->has_mean)
        read_double(j, &f->mean);
}

enum quality read_quality(struct json_in *j)
{
    const char *words[QUALITIES];
    for (unsigned q = 0; q < QUALITIES; q++)
        words[q] = quality_word(q);
    int q = read_word(j, words, QUALITIES);
    return q < 0 ? QUALITY_UNKNOWN : (enum quality)q;
}

static void read_verdict(struct reading *r, const struct scan *key, struct verdict *v)
{
    if (json_in_is(key, "quality")) {
        v->quality = read_quality(&r->json);
    } else {
        v->rung = read_kept(r);
    }
}

static void read_member(struct reading *r, const struct scan *key, struct series *s,
                        const struct metric *m, struct found *f, struct verdict *v, bool *partial)
{
    struct json_in *j = &r->json;
    bool known;
    int quantile;
    if (json_in_is(key, "total") || json_in_is(key, "last")) {
        read_row_value(j, m, &s->last, &known);
    } else if (json_in_is(key, "mean") || json_in_is(key, "rate_mean")) {
        read_mean(j, f);
    } else if (json_in_is(key, "min")) {
        read_double(j, &s->min);
    } else if (json_in_is(key, "max") || json_in_is(key, "rate_max")) {
        f->has_extremes = true;
        read_double(j, &s->max);
    } else if (json_in_is(key, "max_at_seconds") || json_in_is(key, "rate_max_at_seconds")) {
        read_seconds(j, &s->max_at_ns);
    } else if ((quantile = quantile_of(key)) >= 0) {
        f->quantile_count++;
        read_double(j, &f->quantiles[quantile]);
    } else if (v && (json_in_is(key, "quality") || json_in_is(key, "from"))) {
        read_verdict(r, key, v);
    } else if (partial && json_in_is(key, "partial")) {
        json_in_bool(j, partial);
    } else if (json_in_is(key, "unlimited")) {
        json_in_bool(j, &s->is_unlimited);
    } else {
        reading_skip(r, key);
    }
}

/* As much of the weight lies below a quantile as it says. */
static void fill_histogram(struct series *s, const struct metric *m, const struct found *f)
{
    enum { ALL = 1000 };
    uint64_t below = 0;
    for (unsigned i = 0; i < RECORD_QUANTILES; i++) {
        bool last = i + 1 == RECORD_QUANTILES;
        uint64_t upto = last ? ALL : (uint64_t)(record_words_quantile[i].share * ALL + 0.5);
        series_weigh(s, m, f->quantiles[i], upto - below);
        below = upto;
    }
}

bool read_series(struct reading *r, struct series *s, const struct metric *m, struct verdict *v,
                 bool *partial)
{
    struct json_in *j = &r->json;
    struct histogram *histogram = s->histogram;
    struct found f = {0};
    struct scan key;
    *s = (struct series){.histogram = histogram};
    json_in_object(j);
    while (json_in_key(j, &key))
        read_member(r, &key, s, m, &f, v, partial);
    s->count = f.has_extremes;
    if (f.has_mean) {
        s->observed_ns = NS_PER_SECOND;
        s->weighted = f.mean;
    }
    if (f.quantile_count == RECORD_QUANTILES)
        fill_histogram(s, m, &f);
    return !j->failed;
}
