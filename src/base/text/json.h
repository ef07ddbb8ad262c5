/* SPDX-License-Identifier: MIT
 * Reads JSON from text in memory, in its order: the caller asks for what it expects. Strict and
 * bounded. Where RFC 8259 leaves a choice, these make a text fail, also in values that are skipped:
 *   - a name that an object has twice, however it is escaped;
 *   - a string that is not UTF-8, has a zero, or half of a surrogate pair;
 *   - more than JSON_DEPTH nested containers, more than JSON_NAMES names in an object.
 * A number may have any size: see struct decimal.
 *
 * After the first mismatch every further call fails, so that the code that reads needs no checks;
 * json_in_end returns whether all of the text was as expected.
 *
 *     json_in_object(j);
 *     while (json_in_key(j, &key))
 *         if (json_in_is(&key, "pid"))
 *             json_in_number(j, &number);
 *         else
 *             json_in_skip(j);
 *     if (!json_in_end(j)) … */
#pragma once

#include "base/text/buf.h"
#include "base/text/scan.h"

/* ==== Json in ================================================================================= */

enum { JSON_DEPTH = 32, JSON_NAMES = 1 << 20 };

struct json_names; /* those of an object that is being read */

struct json_in {
    struct scan text; /* what is left */
    unsigned depth;
    bool first; /* nothing of the innermost container was read yet */
    bool failed;
    bool has_name_twice; /* the reason of the failure */
    struct buf string;   /* the last one, where it has escapes; owned */
    struct buf key;
    struct json_names *names; /* owned: of the object at each depth, once there was one */
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

/* Enter a container; then call json_in_key or json_in_item until it returns false. */
bool json_in_object(struct json_in *j);
bool json_in_array(struct json_in *j);

/* The name of the next member, valid until the next call. False at the end. */
bool json_in_key(struct json_in *j, struct scan *ret);

/* Takes the next member when it has that name, which needs no escapes, and is written without
 * blanks: much faster than to read a name and look it up. Otherwise nothing is consumed. */
bool json_in_expect(struct json_in *j, const char *name);

/* Whether there is one more item. */
bool json_in_item(struct json_in *j);

bool json_in_is(const struct scan *text, const char *word);

/* A string as UTF-8, not zero-terminated, valid until the next one is read. */
bool json_in_string(struct json_in *j, struct scan *ret);
bool json_in_bool(struct json_in *j, bool *ret);

/* Takes a null when one is next. */
bool json_in_null(struct json_in *j);

bool json_in_number(struct json_in *j, struct decimal *ret);

/* Whatever it is. */
void json_in_skip(struct json_in *j);

/* Makes it fail: what was read makes no sense. Returns false. */
bool json_in_fail(struct json_in *j);

/* ==== Json out ================================================================================ */

/* Writes JSON into a buf, with commas and escapes where they are needed. Bytes that are not UTF-8
 * are taken as Latin-1, so that any file name gives valid JSON. */

struct json_out {
    struct buf *buf; /* borrowed */
    unsigned indent; /* spaces per level; 0 = everything on one line */
    unsigned depth;
    bool spaced; /* blanks on that line, as Python writes it */
    bool empty;  /* nothing in the innermost container yet */
    bool after_key;
};

void json_begin(struct json_out *j, struct buf *b, unsigned indent);

void json_object(struct json_out *j);
void json_object_end(struct json_out *j);
void json_array(struct json_out *j);
void json_array_end(struct json_out *j);

void json_key(struct json_out *j, const char *key);
void json_string(struct json_out *j, const char *text);
void json_string_n(struct json_out *j, const char *text, size_t length);
void json_u64(struct json_out *j, uint64_t value);
void json_i64(struct json_out *j, int64_t value);
void json_bool(struct json_out *j, bool value);
void json_null(struct json_out *j);
void json_double(struct json_out *j, double value, unsigned decimals);
void json_number(struct json_out *j, double value); /* see buf_number */
void json_seconds(struct json_out *j, uint64_t ns);
void json_utc(struct json_out *j, uint64_t real_ns);

/* A value that is JSON already. */
void json_raw(struct json_out *j, const char *text, size_t length);

/* A key and its value; for an object or an array, its beginning. */
void json_put_object(struct json_out *j, const char *key);
void json_put_array(struct json_out *j, const char *key);
void json_put_string(struct json_out *j, const char *key, const char *text);
void json_put_u64(struct json_out *j, const char *key, uint64_t value);
void json_put_i64(struct json_out *j, const char *key, int64_t value);
void json_put_bool(struct json_out *j, const char *key, bool value);
void json_put_double(struct json_out *j, const char *key, double value, unsigned decimals);
void json_put_number(struct json_out *j, const char *key, double value);
void json_put_seconds(struct json_out *j, const char *key, uint64_t ns);
void json_put_utc(struct json_out *j, const char *key, uint64_t real_ns);
