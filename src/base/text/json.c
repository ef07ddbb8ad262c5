/* SPDX-License-Identifier: MIT */
#include "base/text/json.h"

#include "base/text/buf.h"

#include <string.h>

/* ==== Json out ================================================================================ */

void json_begin(struct json_out *j, struct buf *b, unsigned indent)
{
    *j = (struct json_out){.buf = b, .indent = indent, .empty = true};
}

static void json_out_newline(struct json_out *j)
{
    if (!j->indent)
        return;
    buf_putc(j->buf, '\n');
    for (unsigned i = 0; i < j->depth * j->indent; i++)
        buf_putc(j->buf, ' ');
}

/* What precedes any value or key: a comma, a line break. */
static void json_out_lead(struct json_out *j)
{
    if (j->after_key) {
        j->after_key = false;
        return;
    }
    if (!j->empty)
        buf_puts(j->buf, j->spaced ? ", " : ",");
    if (j->depth)
        json_out_newline(j);
    j->empty = false;
}

static void json_out_open(struct json_out *j, char bracket)
{
    json_out_lead(j);
    buf_putc(j->buf, bracket);
    j->depth++;
    j->empty = true;
}

static void json_out_close(struct json_out *j, char bracket)
{
    j->depth--;
    if (!j->empty)
        json_out_newline(j);
    buf_putc(j->buf, bracket);
    j->empty = false;
}

void json_object(struct json_out *j)
{
    json_out_open(j, '{');
}

void json_object_end(struct json_out *j)
{
    json_out_close(j, '}');
}

void json_array(struct json_out *j)
{
    json_out_open(j, '[');
}

void json_array_end(struct json_out *j)
{
    json_out_close(j, ']');
}

static void json_out_escape(struct buf *b, unsigned char c)
{
    static const char names[] = "\"\\\b\f\n\r\t";
    static const char letters[] = "\"\\bfnrt";
    const char *known = c ? strchr(names, c) : NULL;
    if (known) {
        buf_putc(b, '\\');
        buf_putc(b, letters[known - names]);
    } else {
        buf_printf(b, "\\u%04x", c);
    }
}

void json_string_n(struct json_out *j, const char *text, size_t length)
{
    json_out_lead(j);
    buf_putc(j->buf, '"');
    const unsigned char *at = (const unsigned char *)text;
    const unsigned char *end = at + length;
    while (at < end) {
        size_t taken = 0;
        while (at + taken < end && at[taken] >= 0x20 && at[taken] < 0x7F && at[taken] != '"' &&
               at[taken] != '\\')
            taken++;
        uint32_t point = 0;
        if (!taken && *at >= 0x80)
            taken = utf8_decode(at, (size_t)(end - at), &point);
        if (point && utf8_is_control(point)) { /* the same text, harmless on a terminal */
            buf_printf(j->buf, "\\u%04x", (unsigned)point);
            at += taken;
        } else if (taken) {
            buf_add(j->buf, (const char *)at, taken);
            at += taken;
        } else {
            json_out_escape(j->buf, *at++);
        }
    }
    buf_putc(j->buf, '"');
}

void json_string(struct json_out *j, const char *text)
{
    json_string_n(j, text, strlen(text));
}

void json_key(struct json_out *j, const char *key)
{
    json_string(j, key);
    buf_puts(j->buf, j->indent || j->spaced ? ": " : ":");
    j->after_key = true;
}

void json_u64(struct json_out *j, uint64_t value)
{
    json_out_lead(j);
    buf_u64(j->buf, value);
}

void json_i64(struct json_out *j, int64_t value)
{
    json_out_lead(j);
    if (value < 0)
        buf_putc(j->buf, '-');
    buf_u64(j->buf, value < 0 ? 0 - (uint64_t)value : (uint64_t)value);
}

void json_bool(struct json_out *j, bool value)
{
    json_out_lead(j);
    buf_puts(j->buf, value ? "true" : "false");
}

void json_null(struct json_out *j)
{
    json_out_lead(j);
    buf_puts(j->buf, "null");
}

void json_double(struct json_out *j, double value, unsigned decimals)
{
    json_out_lead(j);
    buf_double(j->buf, value, decimals);
}

void json_number(struct json_out *j, double value)
{
    json_out_lead(j);
    buf_number(j->buf, value);
}

void json_seconds(struct json_out *j, uint64_t ns)
{
    json_out_lead(j);
    buf_seconds(j->buf, ns);
}

void json_utc(struct json_out *j, uint64_t real_ns)
{
    json_out_lead(j);
    buf_putc(j->buf, '"');
    buf_utc(j->buf, real_ns);
    buf_putc(j->buf, '"');
}

void json_raw(struct json_out *j, const char *text, size_t length)
{
    json_out_lead(j);
    buf_add(j->buf, text, length);
}

