/* SPDX-License-Identifier: MIT */
#include "sink/otlp_names.h"

#include "metric/entity.h"
#include "unit.h"

#include <time.h>

static void expect(enum entity_kind kind, enum metric_id id, const char *name, const char *key,
                   const char *value, const char *unit)
{
    const struct metric *m = metric_of(id);
    const struct otlp_attribute *a = otlp_attribute(m);
    struct buf b = {0};
    otlp_name(&b, kind, m);
    assert_string_equal(b.data, name);
    assert_int_equal(a != NULL, key != NULL);
    if (key) {
        assert_string_equal(a->key, key);
        assert_string_equal(a->value, value);
    }
    assert_string_equal(otlp_unit(m), unit);
    buf_done(&b);
}

static void test_names(void **state)
{
    expect(ENTITY_TARGET, process_cpu_user_seconds, "process.cpu.time", "cpu.mode", "user", "s");
    expect(ENTITY_TARGET, process_cpu_system_seconds, "process.cpu.time", "cpu.mode", "system",
           "s");
    /* The sum of both: there it would count twice. */
    expect(ENTITY_TARGET, process_cpu_seconds, "toll.target.cpu_seconds", NULL, NULL, "s");
    expect(ENTITY_TARGET, process_cpu_cores, "process.cpu.utilization", NULL, NULL, "1");
    expect(ENTITY_TARGET, process_memory_rss_bytes, "process.memory.usage", NULL, NULL, "By");
    expect(ENTITY_TARGET, process_memory_pss_bytes, "toll.target.memory_pss_bytes", NULL, NULL,
           "By");
    expect(ENTITY_TARGET, process_faults_major_count, "process.paging.faults", "type", "major",
           "1");
    expect(ENTITY_TARGET, process_switches_involuntary_count, "process.context_switches", "type",
           "involuntary", "1");
    expect(ENTITY_TARGET, process_storage_written_bytes, "process.disk.io", "direction", "write",
           "By");
    expect(ENTITY_TARGET, process_network_received_bytes, "process.network.io", "direction",
           "receive", "By");
    expect(ENTITY_SYSTEM, system_cpu_idle_seconds, "system.cpu.time", "cpu.mode", "idle", "s");
    expect(ENTITY_SYSTEM, system_memory_free_bytes, "system.memory.usage", "state", "free", "By");
    expect(ENTITY_SYSTEM, system_memory_active_anon_bytes, "system.memory.usage", "state",
           "active_anon", "By");
    expect(ENTITY_DISK, disk_reads_count, "system.disk.operations", "direction", "read", "1");
    expect(ENTITY_DISK, disk_write_time_seconds, "system.disk.operation_time", "direction", "write",
           "s");
    expect(ENTITY_NETIF, netif_packets_sent_count, "system.network.packet.count", "direction",
           "transmit", "1");
    expect(ENTITY_GPU, gpu_utilization_ratio, "hw.gpu.utilization", "hw.gpu.task", "general", "1");
    expect(ENTITY_GPU, gpu_encoder_ratio, "hw.gpu.utilization", "hw.gpu.task", "encoder", "1");
}

/* Whoever shares a name differs in the attribute: no point stands for two figures. */
static void test_no_two_figures_are_one(void **state)
{
    for (unsigned kind = 0; kind < ENTITY_KINDS; kind++)
        for (unsigned i = 0; i < metric_count(kind); i++)
            for (unsigned k = 0; k < i; k++) {
                const struct metric *m = metric_of(metric_first(kind) + i);
                const struct metric *n = metric_of(metric_first(kind) + k);
                const struct otlp_attribute *a = otlp_attribute(m), *b = otlp_attribute(n);
                if (otlp_first(m) != otlp_first(n))
                    continue;
                assert_true(a && b);
                assert_string_equal(a->key, b->key);
                assert_string_not_equal(a->value, b->value);
                assert_int_equal(m->kind, n->kind);
                assert_int_equal(m->unit, n->unit);
            }
}

/* A metric is told once in a request, with the points of all entities that have it. */
static void test_one_metric_of_several_entities(void **state)
{
    assert_ptr_equal(otlp_first(metric_of(disk_written_bytes)),
                     otlp_first(metric_of(system_disk_read_bytes)));
    assert_ptr_equal(otlp_first(metric_of(disk_size_bytes)), metric_of(disk_size_bytes));
    for (unsigned a = 0; a < METRIC_COUNT; a++) {
        const struct metric *m = metric_of(a), *first = otlp_first(m);
        assert_ptr_equal(otlp_first(first), first);
        assert_int_equal(first->kind, m->kind);
        assert_string_equal(otlp_unit(first), otlp_unit(m));
    }
}

static void test_utilisation_is_a_share(void **state)
{
    assert_true(otlp_divisor(metric_of(process_cpu_cores), 8) == 8);
    assert_true(otlp_divisor(metric_of(process_cpu_cores), 0) == 1);
    assert_true(otlp_divisor(metric_of(process_memory_rss_bytes), 8) == 1);
}

/* They are asked about every point that is sent, and while those are put in order several times. */
static void test_asking_costs_next_to_nothing(void **state)
{
    struct timespec used;
    size_t shared = 0;
    for (unsigned round = 0; round < 2000; round++)
        for (unsigned id = 0; id < METRIC_COUNT; id++)
            shared += otlp_first(metric_of(id)) != metric_of(id);
    assert_true(shared > 0);
    assert_int_equal(clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used), 0);
    assert_true(used.tv_sec < 3);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_no_two_figures_are_one),
        cmocka_unit_test(test_one_metric_of_several_entities),
        cmocka_unit_test(test_utilisation_is_a_share),
        cmocka_unit_test(test_asking_costs_next_to_nothing),
    };
    return RUN("otlp_names", tests);
}
