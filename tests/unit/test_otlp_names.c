/* SPDX-License-Identifier: MIT */
#include "sink/otlp_names.h"

#include "metric/entity.h"
#include "unit.h"

static void expect(enum entity_kind kind, enum metric_id id, const char *name, const char *key,
                   const char *value, const char *unit)
{
    const struct metric *m = metric_of(id);
    struct otlp_attribute a;
    struct buf b = {0};
    otlp_name(&b, kind, m);
    assert_string_equal(b.data, name);
    assert_int_equal(otlp_attribute(kind, m, &a), key != NULL);
    if (key) {
        assert_string_equal(a.key, key);
        assert_string_equal(a.value, value);
    }
    assert_string_equal(otlp_unit(kind, m), unit);
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
                struct otlp_attribute a, b;
                if (!otlp_is_same(kind, m, n))
                    continue;
                assert_true(otlp_attribute(kind, m, &a) && otlp_attribute(kind, n, &b));
                assert_string_equal(a.key, b.key);
                assert_string_not_equal(a.value, b.value);
                assert_int_equal(m->kind, n->kind);
                assert_int_equal(m->unit, n->unit);
                assert_ptr_equal(otlp_first(kind, m), otlp_first(kind, n));
            }
}

static void test_utilisation_is_a_share(void **state)
{
    assert_true(otlp_divisor(ENTITY_TARGET, metric_of(process_cpu_cores), 8) == 8);
    assert_true(otlp_divisor(ENTITY_TARGET, metric_of(process_cpu_cores), 0) == 1);
    assert_true(otlp_divisor(ENTITY_TARGET, metric_of(process_memory_rss_bytes), 8) == 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_names),
        cmocka_unit_test(test_no_two_figures_are_one),
        cmocka_unit_test(test_utilisation_is_a_share),
    };
    return RUN("otlp_names", tests);
}
