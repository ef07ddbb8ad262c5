/* SPDX-License-Identifier: MIT */
#include "base/text/encoding.h"

#include "base/err.h"
#include "base/text/buf.h"
#include "base/text/json.h"

#include <endian.h>
#include <stdio.h>
#include <string.h>

/* ==== Protobuf ================================================================================ */

enum { VARINT_BYTES = 10 };

static size_t protobuf_encode(char ret[VARINT_BYTES], uint64_t value)
{
    size_t n = 0;
    for (; value >= 0x80; value >>= 7)
        ret[n++] = (char)(value | 0x80);
    ret[n++] = (char)value;
    return n;
}

/* A number as such, without a field. */
static void protobuf_add_varint(struct buf *b, uint64_t value)
{
    char bytes[VARINT_BYTES];
    buf_add(b, bytes, protobuf_encode(bytes, value));
}

static void protobuf_add_key(struct buf *b, unsigned field, unsigned type)
{
    protobuf_add_varint(b, field << 3 | type);
}

void protobuf_varint(struct buf *b, unsigned field, uint64_t value)
{
    protobuf_add_key(b, field, PROTOBUF_VARINT);
    protobuf_add_varint(b, value);
}

void protobuf_fixed64(struct buf *b, unsigned field, uint64_t value)
{
    char bytes[8];
    for (unsigned i = 0; i < 8; i++)
        bytes[i] = (char)(value >> 8 * i);
    protobuf_add_key(b, field, PROTOBUF_FIXED64);
    buf_add(b, bytes, sizeof bytes);
}

void protobuf_double(struct buf *b, unsigned field, double value)
{
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    protobuf_fixed64(b, field, bits);
}

void protobuf_bytes(struct buf *b, unsigned field, const char *data, size_t length)
{
    protobuf_add_key(b, field, PROTOBUF_BYTES);
    protobuf_add_varint(b, length);
    buf_add(b, data, length);
}

void protobuf_string(struct buf *b, unsigned field, const char *text)
{
    protobuf_bytes(b, field, text, strlen(text));
}

size_t protobuf_begin(struct buf *b, unsigned field)
{
    protobuf_add_key(b, field, PROTOBUF_BYTES);
    return b->length;
}

/* The length precedes the message; how many bytes it takes depends on its value. */
void protobuf_end(struct buf *b, size_t began)
{
    char bytes[VARINT_BYTES];
    if (buf_failed(b))
        return;
    size_t length = b->length - began, n = protobuf_encode(bytes, length), room;
    if (!buf_room(b, n, &room))
        return;
    memmove(b->data + began + n, b->data + began, length);
    memcpy(b->data + began, bytes, n);
    b->length += n;
}

/* ---- Reading --------------------------------------------------------------------------------- */

static bool protobuf_take_varint(struct scan *s, uint64_t *ret)
{
    *ret = 0;
    for (unsigned shift = 0; s->at < s->end && shift < 64; shift += 7) {
        unsigned char byte = (unsigned char)*s->at++;
        *ret |= (uint64_t)(byte & 0x7F) << shift;
        if (byte < 0x80)
            return true;
    }
    return false;
}

static bool protobuf_take_bytes(struct scan *s, uint64_t length, struct scan *ret)
{
    if (length > scan_length(*s))
        return false;
    *ret = (struct scan){s->at, s->at + length};
    s->at += length;
    return true;
}

static bool protobuf_take_value(struct scan *s, struct protobuf_field *ret)
{
    uint64_t length;
    switch (ret->wire) {
    case PROTOBUF_VARINT: return protobuf_take_varint(s, &ret->value);
    case PROTOBUF_FIXED64: return protobuf_take_bytes(s, 8, &ret->bytes);
    case PROTOBUF_BYTES:
        return protobuf_take_varint(s, &length) && protobuf_take_bytes(s, length, &ret->bytes);
    case PROTOBUF_FIXED32: return protobuf_take_bytes(s, 4, &ret->bytes);
    }
    return false;
}

bool protobuf_next(struct scan *message, struct protobuf_field *ret)
{
    uint64_t key;
    const char *began = message->at;
    if (!protobuf_take_varint(message, &key))
        return false;
    ret->number = key >> 3;
    ret->wire = (enum protobuf_wire)(key & 7);
    if (!protobuf_take_value(message, ret))
        return false;
    ret->whole = (struct scan){began, message->at};
    return true;
}

