/* SPDX-License-Identifier: MIT
 * The CSV of resource-tracker (SpareCores): the columns of release 0.1, with clock ticks and kB
 * (v1), of 0.2 to 0.4, with seconds and kB (0.4), of 0.5, with seconds and MiB (v2), and the
 * process and the machine side by side (combined-0.4, combined, and with the names of 0.6
 * host-proc).
 *
 * Where that tool counts wrong, the figures are right: its "processes" of the machine are those
 * that live, not all that ever began; system time has interrupts in it; disks count once. */
#include "base/util.h"
#include "layout/layout.h"

#define KIB (1.0 / 1024)
#define MIB (1.0 / 1048576)
#define GIB (1.0 / 1073741824)
#define GB  1e-9 /* what later releases mean by it */

#define TICKS_PER_SECOND 100 /* what the kernel shows to programs, whatever its own tick is */

#define SYSTEM_USER "system_cpu_user_seconds + system_cpu_nice_seconds"
#define SYSTEM_KERNEL                                                                              \
    "system_cpu_system_seconds + system_cpu_irq_seconds + system_cpu_softirq_seconds"
#define SYSTEM_BOTH SYSTEM_USER " + " SYSTEM_KERNEL
#define SYSTEM_USED                                                                                \
    "system_memory_total_bytes - system_memory_free_bytes - system_memory_buffers_bytes - "        \
    "system_memory_cached_bytes"
#define SYSTEM_USED_V2 SYSTEM_USED " - system_memory_reclaimable_bytes"
#define SYSTEM_CACHED  "system_memory_cached_bytes + system_memory_reclaimable_bytes"
#define SPACE_TOTAL    "mount.*.size_bytes"
#define SPACE_FREE     "mount.*.available_bytes"

/* clang-format off */
static const struct layout_column process_v1[] = {
    {"timestamp",    "@time",                                TAKE_VALUE, .type = LAYOUT_FLOAT},
    {"pid",          "@pid",                                 TAKE_VALUE, .type = LAYOUT_INTEGER},
    {"children",     "descendants_processes",                TAKE_VALUE, .type = LAYOUT_INTEGER},
    {"utime",        "target_cpu_user_seconds",              TAKE_DELTA, .type = LAYOUT_INTEGER, TICKS_PER_SECOND},
    {"stime",        "target_cpu_system_seconds",            TAKE_DELTA, .type = LAYOUT_INTEGER, TICKS_PER_SECOND},
    {"cpu_usage",    "target_cpu_seconds",                   TAKE_RATE,  .type = LAYOUT_FLOAT,   1,   4, BARE_ZERO},
    {"pss",          "target_memory_pss_bytes",              TAKE_VALUE, .type = LAYOUT_INTEGER, KIB, 0, NEEDED},
    {"read_bytes",   "target_storage_read_bytes",            TAKE_DELTA, .type = LAYOUT_INTEGER},
    {"write_bytes",  "target_storage_written_bytes",         TAKE_DELTA, .type = LAYOUT_INTEGER},
    {"gpu_usage",    "target_gpu_utilization_ratio",         TAKE_VALUE, .type = LAYOUT_FLOAT,   1,   0, ABSENT_IS_ZERO | BARE_ZERO},
    {"gpu_vram",     "target_gpu_memory_bytes",              TAKE_VALUE, .type = LAYOUT_FLOAT,   MIB, 0, ABSENT_IS_ZERO | BARE_ZERO},
    {"gpu_utilized", "target_gpus",                          TAKE_VALUE, .type = LAYOUT_INTEGER, 1,   0, ABSENT_IS_ZERO},
};

