/* SPDX-License-Identifier: MIT
 * What workflow engines keep of a task: the trace of Nextflow, the benchmark of Snakemake. Both are
 * written once, when the task has ended. */
#include "base/util.h"
#include "layout/layout.h"

#define KIB       (1.0 / 1024)
#define MIB       (1.0 / 1048576)
#define PER_MILLE 1000

/* ==== Nextflow ================================================================================ */

/* nextflow.trace/v2: a key without a value is not known. %cpu is of one core, %mem of the memory of
 * the machine; sizes are in KiB, but what is read and written is in bytes. */
/* clang-format off */
static const struct layout_column nextflow[] = {
    {"realtime",    "@elapsed",                         TAKE_VALUE, .type = LAYOUT_INTEGER, .factor = 1000},
    {"%cpu",        "target_cpu_seconds",               TAKE_TOTAL, .type = LAYOUT_INTEGER, .factor = PER_MILLE, .per = "@elapsed"},
    {"rchar",       "target_io_read_bytes",             TAKE_TOTAL, .type = LAYOUT_INTEGER},
    {"wchar",       "target_io_written_bytes",          TAKE_TOTAL, .type = LAYOUT_INTEGER},
    {"syscr",       "target_io_read_calls",             TAKE_TOTAL, .type = LAYOUT_INTEGER},
    {"syscw",       "target_io_write_calls",            TAKE_TOTAL, .type = LAYOUT_INTEGER},
    {"read_bytes",  "target_storage_read_bytes",        TAKE_TOTAL, .type = LAYOUT_INTEGER},
    {"write_bytes", "target_storage_written_bytes",     TAKE_TOTAL, .type = LAYOUT_INTEGER},
    {"%mem",        "@memory_peak",                     TAKE_VALUE, .type = LAYOUT_INTEGER, .factor = PER_MILLE, .per = "system_memory_total_bytes"},
    {"vmem",        "target_memory_virtual_bytes",      TAKE_MAX,   .type = LAYOUT_INTEGER, .factor = KIB},
    {"rss",         "@memory_peak",                     TAKE_VALUE, .type = LAYOUT_INTEGER, .factor = KIB},
    {"peak_vmem",   "target_memory_virtual_bytes",      TAKE_MAX,   .type = LAYOUT_INTEGER, .factor = KIB},
    {"peak_rss",    "@memory_peak",                     TAKE_VALUE, .type = LAYOUT_INTEGER, .factor = KIB},
    {"vol_ctxt",    "target_switches_voluntary",        TAKE_TOTAL, .type = LAYOUT_INTEGER},
    {"inv_ctxt",    "target_switches_involuntary",      TAKE_TOTAL, .type = LAYOUT_INTEGER},
};
/* clang-format on */

static const struct layout_table nextflow_tables[] = {
    {.format = "text",
     .subject = SUBJECT_TARGET,
     .heading = "nextflow.trace/v2\n",
     .separator = "=",
     .columns = nextflow,
     .count = ARRAY_LEN(nextflow)},
};

const struct layout layout_nextflow = {
    .facts = {.name = "nextflow",
              .formats = "text",
              .help = "the .command.trace of a task of Nextflow (nextflow.trace/v2)"},
    .tables = nextflow_tables,
    .table_count = ARRAY_LEN(nextflow_tables),
};

/* ==== Snakemake =============================================================================== */

/* Sizes in MiB, mean_load in percent of one core. NA was not collected. In the table numbers have
 * two decimals; in JSON they have all, and the seconds are a text. */
