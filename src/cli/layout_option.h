/* SPDX-License-Identifier: MIT
 * What --layout names, as far as the command has to know. */
#pragma once

#include "cli/options.h"

/* By what stands before the first comma, or NULL when there is none of that name. */
const struct toll_layout *layout_named(const char *text);

/* Whether the layout that was asked for, if any, has a format. */
bool layout_has(const struct settings *s, const char *format);

/* The first of its formats that has a row for each sample, or NULL. */
const char *layout_series(const struct settings *s);

/* The own time between samples of the first layout that somebody gets rows in, where none was
 * given. */
void layout_set_interval(struct settings *s);

/* -EINVAL and a sentence when no output could carry the layout. */
int layout_check_carried(const struct settings *s, bool carried, struct toll_error *e);

/* The format of an output as it was written, or NULL when its name tells none. *ret_path: without
 * the format in front, and the layout behind that. */
const char *output_format(const struct settings *s, const char *output, const char **ret_path);

/* The layout of one output alone, "@spdl:rows.jsonl", for the caller to free; or NULL. */
char *output_layout(const char *output);
