/* SPDX-License-Identifier: MIT
 * Figures of one run for tools that compare runs: github-action-benchmark, the metrics reports of
 * GitLab, CodeCarbon. */
#include "base/util.h"
#include "layout/layout.h"

#define MIB  (1.0 / 1048576)
#define GIB  (1.0 / 1073741824)
#define KWH  (1.0 / 3.6e6)
#define HOUR 3600

/* ==== github-action-benchmark ================================================================= */

/* Its tool customSmallerIsBetter: entries of one run; what is not known has none. */
/* clang-format off */
static const struct layout_column benchmark[] = {
    {"wall time",   "@elapsed",                     TAKE_VALUE, .type = LAYOUT_FLOAT, .decimals = 3, .unit = "s"},
    {"CPU time",    "target_cpu_seconds",           TAKE_TOTAL, .type = LAYOUT_FLOAT, .decimals = 3, .unit = "s"},
    {"peak memory", "@memory_peak",                 TAKE_VALUE, .type = LAYOUT_FLOAT, .factor = MIB, .decimals = 1, .unit = "MiB"},
    {"disk read",   "target_storage_read_bytes",    TAKE_TOTAL, .type = LAYOUT_FLOAT, .factor = MIB, .decimals = 1, .unit = "MiB"},
    {"disk write",  "target_storage_written_bytes", TAKE_TOTAL, .type = LAYOUT_FLOAT, .factor = MIB, .decimals = 1, .unit = "MiB"},
    {"GPU memory",  "target_gpu_memory_bytes",      TAKE_MAX,   .type = LAYOUT_FLOAT, .factor = MIB, .decimals = 1, .unit = "MiB"},
};
/* clang-format on */

static const struct layout_table benchmark_tables[] = {
    {.format = "json",
     .subject = SUBJECT_TARGET,
     .is_list = true,
     .omits_unknown = true,
     .indent = 2,
     .columns = benchmark,
     .count = ARRAY_LEN(benchmark)},
};

const struct layout layout_github_action_benchmark = {
    .facts = {.name = "github-action-benchmark",
              .formats = "json",
              .help = "the input of github-action-benchmark (customSmallerIsBetter)"},
    .tables = benchmark_tables,
    .table_count = ARRAY_LEN(benchmark_tables),
};

/* ==== GitLab ================================================================================== */

/* A metrics report shows a figure when its text differs from that of the target branch: they are
 * rounded to what a person would call a change, and have no labels that differ between runs. */
/* clang-format off */
static const struct layout_column gitlab[] = {
    {"toll_wall_seconds",            "@elapsed",                     TAKE_VALUE, .type = LAYOUT_FLOAT, .decimals = 1, .flags = FIXED_DECIMALS},
    {"toll_cpu_seconds",             "target_cpu_seconds",           TAKE_TOTAL, .type = LAYOUT_FLOAT, .decimals = 1, .flags = FIXED_DECIMALS},
    {"toll_memory_peak_mebibytes",   "@memory_peak",                 TAKE_VALUE, .type = LAYOUT_INTEGER, .factor = MIB},
    {"toll_disk_read_mebibytes",     "target_storage_read_bytes",    TAKE_TOTAL, .type = LAYOUT_INTEGER, .factor = MIB},
    {"toll_disk_written_mebibytes",  "target_storage_written_bytes", TAKE_TOTAL, .type = LAYOUT_INTEGER, .factor = MIB},
    {"toll_gpu_memory_mebibytes",    "target_gpu_memory_bytes",      TAKE_MAX,   .type = LAYOUT_INTEGER, .factor = MIB},
    {"toll_processes_started",       "target_processes_started",     TAKE_TOTAL, .type = LAYOUT_INTEGER},
    {"toll_exit_status",             "@exit",                        TAKE_VALUE, .type = LAYOUT_INTEGER},
};
/* clang-format on */

static const struct layout_table gitlab_tables[] = {
    {.format = "text",
     .subject = SUBJECT_TARGET,
     .separator = " ",
     .omits_unknown = true,
     .columns = gitlab,
     .count = ARRAY_LEN(gitlab)},
};

const struct layout layout_gitlab = {
    .facts = {.name = "gitlab",
              .formats = "text",
              .help = "a metrics report of GitLab: rounded figures, a line each"},
    .tables = gitlab_tables,
    .table_count = ARRAY_LEN(gitlab_tables),
};

/* ==== CodeCarbon ============================================================================== */

/* The energy is that of the machine while the run lasted (tracking_mode machine), or, with
 * --energy, the high end of the job's share (process): there is one cell for an interval.
 * CodeCarbon applies the PUE to energy and emissions, not to power. What toll neither measures nor
 * looks up, such as the country, is empty. */
#define ENERGY "@processors_energy + @gpus_energy"

