/* SPDX-License-Identifier: MIT
 * What --dialect names, as far as the command has to know. */
#pragma once

#include "cli/options.h"

/* By what stands before the first comma, or NULL when there is none of that name. */
const struct toll_dialect *dialect_named(const char *text);

/* Whether the dialect that was asked for, if any, has a format. */
bool dialect_has(const struct settings *s, const char *format);

/* The first of its formats that has a row for each sample, or NULL. */
const char *dialect_series(const struct settings *s);

/* The dialect's own time between samples, where somebody gets them and none was given. */
void dialect_set_interval(struct settings *s);

/* -EINVAL and a sentence when no output could carry the dialect. */
int dialect_check_carried(const struct settings *s, bool carried, struct toll_error *e);

/* The format of an output as it was written, or NULL when its name tells none. *ret_path: without
 * the format in front. */
const char *output_format(const struct settings *s, const char *output, const char **ret_path);
