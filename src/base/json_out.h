/* SPDX-License-Identifier: MIT
 * Writes JSON into a buf: commas and escapes are its affair. Text that is not UTF-8 is taken as
 * Latin-1 byte by byte, so that any file name gives valid JSON. */
#pragma once

#include "base/buf.h"

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
