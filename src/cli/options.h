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

/* Everything that options can say. Strings are borrowed from the command line or the environment,
 * or owned by `kept`. */
struct settings {
    struct toll_options tracker;
    unsigned mode; /* FOR_…: the subcommand */
    const char *subcommand;
    const char **outputs; /* owned array, NULL-terminated */
    const char **labels;  /* owned array, NULL-terminated */
    const char **metrics; /* owned array of globs, NULL-terminated */
    const char **groups, **sessions, **cgroups, **matches,
        **users;        /* likewise: what to attach to */
    const char **words; /* owned array: non-option arguments, where options may follow them */
    const char *format; /* of outputs whose name does not tell one */
    const char *layout; /* of outputs that can carry it, or NULL */
    uint64_t for_ns;    /* how long to measure, 0: until it ends */
    uint64_t given;     /* bits of the options that were given, from any source */
    bool outputs_on_command_line;
    enum summary_format summary;
    const char *summary_to; /* a path, or a number; NULL = stderr */
    const char *config;
    unsigned signals_come_to_group; /* 1: signals to toll reach the whole process group */
    bool quiet;
    bool verbose;
    enum color_choice color;
    bool help;
    uint64_t run;       /* of a record, 0: all */
    const char *run_id; /* … or the end of its id, or NULL */
    bool json;
    bool markdown;    /* of toll metrics */
    bool strict;      /* of toll doctor */
    const char *root; /* of a recorded machine; NULL: this one */
    char **kept;      /* owned strings from the configuration file, NULL-terminated */
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

struct option {
    const char *name;
    char letter;         /* 0 = none */
    const char *value;   /* NULL: a switch */
    const char *choices; /* accepted words separated by blanks, or NULL */
    enum option_kind kind;
    size_t at;            /* of its field in struct settings */
    const char *expected; /* what a text takes, which may then not be empty; or NULL */
    /* Takes the value, or checks it before it is kept; or NULL. -EINVAL and what is expected. */
    int (*take)(struct settings *s, const char *value, struct toll_error *e);
    bool command_line_only;
    unsigned modes; /* FOR_…: the subcommands it is for */
    const char *help;
};

/* THE table; ends with a row whose name is NULL. */
extern const struct option options[];

void settings_done(struct settings *s);

/* Read file, environment and command line in that order: each overrides the one before. argv[0] is
 * the subcommand. *ret_rest is the index of the first word that is no option; only a command's own
 * options stand behind it, other subcommands take options anywhere. 0 or -EINVAL. */
int options_read(struct settings *s, int argc, char **argv, int *ret_rest, struct toll_error *e);

/* What subcommands that measure nothing have in common: reads the options, shows the help, counts
 * the words (otherwise says what is expected), then runs. Returns the exit status. */
int subcommand_main(int argc, char **argv, size_t least, size_t most, const char *expected,
                    int (*run)(struct settings *s));

/* One value from a named source; name is as on the command line. */
int options_apply(struct settings *s, const struct option *o, const char *value, const char *source,
                  struct toll_error *e);

const struct option *option_by_name(const char *name);
const struct option *option_by_letter(char letter);

/* Whether the option was given, on the command line or elsewhere. */
bool option_is_given(const struct settings *s, const char *name);

/* The index of a word among choices with blanks between, or -1. */
int option_choose(const char *choices, const char *word);

/* TOLL_SUMMARY_TO for summary-to. */
void option_variable(const struct option *o, char *ret, size_t capacity);

/* The configuration file: "name = value" lines, # comments, [run] above what is for that subcommand
 * alone. */
int config_read(struct settings *s, const char *path, struct toll_error *e);

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

/* The layout of one output alone, "@spdl:rows.jsonl", for the caller to free; or NULL. */
char *output_layout(const char *output);
