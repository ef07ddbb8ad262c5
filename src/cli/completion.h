/* SPDX-License-Identifier: MIT
 * What the completion scripts of all shells are made from: the tables of subcommands, options and
 * metrics. No script names an option, a subcommand or a metric by itself. */
#pragma once

#include "cli/options.h"

void completion_bash(struct buf *b);
void completion_zsh(struct buf *b);
void completion_fish(struct buf *b);

/* Of the command gpu-tracker. */
void gpu_tracker_completion_bash(struct buf *b);
void gpu_tracker_completion_zsh(struct buf *b);
void gpu_tracker_completion_fish(struct buf *b);

/* What stands behind an option. */
enum completion_value {
    VALUE_NONE,
    VALUE_CHOICE,
    VALUE_FORMAT, /* of an output */
    VALUE_LAYOUT,
    VALUE_METRICS, /* names with commas between */
    VALUE_FILE,
    VALUE_DIRECTORY,
    VALUE_USER,
    VALUE_OTHER,
};
enum completion_value completion_value(const struct option *o);

/* What stands behind a subcommand, as its synopsis tells. */
enum completion_arguments {
    ARGUMENTS_COMMAND, /* options, then a command with its own arguments */
    ARGUMENTS_FILE,    /* options and a file */
    ARGUMENTS_PIDS,    /* options and processes */
    ARGUMENTS_NONE,    /* options alone */
    ARGUMENTS_WORDS,   /* one of a few words, see completion_add_words */
};
enum completion_arguments completion_arguments(const struct subcommand *s);

/* Each adds names with `between` between them. */
void completion_add_subcommands(struct buf *b, const char *between);
void completion_add_words(struct buf *b, const struct subcommand *s, const char *between);
/* The word of s->then, cut off; what follows are those that may stand behind it. False: none. */
bool completion_then(const struct subcommand *s, char *ret_word, size_t capacity,
                     const char **ret_next);
void completion_add_formats(struct buf *b, const char *between);
void completion_add_layouts(struct buf *b, const char *between);

/* Of the options for some subcommands (FOR_…), those that take a value or those that do not: their
 * names, and their letters. */
void completion_add_long(struct buf *b, unsigned modes, bool with_value, const char *between);
void completion_add_letters(struct buf *b, unsigned modes, bool with_value);

/* For every name of a metric once, the row that has it; NULL behind the last. */
const struct toll_metric *completion_next_metric(size_t *at);

/* Text between single quotes: `quote` is how the shell writes one there; letters of `special` get
 * a backslash. */
void completion_add_text(struct buf *b, const char *text, const char *quote, const char *special);
