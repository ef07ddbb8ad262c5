/* SPDX-License-Identifier: MIT */
#include "collect/process_files.h"

#define M PROCESS_BIT

const struct process_file process_files[] = {
    {"stat",
     M(cpu_seconds) | M(cpu_user_seconds) | M(cpu_system_seconds) | M(memory_rss_bytes) |
         M(memory_distinct_bytes) | M(memory_virtual_bytes) | M(faults_minor_count) |
         M(faults_major_count) | M(threads_count),
     COST_CHEAP, true, process_read_stat},
    {"io",
     M(storage_read_bytes) | M(storage_written_bytes) | M(storage_cancelled_bytes) |
         M(io_read_bytes) | M(io_written_bytes) | M(io_read_calls_count) | M(io_write_calls_count),
     COST_CHEAP, true, process_read_io},
    {"status",
     M(memory_shared_bytes) | M(memory_swap_bytes) | M(memory_peak_bytes) |
         M(switches_voluntary_count) | M(switches_involuntary_count),
     COST_REFRESH, true, process_read_status},
    {"task/TID/schedstat", M(cpu_wait_seconds), COST_REFRESH, true, process_read_waits},
    {"fd", M(open_files_count), COST_REFRESH, false, process_read_open_files},
    {"smaps_rollup", PROCESS_ROLLUP_BITS, COST_SLOW, false, process_read_rollup},
    {0},
};
