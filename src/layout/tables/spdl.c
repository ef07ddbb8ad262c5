/* SPDX-License-Identifier: MIT
 * The record of SPDL's ProcessGroupStatsMonitor: one line of JSON for each target and sample. The
 * bytes of the network are those of all interfaces but loopback, as there. Its eleven fields; on
 * request also when it was and what came over the network since the line before. */
#include "base/util.h"
#include "layout/layout.h"

/* clang-format off */
static const struct layout_column columns[] = {
    {"pid",                "@own_pid",                      TAKE_VALUE, .type = LAYOUT_INTEGER},
    {"pgid",               "@group",                        TAKE_VALUE, .type = LAYOUT_INTEGER},
    {"cpu_percent",        "target_cpu_seconds",            TAKE_RATE,  .type = LAYOUT_FLOAT, 100, 0, NOT_AT_FIRST},
    {"rss_bytes",          "target_memory_rss_bytes",       TAKE_VALUE, .type = LAYOUT_INTEGER},
    {"pss_bytes",          "target_memory_pss_bytes",       TAKE_VALUE, .type = LAYOUT_INTEGER},
    {"private_bytes",      "target_memory_uss_bytes",       TAKE_VALUE, .type = LAYOUT_INTEGER},
    {"disk_read_bytes",    "target_storage_read_bytes",     TAKE_TOTAL, .type = LAYOUT_INTEGER},
    {"disk_write_bytes",   "target_storage_written_bytes",  TAKE_TOTAL, .type = LAYOUT_INTEGER},
    {"num_procs",          "target_processes",              TAKE_VALUE, .type = LAYOUT_INTEGER, 1, 0, ENDED_IS_ZERO},
    {"net_rx_bytes",       "system_network_received_bytes", TAKE_TOTAL, .type = LAYOUT_INTEGER},
    {"net_tx_bytes",       "system_network_sent_bytes",     TAKE_TOTAL, .type = LAYOUT_INTEGER},
    /* from here on those of columns=all */
    {"timestamp",          "@time",                         TAKE_VALUE, .type = LAYOUT_FLOAT, 1, 3},
    {"net_rx_bytes_delta", "system_network_received_bytes", TAKE_DELTA, .type = LAYOUT_INTEGER},
    {"net_tx_bytes_delta", "system_network_sent_bytes",     TAKE_DELTA, .type = LAYOUT_INTEGER},
};
/* clang-format on */

enum { FIELDS = 11 };

#define TABLE(variant_, count_)                                                                    \
    {                                                                                              \
        .format = "jsonl", .variant = (variant_), .subject = SUBJECT_TARGET, .each = EACH_TARGET,  \
        .keeps_time = true, .columns = columns, .count = (count_),                                 \
    }

static const struct layout_table tables[] = {
    TABLE("spdl", FIELDS),
    TABLE("all", ARRAY_LEN(columns)),
};

static const struct layout_word sets[] = {{"spdl", 1}, {"all", 1}, {0}};

static const struct layout_option options[] = {
    {.name = "columns",
     .value = "spdl",
     .words = sets,
     .help = "fields: the eleven of that tool (spdl), or also the time and the bytes received over "
             "the network since the previous line (all)"},
};

const struct layout layout_spdl = {
    .facts = {.name = "spdl",
              .formats = "jsonl",
              .series = "jsonl",
              .help = "the record of SPDL's monitor of process groups: a line for each group and "
                      "sample",
              .interval_ns = 60 * NS_PER_SECOND},
    .options = options,
    .option_count = ARRAY_LEN(options),
    .tables = tables,
    .table_count = ARRAY_LEN(tables),
};
