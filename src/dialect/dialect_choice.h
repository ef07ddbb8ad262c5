/* SPDX-License-Identifier: MIT
 * A dialect with what was said to it: "gpu-tracker,ram_unit=megabytes,n_expected_cores=4". */
#pragma once

#include "dialect/dialect.h"

enum { DIALECT_OPTIONS_AT_MOST = 8 };

struct dialect_choice {
    const struct dialect *dialect;
    char *text;       /* owned: the values point into it */
    const char *file; /* which of the dialect's files is meant, or NULL */
    struct {
        const char *value; /* NULL: not given, and there is no default */
        double factor;     /* of the word that was chosen */
        double number;     /* NAN: not given */
    } options[DIALECT_OPTIONS_AT_MOST];
};

/* -EINVAL and a sentence with what is accepted. */
int dialect_choice_parse(struct dialect_choice *ret, const char *text, struct toll_error *e);
void dialect_choice_done(struct dialect_choice *c);

/* The number of an option in options, or -ENOENT. */
int dialect_option_number(const struct dialect *d, const char *name, size_t length);

/* What was chosen for an option that the dialect has; "" when nothing was. */
const char *dialect_choice_value(const struct dialect_choice *c, const char *name);

/* The dialect's table for a format, a subject and what was chosen, or NULL. */
const struct dialect_table *dialect_choice_table(const struct dialect_choice *c, const char *format,
                                                 enum dialect_subject subject);

/* The path is that of one of the dialect's files, if its name is; whether it is. */
bool dialect_choice_take_file(struct dialect_choice *c, const char *path);

/* -EINVAL and a sentence with those it has, when the dialect has no table for the format. */
int dialect_choice_check_format(const struct dialect_choice *c, const char *format,
                                struct toll_error *e);
