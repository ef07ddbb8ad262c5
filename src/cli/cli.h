/* SPDX-License-Identifier: MIT
 * The command: one file for each subcommand, on top of the public library. */
#pragma once

#include "base/text/buf.h"
#include "toll_compat.h"

/* What toll exits with when it could not do its part. */
enum { EXIT_TOLL = 125, EXIT_NOT_EXECUTABLE = 126, EXIT_NOT_FOUND = 127, EXIT_SIGNAL = 128 };

/* Which subcommands an option is for. */
enum {
    FOR_RUN = 1 << 0,
    FOR_ATTACH = 1 << 1,
    FOR_SYSTEM = 1 << 2,
    FOR_MEASURING = FOR_RUN | FOR_ATTACH | FOR_SYSTEM,
    FOR_EXPORT = 1 << 3, /* from here on by options on the command line alone */
    FOR_LIST = 1 << 4,
    FOR_DOCTOR = 1 << 5,
    FOR_METRICS = 1 << 6,
    FOR_LAYOUTS = 1 << 7,
    FOR_OUTPUTS = 1 << 8,
    FOR_RESEND = 1 << 9,
    FOR_MARK = 1 << 10,
    FOR_SUB_TRACKING = 1 << 11,
    FOR_HELP = 1 << 12,
    FOR_VERSION = 1 << 13,
    FOR_COMPLETION = 1 << 14,
    FOR_RECOMMEND = 1 << 15,
    FOR_REPORT = 1 << 16,
    FOR_COMPARE = 1 << 17,
    FOR_TIME = 1 << 18,
    FOR_ANY_COMMAND = (1 << 19) - 1,
    FOR_NO_TARGET = FOR_DOCTOR | FOR_METRICS | FOR_LAYOUTS | FOR_OUTPUTS,
    FOR_OPTIONS_FIRST = FOR_RUN | FOR_MARK | FOR_TIME, /* whose options end at the first word */
};

/* Headings of 'toll help', in this order. */
enum subcommand_group {
    COMMANDS_MEASURE,
    COMMANDS_RESULTS,
    COMMANDS_SETUP,
    COMMANDS_OTHER, /* in 'toll help --all' alone */
    SUBCOMMAND_GROUPS,
};

struct subcommand {
    const char *name;
    const char *old_name; /* which still works, or NULL */
    enum subcommand_group group;
    bool is_rare;                       /* in 'toll help --all' alone */
    const char *arguments;              /* as in a synopsis */
    const char *help;                   /* one clause */
    int (*main)(int argc, char **argv); /* argv[0] is the subcommand */
    unsigned options;                   /* FOR_… */
    const char *more;                   /* paragraphs for its page of help, or NULL */
    const char *then; /* "WORD NEXT NEXT…": what may follow a word of its own, or NULL */
};

/* THE list of subcommands; ends with a row whose name is NULL. */
extern const struct subcommand subcommands[];

/* A word as it can be typed again, in quotes where it needs them. */
void add_shell_word(struct buf *b, const char *word);

/* By its name or its old one; NULL when there is none. */
const struct subcommand *subcommand_by_name(const char *name);

int run_main(int argc, char **argv);
int attach_main(int argc, char **argv);
int system_main(int argc, char **argv);
int replay_main(int argc, char **argv);
int doctor_main(int argc, char **argv);
int mark_main(int argc, char **argv);
int export_main(int argc, char **argv);
int list_main(int argc, char **argv);
int report_main(int argc, char **argv);
int recommend_main(int argc, char **argv);
int compare_main(int argc, char **argv);
int metrics_main(int argc, char **argv);
int layouts_main(int argc, char **argv);
int outputs_main(int argc, char **argv);
int sub_tracking_main(int argc, char **argv);
int resend_main(int argc, char **argv);
int completion_main(int argc, char **argv);
int help_main(int argc, char **argv);
int time_main(int argc, char **argv);
int version_main(int argc, char **argv);

/* The names of the checks. */
void doctor_add_help(struct buf *b);

