/* SPDX-License-Identifier: MIT
 * What became of an output, for the summary. */
#include "sink/sink.h"

#include <stdio.h>
#include <string.h>

static void name_it(const struct sink *s, struct output_summary *ret)
{
    ret->format = s->kind->format.name;
    ret->way = s->way;
    ret->bytes = s->bytes;
    ret->has_bytes = !s->kind->has_no_bytes;
    snprintf(ret->name, sizeof ret->name, "%s", s->name);
}

int sink_wait(struct sink *s, struct output_summary *ret)
{
    struct courier_counts c;
    bool came_back = courier_wait(s->courier);
    courier_count(s->courier, &c);
    *ret = (struct output_summary){
        .samples = c.taken,
        .delivered = c.delivered,
        .kept = c.kept,
        .dropped = c.dropped + c.refused,
        .retries = c.retries,
        .is_whole = c.is_whole && came_back,
        .has_kept = c.has_kept,
    };
    name_it(s, ret);
    snprintf(ret->why, sizeof ret->why, "%s", c.why);
    if (!ret->is_whole)
        s->failure = -EIO;
    return s->failure;
}

bool sink_outcome(struct sink *s, struct output_summary *ret)
{
    if (!s->kind->frame)
        return false;
    *ret = (struct output_summary){
        .samples = s->samples,
        .delivered = s->samples - s->missing,
        .dropped = s->missing,
        .is_whole = !s->dropped && !s->failure,
    };
    name_it(s, ret);
    if (s->failure)
        snprintf(ret->why, sizeof ret->why, "%s", sink_failure(s));
    if (s->kind->outcome)
        s->kind->outcome(s, ret);
    return true;
}
