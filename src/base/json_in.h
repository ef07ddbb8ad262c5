/* SPDX-License-Identifier: MIT
 * Reads JSON from text that is in memory, in the order in which it stands there: the caller asks
 * for what he expects. Strict (RFC 8259, valid UTF-8, no zero in a string) and bounded in depth.
 *
 * The first thing that is not as expected makes everything fail from there on, so that the lines
 * that read stay plain; json_in_end tells at last whether all of it was good.
 *
 *     json_in_object(j);
 *     while (json_in_key(j, &key))
 *         if (json_in_is(&key, "pid"))
 *             json_in_number(j, &number);
 *         else
 *             json_in_skip(j);
 *     if (!json_in_end(j)) … */
#pragma once

#include "base/buf.h"
#include "base/json_number.h"

enum { JSON_DEPTH = 32 };

struct json_in {
    struct scan text; /* what is left */
    unsigned depth;
    bool first; /* nothing was read of the innermost container yet */
    bool failed;
    struct buf string; /* the last one, where it has escapes; owned */
    struct buf key;
};

/* Memory is kept from one text to the next; json_in_done frees it. */
void json_in_begin(struct json_in *j, const char *text, size_t length);
void json_in_done(struct json_in *j);

/* Whether all of the text was read and was as expected. */
bool json_in_end(struct json_in *j);

enum json_kind {
    JSON_OBJECT,
    JSON_ARRAY,
    JSON_STRING,
    JSON_NUMBER,
    JSON_BOOL,
    JSON_NULL,
    JSON_BAD
};

/* What comes next, not read yet. */
enum json_kind json_in_next(struct json_in *j);

/* Go into a container; then one of the two below until it says that there is no more. */
bool json_in_object(struct json_in *j);
bool json_in_array(struct json_in *j);

/* The next member: its name, good until the next one is asked for. False at the end. */
bool json_in_key(struct json_in *j, struct scan *ret);

/* Takes the next member when it has that name, which is known to need no escapes, and is written
 * without blanks: much faster than to read a name and look it up. Otherwise nothing is taken. */
bool json_in_expect(struct json_in *j, const char *name);

/* Whether there is one more item. */
bool json_in_item(struct json_in *j);

bool json_in_is(const struct scan *text, const char *word);

/* A string, good until the next one is read, without a zero behind it. \u0080 to \u00ff are single
 * bytes, as json_out writes what is no UTF-8. */
bool json_in_string(struct json_in *j, struct scan *ret);
bool json_in_bool(struct json_in *j, bool *ret);

/* Takes a null when one is next. */
bool json_in_null(struct json_in *j);

bool json_in_number(struct json_in *j, struct json_number *ret);

/* Whatever it is. */
void json_in_skip(struct json_in *j);

/* Makes it fail: what was read makes no sense. Returns false. */
bool json_in_fail(struct json_in *j);
