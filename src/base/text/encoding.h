/* SPDX-License-Identifier: MIT
 * Writes protocol buffers into a buf: fields by their numbers, messages within messages; and reads
 * the fields of one. */
#pragma once

#include "base/text/buf.h"
#include "base/text/scan.h"
#include "toll.h"

/* ==== Protobuf ================================================================================ */

void protobuf_varint(struct buf *b, unsigned field, uint64_t value);
void protobuf_double(struct buf *b, unsigned field, double value);
void protobuf_fixed64(struct buf *b, unsigned field, uint64_t value);
void protobuf_bytes(struct buf *b, unsigned field, const char *data, size_t length);
void protobuf_string(struct buf *b, unsigned field, const char *text);

/* A message in a field: what is added until its end belongs to it. */
size_t protobuf_begin(struct buf *b, unsigned field);
void protobuf_end(struct buf *b, size_t began);

enum protobuf_wire {
    PROTOBUF_VARINT = 0,
    PROTOBUF_FIXED64 = 1,
    PROTOBUF_BYTES = 2,
    PROTOBUF_FIXED32 = 5,
};

struct protobuf_field {
    uint64_t number;
    enum protobuf_wire wire;
    uint64_t value;    /* of a varint */
    struct scan bytes; /* of the others */
    struct scan whole; /* its number and length included */
};

/* The next field of a message; false where it is cut short or makes no sense. */
bool protobuf_next(struct scan *message, struct protobuf_field *ret);

/* Copies a field of another message. */
static inline void protobuf_add_whole(struct buf *b, const struct protobuf_field *f)
{
    buf_add(b, f->whole.at, (size_t)(f->whole.end - f->whole.at));
}

/* ==== Base64 ================================================================================== */

/* for_urls: with - and _ instead of + and /. */
void base64_add(struct buf *b, const char *data, size_t length, bool for_urls);

/* ==== Markup ================================================================================== */

/* Escaped for HTML, SVG and XML; control characters are replaced. */
void html_put(struct buf *b, const char *text);
void html_add(struct buf *b, const char *text, size_t length);

/* ==== Gzip ==================================================================================== */

/* Compression as gzip by zlib, which is loaded when it is asked for: neither the build nor a
 * machine has to have it. One struct gzip is used by one thread at a time. */

struct gzip;

/* -EOPNOTSUPP and a sentence when zlib is not there, -ENOMEM. */
int gzip_open(struct gzip **ret, struct toll_error *e);
void gzip_close(struct gzip *g); /* accepts NULL */

/* In place of what is in *ret. 0 or -ENOMEM. */
int gzip_pack(struct gzip *g, const char *data, size_t length, struct buf *ret);

/* ==== Snappy ================================================================================== */

/* Compresses a block as snappy does, which is how remote write wants its protocol buffers. */

void snappy_compress(struct buf *b, const char *data, size_t length);

/* ==== Pickle ================================================================================== */

/* Python's pickle, as data. Writing: what JSON can say, objects become dictionaries, arrays lists.
 * Reading: nothing of a pickle is ever run. Its opcodes build a tree of values; of classes and
 * functions only the names are kept, and those whose data is known (gpu_tracker's and toll's data
 * classes, tables of pandas, arrays of numpy) become JSON. Everything else is refused by name. */

/* The pickle of one JSON text. 0, -EBADMSG when it is not JSON, or -ENOMEM. */
int pickle_from_json(struct buf *ret, const char *json, size_t length);

/* The same with instances of Python classes instead of dictionaries where class_of names a class:
 * it gets the key of an object, "" for the outermost, and the key of its first member. */
struct pickle_classes {
    const char *module;
    const char *(*class_of)(const char *key, const char *first);
};
int pickle_from_json_as(struct buf *ret, const char *json, size_t length,
                        const struct pickle_classes *classes);

/* The JSON text of a pickle. -EBADMSG when it is not a pickle, damaged, or too large; -EOPNOTSUPP
 * and the name of what it holds that is not data; -ENOMEM. The sentence has no path in it. */
int pickle_to_json(struct buf *ret, const char *pickle, size_t length, struct toll_error *e);

/* Whether it begins as a pickle does. */
bool pickle_is_one(const char *data, size_t length);
