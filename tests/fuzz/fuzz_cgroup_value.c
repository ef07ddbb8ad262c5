/* SPDX-License-Identifier: MIT */
#include "source/cgroup/cgroup.h"

#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct cgroup_value v;
    fuzz_fill(&v, sizeof v);
    int r = parse_cgroup_value(fuzz_text(data, size), &v);
    if (r < 0)
        CHECK(r == -EBADMSG && fuzz_is_filled(&v, sizeof v));
    else
        CHECK(!v.unlimited || v.value == 0);
    struct cgroup_cpu_max m;
    fuzz_fill(&m, sizeof m);
    r = parse_cgroup_cpu_max(fuzz_text(data, size), &m);
    if (r < 0)
        CHECK(r == -EBADMSG && fuzz_is_filled(&m, sizeof m));
    else
        CHECK(m.period_us > 0 && (!m.unlimited || m.quota_us == 0));
    return 0;
}