/* ==== Snappy ================================================================================== */

/* The format (google/snappy, format_description.txt): the length of the whole as a varint, then
 * elements. The low two bits of an element's first byte are its type:
 *
 *   - 00: a literal. (length - 1) << 2 up to 60 bytes, or 60 << 2 or 61 << 2 and length - 1 in one
 *     or two bytes; then the bytes themselves.
 *   - 10: a copy of 1 to 64 bytes from before. (length - 1) << 2 | 2, then the distance in two
 * bytes.
 *
 * Data is taken in fragments of 64 KiB, so that two bytes are enough for any distance within one.
 */

enum {
    FRAGMENT_BYTES = 65536,
    HASH_BITS = 12,
    SHORTEST_COPY = 4,
    LONGEST_COPY = 64,
    LITERAL_OF_ONE_BYTE = 60 << 2,
    LITERAL_OF_TWO_BYTES = 61 << 2,
};

static uint32_t snappy_load(const char *at)
{
    uint32_t four;
    memcpy(&four, at, sizeof four);
    return four;
}

static void snappy_add_literal(struct buf *b, const char *data, size_t length)
{
    if (!length)
        return;
    size_t less = length - 1;
    char head[] = {(char)LITERAL_OF_TWO_BYTES, (char)less, (char)(less >> 8)};
    if (less < 60) {
        buf_putc(b, (char)(less << 2));
    } else if (less < 256) {
        head[0] = (char)LITERAL_OF_ONE_BYTE;
        buf_add(b, head, 2);
    } else {
        buf_add(b, head, 3);
    }
    buf_add(b, data, length);
}

static void snappy_add_copy(struct buf *b, size_t distance, size_t length)
{
    while (length) {
        size_t part = min_u64(length, LONGEST_COPY);
        char element[] = {(char)((part - 1) << 2 | 2), (char)distance, (char)(distance >> 8)};
        buf_add(b, element, sizeof element);
        length -= part;
    }
}

/* The last place of each four bytes is looked up by their hash. What is not found again and again
 * is stepped over faster and faster, so that data without repetitions costs little. */
static void snappy_compress_fragment(struct buf *b, const char *data, size_t length)
{
    uint16_t places[1 << HASH_BITS] = {0};
    size_t at = 1, literal = 0, misses = 0;
    while (at + SHORTEST_COPY <= length) {
        uint32_t four = snappy_load(data + at);
        uint16_t *place = &places[four * UINT32_C(0x1E35A7BD) >> (32 - HASH_BITS)];
        size_t before = *place;
        *place = (uint16_t)at;
        if (before >= at || snappy_load(data + before) != four) {
            at += 1 + (misses++ >> 5);
            continue;
        }
        size_t same = SHORTEST_COPY;
        while (at + same < length && data[before + same] == data[at + same])
            same++;
        snappy_add_literal(b, data + literal, at - literal);
        snappy_add_copy(b, at - before, same);
        at += same;
        literal = at;
        misses = 0;
    }
    snappy_add_literal(b, data + literal, length - literal);
}

void snappy_compress(struct buf *b, const char *data, size_t length)
{
    protobuf_add_varint(b, length);
    while (length) {
        size_t part = min_u64(length, FRAGMENT_BYTES);
        snappy_compress_fragment(b, data, part);
        data += part;
        length -= part;
    }
}

/* ==== Base64 ================================================================================== */

void base64_add(struct buf *b, const char *data, size_t length, bool for_urls)
{
    static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
    const char *last = for_urls ? "-_" : "+/";
    while (length) {
        size_t n = min_u64(length, 3);
        unsigned bits = 0;
        for (size_t i = 0; i < 3; i++)
            bits = bits << 8 | (i < n ? (unsigned char)data[i] : 0);
        for (size_t i = 0; i < 4; i++) {
            unsigned six = bits >> (18 - 6 * i) & 63;
            buf_putc(b, i > n ? '=' : six < 62 ? letters[six] : last[six - 62]);
        }
        data += n;
        length -= n;
    }
}

/* ==== Markup ================================================================================== */

