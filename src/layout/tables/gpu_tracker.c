/* SPDX-License-Identifier: MIT
 * The result of gpu_tracker (Moseley Bioinformatics Lab), as JSON and as text, and its tracking
 * file.
 *
 * Total RSS is memory with shared pages counted once; where the page tables were never read, it is
 * RSS. A percentage is of one core or GPU, summed up; a mean is what was used over the whole time.
 * GPU memory is in units of 2^20 bytes that are called megabytes, as nvidia-smi's are there. */
#include "base/util.h"
#include "layout/layout.h"

#define MIB     (1.0 / 1048576)
#define PERCENT 100

/* clang-format off */
#define RSS(key, word, part)                                                                                                                                                                                     \
    {"max_ram." key ".total_rss",   part "_memory_distinct_bytes",        TAKE_MAX, .type = LAYOUT_FLOAT, .scale = "ram_unit", .label = "Max RAM." word ".Total RSS", .otherwise = part "_memory_rss_bytes"}, \
    {"max_ram." key ".private_rss", part "_memory_uss_bytes",             TAKE_MAX, .type = LAYOUT_FLOAT, .scale = "ram_unit", .label = "Max RAM." word ".Private RSS"},                                       \
    {"max_ram." key ".shared_rss",  part "_memory_distinct_shared_bytes", TAKE_MAX, .type = LAYOUT_FLOAT, .scale = "ram_unit", .label = "Max RAM." word ".Shared RSS"}

#define GPU_RAM(key, word, terms)                                                                                                    \
    {"max_gpu_ram." key, terms, TAKE_MAX, .type = LAYOUT_FLOAT, .factor = MIB, .flags = ABSENT_IS_ZERO, .scale = "gpu_ram_unit", .label = "Max GPU RAM." word}

#define PERCENTAGES(key, word, use, of, flags_)                                                                                     \
    {key ".max_sum_percent",       use, TAKE_MAX,  .type = LAYOUT_FLOAT, .factor = PERCENT, .flags = flags_,            .label = word ".Max sum percent"},      \
    {key ".max_hardware_percent",  use, TAKE_MAX,  .type = LAYOUT_FLOAT, .factor = PERCENT, .flags = flags_, .per = of, .label = word ".Max hardware percent"}, \
    {key ".mean_sum_percent",      use, TAKE_MEAN, .type = LAYOUT_FLOAT, .factor = PERCENT, .flags = flags_,            .label = word ".Mean sum percent"},     \
    {key ".mean_hardware_percent", use, TAKE_MEAN, .type = LAYOUT_FLOAT, .factor = PERCENT, .flags = flags_, .per = of, .label = word ".Mean hardware percent"}

#define CPU(key, word, part, of)                                                                                                     \
    PERCENTAGES("cpu_utilization." key, "CPU utilization." word, part "_cpu_cores", of, 0)

#define THREADS(key, word, part)                                                                                                     \
    {"cpu_utilization." key "_n_threads", part "_threads", TAKE_MAX, .type = LAYOUT_INTEGER, .label = "CPU utilization." word " number of threads"}

