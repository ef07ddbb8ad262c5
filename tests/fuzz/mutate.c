/* SPDX-License-Identifier: MIT */
#include "mutate.h"

/* Of libFuzzer: changes bytes. Where it is not linked, a byte is changed here. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t max) __attribute__((weak));

struct text {
    char *at;
    size_t length, room;
    uint64_t random;
};

static size_t below(struct text *t, size_t limit)
{
    t->random = t->random * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return limit ? (size_t)(t->random >> 33) % limit : 0;
}

/* Bytes of a text: [begin, end). */
struct span {
    size_t begin, end;
};

/* Puts a copy of other text in the place of a span; nothing happens when it does not fit. */
static void splice(struct text *t, struct span s, const char *with, size_t length)
{
    size_t old = s.end - s.begin;
    if (t->length - old + length > t->room)
        return;
    char *copy = malloc(length + 1); /* it may be of the text itself */
    CHECK(copy);
    memcpy(copy, with, length);
    memmove(t->at + s.begin + length, t->at + s.end, t->length - s.end);
    memcpy(t->at + s.begin, copy, length);
    t->length = t->length - old + length;
    free(copy);
}

static void splice_span(struct text *t, struct span to, struct span from)
{
    splice(t, to, t->at + from.begin, from.end - from.begin);
}

static void swap(struct text *t, struct span a, struct span b)
{
    if (a.begin > b.begin) {
        struct span later = a;
        a = b;
        b = later;
    }
    if (a.end > b.begin || t->length + (b.end - b.begin) > t->room)
        return;
    size_t before = t->length;
    char *first = strndup(t->at + a.begin, a.end - a.begin);
    CHECK(first);
    size_t length = a.end - a.begin;
    splice_span(t, a, b);
    b.begin += t->length - before;
    b.end += t->length - before;
    splice(t, b, first, strnlen(first, length));
    free(first);
}

/* ---- Lines ----------------------------------------------------------------------------------- */

static struct span line_at(const struct text *t, size_t at)
{
    struct span s = {at, at};
    while (s.begin && t->at[s.begin - 1] != '\n')
        s.begin--;
    const char *newline = memchr(t->at + at, '\n', t->length - at);
    s.end = newline ? (size_t)(newline - t->at) + 1 : t->length;
    return s;
}

static struct span any_line(struct text *t)
{
    size_t wanted = 0, lines = 0;
    for (size_t i = 0; i < t->length; i++)
        lines += t->at[i] == '\n';
    wanted = below(t, lines + 1);
    size_t at = 0;
    for (; wanted && at < t->length; at++)
        wanted -= t->at[at] == '\n';
    return line_at(t, at);
}

static void change_lines(struct text *t)
{
    struct span a = any_line(t), b = any_line(t);
    switch (below(t, 5)) {
    case 0: splice(t, a, "", 0); break;
    case 1: splice_span(t, (struct span){b.end, b.end}, a); break;
    case 2: splice_span(t, (struct span){a.end, a.end}, a); break;
    case 3: swap(t, a, b); break;
    case 4: t->length -= below(t, t->length - a.begin + 1); break; /* cut short */
    }
}

static size_t finish(struct text *t, uint8_t *data, size_t max)
{
    bool with_bytes = below(t, 16) == 0;
    size_t size = t->length;
    memcpy(data, t->at, size);
    if (with_bytes && LLVMFuzzerMutate)
        size = LLVMFuzzerMutate(data, size, max);
    else if (with_bytes && size)
        data[below(t, size)] = (uint8_t)below(t, 256);
    free(t->at);
    return size;
}

static struct text begin(const uint8_t *data, size_t size, size_t max, unsigned seed)
{
    struct text t = {.at = malloc(max + 1), .length = size, .room = max, .random = seed};
    CHECK(t.at && size <= max);
    memcpy(t.at, data, size);
    below(&t, 2);
    return t;
}

