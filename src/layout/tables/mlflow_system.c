/* SPDX-License-Identifier: MIT
 * What MLflow's own monitor of system metrics logs, by the names it gives: figures of the machine,
 * of each GPU, and of the process with its children. A megabyte is 10^6 bytes there. It asks
 * psutil: memory in use is what is neither free nor a cache nor a buffer, the network is all
 * interfaces with loopback, the disk is the filesystem at /. */
#include "base/util.h"
#include "layout/layout.h"

#define MEGABYTES 1e-6
#define ALL       "system_cpu_seconds + system_cpu_idle_seconds + system_cpu_iowait_seconds"
#define USED                                                                                       \
    "system_memory_total_bytes - system_memory_free_bytes - system_memory_cached_bytes - "         \
    "system_memory_reclaimable_bytes - system_memory_buffers_bytes"

/* clang-format off */
static const struct layout_column columns[] = {
    {"cpu_utilization_percentage",    "system_cpu_seconds",            TAKE_SHARE, .type = LAYOUT_FLOAT, 100,       1, NOT_AT_FIRST, .per = ALL},
    {"system_memory_usage_megabytes", USED,                            TAKE_VALUE, .type = LAYOUT_FLOAT, MEGABYTES, 1},
    {"system_memory_usage_percentage", USED,                           TAKE_VALUE, .type = LAYOUT_FLOAT, 100,       1, .per = "system_memory_total_bytes"},
    {"disk_usage_percentage",         "mount./.used_ratio",            TAKE_VALUE, .type = LAYOUT_FLOAT, 100,       1},
    {"disk_usage_megabytes",          "mount./.used_bytes",            TAKE_VALUE, .type = LAYOUT_FLOAT, MEGABYTES, 1},
    {"disk_available_megabytes",      "mount./.available_bytes",       TAKE_VALUE, .type = LAYOUT_FLOAT, MEGABYTES, 1},
    {"network_receive_megabytes",     "netif.*.received_bytes",       TAKE_TOTAL, .type = LAYOUT_FLOAT, MEGABYTES},
    {"network_transmit_megabytes",    "netif.*.sent_bytes",           TAKE_TOTAL, .type = LAYOUT_FLOAT, MEGABYTES},
    {"process_cpu_percentage",        "target_cpu_seconds",            TAKE_RATE,  .type = LAYOUT_FLOAT, 100,       1},
    {"process_memory_rss_megabytes",  "target_memory_rss_bytes",       TAKE_VALUE, .type = LAYOUT_FLOAT, MEGABYTES, 1},
    {"process_memory_vms_megabytes",  "target_memory_virtual_bytes",   TAKE_VALUE, .type = LAYOUT_FLOAT, MEGABYTES, 1},
    {"process_memory_percentage",     "target_memory_rss_bytes",       TAKE_VALUE, .type = LAYOUT_FLOAT, 100,       1, .per = "system_memory_total_bytes"},
    {"process_threads",               "target_threads",                TAKE_VALUE, .type = LAYOUT_FLOAT, 1,         1},
    {"process_open_files",            "target_open_files",             TAKE_VALUE, .type = LAYOUT_FLOAT, 1,         1},
};

/* N is the number of the GPU. */
static const struct layout_column of_gpus[] = {
    {"gpu_N_memory_usage_percentage", "gpu.*.memory_used_bytes",  TAKE_VALUE, .type = LAYOUT_FLOAT, 100,       1, .per = "gpu.*.memory_total_bytes"},
    {"gpu_N_memory_usage_megabytes",  "gpu.*.memory_used_bytes",  TAKE_VALUE, .type = LAYOUT_FLOAT, MEGABYTES, 1},
    {"gpu_N_utilization_percentage",  "gpu.*.utilization_ratio",  TAKE_VALUE, .type = LAYOUT_FLOAT, 100,       1},
    {"gpu_N_power_usage_watts",       "gpu.*.power_watts",        TAKE_VALUE, .type = LAYOUT_FLOAT, 1,         1},
    {"gpu_N_power_usage_percentage",  "gpu.*.power_watts",        TAKE_VALUE, .type = LAYOUT_FLOAT, 100,       1, .per = "gpu.*.power_limit_watts"},
};
/* clang-format on */

static const struct layout_table tables[] = {
    {.format = "mlflow", .averages = true, .columns = columns, .count = ARRAY_LEN(columns)},
    {.format = "mlflow",
     .each = EACH_GPU,
     .averages = true,
     .columns = of_gpus,
     .count = ARRAY_LEN(of_gpus)},
};

static const struct layout_option options[] = {
    {.name = "samples", .value = "1", .is_number = true, .help = "samples per figure"},
};

const struct layout layout_mlflow_system = {
    .facts = {.name = "mlflow-system",
              .formats = "mlflow",
              .series = "mlflow",
              .help = "the figures of MLflow's own monitor of system metrics, and no others",
              .interval_ns = 10 * NS_PER_SECOND},
    .options = options,
    .option_count = ARRAY_LEN(options),
    .tables = tables,
    .table_count = ARRAY_LEN(tables),
};
