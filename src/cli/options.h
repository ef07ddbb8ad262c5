/* SPDX-License-Identifier: MIT
 * Options as data: parsing, --help, the man page, completions, environment and configuration file
 * are all made from one table. */
#pragma once

#include "base/err.h"
#include "cli/cli.h"

/* ==== Options ================================================================================= */

enum summary_format { SUMMARY_TEXT, SUMMARY_JSON, SUMMARY_NONE };

/* A run may be named by the last digits of its id, by this many at least. */
enum { RUN_ID_DIGITS = 8 };

/* Rows that the table may have. */
enum { OPTIONS_AT_MOST = 128 };

/* What toll list sorts by, in the order of the choices. */
enum list_sort {
    LIST_BY_TIME,
    LIST_BY_NAME,
    LIST_BY_DURATION,
    LIST_BY_CPU,
    LIST_BY_MEMORY,
    LIST_BY_EXIT,
};

/* Everything that options can say. Strings are borrowed from the command line or the environment,
 * or owned by `kept`. */
struct settings {
    struct toll_options tracker;
    unsigned mode; /* FOR_…: the subcommand */
    const char *subcommand;
    const char **outputs; /* owned array, NULL-terminated */
    const char **labels;  /* owned array, NULL-terminated */
    const char **metrics; /* owned array of globs, NULL-terminated */
    const char **pids, **groups, **sessions, **cgroups, **matches,
        **users;        /* likewise: what to attach to */
    const char **words; /* owned array: non-option arguments, where options may follow them */
    const char *format; /* of outputs whose name does not tell one */
    const char *layout; /* of outputs that can carry it, or NULL */
    uint64_t for_ns;    /* how long to measure, 0: until it ends */

    /* By row of the table: number of the option among all that were given; 0: not given. */
    unsigned given[OPTIONS_AT_MOST], given_count;
    bool on_command_line[OPTIONS_AT_MOST]; /* … there */
    enum summary_format summary;
    const char *summary_to; /* a path, a number, or "-": stdout; NULL = stderr */
    const char *config;
    unsigned signals_come_to_group; /* 1: signals to toll reach the whole process group */
    bool quiet;
    bool threads; /* rows for the busiest */
    bool live;
    bool verbose;
    enum color_choice color;
    bool help;
    uint64_t run;       /* of a record, 0: all */
    const char *run_id; /* … or the end of its id, or NULL */
    struct {
        const char *name;    /* a glob, or NULL: any */
        uint64_t since_ns;   /* since 1970; 0: any */
        uint64_t limit;      /* 0: all */
        enum list_sort sort; /* by time, the newest first, if nothing else is given */
        bool is_descending;  /* as --sort has it */
        bool is_reversed;
        bool each_rank; /* of a parallel job, on its own line */
    } list;             /* which runs to list, besides labels */
    struct {
        uint64_t runs;           /* 0: not given */
        uint64_t warmup;         /* runs before those */
        const char *prepare;     /* for the shell, before each run; or NULL */
        const char **parameters; /* owned array of "NAME=VALUE,…", NULL-terminated */
        bool ignore_failure;
    } repeat; /* of toll run */
    struct {
        const char *format; /* NULL: $TIME, or that of GNU time */
        const char *output; /* NULL: stderr */
        bool appends, is_portable, is_verbose, is_quiet, version;
    } time;                   /* of toll time */
    const char *advised_tool; /* of toll recommend, or NULL */
    bool bytes, si;           /* units of sizes in text */
    bool json;
    bool csv;
    const char **fail_if;      /* conditions, of toll run and toll compare */
    const char *baseline, *in; /* … and what they are relative to */
    const char *results_file, *results_format, *statistic; /* of toll sub-tracking, or NULL */
    bool all;                                              /* of toll help */
    bool markdown;                                         /* of toll metrics */
    bool strict;                                           /* of toll doctor */
    const char *root; /* of a recorded machine; NULL: this one */
    char **kept;      /* owned strings from the configuration file, NULL-terminated */
    char **warnings;  /* owned sentences that do not stop anything, NULL-terminated; or NULL */
};

/* How the value of an option is kept in struct settings. */
enum option_kind {
    OPTION_SWITCH, /* bool */
    OPTION_CHOICE, /* which of the choices: an enum or unsigned */
    OPTION_TIME,   /* uint64_t nanoseconds, above 0 */
    OPTION_TEXT,   /* const char * */
    OPTION_LIST,   /* const char **: may be repeated */
    OPTION_OWN,    /* by its own function */
};

