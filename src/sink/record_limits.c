/* SPDX-License-Identifier: MIT
 * What a target may use, as JSON. */
#include "sink/record_json.h"
#include "sink/record_words.h"

static void add_limit(struct json_out *j, enum limit_kind kind, const struct limit *l)
{
    json_key(j, record_words_limit[kind]);
    json_object(j);
    json_key(j, "value");
    if (l->unlimited)
        json_null(j);
    else if (kind == LIMIT_CPUS)
        json_double(j, l->cores, 6);
    else
        json_u64(j, l->value);
    json_put_bool(j, "unlimited", l->unlimited);
    json_put_string(j, "by", l->by ? l->by : "");
    if (l->cgroup)
        json_put_string(j, "cgroup", l->cgroup);
    if (l->has_used) {
        json_put_double(j, "used", l->used, 6);
        json_put_bool(j, "used_at_least", l->used_is_least);
        json_put_string(j, "used_by", l->whose);
    }
    if (l->reached)
        json_put_string(j, "reached", l->reached);
    if (l->reached_times)
        json_put_u64(j, "reached_count", l->reached_times);
    json_object_end(j);
}

void record_json_limits(struct json_out *j, const struct limits *limits)
{
    json_key(j, "limits");
    json_object(j);
    for (unsigned kind = 0; kind < LIMITS; kind++)
        if (limits->of[kind].known)
            add_limit(j, kind, &limits->of[kind]);
    json_object_end(j);
}
