/* SPDX-License-Identifier: MIT */
#include "base/pickle.h"

#include "base/json_in.h"
#include "base/json_out.h"
#include "base/utf8.h"

#include <endian.h>
#include <string.h>

/* Of the protocol 3, which every Python 3 reads. A container is made empty, then filled with what
 * stands between the mark and the word that fills it. */
enum {
    PROTO = 0x80,
    PROTOCOL = 3,
    MARK = '(',
    STOP = '.',
    NONE = 'N',
    TRUE_ = 0x88,
    FALSE_ = 0x89,
    INTEGER = 0x8a, /* so many bytes, the least first */
    FLOAT = 'G',    /* eight bytes, the greatest first */
    TEXT = 'X',     /* four bytes that tell its length, the least first */
    DICT = '}',
    DICT_FILL = 'u',
    LIST = ']',
    LIST_FILL = 'e',
};

bool pickle_is_one(const char *data, size_t length)
{
    return length >= 2 && (unsigned char)data[0] == PROTO;
}

/* ---- Writing --------------------------------------------------------------------------------- */

/* Python takes UTF-8 only: a byte that is none is taken for Latin-1, as in JSON. */
static void put_utf8(struct buf *b, struct scan text)
{
    for (size_t taken; text.at < text.end; text.at += taken) {
        const unsigned char *c = (const unsigned char *)text.at;
        taken = *c < 0x80 ? 1 : utf8_length(c, (size_t)(text.end - text.at));
        if (taken) {
            buf_add(b, text.at, taken);
            continue;
        }
        buf_putc(b, (char)(0xC0 | *c >> 6));
        buf_putc(b, (char)(0x80 | (*c & 0x3F)));
        taken = 1;
    }
}

static void put_text(struct buf *b, struct scan text)
{
    buf_putc(b, TEXT);
    size_t at = b->length;
    uint32_t length = 0;
    buf_add(b, (const char *)&length, sizeof length);
    put_utf8(b, text);
    if (buf_failed(b))
        return;
    length = htole32((uint32_t)(b->length - at - sizeof length));
    memcpy(b->data + at, &length, sizeof length);
}

static void put_integer(struct buf *b, int64_t value)
{
    uint64_t bytes = htole64((uint64_t)value);
    buf_putc(b, (char)INTEGER);
    buf_putc(b, sizeof bytes);
    buf_add(b, (const char *)&bytes, sizeof bytes);
}

static void put_float(struct buf *b, double value)
{
    uint64_t bytes;
    memcpy(&bytes, &value, sizeof bytes);
    bytes = htobe64(bytes);
    buf_putc(b, FLOAT);
    buf_add(b, (const char *)&bytes, sizeof bytes);
}

/* A number with a point or an exponent is a float, as in Python. */
static void put_number(struct buf *b, struct json_in *j)
{
    struct scan text = {j->text.at, NULL};
    struct scan whole;
    double value;
    int64_t integer;
    json_in_skip(j);
    text.end = j->text.at;
    whole = text;
    if (scan_i64(&whole, &integer) && scan_done(&whole))
        put_integer(b, integer);
    else if (scan_number(&text, &value))
        put_float(b, value);
    else
        json_in_fail(j);
}

