/* SPDX-License-Identifier: MIT
 * The options of gpu-tracker as data: for its command line, its JSON file, its help and its
 * completions. */
#pragma once

#include "cli/gpu_tracker/command.h"

enum value_kind { IS_TEXT, IS_NUMBER, IS_SWITCH, IS_WORDS, IS_IGNORED };

struct tracker_option {
    const char *name; /* NULL: a letter alone, or in the file alone */
    char letter;      /* 0: none */
    const char *value;
    unsigned tasks;      /* TASK_… it is for */
    size_t at;           /* in struct gpu_tracker */
    const char *keyword; /* its name in the JSON file, or NULL */
    enum value_kind kind;
    const char *help;
    const char *choices; /* words that it takes, with blanks between; NULL: anything */
};

extern const struct tracker_option tracker_options[];
extern const size_t tracker_option_count;

/* The field of an option that does not repeat. */
const char **gpu_tracker_text_at(struct gpu_tracker *g, const struct tracker_option *o);

/* What the file says that g->config names; what the command line said wins. -errno and a sentence.
 */
int gpu_tracker_read_config(struct gpu_tracker *g, struct toll_error *e);
