/* SPDX-License-Identifier: MIT
 * Where to and how: "KIND:PLACE,key=value,…" or a path whose suffix tells the kind. Only kinds that
 * have options are split at commas; there a comma that is meant is written twice. */
#pragma once

#include "base/buf.h"
#include "toll.h"

enum option_kind {
    OPTION_DURATION, /* held in nanoseconds */
    OPTION_SIZE,     /* held in bytes */
    OPTION_QUEUE,    /* the same, with room for a sample */
    OPTION_NUMBER,
    OPTION_TEXT,
    OPTION_WORD, /* one of those of facts.value, which have | between */
};

/* One thing that can be said to a kind of sink. */
struct sink_option {
    struct toll_format_option facts;
    enum option_kind kind;
    bool repeats; /* each one is added, with a newline between */
};

enum { SINK_OPTIONS_AT_MOST = 32 };

/* What was said to one sink, by the numbers of its options. */
struct sink_settings {
    const struct sink_option *options; /* borrowed, name NULL behind the last; NULL: it has none */
    struct {
        char *text; /* owned; NULL: not given, and there is no default */
        uint64_t u; /* of a duration or a size, and which of the words */
        double d;   /* of a number */
        bool is_given;
    } values[SINK_OPTIONS_AT_MOST];
};

/* Text of a destination behind "KIND:" to its place and its options. *ret_place is the caller's to
 * free. -EINVAL and a sentence with what is accepted; kind_name is for it. */
int sink_options_read(struct sink_settings *ret, char **ret_place, const char *kind_name,
                      const struct sink_option *options, const char *text, struct toll_error *e);

/* The same where the place is known already: ",key=value,…" or "" alone. */
int sink_options_take(struct sink_settings *ret, const char *kind_name,
                      const struct sink_option *options, const char *text, struct toll_error *e);

void sink_options_done(struct sink_settings *s);

/* Whether what stands here, behind a comma, begins with "name=" of one of the options. */
bool sink_options_begin_at(const struct sink_option *options, const char *text);

/* By name; one that the kind does not have is 0 or NULL. */
uint64_t sink_options_u64(const struct sink_settings *s, const char *name);
double sink_options_double(const struct sink_settings *s, const char *name);
const char *sink_options_text(const struct sink_settings *s, const char *name);
bool sink_options_has(const struct sink_settings *s, const char *name); /* it was given */
