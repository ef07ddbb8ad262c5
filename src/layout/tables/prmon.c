/* SPDX-License-Identifier: MIT
 * The files of prmon, the process monitor of the HEP Software Foundation: a row for each sample,
 * separated by tabs, and a summary in JSON. Memory is in KiB, times are in seconds; what is sent
 * and received is that of all network interfaces, as far as they are read. */
#include "base/util.h"
#include "layout/layout.h"

#define KIB (1.0 / 1024)

/* clang-format off */
static const struct layout_column samples[] = {
    {"Time",        "@time",                              TAKE_VALUE, .type = LAYOUT_INTEGER, .flags = ROUND_DOWN},
    {"wtime",       "@elapsed",                           TAKE_VALUE, .type = LAYOUT_INTEGER, .flags = ROUND_DOWN},
    {"nprocs",      "target_processes",                   TAKE_VALUE, .type = LAYOUT_INTEGER, .flags = ENDED_IS_ZERO},
    {"nthreads",    "target_threads",                     TAKE_VALUE, .type = LAYOUT_INTEGER},
    {"stime",       "target_cpu_system_seconds",          TAKE_TOTAL, .type = LAYOUT_INTEGER, .flags = ROUND_DOWN},
    {"utime",       "target_cpu_user_seconds",            TAKE_TOTAL, .type = LAYOUT_INTEGER, .flags = ROUND_DOWN},
    {"pss",         "target_memory_pss_bytes",            TAKE_VALUE, .type = LAYOUT_INTEGER, .factor = KIB},
    {"rss",         "target_memory_rss_bytes",            TAKE_VALUE, .type = LAYOUT_INTEGER, .factor = KIB},
    {"swap",        "target_memory_swap_bytes",           TAKE_VALUE, .type = LAYOUT_INTEGER, .factor = KIB},
    {"vmem",        "target_memory_virtual_bytes",        TAKE_VALUE, .type = LAYOUT_INTEGER, .factor = KIB},
    {"rchar",       "target_io_read_bytes",               TAKE_TOTAL, .type = LAYOUT_INTEGER},
    {"read_bytes",  "target_storage_read_bytes",          TAKE_TOTAL, .type = LAYOUT_INTEGER},
    {"wchar",       "target_io_written_bytes",            TAKE_TOTAL, .type = LAYOUT_INTEGER},
    {"write_bytes", "target_storage_written_bytes",       TAKE_TOTAL, .type = LAYOUT_INTEGER},
    {"rx_bytes",    "netif.*.received_bytes",             TAKE_TOTAL, .type = LAYOUT_INTEGER},
    {"rx_packets",  "netif.*.packets_received",           TAKE_TOTAL, .type = LAYOUT_INTEGER},
    {"tx_bytes",    "netif.*.sent_bytes",                 TAKE_TOTAL, .type = LAYOUT_INTEGER},
    {"tx_packets",  "netif.*.packets_sent",               TAKE_TOTAL, .type = LAYOUT_INTEGER},
};

#define AVERAGE(key, terms_, factor_) {"Avg." key, terms_, TAKE_MEAN, .type = LAYOUT_FLOAT, .factor = factor_, .decimals = 3}
#define RATE(key, terms_)             {"Avg." key, terms_, TAKE_TOTAL, .type = LAYOUT_FLOAT, .decimals = 3, .per = "@elapsed"}
#define MOST(key, terms_, factor_)    {"Max." key, terms_, TAKE_MAX, .type = LAYOUT_INTEGER, .factor = factor_}
#define TOTAL(key, terms_)            {"Max." key, terms_, TAKE_TOTAL, .type = LAYOUT_INTEGER, .flags = ROUND_DOWN}

/* Averages of what is counted are in a second. */
static const struct layout_column summary[] = {
    AVERAGE("nprocs",     "target_processes",             0),
    AVERAGE("nthreads",   "target_threads",               0),
    AVERAGE("pss",        "target_memory_pss_bytes",      KIB),
    RATE("rchar",         "target_io_read_bytes"),
    RATE("read_bytes",    "target_storage_read_bytes"),
    AVERAGE("rss",        "target_memory_rss_bytes",      KIB),
    RATE("rx_bytes",      "netif.*.received_bytes"),
    RATE("rx_packets",    "netif.*.packets_received"),
    AVERAGE("swap",       "target_memory_swap_bytes",     KIB),
    RATE("tx_bytes",      "netif.*.sent_bytes"),
    RATE("tx_packets",    "netif.*.packets_sent"),
    AVERAGE("vmem",       "target_memory_virtual_bytes",  KIB),
    RATE("wchar",         "target_io_written_bytes"),
    RATE("write_bytes",   "target_storage_written_bytes"),
    MOST("nprocs",        "target_processes",             0),
    MOST("nthreads",      "target_threads",               0),
    MOST("pss",           "target_memory_pss_bytes",      KIB),
    TOTAL("rchar",        "target_io_read_bytes"),
    TOTAL("read_bytes",   "target_storage_read_bytes"),
    MOST("rss",           "target_memory_rss_bytes",      KIB),
    TOTAL("rx_bytes",     "netif.*.received_bytes"),
    TOTAL("rx_packets",   "netif.*.packets_received"),
    TOTAL("stime",        "target_cpu_system_seconds"),
    MOST("swap",          "target_memory_swap_bytes",     KIB),
    TOTAL("tx_bytes",     "netif.*.sent_bytes"),
    TOTAL("tx_packets",   "netif.*.packets_sent"),
    TOTAL("utime",        "target_cpu_user_seconds"),
    MOST("vmem",          "target_memory_virtual_bytes",  KIB),
    TOTAL("wchar",        "target_io_written_bytes"),
    TOTAL("write_bytes",  "target_storage_written_bytes"),
    TOTAL("wtime",        "@elapsed"),
};
/* clang-format on */

static const struct layout_table tables[] = {
    {.format = "text",
     .when = WHEN_SAMPLED,
     .subject = SUBJECT_TARGET,
     .keeps_time = true,
     .keeps_ended = true,
     .separator = "\t",
     .columns = samples,
     .count = ARRAY_LEN(samples)},
    {.format = "json",
     .subject = SUBJECT_TARGET,
     .indent = 2,
     .columns = summary,
     .count = ARRAY_LEN(summary)},
};

const struct layout layout_prmon = {
    .facts = {.name = "prmon",
              .formats = "text json",
              .series = "text",
              .help = "the files of prmon: a row for each sample (prmon.txt), a summary "
                      "(prmon.json)",
              /* Its default of 30 s would leave out the peaks of all outputs. */
              .interval_ns = NS_PER_SECOND},
    .tables = tables,
    .table_count = ARRAY_LEN(tables),
};
