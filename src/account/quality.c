/* SPDX-License-Identifier: MIT */
#include "account/quality.h"

#define M(name) BIT(process_##name)

/* In struct rusage, so wait4 has them for everything that was reaped. */
static const uint64_t in_rusage = M(cpu_seconds) | M(cpu_user_seconds) | M(cpu_system_seconds) |
                                  M(faults_minor_count) | M(faults_major_count) |
                                  M(switches_voluntary_count) | M(switches_involuntary_count) |
                                  M(memory_peak_bytes);

/* In the tracker's own io file, beside what the tracker did itself. */
static const uint64_t in_own_io = M(storage_read_bytes) | M(storage_written_bytes) |
                                  M(storage_cancelled_bytes) | M(io_read_bytes) |
                                  M(io_written_bytes) | M(io_read_calls_count) |
                                  M(io_write_calls_count);

static const uint64_t of_the_clock = M(wall_seconds);

/* A process that lives shorter than an interval is not seen, and a count of what was seen, or the
 * last value seen of what has ended, is at least so much. */
static const uint64_t at_least = PROCESS_SOCKET_BITS | M(processes_started_count) |
                                 M(switches_voluntary_count) | M(switches_involuntary_count) |
                                 M(cpu_wait_seconds) | M(memory_peak_bytes);

struct provenance quality_pick(const struct figure_source *sources, size_t count, enum metric_id id,
                               union value *ret_value)
{
    for (size_t i = 0; i < count; i++) {
        const struct figure_source *r = &sources[i];
        if (!(r->answers >> id & 1) || !row_has(r->row, id))
            continue;
        *ret_value = row_value(r->row, id);
        bool missing = r->incomplete >> id & 1;
        return (struct provenance){.quality = missing ? QUALITY_LOWER_BOUND : r->quality,
                                   .source = r->name};
    }
    return (struct provenance){.quality = QUALITY_UNKNOWN, .source = ""};
}

struct provenance quality_of_difference(struct provenance whole, struct provenance part,
                                        bool of_others)
{
    if (of_others && whole.quality == QUALITY_LOWER_BOUND && part.quality != QUALITY_UNKNOWN)
        return whole;
    if (part.quality == QUALITY_LOWER_BOUND && whole.quality != QUALITY_UNKNOWN)
        return (struct provenance){.quality = QUALITY_SAMPLED, .source = part.source};
    return whole.quality <= part.quality ? whole : part;
}

size_t quality_sources(struct figure_source sources[QUALITY_SOURCES_AT_MOST], enum part part,
                       bool own_only, const struct row *row, const struct evidence *e)
{
    bool one_process = part == PART_MAIN || own_only;
    uint64_t vanished = e->auto_reaping && !one_process ? ~UINT64_C(0) : 0;
    size_t n = 0;
    sources[n++] = (struct figure_source){"clock", row, of_the_clock, QUALITY_EXACT, 0};
    if (part == PART_COMBINED && e->of_cgroup) {
        uint64_t divided = e->cgroup_has_ticks ? M(cpu_user_seconds) | M(cpu_system_seconds) : 0;
        uint64_t gone = e->cgroup_is_gone ? e->of_cgroup : 0;
        sources[n++] = (struct figure_source){"cgroup", row, e->of_cgroup & ~divided, QUALITY_EXACT,
                                              gone};
        sources[n++] = (struct figure_source){"cgroup", row, e->of_cgroup & divided,
                                              QUALITY_SAMPLED, gone};
    }
    if (part == PART_COMBINED && e->of_network.quality != QUALITY_UNKNOWN)
        sources[n++] = (struct figure_source){e->of_network.source, row,
                                              M(network_received_bytes) | M(network_sent_bytes),
                                              e->of_network.quality, 0};
    if (part == PART_COMBINED && e->of_packets.quality != QUALITY_UNKNOWN)
        sources[n++] = (struct figure_source){e->of_packets.source, row, PROCESS_PACKET_BITS,
                                              e->of_packets.quality, 0};
    if (part == PART_COMBINED && !own_only && e->of_records)
        sources[n++] = (struct figure_source){"exit records", row, e->of_records, QUALITY_EXACT, 0};
    if (one_process)
        sources[n++] = (struct figure_source){"at exit", row, e->main_at_end, QUALITY_EXACT, 0};
    if (!one_process && e->all_reaped) {
        uint64_t peak = e->peak_is_exact ? 0 : M(memory_peak_bytes);
        /* wait4 knows the largest process, not whether that was the main one. */
        uint64_t not_counted = part == PART_DESCENDANTS ? M(memory_peak_bytes) : 0;
        sources[n++] = (struct figure_source){"wait4", row, in_rusage & ~not_counted,
                                              QUALITY_EXACT_IF_REAPED, vanished | peak};
        sources[n++] = (struct figure_source){"wait4, io", row, in_own_io, QUALITY_EXACT_IF_REAPED,
                                              vanished};
    }
    if (one_process)
        sources[n++] = (struct figure_source){"identity", row, M(processes_started_count),
                                              QUALITY_EXACT, 0};
    if (!one_process && e->started_is_exact)
        sources[n++] = (struct figure_source){"task records", row, M(processes_started_count),
                                              QUALITY_EXACT, 0};
    /* What was read of one process before its end lacks what came after. */
    uint64_t before_end = one_process ? in_own_io : 0;
    sources[n++] = (struct figure_source){"samples", row, ~UINT64_C(0), QUALITY_SAMPLED,
                                          e->denied[part] | at_least | before_end |
                                              (vanished & (in_rusage | in_own_io))};
    return n;
}
