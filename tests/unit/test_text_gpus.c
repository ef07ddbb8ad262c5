/* SPDX-License-Identifier: MIT */
#include "sink/text/sections.h"

#include "sample.h"

static void expect(struct sample *s, bool has_table, const char *text)
{
    struct sink sink = {.selection = s->selection};
    text_gpus(&sink, &s->summary, has_table);
    buf_putc(&sink.text, '\0');
    assert_string_equal(sink.text.data, text);
    buf_done(&sink.text);
}

static void put(struct series *series, enum metric_id id, union value value)
{
    series_put(&series[id - gpu_first], metric_of(id), value, 2 * NS_PER_SECOND);
}

static void test_gpu(void **state)
{
    struct sample s;
    struct instance gpu;
    sample_make(&s, NULL);
    expect(&s, false, "");
    instance_init(&gpu, ENTITY_GPU);
    memcpy(gpu.entity.name, "nvidia0", 8);
    s.summary.instances = calloc(1, sizeof *s.summary.instances);
    struct series *series = calloc(metric_count(ENTITY_GPU), sizeof *series);
    assert_true(s.summary.instances && series);
    s.summary.instances[0] = (struct instance_summary){&gpu, series};
    s.summary.instance_count = 1;
    expect(&s, true, ""); /* it is not known how long it idled */
    put(series, gpu_idle_seconds, (union value){.u = 1260 * NS_PER_MS});
    put(series, gpu_watched_seconds, (union value){.u = 2 * NS_PER_SECOND});
    put(series, gpu_utilization_ratio, (union value){.d = 0.25});
    put(series, gpu_power_watts, (union value){.d = 120});
    put(series, gpu_energy_joules, (union value){.u = 240000000});
    expect(&s, true,
           "the GPU nvidia0 idled 63 % of the time; on average 25.0 % busy, 120 W\n"
           "energy: 240 J GPUs, of all that ran meanwhile\n");
    expect(&s, false,
           "\ngpus                          busy     power\n"
           "nvidia0                     25.0 %     120 W\n\n"
           "the GPU nvidia0 idled 63 % of the time; on average 25.0 % busy, 120 W\n"
           "energy: 240 J GPUs, of all that ran meanwhile\n");
    /* Of half of the time nothing was known: it is not taken for busy. */
    put(series, gpu_idle_seconds, (union value){.u = 500 * NS_PER_MS});
    put(series, gpu_watched_seconds, (union value){.u = NS_PER_SECOND});
    expect(&s, true,
           "the GPU nvidia0 idled 50 % of the time that is known of it, 1.00 s of 2.00 s; on\n"
           "        average 25.0 % busy, 120 W\n"
           "energy: 240 J GPUs, of all that ran meanwhile\n");
    sample_remove(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_gpu),
    };
    return RUN("text_gpus", tests);
}