static void put_value(struct buf *b, struct json_in *j)
{
    struct scan text;
    bool is_true;
    switch (json_in_next(j)) {
    case JSON_OBJECT:
        buf_putc(b, DICT);
        buf_putc(b, MARK);
        for (json_in_object(j); json_in_key(j, &text);) {
            put_text(b, text);
            put_value(b, j);
        }
        buf_putc(b, DICT_FILL);
        break;
    case JSON_ARRAY:
        buf_putc(b, LIST);
        buf_putc(b, MARK);
        for (json_in_array(j); json_in_item(j);)
            put_value(b, j);
        buf_putc(b, LIST_FILL);
        break;
    case JSON_STRING:
        if (json_in_string(j, &text))
            put_text(b, text);
        break;
    case JSON_NUMBER: put_number(b, j); break;
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
    struct json_in j = {0};
    json_in_begin(&j, json, length);
    buf_putc(ret, (char)PROTO);
    buf_putc(ret, PROTOCOL);
    put_value(ret, &j);
    buf_putc(ret, STOP);
    bool good = json_in_end(&j);
    json_in_done(&j);
    return !good ? -EBADMSG : buf_failed(ret) ? -ENOMEM : 0;
}

/* ---- Reading --------------------------------------------------------------------------------- */

struct reader {
    const unsigned char *at, *end;
    struct json_out json;
    unsigned depth;
    char fills[JSON_DEPTH];  /* what each open container is filled with */
    bool at_key[JSON_DEPTH]; /* of a dictionary: a key comes next */
};

static bool take_bytes(struct reader *r, void *ret, size_t count)
{
    if ((size_t)(r->end - r->at) < count)
        return false;
    memcpy(ret, r->at, count);
    r->at += count;
    return true;
}

static bool open_container(struct reader *r, unsigned char word)
{
    unsigned char mark;
    if (r->depth == JSON_DEPTH || !take_bytes(r, &mark, 1) || mark != MARK)
        return false;
    r->fills[r->depth] = word == DICT ? DICT_FILL : LIST_FILL;
    r->at_key[r->depth++] = word == DICT;
    (word == DICT ? json_object : json_array)(&r->json);
    return true;
}

static bool close_container(struct reader *r, unsigned char word)
{
    bool is_dict = word == DICT_FILL;
    if (!r->depth || r->fills[r->depth - 1] != (char)word || (is_dict && !r->at_key[r->depth - 1]))
        return false;
    r->depth--;
    (is_dict ? json_object_end : json_array_end)(&r->json);
    return true;
}

static bool read_text(struct reader *r, bool is_key)
{
    uint32_t length;
    if (!take_bytes(r, &length, sizeof length) ||
        (size_t)(r->end - r->at) < (length = le32toh(length)) || memchr(r->at, '\0', length))
        return false;
    struct buf key = {0};
    if (is_key) {
        buf_add(&key, (const char *)r->at, length);
        json_key(&r->json, key.data ? key.data : "");
        r->json.buf->failed |= buf_failed(&key);
        buf_done(&key);
    } else {
        json_string_n(&r->json, (const char *)r->at, length);
    }
    r->at += length;
    return true;
}

static bool read_integer(struct reader *r)
{
    unsigned char size;
    uint64_t bytes;
    if (!take_bytes(r, &size, 1) || size != sizeof bytes || !take_bytes(r, &bytes, sizeof bytes))
        return false;
    json_i64(&r->json, (int64_t)le64toh(bytes));
    return true;
}

/* With a point in it, so that it is a float again. */
static bool read_float(struct reader *r)
{
    uint64_t bytes;
    double value;
    struct buf text = {0};
    if (!take_bytes(r, &bytes, sizeof bytes))
        return false;
    bytes = be64toh(bytes);
    memcpy(&value, &bytes, sizeof value);
    buf_number(&text, value);
    if (text.data && !strpbrk(text.data, ".enl"))
        buf_puts(&text, ".0");
    json_raw(&r->json, text.data ? text.data : "", text.length);
    r->json.buf->failed |= buf_failed(&text);
    buf_done(&text);
    return true;
}

static bool read_word(struct reader *r, unsigned char word)
{
    bool *at_key = r->depth ? &r->at_key[r->depth - 1] : NULL;
    if (word == DICT_FILL || word == LIST_FILL)
        return close_container(r, word);
    bool is_key = at_key && *at_key;
    if (is_key && word != TEXT)
        return false;
    if (at_key && r->fills[r->depth - 1] == DICT_FILL)
        *at_key = !is_key;
    switch (word) {
    case DICT:
    case LIST: return open_container(r, word);
    case TEXT: return read_text(r, is_key);
    case INTEGER: return read_integer(r);
    case FLOAT: return read_float(r);
    case TRUE_:
    case FALSE_: json_bool(&r->json, word == TRUE_); return true;
    case NONE: json_null(&r->json); return true;
    default: return false;
    }
}

int pickle_to_json(struct buf *ret, const char *pickle, size_t length)
{
    if (!pickle_is_one(pickle, length))
        return -EBADMSG;
    struct reader r = {
        .at = (const unsigned char *)pickle + 2,
        .end = (const unsigned char *)pickle + length,
    };
    json_begin(&r.json, ret, 0);
    unsigned char word;
    do {
        if (!take_bytes(&r, &word, 1) || !read_word(&r, word))
            return -EOPNOTSUPP;
    } while (r.depth);
    if (!take_bytes(&r, &word, 1) || word != STOP)
        return -EOPNOTSUPP;
    return buf_failed(ret) ? -ENOMEM : 0;
}
