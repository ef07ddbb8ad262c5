/* SPDX-License-Identifier: MIT
 * GNU time: each conversion of its --format is a column, whose name is its letter. `toll time` uses
 * it. What Linux does not count is 0 there, and so it is here. */
#include "base/util.h"
#include "layout/layout.h"

#define KIB    (1.0 / 1024)
#define BLOCKS (1.0 / 512)

/* clang-format off */
#define SECONDS(letter, terms_, take_) {letter, terms_, take_, .type = LAYOUT_FLOAT, .decimals = 2, .flags = FIXED_DECIMALS | ROUND_DOWN}
#define COUNT(letter, terms_)          {letter, terms_, TAKE_TOTAL, .type = LAYOUT_INTEGER}
#define NOT_COUNTED(letter)            {letter, "@zero", TAKE_VALUE, .type = LAYOUT_INTEGER}

static const struct layout_column columns[] = {
    {"C", "@command", TAKE_VALUE, .type = LAYOUT_TEXT},
    {"E", "@minutes", TAKE_VALUE, .type = LAYOUT_TEXT},
    SECONDS("e", "@elapsed",                  TAKE_VALUE),
    SECONDS("U", "target_cpu_user_seconds",   TAKE_TOTAL),
    SECONDS("S", "target_cpu_system_seconds", TAKE_TOTAL),
    {"P", "target_cpu_seconds",       TAKE_TOTAL, .type = LAYOUT_INTEGER, .factor = 100, .flags = ROUND_DOWN, .per = "@elapsed", .unit = "%"},
    {"M", "@largest",                 TAKE_VALUE, .type = LAYOUT_INTEGER, .factor = KIB},
    COUNT("F", "target_faults_major"),
    COUNT("R", "target_faults_minor"),
    COUNT("c", "target_switches_involuntary"),
    COUNT("w", "target_switches_voluntary"),
    {"I", "target_storage_read_bytes",    TAKE_TOTAL, .type = LAYOUT_INTEGER, .factor = BLOCKS},
    {"O", "target_storage_written_bytes", TAKE_TOTAL, .type = LAYOUT_INTEGER, .factor = BLOCKS},
    {"Z", "@page", TAKE_VALUE, .type = LAYOUT_INTEGER},
    {"x", "@exit", TAKE_VALUE, .type = LAYOUT_INTEGER},
    NOT_COUNTED("D"), NOT_COUNTED("K"), NOT_COUNTED("W"), NOT_COUNTED("X"), NOT_COUNTED("k"),
    NOT_COUNTED("p"), NOT_COUNTED("r"), NOT_COUNTED("s"), NOT_COUNTED("t"),
};
/* clang-format on */

static const struct layout_table tables[] = {
    {.format = "text",
     .subject = SUBJECT_TARGET,
     .template = "format",
     .columns = columns,
     .count = ARRAY_LEN(columns)},
};

static const struct layout_option options[] = {
    {.name = "format",
     .value = "%Uuser %Ssystem %Eelapsed %PCPU (%Xavgtext+%Davgdata %Mmaxresident)k\\n"
              "%Iinputs+%Ooutputs (%Fmajor+%Rminor)pagefaults %Wswaps",
     .help = "the line, as for --format of GNU time; a comma is doubled"},
};

const struct layout layout_gnu_time = {
    .facts = {.name = "gnu-time",
              .formats = "text",
              .help = "the line of GNU time, with the conversions of its --format"},
    .options = options,
    .option_count = ARRAY_LEN(options),
    .tables = tables,
    .table_count = ARRAY_LEN(tables),
};