static const struct layout_column system_v1[] = {
    {"timestamp",            "@time",                              TAKE_VALUE, .type = LAYOUT_FLOAT},
    {"processes",            "system_processes",                   TAKE_VALUE, .type = LAYOUT_INTEGER},
    {"utime",                SYSTEM_USER,                          TAKE_DELTA, .type = LAYOUT_INTEGER, TICKS_PER_SECOND},
    {"stime",                SYSTEM_KERNEL,                        TAKE_DELTA, .type = LAYOUT_INTEGER, TICKS_PER_SECOND},
    {"cpu_usage",            SYSTEM_BOTH,                          TAKE_RATE,  .type = LAYOUT_FLOAT,   1,   4, BARE_ZERO},
    {"memory_free",          "system_memory_free_bytes",           TAKE_VALUE, .type = LAYOUT_INTEGER, KIB},
    {"memory_used",          SYSTEM_USED,                          TAKE_VALUE, .type = LAYOUT_INTEGER, KIB},
    {"memory_buffers",       "system_memory_buffers_bytes",        TAKE_VALUE, .type = LAYOUT_INTEGER, KIB},
    {"memory_cached",        "system_memory_cached_bytes",         TAKE_VALUE, .type = LAYOUT_INTEGER, KIB},
    {"memory_active_anon",   "system_memory_active_anon_bytes",    TAKE_VALUE, .type = LAYOUT_INTEGER, KIB},
    {"memory_inactive_anon", "system_memory_inactive_anon_bytes",  TAKE_VALUE, .type = LAYOUT_INTEGER, KIB},
    {"disk_read_bytes",      "system_disk_read_bytes",             TAKE_DELTA, .type = LAYOUT_INTEGER},
    {"disk_write_bytes",     "system_disk_written_bytes",          TAKE_DELTA, .type = LAYOUT_INTEGER},
    {"disk_space_total_gb",  SPACE_TOTAL,                          TAKE_VALUE, .type = LAYOUT_FLOAT,   GIB, 2},
    {"disk_space_used_gb",   SPACE_TOTAL " - " SPACE_FREE,         TAKE_VALUE, .type = LAYOUT_FLOAT,   GIB, 2},
    {"disk_space_free_gb",   SPACE_FREE,                           TAKE_VALUE, .type = LAYOUT_FLOAT,   GIB, 2},
    {"net_recv_bytes",       "system_network_received_bytes",      TAKE_DELTA, .type = LAYOUT_INTEGER},
    {"net_sent_bytes",       "system_network_sent_bytes",          TAKE_DELTA, .type = LAYOUT_INTEGER},
    {"gpu_usage",            "system_gpu_utilization_ratio",       TAKE_VALUE, .type = LAYOUT_FLOAT,   1,   0, ABSENT_IS_ZERO | BARE_ZERO},
    {"gpu_vram",             "system_gpu_memory_used_bytes",       TAKE_VALUE, .type = LAYOUT_FLOAT,   MIB, 0, ABSENT_IS_ZERO | BARE_ZERO},
    {"gpu_utilized",         "gpu.*.utilization_ratio>0",          TAKE_VALUE, .type = LAYOUT_INTEGER, 1,   0, ABSENT_IS_ZERO},
};

/* Releases from 0.2 on have times in seconds; memory and disks are in other units, and so have other
 * names, in 0.4 and in 0.5. The prefix is empty when the columns stand alone. */
#define PROCESS_SECONDS(prefix, mib, disk, type_, unit, digits)                                                                               \
    {prefix "children",        "descendants_processes",        TAKE_VALUE, .type = LAYOUT_INTEGER},                                           \
    {prefix "utime",           "target_cpu_user_seconds",      TAKE_DELTA, .type = LAYOUT_FLOAT,   1,    6, BARE_ZERO},                       \
    {prefix "stime",           "target_cpu_system_seconds",    TAKE_DELTA, .type = LAYOUT_FLOAT,   1,    6, BARE_ZERO},                       \
    {prefix "cpu_usage",       "target_cpu_seconds",           TAKE_RATE,  .type = LAYOUT_FLOAT,   1,    4, BARE_ZERO},                       \
    {prefix "memory" mib,      "target_memory_pss_bytes",      TAKE_VALUE, .type = (type_),        unit, digits, NEEDED},                     \
    {prefix disk "read_bytes", "target_storage_read_bytes",    TAKE_DELTA, .type = LAYOUT_INTEGER},                                           \
    {prefix disk "write_bytes", "target_storage_written_bytes", TAKE_DELTA, .type = LAYOUT_INTEGER},                                          \
    {prefix "gpu_usage",       "target_gpu_utilization_ratio", TAKE_VALUE, .type = LAYOUT_FLOAT,   1,    digits, ABSENT_IS_ZERO | BARE_ZERO}, \
    {prefix "gpu_vram" mib,    "target_gpu_memory_bytes",      TAKE_VALUE, .type = LAYOUT_FLOAT,   MIB,  digits, ABSENT_IS_ZERO | BARE_ZERO}, \
    {prefix "gpu_utilized",    "target_gpus",                  TAKE_VALUE, .type = LAYOUT_INTEGER, 1,    0, ABSENT_IS_ZERO}

