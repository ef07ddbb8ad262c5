/* SPDX-License-Identifier: MIT
 * The nine figures of stouputils' ProcessMetricsMonitor, a line for so many samples: gauges are
 * their mean over the time, I/O is what has been used so far. A megabyte is 2^20 bytes there. */
#include "base/util.h"
#include "layout/layout.h"

#define MEGABYTE  1048576
#define MEGABYTES (1.0 / MEGABYTE)

/* clang-format off */
static const struct layout_column columns[] = {
    {"timestamp",               "@time",                        TAKE_VALUE, .type = LAYOUT_FLOAT, 1, 3},
    {"step",                    "@step",                        TAKE_VALUE, .type = LAYOUT_INTEGER},
    {"cpu_usage_percentage",    "target_cpu_seconds",           TAKE_RATE,  .type = LAYOUT_FLOAT, 100, 0, WITH_PREFIX, .per = "max_cpu_count"},
    {"memory_rss_megabytes",    "target_memory_rss_bytes",      TAKE_VALUE, .type = LAYOUT_FLOAT, MEGABYTES, 0, WITH_PREFIX},
    {"memory_vms_megabytes",    "target_memory_virtual_bytes",  TAKE_VALUE, .type = LAYOUT_FLOAT, MEGABYTES, 0, WITH_PREFIX},
    {"memory_uss_megabytes",    "target_memory_uss_bytes",      TAKE_VALUE, .type = LAYOUT_FLOAT, MEGABYTES, 0, WITH_PREFIX},
    {"memory_usage_percentage", "target_memory_rss_bytes",      TAKE_VALUE, .type = LAYOUT_FLOAT, 100, 0, WITH_PREFIX, .per = "max_memory_megabytes"},
    {"num_threads",             "target_threads",               TAKE_VALUE, .type = LAYOUT_FLOAT, 1, 0, WITH_PREFIX},
    {"num_fds",                 "target_open_files",            TAKE_VALUE, .type = LAYOUT_FLOAT, 1, 0, WITH_PREFIX},
    {"io_read_megabytes",       "target_storage_read_bytes",    TAKE_TOTAL, .type = LAYOUT_FLOAT, MEGABYTES, 0, WITH_PREFIX},
    {"io_write_megabytes",      "target_storage_written_bytes", TAKE_TOTAL, .type = LAYOUT_FLOAT, MEGABYTES, 0, WITH_PREFIX},
};
/* clang-format on */

static const struct layout_table tables[] = {
    {.format = "jsonl",
     .subject = SUBJECT_TARGET,
     .averages = true,
     .keeps_time = true,
     .keeps_ended = true,
     .columns = columns,
     .count = ARRAY_LEN(columns)},
    {.format = "mlflow", /* which has the time and the step of each metric anyway */
     .subject = SUBJECT_TARGET,
     .averages = true,
     .keeps_ended = true,
     .columns = columns + 2,
     .count = ARRAY_LEN(columns) - 2},
};

static const struct layout_option options[] = {
    {.name = "prefix", .value = "process/", .help = "prefix of each figure's name"},
    {.name = "samples",
     .value = "1",
     .is_number = true,
     .is_whole = true,
     .help = "samples per line"},
    {.name = "max_memory_megabytes",
     .is_number = true,
     .may_be_zero = true,
     .factor = MEGABYTE,
     .otherwise = "system_memory_total_bytes",
     .help = "memory that memory_usage_percentage refers to (default: all of the machine; 0: the "
             "percentage is 0)"},
    {.name = "max_cpu_count",
     .is_number = true,
     .help = "number of CPUs to divide cpu_usage_percentage by (default: 1)"},
};

const struct layout layout_process_metrics = {
    .facts = {.name = "process-metrics",
              .formats = "jsonl mlflow",
              .series = "jsonl mlflow",
              .help = "the figures of stouputils' ProcessMetricsMonitor: a line for one or more "
                      "samples",
              .interval_ns = 10 * NS_PER_SECOND},
    .options = options,
    .option_count = ARRAY_LEN(options),
    .tables = tables,
    .table_count = ARRAY_LEN(tables),
};