/* "toll: sentence" on stderr; returns 125. */
int complain(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* The same for an error of the library: a field that it begins with is shown as the option, as in
 * "--price-hour: …", and an error without a field begins with the context, unless that is NULL. */
int complain_error(const char *context, const struct toll_error *e);

/* The text on stdout; frees it. Returns 0, or 125 and a sentence when it cannot be written. */
int print(struct buf *b);

/* Writes a file as a whole, or what is no regular file (/dev/stderr) as it is. */
int write_file(const char *data, size_t length, const char *path, struct toll_error *e);

/* The same for a text to read: a pager shows it when it is longer than the terminal. */
int print_paged(struct buf *b);

/* Whether a shell would find a program of that name. */
bool is_program(const char *name);

enum color_choice { COLOR_AUTO, COLOR_ALWAYS, COLOR_NEVER };

/* Colours on a terminal; NO_COLOR and CLICOLOR_FORCE decide where the choice does not. */
bool color_is_wanted(int fd, enum color_choice choice);

/* The width to write for on stdout: that of a terminal from 40 to 80 columns, otherwise 80. */
unsigned terminal_width(void);

/* The text, in ASCII where the locale is not UTF-8. */
void add_in_charset(struct buf *b, const char *text, size_t length);

/* Fills in flags and columns of an output to out->fd. */
void terminal_describe(struct toll_output *out, enum color_choice choice);

/* ==== Help ================================================================================== */

/* A column of text, which is further left on narrow terminals. */
size_t help_column(size_t column);

/* Words from a column on, where the line is already, broken before the end of the terminal or
 * before 80; and the end of the line. */
void help_wrap(struct buf *b, const char *text, size_t column);

/* The same after `left`, which gets a line of its own when it is too long. */
void help_line(struct buf *b, const char *left, const char *text, size_t column);

/* What 'toll help' prints. */
void help_overview(struct buf *b);

/* The page of a subcommand, on stdout. */
int help_subcommand(const char *name);

/* What the manual page of a subcommand has of the tables, on stdout; see manual.c. */
int manual_print(const char *name);

/* ==== Code blocks =========================================================================== */

/* For both commands that work on files of code blocks: toll sub-tracking and gpu-tracker
 * sub-track. */

/* What the library is asked for to give a format: pickles are made of json here. */
const char *phase_format(const char *format);

/* Write the results to a file, or to stdout when output is NULL, there with a newline after text. A
 * file comes into being whole or not at all. 0, or -errno and a sentence. */
int phase_deliver(const char *text, const char *format, const char *output, struct toll_error *e);

/* Combines the files, or what is in the directory when it is but one. */
int phase_combine(const char *destination, const char *const *paths, struct toll_error *e);

/* ==== Completion ============================================================================== */

/* What may be typed in the place of the last word of a line; see completion.c. */
struct completion {
    const char *last; /* borrowed */
    size_t before;    /* bytes of it that stay: "--summary=" of an option with a value */
    struct buf answer;
};

/* A word, if it begins with what was typed, and a text about it. */
void completion_offer(struct completion *c, const char *word, const char *text);

/* Words separated by blanks. */
void completion_offer_words(struct completion *c, const char *words);

/* Let the shell complete "file", "directory", a "program" or a "command". */
void completion_ask_shell(struct completion *c, const char *what, size_t number);

/* argv[1] is __complete, and the words of the line follow. */
int complete_main(int argc, char **argv);

/* ==== Lists =================================================================================== */

/* Runs as toll list shows them: list.c reads them; list_table.c makes one of the ranks of a job,
 * and draws the table. */

struct settings;

/* A run as the table and JSON need it. Strings are owned. */
struct listed_run {
    const struct settings *settings; /* borrowed: how runs are sorted */
    char *path;                      /* of its record */
    char *shown;  /* the record as the table shows it: without the directory that was named */
    size_t order; /* in which runs were found */
    char *id, *name, *host, *version;
    char *job_id, *array_index, *rank, *local_rank, *world_size, *launch; /* "": unknown */
    char **command, **attached_to, **labels;                              /* NULL-terminated */
    struct toll_end end;
    struct toll_summary used;
    uint64_t number, start_ns, samples;
    bool cut_short, may_be_running;
    bool has_siblings;     /* its record has several runs */
    uint64_t record_bytes; /* size of the record; 0: unknown */
    size_t ranks;          /* of a parallel job that this run stands for; 0: it is one run */
    size_t bad_ranks;      /* … that failed, or whose record lacks the end */
    size_t records;        /* … that they are in */
};

struct list {
    const struct settings *settings;
    struct listed_run *runs; /* owned */
    size_t count, capacity;
    size_t seen;        /* runs that were read, whether or not they match */
    size_t records;     /* that had at least one */
    const char *path;   /* of the record that is read */
    const char *shown;  /* … in the table */
    uint64_t in_record; /* runs of it so far */
    bool has_no_memory;
};

void listed_run_done(struct listed_run *r);

/* A lower bound of zero says nothing. */
bool list_is_known(double value, enum toll_quality quality);

/* The exit status as in a shell; unknown: NAN. */
double run_exit(const struct listed_run *r);

/* Replaces the ranks of each parallel job by one run: the time of the longest, the CPU time of all,
 * the memory of the largest, the end of the first that failed. False: no memory. */
bool list_merge_ranks(struct list *l);

/* The first runs, for people. */
void list_as_table(const struct list *l, size_t count, struct buf *b);
