/* SPDX-License-Identifier: MIT */
#include "sink/otlp/otlp.h"

#include "base/util.h"
#include "metric/metric.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

enum { SERIES_AT_MOST = 8 };

#define ADD(id)      ((int)(id) + 1)
#define SUBTRACT(id) (-((int)(id) + 1))

/* Metrics with their series, and the figures of toll that each is made of. A figure that is in none
 * of them has a metric of its own, named by rule (otlp_make_own_metric). */
static const struct otlp_mapping {
    struct otlp_metric metric;
    const char *key;
    struct {
        const char *value;     /* of the attribute */
        int terms[OTLP_TERMS]; /* all of one entity; ends with 0 */
    } series[SERIES_AT_MOST];
} otlp_mappings[] = {
    /* ---- A process: here the processes of all targets together ---- */
    {{"process.cpu.time", OTLP_COUNTER, "s", "CPU time of the processes, by mode", false},
     "cpu.mode",
     {{"user", {ADD(process_cpu_user_seconds)}}, {"system", {ADD(process_cpu_system_seconds)}}}},
    {{"process.cpu.utilization", OTLP_GAUGE, "1",
      "CPU time per second of wall time and per CPU that may be used", false},
     NULL,
     {{NULL, {ADD(process_cpu_cores)}}}},
    {{"toll.process.cpu.cores", OTLP_GAUGE, "{cpu}",
      "CPU time per second of wall time: 2 is two cores busy", false},
     NULL,
     {{NULL, {ADD(process_cpu_cores)}}}},
    {{"toll.process.cpu.total", OTLP_COUNTER, "s", "CPU time in user and system mode together",
      false},
     NULL,
     {{NULL, {ADD(process_cpu_seconds)}}}},
    {{"process.memory.usage", OTLP_UPDOWNCOUNTER, "By", "Resident memory of the processes", true},
     NULL,
     {{NULL, {ADD(process_memory_rss_bytes)}}}},
    {{"process.memory.virtual", OTLP_UPDOWNCOUNTER, "By", "Address space of the processes", true},
     NULL,
     {{NULL, {ADD(process_memory_virtual_bytes)}}}},
    {{"process.disk.io", OTLP_COUNTER, "By", "Bytes read from storage and written to it", true},
     "disk.io.direction",
     {{"read", {ADD(process_storage_read_bytes)}},
      {"write", {ADD(process_storage_written_bytes)}}}},
    {{"process.network.io", OTLP_COUNTER, "By", "Bytes received and sent", true},
     "network.io.direction",
     {{"receive", {ADD(process_network_received_bytes)}},
      {"transmit", {ADD(process_network_sent_bytes)}}}},
    {{"process.thread.count", OTLP_UPDOWNCOUNTER, "{thread}", "Threads", true},
     NULL,
     {{NULL, {ADD(process_threads_count)}}}},
    {{"process.unix.file_descriptor.count", OTLP_UPDOWNCOUNTER, "{file_descriptor}",
      "Open file descriptors", true},
     NULL,
     {{NULL, {ADD(process_open_files_count)}}}},
    {{"process.context_switches", OTLP_COUNTER, "{context_switch}", "Context switches", true},
     "process.context_switch.type",
     {{"voluntary", {ADD(process_switches_voluntary_count)}},
      {"involuntary", {ADD(process_switches_involuntary_count)}}}},
    {{"process.paging.faults", OTLP_COUNTER, "{fault}", "Page faults", true},
     "system.paging.fault.type",
     {{"minor", {ADD(process_faults_minor_count)}}, {"major", {ADD(process_faults_major_count)}}}},
    {{"toll.process.io", OTLP_COUNTER, "By",
      "Bytes through read and write calls: files, pipes, sockets and terminals, cached or not",
      true},
     "toll.io.direction",
     {{"read", {ADD(process_io_read_bytes)}}, {"write", {ADD(process_io_written_bytes)}}}},
    {{"toll.process.io_calls", OTLP_COUNTER, "{call}", "System calls that read or write", true},
     "toll.io.direction",
     {{"read", {ADD(process_io_read_calls_count)}},
      {"write", {ADD(process_io_write_calls_count)}}}},

    /* ---- The machine ---- */
    {{"system.uptime", OTLP_GAUGE, "s", "Time since the machine was started", false},
     NULL,
     {{NULL, {ADD(system_uptime_seconds)}}}},
    {{"system.cpu.time", OTLP_COUNTER, "s", "Time of all CPUs, by mode", false},
     "cpu.mode",
     {{"user", {ADD(system_cpu_user_seconds)}},
      {"nice", {ADD(system_cpu_nice_seconds)}},
      {"system", {ADD(system_cpu_system_seconds)}},
      {"idle", {ADD(system_cpu_idle_seconds)}},
      {"iowait", {ADD(system_cpu_iowait_seconds)}},
      {"interrupt", {ADD(system_cpu_irq_seconds), ADD(system_cpu_softirq_seconds)}},
      {"steal", {ADD(system_cpu_steal_seconds)}},
      {"guest", {ADD(system_cpu_guest_seconds)}}}},
    {{"toll.core.cpu.time", OTLP_COUNTER, "s", "Time of one CPU, by mode", false},
     "cpu.mode",
     {{"user", {ADD(core_cpu_user_seconds)}},
      {"nice", {ADD(core_cpu_nice_seconds)}},
      {"system", {ADD(core_cpu_system_seconds)}},
      {"idle", {ADD(core_cpu_idle_seconds)}},
      {"iowait", {ADD(core_cpu_iowait_seconds)}},
      {"interrupt", {ADD(core_cpu_irq_seconds), ADD(core_cpu_softirq_seconds)}},
      {"steal", {ADD(core_cpu_steal_seconds)}},
      {"guest", {ADD(core_cpu_guest_seconds)}}}},
    {{"toll.system.cpu.total", OTLP_COUNTER, "s",
      "Busy time of all CPUs: not idle, waiting for I/O or stolen", false},
     NULL,
     {{NULL, {ADD(system_cpu_seconds)}}}},
    {{"toll.core.cpu.total", OTLP_COUNTER, "s",
      "Busy time of the CPU: not idle, waiting for I/O or stolen", false},
     NULL,
     {{NULL, {ADD(core_cpu_seconds)}}}},
    {{"toll.system.cpu.cores", OTLP_GAUGE, "{cpu}",
      "CPU time per second of wall time: 2 is two cores busy", false},
     NULL,
     {{NULL, {ADD(system_cpu_cores)}}}},
    {{"system.cpu.logical.count", OTLP_UPDOWNCOUNTER, "{cpu}", "Number of online CPUs", true},
     NULL,
     {{NULL, {ADD(system_cpus_online_count)}}}},
    {{"system.cpu.frequency", OTLP_GAUGE, "Hz", "Current frequency of the CPU", true},
     NULL,
     {{NULL, {ADD(core_frequency_hertz)}}}},
    {{"system.memory.limit", OTLP_UPDOWNCOUNTER, "By", "Memory that the kernel can use", true},
     NULL,
     {{NULL, {ADD(system_memory_total_bytes)}}}},
    /* used contains what of the page cache cannot be dropped (tmpfs): with cached and buffers
     * beside it the sum would be more than the memory, so that those have names of our own. */
    {{"system.memory.usage", OTLP_UPDOWNCOUNTER, "By",
      "Memory that is not available (used), and memory that is unused (free)", true},
     "system.memory.state",
     {{"used", {ADD(system_memory_used_bytes)}}, {"free", {ADD(system_memory_free_bytes)}}}},
    {{"system.memory.linux.available", OTLP_UPDOWNCOUNTER, "By",
      "Memory available without swapping, as estimated by the kernel", true},
     NULL,
     {{NULL, {ADD(system_memory_available_bytes)}}}},
    {{"system.memory.linux.shared", OTLP_UPDOWNCOUNTER, "By", "Shared memory and tmpfs", true},
     NULL,
     {{NULL, {ADD(system_memory_shmem_bytes)}}}},
    {{"system.memory.linux.slab.usage", OTLP_UPDOWNCOUNTER, "By", "Data structures of the kernel",
      true},
     "system.memory.linux.slab.state",
     {{"reclaimable", {ADD(system_memory_reclaimable_bytes)}},
      {"unreclaimable",
       {ADD(system_memory_slab_bytes), SUBTRACT(system_memory_reclaimable_bytes)}}}},
    {{"system.paging.usage", OTLP_UPDOWNCOUNTER, "By", "Swap space", true},
     "system.paging.state",
     {{"used", {ADD(system_swap_used_bytes)}},
      {"free", {ADD(system_swap_total_bytes), SUBTRACT(system_swap_used_bytes)}}}},
    {{"system.paging.faults", OTLP_COUNTER, "{fault}", "Page faults", true},
     "system.paging.fault.type",
     {{"major", {ADD(system_faults_major_count)}}}},
    {{"toll.system.paging.io", OTLP_COUNTER, "By", "Bytes read back from swap and written to it",
      true},
     "system.paging.direction",
     {{"in", {ADD(system_swap_in_bytes)}}, {"out", {ADD(system_swap_out_bytes)}}}},
    {{"system.process.count", OTLP_UPDOWNCOUNTER, "{process}",
      "Processes of the machine, in any state", true},
     NULL,
     {{NULL, {ADD(system_processes_count)}}}},
    {{"toll.system.disk.io", OTLP_COUNTER, "By",
      "Bytes of all whole disks, without stacked and virtual devices", true},
     "disk.io.direction",
     {{"read", {ADD(system_disk_read_bytes)}}, {"write", {ADD(system_disk_written_bytes)}}}},
    {{"toll.system.disk.operations", OTLP_COUNTER, "{operation}", "Operations of all whole disks",
      true},
     "disk.io.direction",
     {{"read", {ADD(system_disk_reads_count)}}, {"write", {ADD(system_disk_writes_count)}}}},
    {{"toll.system.network.io", OTLP_COUNTER, "By",
      "Bytes of physical interfaces; if there are none, of all except loopback", true},
     "network.io.direction",
     {{"receive", {ADD(system_network_received_bytes)}},
      {"transmit", {ADD(system_network_sent_bytes)}}}},

    /* ---- Disks, filesystems, interfaces ---- */
    {{"system.disk.io", OTLP_COUNTER, "By", "Bytes read and written", true},
     "disk.io.direction",
     {{"read", {ADD(disk_read_bytes)}}, {"write", {ADD(disk_written_bytes)}}}},
    {{"system.disk.operations", OTLP_COUNTER, "{operation}", "Read and write operations", true},
     "disk.io.direction",
     {{"read", {ADD(disk_reads_count)}}, {"write", {ADD(disk_writes_count)}}}},
    {{"system.disk.operation_time", OTLP_COUNTER, "s",
      "Time spent on operations, summed over concurrent ones", false},
     "disk.io.direction",
     {{"read", {ADD(disk_read_time_seconds)}}, {"write", {ADD(disk_write_time_seconds)}}}},
    {{"system.disk.io_time", OTLP_COUNTER, "s", "Time in which the device was busy", false},
     NULL,
     {{NULL, {ADD(disk_active_seconds)}}}},
    {{"system.disk.limit", OTLP_UPDOWNCOUNTER, "By", "Size of the device", true},
     NULL,
     {{NULL, {ADD(disk_size_bytes)}}}},
    {{"system.filesystem.limit", OTLP_UPDOWNCOUNTER, "By", "Size of the filesystem", true},
     NULL,
     {{NULL, {ADD(mount_size_bytes)}}}},
    {{"system.filesystem.usage", OTLP_UPDOWNCOUNTER, "By",
      "Space used, free, and reserved for root", true},
     "system.filesystem.state",
     {{"used", {ADD(mount_used_bytes)}},
      {"free", {ADD(mount_available_bytes)}},
      {"reserved",
       {ADD(mount_size_bytes), SUBTRACT(mount_used_bytes), SUBTRACT(mount_available_bytes)}}}},
    {{"system.network.io", OTLP_COUNTER, "By", "Bytes received and sent", true},
     "network.io.direction",
     {{"receive", {ADD(netif_received_bytes)}}, {"transmit", {ADD(netif_sent_bytes)}}}},
    {{"system.network.packet.count", OTLP_COUNTER, "{packet}", "Packets received and sent", true},
     "network.io.direction",
     {{"receive", {ADD(netif_packets_received_count)}},
      {"transmit", {ADD(netif_packets_sent_count)}}}},
    {{"system.network.packet.dropped", OTLP_COUNTER, "{packet}", "Packets that were dropped", true},
     "network.io.direction",
     {{"receive", {ADD(netif_dropped_received_count)}},
      {"transmit", {ADD(netif_dropped_sent_count)}}}},
    {{"system.network.errors", OTLP_COUNTER, "{error}", "Packets with errors", true},
     "network.io.direction",
     {{"receive", {ADD(netif_errors_received_count)}},
      {"transmit", {ADD(netif_errors_sent_count)}}}},

    /* ---- Hardware ---- */
    {{"hw.temperature", OTLP_GAUGE, "Cel", "Temperature", false},
     NULL,
     {{NULL, {ADD(sensor_temperature_celsius)}}, {NULL, {ADD(gpu_temperature_celsius)}}}},
    {{"hw.energy", OTLP_COUNTER, "J", "Energy", false},
     NULL,
     {{NULL, {ADD(rapl_energy_joules)}}, {NULL, {ADD(gpu_energy_joules)}}}},
    {{"hw.power", OTLP_GAUGE, "W", "Power", false},
     NULL,
     {{NULL, {ADD(rapl_power_watts)}}, {NULL, {ADD(gpu_power_watts)}}}},
    {{"hw.gpu.utilization", OTLP_GAUGE, "1", "Share of time in which the GPU was busy", false},
     "hw.gpu.task",
     {{"general", {ADD(gpu_utilization_ratio)}},
      {"encoder", {ADD(gpu_encoder_ratio)}},
      {"decoder", {ADD(gpu_decoder_ratio)}}}},
    {{"hw.gpu.memory.usage", OTLP_UPDOWNCOUNTER, "By", "Memory of the GPU in use", true},
     NULL,
     {{NULL, {ADD(gpu_memory_used_bytes)}}}},
    {{"hw.gpu.memory.limit", OTLP_UPDOWNCOUNTER, "By", "Total memory of the GPU", true},
     NULL,
     {{NULL, {ADD(gpu_memory_total_bytes)}}}},
};

