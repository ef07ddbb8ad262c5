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