void json_put_object(struct json_out *j, const char *key)
{
    json_key(j, key);
    json_object(j);
}

void json_put_array(struct json_out *j, const char *key)
{
    json_key(j, key);
    json_array(j);
}

void json_put_string(struct json_out *j, const char *key, const char *text)
{
    json_key(j, key);
    json_string(j, text);
}

void json_put_u64(struct json_out *j, const char *key, uint64_t value)
{
    json_key(j, key);
    json_u64(j, value);
}

void json_put_i64(struct json_out *j, const char *key, int64_t value)
{
    json_key(j, key);
    json_i64(j, value);
}

void json_put_bool(struct json_out *j, const char *key, bool value)
{
    json_key(j, key);
    json_bool(j, value);
}

void json_put_double(struct json_out *j, const char *key, double value, unsigned decimals)
{
    json_key(j, key);
    json_double(j, value, decimals);
}

void json_put_number(struct json_out *j, const char *key, double value)
{
    json_key(j, key);
    json_number(j, value);
}

void json_put_seconds(struct json_out *j, const char *key, uint64_t ns)
{
    json_key(j, key);
    json_seconds(j, ns);
}

void json_put_utc(struct json_out *j, const char *key, uint64_t real_ns)
{
    json_key(j, key);
    json_utc(j, real_ns);
}

/* ==== Json in ================================================================================= */

/* The names that the object at one depth has had so far, as hashes of 64 bits: equal names are
 * always found, and a collision of different ones is too rare to matter. A slot belongs to the
 * object whose serial number it has, so that the next object begins with an empty set without
 * clearing. */
struct json_names {
    struct {
        uint64_t hash;
        uint64_t object;
    } * slots;
    size_t capacity; /* a power of two, or 0 */
    size_t count;
    uint64_t object; /* the serial number of the one that is read */
};

void json_in_begin(struct json_in *j, const char *text, size_t length)
{
    j->text = scan_text(text, length);
    j->depth = 0;
    j->first = false;
    j->failed = false;
    j->has_name_twice = false;
}

void json_in_done(struct json_in *j)
{
    for (unsigned depth = 0; j->names && depth < JSON_DEPTH; depth++)
        free(j->names[depth].slots);
    free(j->names);
    buf_done(&j->string);
    buf_done(&j->key);
}

bool json_in_fail(struct json_in *j)
{
    j->failed = true;
    j->text.at = j->text.end;
    return false;
}

static void json_in_skip_space(struct json_in *j)
{
    struct scan *s = &j->text;
    while (s->at < s->end && (*s->at == ' ' || *s->at == '\t' || *s->at == '\n' || *s->at == '\r'))
        s->at++;
}

static bool json_in_take(struct json_in *j, char c)
{
    json_in_skip_space(j);
    if (j->text.at == j->text.end || *j->text.at != c)
        return false;
    j->text.at++;
    return true;
}

bool json_in_end(struct json_in *j)
{
    json_in_skip_space(j);
    return !j->failed && !j->depth && scan_done(&j->text);
}

enum json_kind json_in_next(struct json_in *j)
{
    json_in_skip_space(j);
    char c = j->text.at < j->text.end ? *j->text.at : '\0';
    switch (c) {
    case '{': return JSON_OBJECT;
    case '[': return JSON_ARRAY;
    case '"': return JSON_STRING;
    case 't':
    case 'f': return JSON_BOOL;
    case 'n': return JSON_NULL;
    default: return c == '-' || (c >= '0' && c <= '9') ? JSON_NUMBER : JSON_BAD;
    }
}

/* ---- Containers ------------------------------------------------------------------------------ */

static bool json_in_enter(struct json_in *j, char bracket)
{
    if (j->depth == JSON_DEPTH || !json_in_take(j, bracket))
        return json_in_fail(j);
    if (!j->names && !(j->names = calloc(JSON_DEPTH, sizeof *j->names)))
        return json_in_fail(j);
    j->names[j->depth].object++;
    j->names[j->depth].count = 0;
    j->depth++;
    j->first = true;
    return true;
}

static uint64_t json_names_hash(const char *at, size_t length)
{
    uint64_t hash = length * UINT64_C(0x9E3779B97F4A7C15), part = 0;
    for (; length; at += sizeof part, length -= sizeof part, part = 0) {
        if (length < sizeof part) {
            memcpy(&part, at, length);
            length = sizeof part;
        } else {
            memcpy(&part, at, sizeof part);
        }
        hash = (hash ^ part) * UINT64_C(0xFF51AFD7ED558CCD);
        hash ^= hash >> 32;
    }
    return hash;
}

