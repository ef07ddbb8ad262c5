/* SPDX-License-Identifier: MIT
 * The files of the monitors that run beside a GPU calibration sweep: what nvidia-smi writes of each
 * GPU, its table of the memory controllers, CPU percentages, the log of phases and events, and the
 * summary of it all. Each has a name, so that all of them stand in one directory. */
#include "base/util.h"
#include "layout/layout.h"

#define MIB     (1.0 / 1048576)
#define MHZ     1e-6
#define PERCENT 100
#define ALL     "system_cpu_seconds + system_cpu_idle_seconds + system_cpu_iowait_seconds"
#define USER    "system_cpu_user_seconds + system_cpu_nice_seconds"
#define IDLE    "system_cpu_idle_seconds"

/* clang-format off */
static const struct layout_column cpu[] = {
    {"timestamp", "@utc", TAKE_VALUE, .type = LAYOUT_TEXT},
    {"usr_pct",   USER,   TAKE_SHARE, .type = LAYOUT_FLOAT, .factor = PERCENT, .decimals = 1, .flags = NEEDED, .per = ALL},
    {"idle_pct",  IDLE,   TAKE_SHARE, .type = LAYOUT_FLOAT, .factor = PERCENT, .decimals = 1, .flags = NEEDED, .per = ALL},
};

/* As nvidia-smi --query-gpu=… --format=csv,nounits,noheader has them. */
static const struct layout_column gpu[] = {
    {"timestamp",              "@local",                        TAKE_VALUE, .type = LAYOUT_TEXT},
    {"utilization.gpu",        "gpu.*.utilization_ratio",       TAKE_VALUE, .type = LAYOUT_INTEGER, .factor = PERCENT},
    {"utilization.memory",     "gpu.*.memory_controller_ratio", TAKE_VALUE, .type = LAYOUT_INTEGER, .factor = PERCENT},
    {"memory.used",            "gpu.*.memory_used_bytes",       TAKE_VALUE, .type = LAYOUT_INTEGER, .factor = MIB},
    {"memory.total",           "gpu.*.memory_total_bytes",      TAKE_VALUE, .type = LAYOUT_INTEGER, .factor = MIB},
    {"power.draw",             "gpu.*.power_watts",             TAKE_VALUE, .type = LAYOUT_FLOAT,   .decimals = 2, .flags = FIXED_DECIMALS},
    {"temperature.gpu",        "gpu.*.temperature_celsius",     TAKE_VALUE, .type = LAYOUT_INTEGER},
    {"clocks.current.sm",      "gpu.*.clock_sm_hertz",          TAKE_VALUE, .type = LAYOUT_INTEGER, .factor = MHZ},
    {"clocks.current.memory",  "gpu.*.clock_memory_hertz",      TAKE_VALUE, .type = LAYOUT_INTEGER, .factor = MHZ},
};

/* As nvidia-smi dmon. */
static const struct layout_column dmon[] = {
    {"gpu", "@number",                       TAKE_VALUE, .type = LAYOUT_INTEGER},
    {"sm",  "gpu.*.utilization_ratio",       TAKE_VALUE, .type = LAYOUT_INTEGER, .factor = PERCENT},
    {"mem", "gpu.*.memory_controller_ratio", TAKE_VALUE, .type = LAYOUT_INTEGER, .factor = PERCENT},
    {"fb",  "gpu.*.memory_used_bytes",       TAKE_VALUE, .type = LAYOUT_INTEGER, .factor = MIB},
};

/* The log is made of marks: what their lines have in common. */
static const struct layout_column run_log[] = {
    {"ts", "@utc", TAKE_VALUE, .type = LAYOUT_TEXT},
};

static const struct layout_column summary[] = {
    {"peak_vram_mb",      "gpu.*.memory_used_bytes^",       TAKE_MAX,  .type = LAYOUT_FLOAT, .factor = MIB,     .flags = ABSENT_IS_ZERO},
    {"gpu_util_mean_pct", "gpu.*.utilization_ratio",        TAKE_MEAN, .type = LAYOUT_FLOAT, .factor = PERCENT, .flags = ABSENT_IS_ZERO, .per = "gpu.*"},
    {"gpu_util_max_pct",  "gpu.*.utilization_ratio^",       TAKE_MAX,  .type = LAYOUT_FLOAT, .factor = PERCENT, .flags = ABSENT_IS_ZERO},
    {"power_watts_mean",  "gpu.*.power_watts",              TAKE_MEAN, .type = LAYOUT_FLOAT, .flags = ABSENT_IS_ZERO, .per = "gpu.*"},
    {"power_watts_max",   "gpu.*.power_watts^",             TAKE_MAX,  .type = LAYOUT_FLOAT, .flags = ABSENT_IS_ZERO},
    {"cpu_usr_mean_pct",  USER,                             TAKE_SHARE, .type = LAYOUT_FLOAT, .factor = PERCENT, .per = ALL},
    {"cpu_idle_mean_pct", IDLE,                             TAKE_SHARE, .type = LAYOUT_FLOAT, .factor = PERCENT, .per = ALL},
    {"jax_peak_bytes_mb", "~jax_peak_bytes_mb",             TAKE_MAX,  .type = LAYOUT_FLOAT, .flags = OMIT_ZERO},
    {"mem_util_mean_pct", "gpu.*.memory_controller_ratio",  TAKE_MEAN, .type = LAYOUT_FLOAT, .factor = PERCENT, .flags = OMIT_ZERO, .per = "gpu.*"},
    {"mem_util_max_pct",  "gpu.*.memory_controller_ratio^", TAKE_MAX,  .type = LAYOUT_FLOAT, .factor = PERCENT, .flags = OMIT_ZERO},
};
/* clang-format on */

static const struct layout_table tables[] = {
    {.format = "csv",
     .file = "cpu_metrics.csv",
     .keeps_time = true,
     .skips_first = true,
     .skips_end = true,
     .columns = cpu,
     .count = ARRAY_LEN(cpu)},
    {.format = "csv",
     .file = "hw_metrics.csv",
     .each = EACH_GPU,
     .keeps_time = true,
     .skips_end = true,
     .no_heading = true,
     .separator = ", ",
     .unknown = "[N/A]",
     .columns = gpu,
     .count = ARRAY_LEN(gpu)},
    {.format = "csv",
     .file = "hw_dmon.csv",
     .each = EACH_GPU,
     .keeps_time = true,
     .skips_end = true,
     .heading = "# gpu\tsm\tmem\tfb\n# Idx\t%\t%\tMB\n",
     .separator = "\t",
     .unknown = "-",
     .columns = dmon,
     .count = ARRAY_LEN(dmon)},
    {.format = "jsonl",
     .file = "run_log.jsonl",
     .is_log = true,
     .columns = run_log,
     .count = ARRAY_LEN(run_log)},
    {.format = "json",
     .file = "summary.json",
     .indent = 2,
     .decimals = 1,
     .columns = summary,
     .count = ARRAY_LEN(summary)},
};

const struct layout layout_sweep = {
    .facts = {.name = "sweep",
              .formats = "csv jsonl json",
              .series = "csv jsonl",
              .help = "the files of a GPU sweep's monitors: all into a directory (-o DIR/), or one "
                      "by its name (-o hw_metrics.csv)",
              .interval_ns = 2 * NS_PER_SECOND},
    .tables = tables,
    .table_count = ARRAY_LEN(tables),
};