void html_add(struct buf *b, const char *text, size_t length)
{
    struct buf clean = {0};
    buf_printable(&clean, text, length);
    for (size_t i = 0; !buf_failed(&clean) && i < clean.length; i++) {
        switch (clean.data[i]) {
        case '&': buf_puts(b, "&amp;"); break;
        case '<': buf_puts(b, "&lt;"); break;
        case '>': buf_puts(b, "&gt;"); break;
        case '"': buf_puts(b, "&quot;"); break;
        case '\'': buf_puts(b, "&#39;"); break;
        default: buf_putc(b, clean.data[i]);
        }
    }
    b->failed |= buf_failed(&clean);
    buf_done(&clean);
}

void html_put(struct buf *b, const char *text)
{
    html_add(b, text, strlen(text));
}

/* ==== Gzip ==================================================================================== */

#ifdef HAS_ZLIB

#include "base/process.h"

#include <limits.h>
#include <zlib.h>

struct gzip {
    int (*init)(z_streamp s, int level, int method, int window, int memory, int strategy,
                const char *version, int size);
    int (*deflate)(z_streamp s, int flush);
    int (*end)(z_streamp s);
    uLong (*bound)(z_streamp s, uLong length);
};

int gzip_open(struct gzip **ret, struct toll_error *e)
{
    static const struct dynlib_symbol functions[] = {
        {offsetof(struct gzip, init), {"deflateInit2_"}},
        {offsetof(struct gzip, deflate), {"deflate"}},
        {offsetof(struct gzip, end), {"deflateEnd"}},
        {offsetof(struct gzip, bound), {"deflateBound"}},
    };
    char why[200] = "";
    struct gzip g;
    void *library = dynlib_open("libz.so.1", why, sizeof why);
    if (!library)
        return err_set(e, -EOPNOTSUPP, "cannot load zlib: %s (needed for gzip)", why);
    if (dynlib_find(library, functions, ARRAY_LEN(functions), &g) != ARRAY_LEN(functions))
        return err_set(e, -EOPNOTSUPP, "cannot use zlib: functions needed for gzip are missing");
    struct gzip *own = malloc(sizeof *own);
    if (!own)
        return err_set(e, -ENOMEM, "cannot prepare gzip: out of memory");
    *own = g;
    *ret = own;
    return 0;
}

void gzip_close(struct gzip *g)
{
    free(g);
}

int gzip_pack(struct gzip *g, const char *data, size_t length, struct buf *ret)
{
    enum { WITH_GZIP_HEADER = 15 + 16, MEMORY = 8 };
    z_stream s = {0};
    size_t room;
    buf_clear(ret);
    if (length > UINT_MAX / 2 ||
        g->init(&s, Z_DEFAULT_COMPRESSION, Z_DEFLATED, WITH_GZIP_HEADER, MEMORY, Z_DEFAULT_STRATEGY,
                ZLIB_VERSION, sizeof s) != Z_OK)
        return -ENOMEM;
    char *to = buf_room(ret, g->bound(&s, length), &room);
    s.next_in = (Bytef *)(uintptr_t)data;
    s.avail_in = (uInt)length;
    s.next_out = (Bytef *)to;
    s.avail_out = (uInt)min_u64(room, UINT_MAX);
    int r = to && g->deflate(&s, Z_FINISH) == Z_STREAM_END ? 0 : -ENOMEM;
    if (r == 0)
        ret->length = s.total_out;
    g->end(&s);
    return r;
}

#else

int gzip_open(struct gzip **ret, struct toll_error *e)
{
    return err_set(e, -EOPNOTSUPP, "gzip is not available: toll was built without zlib");
}

void gzip_close(struct gzip *g)
{
}

int gzip_pack(struct gzip *g, const char *data, size_t length, struct buf *ret)
{
    return -EOPNOTSUPP;
}

#endif

/* ==== Pickle ================================================================================== */

/* Opcodes of protocol 3, which every Python 3 reads. A container is made empty, then filled with
 * the values between the mark and the opcode that fills it. */
enum {
    PROTO = 0x80,
    PROTOCOL = 3,
    MARK = '(',
    STOP = '.',
    NONE = 'N',
    TRUE_ = 0x88,
    FALSE_ = 0x89,
    INTEGER = 0x8a, /* a length, and that many bytes, little-endian */
    FLOAT = 'G',    /* eight bytes, big-endian */
    TEXT = 'X',     /* its length in four bytes, little-endian */
    DICT = '}',
    DICT_FILL = 'u',
    LIST = ']',
    LIST_FILL = 'e',
    GLOBAL = 'c', /* a class: two lines, its module and its name */
    TUPLE = ')',
    NEW_OBJECT = 0x81,
    BUILD = 'b',
};