/* ---- The series of all entities, made once from the table -------------------------------------
 */

enum { ALL_SERIES = METRIC_COUNT + ARRAY_LEN(otlp_mappings) * SERIES_AT_MOST, NAME_BYTES = 64 };

static struct otlp_series otlp_all_series[ALL_SERIES];
static struct {
    size_t first, count;
} otlp_entity_series[ENTITY_KINDS];
static struct otlp_metric otlp_own_metrics[METRIC_COUNT];
static char otlp_own_names[METRIC_COUNT][NAME_BYTES];
static pthread_once_t otlp_once = PTHREAD_ONCE_INIT;

static const char *otlp_unit(const struct metric *m)
{
    switch (m->unit) {
    case UNIT_seconds: return "s";
    case UNIT_bytes: return "By";
    case UNIT_joules: return "J";
    case UNIT_hertz: return "Hz";
    case UNIT_cores: return "{cpu}";
    case UNIT_watts: return "W";
    case UNIT_celsius: return "Cel";
    case UNIT_ratio: return "1";
    case UNIT_count: return "{count}"; /* some receivers turn "1" into "_ratio" */
    case UNIT_number: return "{task}"; /* a load average */
    }
    return "";
}

/* "toll.process.cpu_wait": the name of the metric without its unit, which is a field of its own.
 * Cores and ratios keep theirs, as most share the rest of the name with a metric in another unit.
 */
