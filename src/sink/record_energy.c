/* SPDX-License-Identifier: MIT */
#include "sink/record_json.h"
#include "summary/energy.h"

enum { DECIMALS = 6 };

static void add(struct json_out *j, const char *key, bool is_known, double joules)
{
    json_key(j, key);
    if (is_known)
        json_double(j, joules, DECIMALS);
    else
        json_null(j);
}

void record_json_energy(struct json_out *j, const struct summary *s)
{
    struct energy e = energy_of(s);
    if (!e.has_gpus)
        return;
    json_key(j, "run_joules");
    json_object(j);
    add(j, "gpu", e.knows_gpus, e.gpus_joules);
    add(j, "processor", e.knows_processors, e.processors_joules);
    add(j, "total", e.knows_gpus && e.knows_processors, e.gpus_joules + e.processors_joules);
    json_put_string(j, "quality", quality_word(e.knows_gpus ? e.gpus_quality : QUALITY_UNKNOWN));
    json_object_end(j);
}
