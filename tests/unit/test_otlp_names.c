/* SPDX-License-Identifier: MIT */
#include "sink/otlp/names.h"

#include "metric/metric.h"
#include "unit.h"

/* The series of an entity with that name and attribute. */
static const struct otlp_series *find(enum entity_kind kind, const char *name, const char *value)
{
    size_t count;
    const struct otlp_series *s = otlp_series_of(kind, &count);
    for (size_t i = 0; i < count; i++)
        if (strcmp(s[i].metric->name, name) == 0 && (s[i].value != NULL) == (value != NULL) &&
            (!value || strcmp(s[i].value, value) == 0))
            return &s[i];
    fail_msg("there is no %s", name);
    return NULL;
}

static void expect(enum entity_kind kind, enum metric_id id, const char *name, const char *key,
                   const char *value, enum otlp_instrument instrument, const char *unit)
{
    const struct otlp_series *s = find(kind, name, value);
    assert_int_equal(s->terms[0].index, id - metric_first(kind));
    assert_int_equal(s->metric->instrument, instrument);
    assert_string_equal(s->metric->unit, unit);
    if (key)
        assert_string_equal(s->key, key);
}

static void test_names(void **state)
{
    expect(ENTITY_PROCESS, process_cpu_user_seconds, "process.cpu.time", "cpu.mode", "user",
           OTLP_COUNTER, "s");
    expect(ENTITY_PROCESS, process_cpu_seconds, "toll.process.cpu.total", NULL, NULL, OTLP_COUNTER,
           "s");
    expect(ENTITY_PROCESS, process_cpu_cores, "process.cpu.utilization", NULL, NULL, OTLP_GAUGE,
           "1");
    expect(ENTITY_PROCESS, process_memory_rss_bytes, "process.memory.usage", NULL, NULL,
           OTLP_UPDOWNCOUNTER, "By");
    expect(ENTITY_PROCESS, process_memory_pss_bytes, "toll.process.memory_pss", NULL, NULL,
           OTLP_GAUGE, "By");
    expect(ENTITY_PROCESS, process_wall_seconds, "toll.process.wall", NULL, NULL, OTLP_COUNTER,
           "s");
    expect(ENTITY_SYSTEM, system_load_1m_number, "toll.system.load_1m", NULL, NULL, OTLP_GAUGE,
           "{task}");
    expect(ENTITY_SYSTEM, system_memory_cached_bytes, "toll.system.memory_cached", NULL, NULL,
           OTLP_GAUGE, "By");
    expect(ENTITY_MOUNT, mount_used_ratio, "toll.mount.used_ratio", NULL, NULL, OTLP_GAUGE, "1");
    expect(ENTITY_SELF, self_ticks_count, "toll.self.ticks", NULL, NULL, OTLP_COUNTER, "{count}");
}

/* No point stands for two figures, and a name means the same thing everywhere. */
static void test_no_two_series_are_one(void **state)
{
    for (unsigned kind = 0; kind < ENTITY_KINDS; kind++) {
        size_t count;
        const struct otlp_series *s = otlp_series_of(kind, &count);
        for (size_t i = 0; i < count; i++)
            for (size_t k = 0; k < i; k++) {
                if (strcmp(s[i].metric->name, s[k].metric->name) != 0)
                    continue;
                assert_ptr_equal(s[i].metric, s[k].metric);
                assert_true(s[i].key && s[k].key);
                assert_string_equal(s[i].key, s[k].key);
                assert_string_not_equal(s[i].value, s[k].value);
            }
    }
}

/* Every figure of ours is sent, and the column of the table of metrics says under which name of the
 * conventions. A difference of several is no figure's name. */