static const struct otlp_metric *otlp_make_own_metric(enum entity_kind kind, enum metric_id id)
{
    const struct metric *m = metric_of(id);
    size_t length = strlen(m->facts.name), unit = strlen(m->facts.unit);
    if (unit && m->unit != UNIT_cores && m->unit != UNIT_ratio &&
        ends_with(m->facts.name, m->facts.unit))
        length -= unit + 1;
    snprintf(otlp_own_names[id], NAME_BYTES, "toll.%s.%.*s", entity_kind_name(kind), (int)length,
             m->facts.name);
    otlp_own_metrics[id] = (struct otlp_metric){
        .name = otlp_own_names[id],
        .instrument = m->kind == METRIC_COUNTER ? OTLP_COUNTER : OTLP_GAUGE,
        .unit = otlp_unit(m),
        .description = m->facts.help,
        .is_whole_number = m->unit == UNIT_bytes || m->unit == UNIT_count || m->unit == UNIT_hertz,
    };
    return &otlp_own_metrics[id];
}

/* False: the terms are not figures of that entity. */
static bool otlp_add_series(struct otlp_series *ret, const struct otlp_mapping *m, size_t i,
                            enum entity_kind kind, uint64_t *used)
{
    int term = m->series[i].terms[0];
    unsigned id = (unsigned)(term < 0 ? -term : term) - 1, first = metric_first(kind);
    if (!term || id < first || id >= first + metric_count(kind))
        return false;
    *ret = (struct otlp_series){
        .metric = &m->metric,
        .key = m->series[i].value ? m->key : NULL,
        .value = m->series[i].value,
    };
    for (; ret->term_count < OTLP_TERMS && m->series[i].terms[ret->term_count]; ret->term_count++) {
        term = m->series[i].terms[ret->term_count];
        unsigned index = (unsigned)(term < 0 ? -term : term) - 1 - first;
        ret->terms[ret->term_count].index = index;
        ret->terms[ret->term_count].is_subtracted = term < 0;
        *used |= BIT(index);
    }
    return true;
}