/* Python accepts UTF-8 only. */
static void pickle_put_text(struct buf *b, struct scan text)
{
    buf_putc(b, TEXT);
    size_t at = b->length;
    uint32_t length = 0;
    buf_add(b, (const char *)&length, sizeof length);
    buf_utf8(b, text.at, scan_length(text));
    if (buf_failed(b))
        return;
    length = htole32((uint32_t)(b->length - at - sizeof length));
    memcpy(b->data + at, &length, sizeof length);
}

/* A number with a point or an exponent is a float, as in Python. */
static void pickle_put_number(struct buf *b, struct json_in *j)
{
    struct scan text = {j->text.at, NULL};
    double value;
    int64_t integer;
    uint64_t bytes;
    json_in_skip(j);
    text.end = j->text.at;
    struct scan whole = text;
    if (scan_i64(&whole, &integer) && scan_done(&whole)) {
        bytes = htole64((uint64_t)integer);
        buf_printf(b, "%c%c", INTEGER, (int)sizeof bytes);
    } else if (scan_number(&text, &value)) {
        memcpy(&bytes, &value, sizeof bytes);
        bytes = htobe64(bytes);
        buf_putc(b, FLOAT);
    } else {
        json_in_fail(j);
        return;
    }
    buf_add(b, (const char *)&bytes, sizeof bytes);
}

static void pickle_put_value(struct buf *b, struct json_in *j, const char *key,
                             const struct pickle_classes *classes);

static void pickle_put_object(struct buf *b, struct json_in *j, const char *key,
                              const struct pickle_classes *classes)
{
    struct scan text;
    char name[64];
    const char *class = NULL;
    bool is_first = true;
    for (json_in_object(j); json_in_key(j, &text); is_first = false) {
        /* A copy, since the key is valid until the next one is read. */
        snprintf(name, sizeof name, "%.*s", (int)min_u64(scan_length(text), sizeof name), text.at);
        if (is_first && classes && (class = classes->class_of(key, name)))
            buf_printf(b, "%c%s\n%s\n%c%c", GLOBAL, classes->module, class, TUPLE, NEW_OBJECT);
        if (is_first)
            buf_printf(b, "%c%c", DICT, MARK);
        pickle_put_text(b, text);
        pickle_put_value(b, j, name, classes);
    }
    if (is_first)
        buf_printf(b, "%c%c", DICT, MARK);
    buf_putc(b, DICT_FILL);
    if (class)
        buf_putc(b, BUILD);
}

static void pickle_put_value(struct buf *b, struct json_in *j, const char *key,
                             const struct pickle_classes *classes)
{
    struct scan text;
    bool is_true;
    switch (json_in_next(j)) {
    case JSON_OBJECT: pickle_put_object(b, j, key, classes); break;
    case JSON_ARRAY:
        buf_putc(b, LIST);
        buf_putc(b, MARK);
        for (json_in_array(j); json_in_item(j);)
            pickle_put_value(b, j, "", NULL);
        buf_putc(b, LIST_FILL);
        break;
    case JSON_STRING:
        if (json_in_string(j, &text))
            pickle_put_text(b, text);
        break;
    case JSON_NUMBER: pickle_put_number(b, j); break;
    case JSON_BOOL:
        buf_putc(b, (char)(json_in_bool(j, &is_true) && is_true ? TRUE_ : FALSE_));
        break;
    case JSON_NULL:
        json_in_null(j);
        buf_putc(b, NONE);
        break;
    default: json_in_fail(j); break;
    }
}

int pickle_from_json(struct buf *ret, const char *json, size_t length)
{
    return pickle_from_json_as(ret, json, length, NULL);
}

int pickle_from_json_as(struct buf *ret, const char *json, size_t length,
                        const struct pickle_classes *classes)
{
    struct json_in j = {0};
    json_in_begin(&j, json, length);
    buf_putc(ret, (char)PROTO);
    buf_putc(ret, PROTOCOL);
    pickle_put_value(ret, &j, "", classes);
    buf_putc(ret, STOP);
    bool good = json_in_end(&j);
    json_in_done(&j);
    return !good ? -EBADMSG : buf_failed(ret) ? -ENOMEM : 0;
}