/* Headings of the help, in this order. */
enum option_group {
    GROUP_TARGETS,
    GROUP_OUTPUT,
    GROUP_MEASURE,
    GROUP_RUN,
    GROUP_REPEAT,
    GROUP_SAMPLING,
    GROUP_SETUP,
    OPTION_GROUPS,
};

struct option {
    const char *name;
    char letter;         /* 0 = none */
    const char *value;   /* NULL: a switch; with a blank in it: two words, or one as NAME=VALUE */
    const char *choices; /* accepted words separated by blanks, or NULL */
    enum option_kind kind;
    size_t at;            /* of its field in struct settings */
    const char *expected; /* what a text takes, which may then not be empty; or NULL */
    /* Takes the value, or checks it before it is kept; or NULL. -EINVAL and what is expected. */
    int (*take)(struct settings *s, const char *value, struct toll_error *e);
    bool command_line_only;
    unsigned modes; /* FOR_…: the subcommands it is for */
    enum option_group group;
    const char *fallback; /* the default, for the help; NULL: none worth naming */
    const char *help;     /* one clause, without the choices and the default */
};

#define FIXED_BLANK "\037"

/* THE table; ends with a row whose name is NULL. A name may have several rows, each for other
 * subcommands. */
extern const struct option options[];

void settings_done(struct settings *s);

/* Read the user's file, the file that --config names, the environment and the command line, in that
 * order: each overrides the one before. argv[0] is the subcommand. *ret_rest is the index of the
 * first word that is no option; only a command's own options stand behind it, other subcommands
 * take options anywhere. 0 or -EINVAL. */
int options_read(struct settings *s, int argc, char **argv, int *ret_rest, struct toll_error *e);

/* What subcommands that measure nothing have in common: reads the options, shows the help, checks
 * the number of words, then runs. Returns the exit status. */
int subcommand_main(int argc, char **argv, size_t least, size_t most,
                    int (*run)(struct settings *s));

/* The row for one of the subcommands in `modes`, otherwise one for another; NULL: there is none. */
const struct option *option_by_name(const char *name, unsigned modes);
const struct option *option_by_letter(char letter, unsigned modes);

/* By "TOLL_SUMMARY_TO"; NULL: there is none, and *ret_near knows the nearest. */
struct suggestion;
const struct option *option_by_variable(const char *variable, struct suggestion *ret_near);

/* The name that it had before, which still works, or NULL. */
const char *option_old_name(const struct option *o);

/* Whether the option was given, on the command line or elsewhere. Not 0, and higher if it was given
 * later, for options of which the last one counts. */
unsigned option_is_given(const struct settings *s, const char *name);
bool option_is_on_command_line(const struct settings *s, const char *name);

/* -EINVAL and a sentence when an option on the command line would do nothing beside the others. */
int option_rules_check(const struct settings *s, struct toll_error *e);

/* The index of a word among choices with blanks between, or -1. */
int option_choose(const char *choices, const char *word);

/* TOLL_SUMMARY_TO for summary-to. */
void option_variable(const char *name, char *ret, size_t capacity);

/* The configuration file: "name = value" lines, # comments, [run] above what is for that subcommand
 * alone. */
int config_read(struct settings *s, const char *path, struct toll_error *e);

/* The file of the user, $XDG_CONFIG_HOME/toll/config, if there is one; with a warning it is ignored
 * when other users could have written it. */
int config_read_of_user(struct settings *s, struct toll_error *e);

/* ==== Layouts and outputs =================================================================== */

/* By its name, up to the first comma; NULL: there is none. */
const struct toll_layout *layout_named(const char *text);

/* Whether the layout that was asked for, if any, has a format. */
bool layout_has(const struct settings *s, const char *format);

/* The first of its formats that has a row for each sample, or NULL. */
const char *layout_series(const struct settings *s);

/* Sets the default time between samples of the first layout that is written, if no interval was
 * given. */
void layout_set_interval(struct settings *s);

/* -EINVAL and a sentence when no output could carry the layout. */
int layout_check_carried(const struct settings *s, bool carried, struct toll_error *e);

/* The format of an output as it was written, or NULL when its name tells none. *ret_path: without
 * the format in front, and the layout behind that. */
const char *output_format(const struct settings *s, const char *output, const char **ret_path);

/* TOLL_OUTPUT_…: what options say of text. */
unsigned output_flags(const struct settings *s);

/* The layout of one output alone, "@spdl:rows.jsonl", for the caller to free; or NULL. */
char *output_layout(const char *output);