static void otlp_make_series(void)
{
    size_t count = 0;
    for (enum entity_kind kind = 0; kind < ENTITY_KINDS; kind++) {
        uint64_t used = 0;
        otlp_entity_series[kind].first = count;
        for (size_t m = 0; m < ARRAY_LEN(otlp_mappings); m++)
            for (size_t i = 0; i < SERIES_AT_MOST; i++)
                count += otlp_add_series(&otlp_all_series[count], &otlp_mappings[m], i, kind,
                                         &used);
        for (unsigned i = 0; i < metric_count(kind); i++)
            if (!(used >> i & 1))
                otlp_all_series[count++] = (struct otlp_series){
                    .metric = otlp_make_own_metric(kind, metric_first(kind) + i),
                    .term_count = 1,
                    .terms = {{.index = i}},
                };
        otlp_entity_series[kind].count = count - otlp_entity_series[kind].first;
    }
}

const struct otlp_series *otlp_series_of(enum entity_kind kind, size_t *ret_count)
{
    pthread_once(&otlp_once, otlp_make_series);
    if (kind == ENTITY_TARGET)
        kind = ENTITY_PROCESS;
    *ret_count = otlp_entity_series[kind].count;
    return &otlp_all_series[otlp_entity_series[kind].first];
}

bool otlp_series_value(const struct otlp_series *s, const double *values, uint64_t present,
                       unsigned cpus, double *ret)
{
    bool is_share_of_cpus = strcmp(s->metric->name, "process.cpu.utilization") == 0;
    double sum = 0;
    for (unsigned i = 0; i < s->term_count; i++) {
        if (!(present >> s->terms[i].index & 1))
            return false;
        double value = values[s->terms[i].index];
        sum += s->terms[i].is_subtracted ? -value : value;
    }
    /* Figures that were read at different moments may give a negative difference. */
    if ((is_share_of_cpus && !cpus) || (s->term_count > 1 && sum < 0))
        return false;
    *ret = is_share_of_cpus ? sum / cpus : sum;
    return true;
}

void otlp_name(struct buf *b, const struct otlp_metric *m, const char *prefix)
{
    static const char *const replaced[] = {
        "toll.process.",   "process.",  "toll.disk.", "system.disk.", "toll.netif.",
        "system.network.", "toll.gpu.", "hw.gpu.",    "toll.rapl.",   "hw.",
    };
    const char *name = m->name;
    for (size_t i = 0; prefix && i < ARRAY_LEN(replaced) && name == m->name; i++)
        if (strncmp(name, replaced[i], strlen(replaced[i])) == 0)
            name += strlen(replaced[i]);
    buf_puts(b, prefix ? prefix : "");
    buf_puts(b, name);
}