/* clang-format off */
#define EMPTY(key) {key, "@unknown", TAKE_VALUE, .type = LAYOUT_TEXT}

static const struct layout_column codecarbon[] = {
    {"timestamp",       "@second",            TAKE_VALUE, .type = LAYOUT_TEXT},
    {"project_name",    "@run",               TAKE_VALUE, .type = LAYOUT_TEXT},
    {"run_id",          "@id",                TAKE_VALUE, .type = LAYOUT_TEXT},
    EMPTY("experiment_id"),
    {"duration",        "@elapsed",           TAKE_VALUE, .type = LAYOUT_FLOAT},
    {"emissions",       ENERGY,               TAKE_VALUE, .type = LAYOUT_FLOAT, .factor = KWH / 1000, .scale = "carbon", .second_scale = "pue"},
    {"emissions_rate",  ENERGY,               TAKE_VALUE, .type = LAYOUT_FLOAT, .factor = KWH / 1000, .scale = "carbon", .second_scale = "pue", .per = "@elapsed"},
    {"cpu_power",       "@processors_energy", TAKE_VALUE, .type = LAYOUT_FLOAT, .per = "@elapsed"},
    {"gpu_power",       "@gpus_energy",       TAKE_VALUE, .type = LAYOUT_FLOAT, .per = "@elapsed"},
    EMPTY("ram_power"),
    {"cpu_energy",      "@processors_energy", TAKE_VALUE, .type = LAYOUT_FLOAT, .factor = KWH, .scale = "pue"},
    {"gpu_energy",      "@gpus_energy",       TAKE_VALUE, .type = LAYOUT_FLOAT, .factor = KWH, .scale = "pue"},
    EMPTY("ram_energy"),
    {"energy_consumed", ENERGY,               TAKE_VALUE, .type = LAYOUT_FLOAT, .factor = KWH, .scale = "pue"},
    EMPTY("water_consumed"),
    EMPTY("country_name"),
    EMPTY("country_iso_code"),
    EMPTY("region"),
    EMPTY("cloud_provider"),
    EMPTY("cloud_region"),
    {"os",              "@kernel",            TAKE_VALUE, .type = LAYOUT_TEXT},
    EMPTY("python_version"),
    EMPTY("codecarbon_version"),
    {"cpu_count",       "@cpus",              TAKE_VALUE, .type = LAYOUT_INTEGER},
    EMPTY("cpu_model"),
    {"gpu_count",       "@gpus",              TAKE_VALUE, .type = LAYOUT_INTEGER},
    EMPTY("gpu_model"),
    EMPTY("longitude"),
    EMPTY("latitude"),
    {"ram_total_size",  "system_memory_total_bytes", TAKE_MAX, .type = LAYOUT_FLOAT, .factor = GIB},
    {"tracking_mode",   "@tracking",          TAKE_VALUE, .type = LAYOUT_TEXT},
    {"cpu_utilization_percent", "system_cpu_cores", TAKE_MEAN, .type = LAYOUT_FLOAT, .factor = 100, .decimals = 2, .per = "@cpus"},
    {"gpu_utilization_percent", "gpu.*.utilization_ratio", TAKE_MEAN, .type = LAYOUT_FLOAT, .factor = 100, .decimals = 2, .flags = ABSENT_IS_ZERO, .per = "gpu.*"},
    {"ram_utilization_percent", "system_memory_used_bytes", TAKE_MEAN, .type = LAYOUT_FLOAT, .factor = 100, .decimals = 2, .per = "system_memory_total_bytes"},
    {"ram_used_gb",     "system_memory_used_bytes", TAKE_MEAN, .type = LAYOUT_FLOAT, .factor = GIB},
    EMPTY("on_cloud"),
    {"pue",             "=pue",               TAKE_VALUE, .type = LAYOUT_FLOAT},
    EMPTY("wue"),
};
/* clang-format on */

static const struct layout_table codecarbon_tables[] = {
    {.format = "csv", .when = WHEN_ENDED, .columns = codecarbon, .count = ARRAY_LEN(codecarbon)},
};

static const struct layout_option codecarbon_options[] = {
    {.name = "carbon",
     .is_number = true,
     .otherwise = "@carbon",
     .help = "grams of CO2e per kWh; without it and --carbon, emissions are unknown"},
    {.name = "pue",
     .is_number = true,
     .otherwise = "@pue",
     .help = "power usage effectiveness, which energy and emissions include, as in that tool"},
};

const struct layout layout_codecarbon = {
    .facts = {.name = "codecarbon",
              .formats = "csv",
              .help = "a row of CodeCarbon's emissions.csv, with the energy of the machine"},
    .options = codecarbon_options,
    .option_count = ARRAY_LEN(codecarbon_options),
    .tables = codecarbon_tables,
    .table_count = ARRAY_LEN(codecarbon_tables),
};
