/* SPDX-License-Identifier: MIT */
#include "source/machine/cpu.h"

#include "fuzz.h"

static void check_times(const struct cpu_times *t)
{
    CHECK(t->modes > CPU_IDLE && t->modes <= CPU_MODES);
    for (unsigned mode = t->modes; mode < CPU_MODES; mode++)
        CHECK(t->ticks[mode] == 0);
    CHECK(t->busy_ticks >= t->ticks[CPU_USER] && t->busy_ticks >= t->ticks[CPU_GUEST]);
}

/* As many lines of CPUs as were counted, all of them inside the text. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct proc_stat st;
    struct scan text = fuzz_text(data, size);
    fuzz_fill(&st, sizeof st);
    int r = parse_proc_stat(text, &st);
    if (r < 0) {
        CHECK_FAILURE(r, -ENODATA, size, &st);
        return 0;
    }
    check_times(&st.all);
    CHECK(st.cpus.at >= text.at && st.cpus.end <= text.end);
    unsigned lines = 0, number;
    struct cpu_times t;
    while ((r = parse_proc_stat_cpu(&st.cpus, &number, &t)) != 0) {
        lines++;
        if (r > 0)
            check_times(&t);
        else
            CHECK(r == -EBADMSG);
    }
    CHECK(lines == st.cpu_count);
    return 0;
}