static const struct layout_column columns[] = {
    {"max_ram.unit",            "=ram_unit",                 TAKE_VALUE, .type = LAYOUT_TEXT,                       .label = "Max RAM.Unit"},
    {"max_ram.system_capacity", "system_memory_total_bytes", TAKE_VALUE, .type = LAYOUT_FLOAT, .scale = "ram_unit", .label = "Max RAM.System capacity"},
    {"max_ram.system",          "system_memory_used_bytes",  TAKE_MAX,   .type = LAYOUT_FLOAT, .scale = "ram_unit", .label = "Max RAM.System"},
    RSS("main",        "Main",        "main"),
    RSS("descendants", "Descendants", "descendants"),
    RSS("combined",    "Combined",    "target"),

    {"max_gpu_ram.unit",        "=gpu_ram_unit",             TAKE_VALUE, .type = LAYOUT_TEXT,                       .label = "Max GPU RAM.Unit"},
    {"max_gpu_ram.system_capacity", "gpu.*.memory_total_bytes", TAKE_VALUE, .type = LAYOUT_FLOAT, .factor = MIB, .flags = ABSENT_IS_ZERO, .scale = "gpu_ram_unit", .label = "Max GPU RAM.System capacity"},
    GPU_RAM("system",      "System",      "system_gpu_memory_used_bytes"),
    GPU_RAM("main",        "Main",        "main_gpu_memory_bytes"),
    GPU_RAM("descendants", "Descendants", "descendants_gpu_memory_bytes"),
    GPU_RAM("combined",    "Combined",    "target_gpu_memory_bytes"),

    {"cpu_utilization.system_core_count", "system_cpus_online", TAKE_VALUE, .type = LAYOUT_INTEGER, .label = "CPU utilization.System core count"},
    {"cpu_utilization.n_expected_cores",  "=n_expected_cores",  TAKE_VALUE, .type = LAYOUT_INTEGER, .label = "CPU utilization.Number of expected cores"},
    CPU("system",      "System",      "system",      "system_cpus_online"),
    CPU("main",        "Main",        "main",        "n_expected_cores"),
    CPU("descendants", "Descendants", "descendants", "n_expected_cores"),
    CPU("combined",    "Combined",    "target",      "n_expected_cores"),
    THREADS("main",        "Main",        "main"),
    THREADS("descendants", "Descendants", "descendants"),
    THREADS("combined",    "Combined",    "target"),

    {"gpu_utilization.system_gpu_count", "@gpus", TAKE_VALUE, .type = LAYOUT_INTEGER, .flags = ABSENT_IS_ZERO, .label = "GPU utilization.System GPU count"},
    {"gpu_utilization.n_expected_gpus",  "=n_expected_gpus", TAKE_VALUE, .type = LAYOUT_INTEGER, .flags = ABSENT_IS_ZERO, .label = "GPU utilization.Number of expected GPUs"},
    PERCENTAGES("gpu_utilization.gpu_percentages", "GPU utilization.GPU percentages", "system_gpu_utilization_ratio", "n_expected_gpus", ABSENT_IS_ZERO),

    {"compute_time.unit", "=time_unit", TAKE_VALUE, .type = LAYOUT_TEXT,                        .label = "Compute time.Unit"},
    {"compute_time.time", "@elapsed",   TAKE_VALUE, .type = LAYOUT_FLOAT, .scale = "time_unit", .label = "Compute time.Time"},
};

/* The tracking file: what holds for the whole session, and then a row for each sample. */
static const struct layout_column session[] = {
    {"ram_unit",                "=ram_unit",                 TAKE_VALUE, .type = LAYOUT_TEXT},
    {"gpu_ram_unit",            "=gpu_ram_unit",             TAKE_VALUE, .type = LAYOUT_TEXT},
    {"time_unit",               "=time_unit",                TAKE_VALUE, .type = LAYOUT_TEXT},
    {"ram_system_capacity",     "system_memory_total_bytes", TAKE_VALUE, .type = LAYOUT_FLOAT, .scale = "ram_unit"},
    {"gpu_ram_system_capacity", "gpu.*.memory_total_bytes",  TAKE_VALUE, .type = LAYOUT_FLOAT, .factor = MIB, .flags = ABSENT_IS_ZERO, .scale = "gpu_ram_unit"},
    {"system_core_count",       "system_cpus_online",        TAKE_VALUE, .type = LAYOUT_INTEGER},
    {"n_expected_cores",        "=n_expected_cores",         TAKE_VALUE, .type = LAYOUT_INTEGER},
    {"system_gpu_count",        "@gpus",                     TAKE_VALUE, .type = LAYOUT_INTEGER, .flags = ABSENT_IS_ZERO},
    {"n_expected_gpus",         "=n_expected_gpus",          TAKE_VALUE, .type = LAYOUT_INTEGER, .flags = ABSENT_IS_ZERO},
};

#define POINT_RAM(key, part)                                                                                                         \
    {key "_ram", part "_memory_distinct_bytes", TAKE_VALUE, .type = LAYOUT_FLOAT, .scale = "ram_unit", .otherwise = part "_memory_rss_bytes"}

#define POINT_GPU_RAM(key, terms)                                                                                                    \
    {key "_gpu_ram", terms, TAKE_VALUE, .type = LAYOUT_FLOAT, .factor = MIB, .flags = ABSENT_IS_ZERO, .scale = "gpu_ram_unit"}

#define POINT_USE(key, terms, take, of, flags_)                                                                                      \
    {key "_sum_utilization_percent",      terms, take, .type = LAYOUT_FLOAT, .factor = PERCENT, .flags = flags_},                   \
    {key "_hardware_utilization_percent", terms, take, .type = LAYOUT_FLOAT, .factor = PERCENT, .flags = flags_, .per = of}