#define SYSTEM_SECONDS(prefix, mib, type_, unit, digits, giga)                                                                                     \
    {prefix "processes",           "system_processes",              TAKE_VALUE, .type = LAYOUT_INTEGER},                                           \
    {prefix "utime",               SYSTEM_USER,                     TAKE_DELTA, .type = LAYOUT_FLOAT,   1,    6, BARE_ZERO},                       \
    {prefix "stime",               SYSTEM_KERNEL,                   TAKE_DELTA, .type = LAYOUT_FLOAT,   1,    6, BARE_ZERO},                       \
    {prefix "cpu_usage",           SYSTEM_BOTH,                     TAKE_RATE,  .type = LAYOUT_FLOAT,   1,    4, BARE_ZERO},                       \
    {prefix "memory_free" mib,     "system_memory_free_bytes",      TAKE_VALUE, .type = (type_),        unit, digits},                             \
    {prefix "memory_used" mib,     SYSTEM_USED_V2,                  TAKE_VALUE, .type = (type_),        unit, digits},                             \
    {prefix "memory_buffers" mib,  "system_memory_buffers_bytes",   TAKE_VALUE, .type = (type_),        unit, digits},                             \
    {prefix "memory_cached" mib,   SYSTEM_CACHED,                   TAKE_VALUE, .type = (type_),        unit, digits},                             \
    {prefix "memory_active" mib,   "system_memory_active_bytes",    TAKE_VALUE, .type = (type_),        unit, digits},                             \
    {prefix "memory_inactive" mib, "system_memory_inactive_bytes",  TAKE_VALUE, .type = (type_),        unit, digits},                             \
    {prefix "disk_read_bytes",     "system_disk_read_bytes",        TAKE_DELTA, .type = LAYOUT_INTEGER},                                           \
    {prefix "disk_write_bytes",    "system_disk_written_bytes",     TAKE_DELTA, .type = LAYOUT_INTEGER},                                           \
    {prefix "disk_space_total_gb", SPACE_TOTAL,                     TAKE_VALUE, .type = LAYOUT_FLOAT,   giga, 2},                                  \
    {prefix "disk_space_used_gb",  SPACE_TOTAL " - " SPACE_FREE,    TAKE_VALUE, .type = LAYOUT_FLOAT,   giga, 2},                                  \
    {prefix "disk_space_free_gb",  SPACE_FREE,                      TAKE_VALUE, .type = LAYOUT_FLOAT,   giga, 2},                                  \
    {prefix "net_recv_bytes",      "system_network_received_bytes", TAKE_DELTA, .type = LAYOUT_INTEGER},                                           \
    {prefix "net_sent_bytes",      "system_network_sent_bytes",     TAKE_DELTA, .type = LAYOUT_INTEGER},                                           \
    {prefix "gpu_usage",           "system_gpu_utilization_ratio",  TAKE_VALUE, .type = LAYOUT_FLOAT,   1,    digits, ABSENT_IS_ZERO | BARE_ZERO}, \
    {prefix "gpu_vram" mib,        "system_gpu_memory_used_bytes",  TAKE_VALUE, .type = LAYOUT_FLOAT,   MIB,  digits, ABSENT_IS_ZERO | BARE_ZERO}, \
    {prefix "gpu_utilized",        "gpu.*.utilization_ratio>0",     TAKE_VALUE, .type = LAYOUT_INTEGER, 1,    0, ABSENT_IS_ZERO}

#define PROCESS_04(prefix) PROCESS_SECONDS(prefix, "", "", LAYOUT_INTEGER, KIB, 0)
#define SYSTEM_04(prefix)  SYSTEM_SECONDS(prefix, "", LAYOUT_INTEGER, KIB, 0, GIB)
#define PROCESS_V2(prefix) PROCESS_SECONDS(prefix, "_mib", "disk_", LAYOUT_FLOAT, MIB, 4)
#define SYSTEM_V2(prefix)  SYSTEM_SECONDS(prefix, "_mib", LAYOUT_FLOAT, MIB, 4, GB)

#define TIME_V2 {"timestamp", "@time", TAKE_VALUE, .type = LAYOUT_FLOAT, 1, 3}
#define PID_V2(prefix) {prefix "pid", "@pid", TAKE_VALUE, .type = LAYOUT_INTEGER}

static const struct layout_column process_04[] = {TIME_V2, PID_V2(""), PROCESS_04("")};
static const struct layout_column system_04[] = {TIME_V2, SYSTEM_04("")};
static const struct layout_column combined_04[] = {TIME_V2, SYSTEM_04("system_"), PID_V2("process_"), PROCESS_04("process_")};
static const struct layout_column process_v2[] = {TIME_V2, PID_V2(""), PROCESS_V2("")};
static const struct layout_column system_v2[] = {TIME_V2, SYSTEM_V2("")};
static const struct layout_column combined[] = {TIME_V2, SYSTEM_V2("system_"), PID_V2("process_"), PROCESS_V2("process_")};