size_t mutate_lines(uint8_t *data, size_t size, size_t max, unsigned seed, const char *const *known)
{
    struct text t = begin(data, size, max, seed);
    size_t count = 0;
    while (known[count])
        count++;
    for (size_t i = 1 + below(&t, 3); i; i--) {
        if (below(&t, 3) == 0) {
            change_lines(&t);
            continue;
        }
        const char *line = known[below(&t, count)];
        struct span at = any_line(&t);
        splice(&t, (struct span){at.begin, at.begin}, "\n", 1);
        splice(&t, (struct span){at.begin, at.begin}, line, strlen(line));
    }
    return finish(&t, data, max);
}

/* ---- Cells ----------------------------------------------------------------------------------- */

static const char *const cells[] = {
    "",
    "0",
    "-1",
    "1e999",
    "nan",
    "inf",
    "1.5",
    "18446744073709551616",
    "\"",
    "\"\"",
    "x",
    "0x10",
    " ",
    "=1+1",
    "1e-400",
    "-9223372036854775809",
    "é",
    "\xff",
    "007",
    "+5",
    "--",
    "[run]",
    "99999999999999999999999999",
};

static struct span any_cell(struct text *t, const char *separators)
{
    struct span line = any_line(t);
    size_t at = line.begin + below(t, line.end - line.begin);
    struct span s = {at, at};
    while (s.begin > line.begin && !strchr(separators, t->at[s.begin - 1]))
        s.begin--;
    while (s.end < line.end && t->at[s.end] != '\n' && !strchr(separators, t->at[s.end]))
        s.end++;
    return s;
}

size_t mutate_cells(uint8_t *data, size_t size, size_t max, unsigned seed, const char *separators)
{
    struct text t = begin(data, size, max, seed);
    for (size_t i = 1 + below(&t, 3); i; i--) {
        struct span a = any_cell(&t, separators), b = any_cell(&t, separators);
        const char *word = cells[below(&t, ARRAY_LEN(cells))];
        switch (below(&t, 6)) {
        case 0: splice(&t, a, word, strlen(word)); break;
        case 1: splice_span(&t, a, b); break;
        case 2: swap(&t, a, b); break;
        case 3: /* with what is between it and the next: a cell less */
            splice(&t, (struct span){a.begin, a.end + (a.end < t.length)}, "", 0);
            break;
        case 4: /* one more */
            splice(&t, (struct span){a.begin, a.begin}, separators, 1);
            splice(&t, (struct span){a.begin, a.begin}, word, strlen(word));
            break;
        case 5: change_lines(&t); break;
        }
    }
    return finish(&t, data, max);
}

/* ---- JSON ------------------------------------------------------------------------------------ */

/* A value in a line, with its key when it has one. */
struct value {
    struct span all; /* with the key */
    struct span key; /* with its quotes; empty: it has none */
    struct span value;
    bool is_container;
};

enum { VALUES = 2000, DEEPEST = 60 };

struct values {
    struct value list[VALUES];
    size_t count;
};

static size_t skip_string(const struct text *t, size_t at, size_t end)
{
    for (at++; at < end && t->at[at] != '"'; at++)
        at += t->at[at] == '\\';
    return at < end ? at + 1 : end;
}

/* All values of a line, as far as it looks like JSON. */
static void find_values(const struct text *t, struct span line, struct values *v)
{
    size_t open[DEEPEST], depth = 0, begin = line.begin;
    struct span key = {0, 0};
    v->count = 0;
    for (size_t at = line.begin; at < line.end && v->count < VALUES;) {
        char c = t->at[at];
        if (c == '{' || c == '[') {
            if (depth == DEEPEST)
                break;
            open[depth++] = v->count;
            v->list[v->count++] = (struct value){.all.begin = key.end ? key.begin : at,
                                                 .key = key,
                                                 .value.begin = at,
                                                 .is_container = true};
            key = (struct span){0, 0};
            at++;
        } else if (c == '}' || c == ']') {
            at++;
            if (!depth)
                break;
            depth--;
            v->list[open[depth]].value.end = v->list[open[depth]].all.end = at;
        } else if (strchr(",: \t\r\n", c)) {
            at++;
        } else {
            begin = at;
            at = c == '"' ? skip_string(t, at, line.end) : at + 1;
            while (c != '"' && at < line.end && !strchr(",:]} \n", t->at[at]))
                at++;
            if (c == '"' && at < line.end && t->at[at] == ':') {
                key = (struct span){begin, at};
                continue;
            }
            v->list[v->count++] = (struct value){
                .all = {key.end ? key.begin : begin, at}, .key = key, .value = {begin, at}};
            key = (struct span){0, 0};
        }
    }
    for (; depth; depth--) /* cut short */
        v->list[open[depth - 1]].value.end = v->list[open[depth - 1]].all.end = line.end;
}