/* False when there is no memory. */
static bool json_names_grow(struct json_names *n)
{
    struct json_names larger = {.capacity = n->capacity ? 2 * n->capacity : 64,
                                .object = n->object};
    larger.slots = calloc(larger.capacity, sizeof *larger.slots);
    if (!larger.slots)
        return false;
    for (size_t i = 0; i < n->capacity; i++) {
        if (n->slots[i].object != n->object)
            continue;
        size_t at = n->slots[i].hash & (larger.capacity - 1);
        while (larger.slots[at].object == n->object)
            at = (at + 1) & (larger.capacity - 1);
        larger.slots[at] = n->slots[i];
    }
    larger.count = n->count;
    free(n->slots);
    *n = larger;
    return true;
}

/* One more name of the innermost object; fails when it was there before. */
static bool json_names_add(struct json_in *j, const char *at, size_t length)
{
    struct json_names *n = &j->names[j->depth - 1];
    uint64_t hash = json_names_hash(at, length);
    if (n->count == JSON_NAMES || (2 * n->count >= n->capacity && !json_names_grow(n)))
        return json_in_fail(j);
    size_t i = hash & (n->capacity - 1);
    for (; n->slots[i].object == n->object; i = (i + 1) & (n->capacity - 1))
        if (n->slots[i].hash == hash) {
            j->has_name_twice = !j->failed;
            return json_in_fail(j);
        }
    n->slots[i].hash = hash;
    n->slots[i].object = n->object;
    n->count++;
    return true;
}

bool json_in_object(struct json_in *j)
{
    return json_in_enter(j, '{');
}

bool json_in_array(struct json_in *j)
{
    return json_in_enter(j, '[');
}

/* True when there is more in the container, false after its end. */
static bool json_in_go_on(struct json_in *j, char bracket)
{
    if (j->failed)
        return false;
    if (json_in_take(j, bracket)) {
        j->depth--;
        j->first = false;
        return false;
    }
    if (!j->first && !json_in_take(j, ','))
        return json_in_fail(j);
    j->first = false;
    return true;
}

static bool json_in_take_string(struct json_in *j, struct buf *decoded, struct scan *ret);

bool json_in_key(struct json_in *j, struct scan *ret)
{
    if (!json_in_go_on(j, '}') || !json_in_take_string(j, &j->key, ret) ||
        !json_names_add(j, ret->at, scan_length(*ret)))
        return false;
    return json_in_take(j, ':') || json_in_fail(j);
}

bool json_in_expect(struct json_in *j, const char *name)
{
    size_t length = strlen(name), comma = j->first ? 0 : 1;
    const char *at = j->text.at;
    if ((size_t)(j->text.end - at) < comma + length + 3 || (comma && *at != ','))
        return false;
    at += comma;
    if (*at != '"' || memcmp(at + 1, name, length) != 0 || at[length + 1] != '"' ||
        at[length + 2] != ':')
        return false;
    j->text.at = at + length + 3;
    j->first = false;
    return json_names_add(j, name, length);
}

bool json_in_item(struct json_in *j)
{
    return json_in_go_on(j, ']');
}

bool json_in_is(const struct scan *text, const char *word)
{
    /* The text may hold a NUL byte, so its length cannot be used to look into the word. */
    size_t length = scan_length(*text);
    return strlen(word) == length && memcmp(text->at, word, length) == 0;
}

/* ---- Strings --------------------------------------------------------------------------------- */

static bool json_in_take_hex(struct scan *s, unsigned *ret)
{
    struct scan four = {s->at, s->at + 4};
    uint64_t value;
    if (s->end - s->at < 4 || *s->at == ' ' || *s->at == '\t' || !scan_hex(&four, &value) ||
        four.at != four.end)
        return false;
    s->at += 4;
    *ret = (unsigned)value;
    return true;
}

static void json_in_add_utf8(struct buf *b, unsigned code)
{
    char bytes[4];
    size_t n = 0;
    if (code < 0x800) {
        bytes[n++] = (char)(0xC0 | code >> 6);
    } else if (code < 0x10000) {
        bytes[n++] = (char)(0xE0 | code >> 12);
        bytes[n++] = (char)(0x80 | (code >> 6 & 0x3F));
    } else {
        bytes[n++] = (char)(0xF0 | code >> 18);
        bytes[n++] = (char)(0x80 | (code >> 12 & 0x3F));
        bytes[n++] = (char)(0x80 | (code >> 6 & 0x3F));
    }
    bytes[n++] = (char)(0x80 | (code & 0x3F));
    buf_add(b, bytes, n);
}