static void test_every_figure_has_a_series(void **state)
{
    for (unsigned kind = 0; kind < ENTITY_KINDS; kind++) {
        size_t count;
        const struct otlp_series *s = otlp_series_of(kind, &count);
        for (unsigned i = 0; i < metric_count(kind); i++) {
            const struct metric *m = metric_of(metric_first(kind) + i);
            const char *theirs = "";
            bool is_sent = false;
            for (size_t k = 0; k < count; k++) {
                bool has_it = false, is_difference = false;
                for (unsigned t = 0; t < s[k].term_count; t++) {
                    has_it |= s[k].terms[t].index == i;
                    is_difference |= s[k].terms[t].is_subtracted;
                }
                is_sent |= has_it;
                if (has_it && !is_difference && strncmp(s[k].metric->name, "toll.", 5) != 0)
                    theirs = s[k].metric->name;
            }
            assert_true(is_sent);
            assert_string_equal(m->facts.otel, theirs);
        }
    }
}

/* A name is never the namespace of another, whatever stands in front of it. */
static void test_names_are_no_namespaces(void **state)
{
    static const char *const prefixes[] = {
        NULL,
        "toll.part.",
        "toll.target.",
        "toll.target.part.",
        "toll.disk.stacked.",
        "toll.disk.virtual.",
        "toll.netif.target.",
        "toll.rapl.zone.",
        "toll.gpu.instance.",
    };
    for (size_t p = 0; p < ARRAY_LEN(prefixes); p++)
        for (unsigned kind = 0; kind < ENTITY_KINDS; kind++) {
            size_t count;
            const struct otlp_series *s = otlp_series_of(kind, &count);
            for (size_t i = 0; i < count; i++)
                for (size_t k = 0; k < count; k++) {
                    struct buf a = {0}, b = {0};
                    otlp_name(&a, s[i].metric, prefixes[p]);
                    otlp_name(&b, s[k].metric, prefixes[p]);
                    assert_true(strncmp(a.data, b.data, a.length) != 0 || b.data[a.length] != '.');
                    buf_done(&a);
                    buf_done(&b);
                }
        }
}

static void test_other_prefixes(void **state)
{
    struct buf b = {0};
    otlp_name(&b, find(ENTITY_PROCESS, "process.cpu.time", "user")->metric, "toll.part.");
    buf_putc(&b, ' ');
    otlp_name(&b, find(ENTITY_PROCESS, "toll.process.cpu.total", NULL)->metric, "toll.part.");
    buf_putc(&b, ' ');
    otlp_name(&b, find(ENTITY_GPU, "hw.energy", NULL)->metric, "toll.gpu.instance.");
    buf_putc(&b, ' ');
    otlp_name(&b, find(ENTITY_GPU, "hw.gpu.memory.usage", NULL)->metric, "toll.gpu.instance.");
    assert_string_equal(b.data, "toll.part.cpu.time toll.part.cpu.total toll.gpu.instance.energy "
                                "toll.gpu.instance.memory.usage");
    buf_done(&b);
}

static void test_values(void **state)
{
    double values[METRICS_PER_ENTITY] = {0}, got;
    uint64_t present = 0;
#define PUT(metric, value)                                                                         \
    do {                                                                                           \
        values[metric] = value;                                                                    \
        present |= BIT(metric);                                                                    \
    } while (0)
    PUT(process_cpu_cores, 3);
    const struct otlp_series *share = find(ENTITY_PROCESS, "process.cpu.utilization", NULL);
    assert_true(otlp_series_value(share, values, present, 4, &got) && got == 0.75);
    assert_false(otlp_series_value(share, values, present, 0, &got));
    assert_false(otlp_series_value(share, values, 0, 4, &got));
    present = 0;
    const struct otlp_series *reserved = find(ENTITY_MOUNT, "system.filesystem.usage", "reserved");
    PUT(mount_size_bytes - mount_first, 100);
    PUT(mount_used_bytes - mount_first, 60);
    assert_false(otlp_series_value(reserved, values, present, 4, &got));
    PUT(mount_available_bytes - mount_first, 35);
    assert_true(otlp_series_value(reserved, values, present, 4, &got) && got == 5);
    PUT(mount_available_bytes - mount_first, 45); /* read at another moment */
    assert_false(otlp_series_value(reserved, values, present, 4, &got));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_no_two_series_are_one),
        cmocka_unit_test(test_every_figure_has_a_series),
        cmocka_unit_test(test_names_are_no_namespaces),
        cmocka_unit_test(test_other_prefixes),
        cmocka_unit_test(test_values),
    };
    return RUN("otlp_names", tests);
}