#define POINT_THREADS(key, part) {key "_n_threads", part "_threads", TAKE_VALUE, .type = LAYOUT_INTEGER}

static const struct layout_column points[] = {
    POINT_RAM("main", "main"),
    POINT_RAM("descendants", "descendants"),
    POINT_RAM("combined", "target"),
    {"system_ram", "system_memory_used_bytes", TAKE_VALUE, .type = LAYOUT_FLOAT, .scale = "ram_unit"},
    POINT_GPU_RAM("main", "main_gpu_memory_bytes"),
    POINT_GPU_RAM("descendants", "descendants_gpu_memory_bytes"),
    POINT_GPU_RAM("combined", "target_gpu_memory_bytes"),
    POINT_GPU_RAM("system", "system_gpu_memory_used_bytes"),
    POINT_USE("gpu", "system_gpu_utilization_ratio", TAKE_VALUE, "n_expected_gpus", ABSENT_IS_ZERO),
    POINT_THREADS("main", "main"),
    POINT_THREADS("descendants", "descendants"),
    POINT_THREADS("combined", "target"),
    POINT_USE("cpu_system", "system_cpu_cores", TAKE_VALUE, "system_cpus_online", 0),
    POINT_USE("cpu_main", "main_cpu_seconds", TAKE_RATE, "n_expected_cores", 0),
    POINT_USE("cpu_descendants", "descendants_cpu_seconds", TAKE_RATE, "n_expected_cores", 0),
    POINT_USE("cpu_combined", "target_cpu_seconds", TAKE_RATE, "n_expected_cores", 0),
    {"timestamp", "@time", TAKE_VALUE, .type = LAYOUT_FLOAT},
};
/* clang-format on */

static const struct layout_table session_table = {
    .format = "csv",
    .subject = SUBJECT_TARGET,
    .newline = "\r\n",
    .columns = session,
    .count = ARRAY_LEN(session),
};

static const struct layout_table tables[] = {
    {.format = "csv",
     .subject = SUBJECT_TARGET,
     .skips_start = true,
     .keeps_ended = true,
     .newline = "\r\n",
     .preface = &session_table,
     .columns = points,
     .count = ARRAY_LEN(points)},
    {.format = "json",
     .subject = SUBJECT_TARGET,
     .indent = 1,
     .columns = columns,
     .count = ARRAY_LEN(columns)},
    {.format = "text",
     .subject = SUBJECT_TARGET,
     .indent = 3,
     .decimals = 3,
     .columns = columns,
     .count = ARRAY_LEN(columns)},
};

static const struct layout_word ram_units[] = {
    {"bytes", 1},        {"kilobytes", 1e-3},  {"megabytes", 1e-6},
    {"gigabytes", 1e-9}, {"terabytes", 1e-12}, {NULL, 0},
};

static const struct layout_word gpu_ram_units[] = {
    {"bytes", 1e6},      {"kilobytes", 1e3},  {"megabytes", 1},
    {"gigabytes", 1e-3}, {"terabytes", 1e-6}, {NULL, 0},
};

static const struct layout_word time_units[] = {
    {"seconds", 1}, {"minutes", 1.0 / 60}, {"hours", 1.0 / 3600}, {"days", 1.0 / 86400}, {NULL, 0},
};

static const struct layout_option options[] = {
    {.name = "ram_unit", .value = "gigabytes", .words = ram_units, .help = "unit of memory"},
    {.name = "gpu_ram_unit",
     .value = "gigabytes",
     .words = gpu_ram_units,
     .help = "unit of memory on GPUs; a megabyte is 2^20 bytes"},
    {.name = "time_unit", .value = "hours", .words = time_units, .help = "unit of time"},
    {.name = "n_expected_cores",
     .is_number = true,
     .is_whole = true,
     .otherwise = "system_cpus_online",
     .help = "number of cores for the hardware percentages of processes (default: all CPUs)"},
    {.name = "n_expected_gpus",
     .is_number = true,
     .is_whole = true,
     .otherwise = "gpu.*",
     .help = "number of GPUs for the hardware percentages of GPUs (default: all that are read)"},
};

const struct layout layout_gpu_tracker = {
    .facts = {.name = "gpu-tracker",
              .formats = "csv json text",
              .series = "csv",
              .help = "the result of gpu_tracker: peak memory, CPU and GPU utilisation, time",
              .interval_ns = NS_PER_SECOND},
    .options = options,
    .option_count = ARRAY_LEN(options),
    .tables = tables,
    .table_count = ARRAY_LEN(tables),
};
