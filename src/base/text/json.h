/* SPDX-License-Identifier: MIT
 * Reads JSON from text that is in memory, in the order in which it stands there: the caller asks
 * for what he expects. Strict and bounded, with one rule for what RFC 8259 leaves open: all of
 * these make a text fail, wherever in it they are, also in what is skipped:
 *   - a name that an object has twice, however it is escaped;
 *   - a string that is not UTF-8, has a zero, or half of a surrogate pair;
 *   - more than JSON_DEPTH containers in each other, more than JSON_NAMES names in an object.
 * A number may have any size; whether it fits is for json_number.h to say.
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

#include "base/text/buf.h"
#include "base/text/scan.h"

/* ==== Json number ============================================================================= */

/* A number as it stands in JSON, without a loss, and what programs make of it. */

/* As it is written: digits times ten to the power of the exponent. */
struct json_number {
    bool negative;
    bool is_cut; /* there were more digits than are kept: those are in the exponent */
    uint64_t digits;
    int exponent;
};

/* As RFC 8259 has it. */
bool json_number_take(struct scan *s, struct json_number *ret);

/* In units of 10^-decimals (nanoseconds: 9), rounded. False when it is negative or does not fit. */
bool json_number_u64(const struct json_number *n, unsigned decimals, uint64_t *ret);

/* The nearest double. False when it is too large for one. */
bool json_number_double(const struct json_number *n, double *ret);

/* ==== Json in ================================================================================= */

enum { JSON_DEPTH = 32, JSON_NAMES = 1 << 20 };

struct json_names; /* those of an object that is being read */

struct json_in {
    struct scan text; /* what is left */
    unsigned depth;
    bool first; /* nothing was read of the innermost container yet */
    bool failed;
    bool has_name_twice; /* … because of that */
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

/* A string as UTF-8, good until the next one is read, without a zero behind it. */
bool json_in_string(struct json_in *j, struct scan *ret);
bool json_in_bool(struct json_in *j, bool *ret);

/* Takes a null when one is next. */
bool json_in_null(struct json_in *j);

bool json_in_number(struct json_in *j, struct json_number *ret);

/* Whatever it is. */
void json_in_skip(struct json_in *j);

/* Makes it fail: what was read makes no sense. Returns false. */
bool json_in_fail(struct json_in *j);

/* ==== Json out ================================================================================ */

/* Writes JSON into a buf: commas and escapes are its affair. Text that is not UTF-8 is taken as
 * Latin-1 byte by byte, so that any file name gives valid JSON. */

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

/* A key and its value. */
void json_put_string(struct json_out *j, const char *key, const char *text);
void json_put_u64(struct json_out *j, const char *key, uint64_t value);
void json_put_i64(struct json_out *j, const char *key, int64_t value);
void json_put_bool(struct json_out *j, const char *key, bool value);
void json_put_double(struct json_out *j, const char *key, double value, unsigned decimals);
void json_put_number(struct json_out *j, const char *key, double value);
void json_put_seconds(struct json_out *j, const char *key, uint64_t ns);
void json_put_utc(struct json_out *j, const char *key, uint64_t real_ns);