static const char *const values[] = {
    "null",
    "true",
    "false",
    "0",
    "-1",
    "1",
    "0.5",
    "-0",
    "1e999",
    "1e308",
    "1e-320",
    "18446744073709551615",
    "18446744073709551616",
    "9223372036854775808",
    "2147483648",
    "1e18",
    "123456789012345678901234567890",
    "\"\"",
    "\"x\"",
    "\"\\u0000\"",
    "\"\\u0080\"",
    "\"\\ud83d\\ude00\"",
    "\"\\ud800\"",
    "\"a=b\"",
    "\"a\\nb,c\\\"d\"",
    "[]",
    "{}",
    "[[]]",
    "[{}]",
    "{\"a\":1}",
    "[null,null]",
    "\"9999-12-31T23:59:59.999Z\"",
    "\"1970-01-01T00:00:00.000Z\"",
};

/* Without the comma that would be left. */
static void delete_value(struct text *t, struct span s)
{
    if (s.end < t->length && t->at[s.end] == ',')
        s.end++;
    else if (s.begin && t->at[s.begin - 1] == ',')
        s.begin--;
    splice(t, s, "", 0);
}

static void insert_value(struct text *t, size_t at, struct span from)
{
    size_t before = t->length;
    splice_span(t, (struct span){at, at}, from);
    if (t->length > before) /* it fitted */
        splice(t, (struct span){at + (t->length - before), at + (t->length - before)}, ",", 1);
}

static void nest(struct text *t, struct span s)
{
    char brackets[DEEPEST];
    size_t depth = 1 + below(t, sizeof brackets);
    memset(brackets, ']', depth);
    splice(t, (struct span){s.end, s.end}, brackets, depth);
    memset(brackets, '[', depth);
    splice(t, (struct span){s.begin, s.begin}, brackets, depth);
}

static void change_json(struct text *t)
{
    static struct values v, w;
    find_values(t, any_line(t), &v);
    find_values(t, any_line(t), &w);
    if (!v.count || !w.count)
        return;
    const struct value *a = &v.list[below(t, v.count)], *b = &w.list[below(t, w.count)];
    const struct value *c = &v.list[below(t, v.count)];
    const char *word = values[below(t, ARRAY_LEN(values))];
    switch (below(t, 10)) {
    case 0: delete_value(t, a->all); break;
    case 1: insert_value(t, a->all.begin, a->all); break; /* twice */
    case 2: splice(t, a->value, word, strlen(word)); break;
    case 3: splice_span(t, a->value, b->value); break;
    case 4: swap(t, a->value, c->value); break;
    case 5: swap(t, a->all, c->all); break;
    case 6:
        if (a->key.end && b->key.end)
            splice_span(t, a->key, b->key);
        break;
    case 7: insert_value(t, a->all.begin, b->all); break;
    case 8:
        if (a->is_container)
            insert_value(t, a->value.begin + 1, b->all);
        break;
    case 9: nest(t, a->value); break;
    }
}

size_t mutate_json_lines(uint8_t *data, size_t size, size_t max, unsigned seed)
{
    struct text t = begin(data, size, max, seed);
    for (size_t i = 1 + below(&t, 3); i; i--)
        if (below(&t, 6) == 0)
            change_lines(&t);
        else
            change_json(&t);
    return finish(&t, data, max);
}