/* What follows \u, with the second half of a surrogate pair. */
static bool json_in_take_code(struct scan *s, struct buf *b)
{
    unsigned code, low;
    if (!json_in_take_hex(s, &code) || !code)
        return false;
    if (code < 0x80) {
        buf_putc(b, (char)code);
        return true;
    }
    if (code >= 0xDC00 && code < 0xE000)
        return false;
    if (code >= 0xD800 && code < 0xDC00) {
        if (!scan_word(s, "\\u") || !json_in_take_hex(s, &low) || low < 0xDC00 || low >= 0xE000)
            return false;
        code = 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
    }
    json_in_add_utf8(b, code);
    return true;
}

static bool json_in_take_escape(struct scan *s, struct buf *b)
{
    static const char letters[] = "\"\\/bfnrt";
    static const char values[] = "\"\\/\b\f\n\r\t";
    if (s->at == s->end || !*s->at)
        return false;
    char c = *s->at++;
    if (c == 'u')
        return json_in_take_code(s, b);
    const char *known = strchr(letters, c);
    if (known)
        buf_putc(b, values[known - letters]);
    return known;
}

#define BYTES(c) (UINT64_C(0x0101010101010101) * (c))

/* Up to the next quote or escape; false for text that is not well-formed. */
static bool json_in_take_plain(struct scan *s)
{
    /* Eight bytes at a time while all of them are printable ASCII other than a quote or a
     * backslash: a byte below the number would borrow from the bit above it. */
    for (uint64_t eight; scan_length(*s) >= sizeof eight; s->at += sizeof eight) {
        memcpy(&eight, s->at, sizeof eight);
        uint64_t quote = eight ^ BYTES('"'), escape = eight ^ BYTES('\\');
        if ((eight | (eight - BYTES(0x20)) | (quote - BYTES(1)) | (escape - BYTES(1))) &
            BYTES(0x80))
            break;
    }
    while (s->at < s->end) {
        unsigned char c = (unsigned char)*s->at;
        if (c == '"' || c == '\\')
            return true;
        size_t length = c < 0x20   ? 0
                        : c < 0x80 ? 1
                                   : utf8_length((const unsigned char *)s->at, scan_length(*s));
        if (!length)
            return false;
        s->at += length;
    }
    return false;
}

/* Most strings have no escapes: then they are a window on the text. */
static bool json_in_take_string(struct json_in *j, struct buf *decoded, struct scan *ret)
{
    struct scan *s = &j->text;
    if (!json_in_take(j, '"'))
        return json_in_fail(j);
    const char *first = s->at;
    buf_clear(decoded);
    for (;;) {
        const char *plain = s->at;
        if (!json_in_take_plain(s))
            return json_in_fail(j);
        if (*s->at == '"' && plain == first) {
            *ret = (struct scan){first, s->at++};
            return true;
        }
        buf_add(decoded, plain, (size_t)(s->at - plain));
        if (*s->at++ == '"')
            break;
        if (!json_in_take_escape(s, decoded))
            return json_in_fail(j);
        first = NULL;
    }
    *ret = scan_text(decoded->data, decoded->length);
    return !buf_failed(decoded) || json_in_fail(j);
}

bool json_in_string(struct json_in *j, struct scan *ret)
{
    return json_in_take_string(j, &j->string, ret);
}

/* ---- Words and numbers ----------------------------------------------------------------------- */

bool json_in_bool(struct json_in *j, bool *ret)
{
    json_in_skip_space(j);
    bool yes = scan_word(&j->text, "true");
    if (!yes && !scan_word(&j->text, "false"))
        return json_in_fail(j);
    *ret = yes;
    return true;
}

bool json_in_null(struct json_in *j)
{
    json_in_skip_space(j);
    return scan_word(&j->text, "null");
}

bool json_in_number(struct json_in *j, struct decimal *ret)
{
    json_in_skip_space(j);
    return decimal_take_json(&j->text, ret) || json_in_fail(j);
}

void json_in_skip(struct json_in *j)
{
    unsigned outside = j->depth;
    char brackets[JSON_DEPTH + 1];
    struct scan text;
    struct decimal number;
    bool word;
    do {
        switch (json_in_next(j)) {
        case JSON_OBJECT:
        case JSON_ARRAY:
            if (j->depth < JSON_DEPTH)
                brackets[j->depth] = *j->text.at;
            json_in_enter(j, *j->text.at);
            break;
        case JSON_STRING: json_in_string(j, &text); break;
        case JSON_NUMBER: json_in_number(j, &number); break;
        case JSON_BOOL: json_in_bool(j, &word); break;
        case JSON_NULL:
            if (!json_in_null(j))
                json_in_fail(j);
            break;
        case JSON_BAD: json_in_fail(j); break;
        }
        while (!j->failed && j->depth > outside &&
               !(brackets[j->depth - 1] == '{' ? json_in_key(j, &text) : json_in_item(j)))
            ;
    } while (!j->failed && j->depth > outside);
}