/* clang-format off */
#define IN_TABLE .type = LAYOUT_FLOAT, .decimals = 2, .flags = FIXED_DECIMALS
#define IN_JSON  .type = LAYOUT_FLOAT
#define BENCHMARK(in)                                                                     \
    {"s",         "@elapsed_text",                TAKE_VALUE, .type = LAYOUT_TEXT},       \
    {"h:m:s",     "@hours",                       TAKE_VALUE, .type = LAYOUT_TEXT},       \
    {"max_rss",   "@memory_peak",                 TAKE_VALUE, in, .factor = MIB},         \
    {"max_vms",   "target_memory_virtual_bytes",  TAKE_MAX,   in, .factor = MIB},         \
    {"max_uss",   "target_memory_uss_bytes",      TAKE_MAX,   in, .factor = MIB},         \
    {"max_pss",   "target_memory_pss_bytes",      TAKE_MAX,   in, .factor = MIB},         \
    {"io_in",     "target_storage_read_bytes",    TAKE_TOTAL, in, .factor = MIB},         \
    {"io_out",    "target_storage_written_bytes", TAKE_TOTAL, in, .factor = MIB},         \
    {"mean_load", "target_cpu_seconds",           TAKE_TOTAL, in, .factor = 100, .per = "@elapsed"}, \
    {"cpu_time",  "target_cpu_seconds",           TAKE_TOTAL, in}
#define EXTENDED(in)                                                                      \
    {"jobid",         "=jobid",             TAKE_VALUE, .type = LAYOUT_TEXT},             \
    {"rule_name",     "=rule_name",         TAKE_VALUE, .type = LAYOUT_TEXT},             \
    {"wildcards",     "=wildcards",         TAKE_VALUE, .type = LAYOUT_TEXT},             \
    {"params",        "=params",            TAKE_VALUE, .type = LAYOUT_TEXT},             \
    {"threads",       "=threads",           TAKE_VALUE, .type = LAYOUT_TEXT},             \
    {"cpu_usage",     "target_cpu_seconds", TAKE_TOTAL, in, .factor = 100},               \
    {"resources",     "=resources",         TAKE_VALUE, .type = LAYOUT_TEXT},             \
    {"input_size_mb", "=input_size_mb",     TAKE_VALUE, .type = LAYOUT_TEXT}

static const struct layout_column snakemake[] = {BENCHMARK(IN_TABLE)};
static const struct layout_column snakemake_json[] = {BENCHMARK(IN_JSON)};
static const struct layout_column snakemake_extended[] = {BENCHMARK(IN_TABLE), EXTENDED(IN_TABLE)};
static const struct layout_column snakemake_extended_json[] = {BENCHMARK(IN_JSON), EXTENDED(IN_JSON)};
/* clang-format on */

#define SNAKEMAKE_TABLE(format_, variant_, columns_)                                               \
    {                                                                                              \
        .format = format_, .variant = variant_, .subject = SUBJECT_TARGET, .when = WHEN_ENDED,     \
        .separator = "\t", .unknown = "NA", .columns = columns_, .count = ARRAY_LEN(columns_)      \
    }

static const struct layout_table snakemake_tables[] = {
    SNAKEMAKE_TABLE("csv", "usual", snakemake),
    SNAKEMAKE_TABLE("csv", "extended", snakemake_extended),
    SNAKEMAKE_TABLE("jsonl", "usual", snakemake_json),
    SNAKEMAKE_TABLE("jsonl", "extended", snakemake_extended_json),
};

static const struct layout_word snakemake_columns[] = {
    {"usual", 1},
    {"extended", 1},
    {NULL, 0},
};

#define OF_THE_JOB(name_, help_)                                                                   \
    {                                                                                              \
        .name = name_, .value = "NA", .help = help_                                                \
    }

static const struct layout_option snakemake_options[] = {
    {.name = "columns",
     .value = "usual",
     .words = snakemake_columns,
     .help = "extended: with those of --benchmark-extended"},
    OF_THE_JOB("jobid", "number of the job, for columns=extended"),
    OF_THE_JOB("rule_name", "name of the rule"),
    OF_THE_JOB("wildcards", "wildcards of the job"),
    OF_THE_JOB("params", "parameters of the job"),
    OF_THE_JOB("threads", "threads of the job"),
    OF_THE_JOB("resources", "resources of the job"),
    OF_THE_JOB("input_size_mb", "sizes of its input files"),
};

const struct layout layout_snakemake = {
    .facts = {.name = "snakemake",
              .formats = "csv jsonl",
              .help = "the benchmark file of a rule of Snakemake: tab-separated, or lines of JSON"},
    .options = snakemake_options,
    .option_count = ARRAY_LEN(snakemake_options),
    .tables = snakemake_tables,
    .table_count = ARRAY_LEN(snakemake_tables),
};
