/* SPDX-License-Identifier: MIT */
#include "metric/metric.h"

#include "fuzz.h"

static bool any_matches(const char *globs)
{
    for (unsigned id = 0; id < METRIC_COUNT; id++) {
        const struct metric *m = metric_of((enum metric_id)id);
        if (metric_matches(globs, m->facts.entity, m))
            return true;
        for (enum part p = 0; id < PROCESS_METRICS && p < PARTS; p++)
            if (metric_matches(globs, part_prefix(p), m))
                return true;
    }
    return false;
}

/* A list that is accepted matches something; a refusal says why; one more * matches everything. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    CLEANUP_FREE char *globs = fuzz_string(data, size);
    struct toll_error e = {0};
    int r = metric_check_globs(globs, &e);
    CHECK(r == 0 ? any_matches(globs) && !*e.message : r == -EINVAL && e.code == r && *e.message);
    struct buf b = {0};
    buf_puts(&b, globs);
    buf_puts(&b, ",*");
    CHECK(metric_matches(b.data, "main", metric_of(process_cpu_seconds)));
    buf_done(&b);
    return 0;
}
