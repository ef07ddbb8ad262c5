/* SPDX-License-Identifier: MIT */
#include "base/text/pickle.h"

#include "base/text/buf.h"
#include "base/text/json.h"

#include <endian.h>
#include <stdio.h>
#include <string.h>

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