/* The newest names, which include their units, in their order; with labels for people. */
static const struct layout_column host_proc[] = {
    {"timestamp", "@time", TAKE_VALUE, .type = LAYOUT_FLOAT, 1, 3, .label = "Timestamp"},
    {"host_cpu_all_stime_s_delta",              SYSTEM_KERNEL, TAKE_DELTA, .type = LAYOUT_FLOAT, 1, 6, BARE_ZERO, .label = "System CPU time (system)"},
    {"host_cpu_all_usage_core_gauge",           SYSTEM_BOTH, TAKE_RATE, .type = LAYOUT_FLOAT, 1, 4, BARE_ZERO, .label = "System CPU usage"},
    {"host_cpu_all_utime_s_delta",              SYSTEM_USER, TAKE_DELTA, .type = LAYOUT_FLOAT, 1, 6, BARE_ZERO, .label = "System CPU time (user)"},
    {"host_disk_all_read_bytes_delta",          "system_disk_read_bytes", TAKE_DELTA, .type = LAYOUT_INTEGER, .label = "System disk read"},
    {"host_disk_all_space_free_gb_gauge",       SPACE_FREE, TAKE_VALUE, .type = LAYOUT_FLOAT, GB, 2, .label = "System disk space free"},
    {"host_disk_all_space_total_gb_gauge",      SPACE_TOTAL, TAKE_VALUE, .type = LAYOUT_FLOAT, GB, 2, .label = "System disk space total"},
    {"host_disk_all_space_used_gb_gauge",       SPACE_TOTAL " - " SPACE_FREE, TAKE_VALUE, .type = LAYOUT_FLOAT, GB, 2, .label = "System disk space used"},
    {"host_disk_all_write_bytes_delta",         "system_disk_written_bytes", TAKE_DELTA, .type = LAYOUT_INTEGER, .label = "System disk write"},
    {"host_gpu_all_memory_mib_gauge",           "system_gpu_memory_used_bytes", TAKE_VALUE, .type = LAYOUT_FLOAT, MIB, 4, ABSENT_IS_ZERO | BARE_ZERO, .label = "System VRAM used"},
    {"host_gpu_all_usage_core_gauge",           "system_gpu_utilization_ratio", TAKE_VALUE, .type = LAYOUT_FLOAT, 1, 4, ABSENT_IS_ZERO | BARE_ZERO, .label = "System GPU usage"},
    {"host_gpu_all_utilized_count_gauge",       "gpu.*.utilization_ratio>0", TAKE_VALUE, .type = LAYOUT_INTEGER, 1, 0, ABSENT_IS_ZERO, .label = "System GPUs in use"},
    {"host_memory_all_active_mib_gauge",        "system_memory_active_bytes", TAKE_VALUE, .type = LAYOUT_FLOAT, MIB, 4, .label = "System active memory"},
    {"host_memory_all_buffers_mib_gauge",       "system_memory_buffers_bytes", TAKE_VALUE, .type = LAYOUT_FLOAT, MIB, 4, .label = "System memory buffers"},
    {"host_memory_all_cached_mib_gauge",        SYSTEM_CACHED, TAKE_VALUE, .type = LAYOUT_FLOAT, MIB, 4, .label = "System memory page/file cached"},
    {"host_memory_all_free_mib_gauge",          "system_memory_free_bytes", TAKE_VALUE, .type = LAYOUT_FLOAT, MIB, 4, .label = "System free memory"},
    {"host_memory_all_inactive_mib_gauge",      "system_memory_inactive_bytes", TAKE_VALUE, .type = LAYOUT_FLOAT, MIB, 4, .label = "System inactive memory"},
    {"host_memory_all_used_mib_gauge",          SYSTEM_USED_V2, TAKE_VALUE, .type = LAYOUT_FLOAT, MIB, 4, .label = "System used memory"},
    {"host_net_all_recv_bytes_delta",           "system_network_received_bytes", TAKE_DELTA, .type = LAYOUT_INTEGER, .label = "System inbound network traffic"},
    {"host_net_all_sent_bytes_delta",           "system_network_sent_bytes", TAKE_DELTA, .type = LAYOUT_INTEGER, .label = "System outbound network traffic"},
    {"host_processes_all_total_count_gauge",    "system_processes", TAKE_VALUE, .type = LAYOUT_INTEGER, .label = "System processes"},
    {"proc_cpu_all_stime_s_delta",              "target_cpu_system_seconds", TAKE_DELTA, .type = LAYOUT_FLOAT, 1, 6, BARE_ZERO, .label = "Process CPU time (system)"},
    {"proc_cpu_all_usage_core_gauge",           "target_cpu_seconds", TAKE_RATE, .type = LAYOUT_FLOAT, 1, 4, BARE_ZERO, .label = "Process CPU usage"},
    {"proc_cpu_all_utime_s_delta",              "target_cpu_user_seconds", TAKE_DELTA, .type = LAYOUT_FLOAT, 1, 6, BARE_ZERO, .label = "Process CPU time (user)"},
    {"proc_disk_all_read_bytes_delta",          "target_storage_read_bytes", TAKE_DELTA, .type = LAYOUT_INTEGER, .label = "Process disk read"},
    {"proc_disk_all_write_bytes_delta",         "target_storage_written_bytes", TAKE_DELTA, .type = LAYOUT_INTEGER, .label = "Process disk write"},
    {"proc_gpu_all_memory_mib_gauge",           "target_gpu_memory_bytes", TAKE_VALUE, .type = LAYOUT_FLOAT, MIB, 4, ABSENT_IS_ZERO | BARE_ZERO, .label = "Process VRAM used"},
    {"proc_gpu_all_usage_core_gauge",           "target_gpu_utilization_ratio", TAKE_VALUE, .type = LAYOUT_FLOAT, 1, 4, ABSENT_IS_ZERO | BARE_ZERO, .label = "Process GPU usage"},
    {"proc_gpu_all_utilized_count_gauge",       "target_gpus", TAKE_VALUE, .type = LAYOUT_INTEGER, 1, 0, ABSENT_IS_ZERO, .label = "Process GPUs in use"},
    {"proc_memory_all_used_mib_gauge",          "target_memory_pss_bytes", TAKE_VALUE, .type = LAYOUT_FLOAT, MIB, 4, NEEDED, .label = "Process memory usage"},
    {"proc_processes_all_children_count_gauge", "descendants_processes", TAKE_VALUE, .type = LAYOUT_INTEGER, .label = "Process children"},
};
/* clang-format on */

#define TABLE(variant_, subject_, columns_)                                                        \
    {                                                                                              \
        .format = "csv", .variant = (variant_), .subject = (subject_), .quotes_text = true,        \
        .each = EACH_TARGET, .keeps_time = true, .skips_start = true, .keeps_ended = true,         \
        .newline = "\r\n", .columns = (columns_), .count = ARRAY_LEN(columns_),                    \
    }

static const struct layout_table tables[] = {
    TABLE("v1", SUBJECT_TARGET, process_v1),         TABLE("v1", SUBJECT_MACHINE, system_v1),
    TABLE("0.4", SUBJECT_TARGET, process_04),        TABLE("0.4", SUBJECT_MACHINE, system_04),
    TABLE("v2", SUBJECT_TARGET, process_v2),         TABLE("v2", SUBJECT_MACHINE, system_v2),
    TABLE("combined-0.4", SUBJECT_ANY, combined_04), TABLE("combined", SUBJECT_ANY, combined),
    TABLE("host-proc", SUBJECT_ANY, host_proc),
};

static const struct layout_word variants[] = {
    {"v1", 1},       {"0.4", 1},       {"v2", 1}, {"combined-0.4", 1},
    {"combined", 1}, {"host-proc", 1}, {NULL, 0}};

static const struct layout_option options[] = {
    {.name = "columns",
     .value = "v1",
     .words = variants,
     .help = "columns: of release 0.1 (v1: ticks, kB), 0.2 to 0.4 (0.4: seconds, kB) or 0.5 (v2: "
             "seconds, MiB), or machine and process in one row with the names of 0.4 "
             "(combined-0.4), 0.5 (combined) or 0.6 (host-proc)"},
};

const struct layout layout_resource_tracker = {
    .facts = {.name = "resource-tracker",
              .formats = "csv",
              .series = "csv",
              .help = "the CSV of resource-tracker: a row for a process and its children, or for "
                      "the machine with 'toll system'",
              .interval_ns = NS_PER_SECOND},
    .options = options,
    .option_count = ARRAY_LEN(options),
    .tables = tables,
    .table_count = ARRAY_LEN(tables),
};
