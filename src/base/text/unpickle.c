/* SPDX-License-Identifier: MIT
 * Reads a pickle without running it. A pickle is a program for a machine with a stack and a memory
 * (the memo); this machine has no call: REDUCE and NEWOBJ only note which class or function was
 * asked for, and with what. The second half of this file knows what the data of some of them is.
 *
 * A hostile pickle may refer to one value from many places, or to a value from within itself. What
 * is written, how deep, and the steps that it takes are therefore limited. */
#include "base/err.h"
#include "base/memory.h"
#include "base/text/encoding.h"
#include "base/text/json.h"

#include <endian.h>
#include <math.h>
#include <string.h>

enum {
    BYTES_AT_MOST = 64 << 20,  /* of a pickle, and of the JSON that is made of it */
    STEPS_AT_MOST = 256 << 20, /* in writing it */
};

enum value_kind {
    VALUE_NONE,
    VALUE_BOOL,
    VALUE_INTEGER,
    VALUE_FLOAT,
    VALUE_TEXT,
    VALUE_BYTES,
    VALUE_LIST, /* a tuple, too */
    VALUE_DICT, /* keys and values take turns in its items */
    VALUE_GLOBAL,
    VALUE_OBJECT,
};

struct value {
    enum value_kind kind;
    union {
        int64_t integer; /* of a bool, too */
        double number;
        struct scan text; /* borrowed from the pickle; of bytes, too */
        struct {
            struct scan module, name; /* borrowed likewise */
        } global;
        struct {
            struct value **items; /* owned array */
            size_t count;
        } list;
        struct {
            struct value *of, *args;
            struct value *state; /* NULL: none was given */
        } object;
    };
};

/* Values stay where they are: chunks, each twice as large as the one before. */
enum { CHUNKS = 32, FIRST_CHUNK = 256 };

struct machine {
    const unsigned char *start, *at, *end;
    struct value *chunks[CHUNKS];
    size_t chunk_count, used; /* of the last one */
    struct value **stack, **memo;
    size_t depth, stack_capacity;
    size_t memo_count, memo_capacity;
    size_t *marks; /* depths of the stack */
    size_t mark_count, mark_capacity;
    bool no_memory;
};

/* ---- Values ---------------------------------------------------------------------------------- */

static size_t unpickle_chunk_size(size_t number)
{
    return (size_t)FIRST_CHUNK << number;
}

static struct value *unpickle_new_value(struct machine *m, enum value_kind kind)
{
    if (!m->chunk_count || m->used == unpickle_chunk_size(m->chunk_count - 1)) {
        struct value *chunk = m->chunk_count < CHUNKS
                                  ? calloc(unpickle_chunk_size(m->chunk_count), sizeof *chunk)
                                  : NULL;
        if (!chunk) {
            m->no_memory = true;
            return NULL;
        }
        m->chunks[m->chunk_count++] = chunk;
        m->used = 0;
    }
    struct value *v = &m->chunks[m->chunk_count - 1][m->used++];
    v->kind = kind;
    return v;
}

static bool unpickle_append(struct machine *m, struct value *list, struct value *item)
{
    m->no_memory |= !ARRAY_GROW(list->list.items, list->list.count);
    if (m->no_memory)
        return false;
    list->list.items[list->list.count++] = item;
    return true;
}

static bool unpickle_push(struct machine *m, struct value *v)
{
    m->no_memory |= !ARRAY_RESERVE(m->stack, m->stack_capacity, m->depth + 1);
    if (!v || m->no_memory)
        return false;
    m->stack[m->depth++] = v;
    return true;
}

/* Not below the last mark, as in Python. */
static struct value *unpickle_top(const struct machine *m)
{
    size_t bottom = m->mark_count ? m->marks[m->mark_count - 1] : 0;
    return m->depth > bottom ? m->stack[m->depth - 1] : NULL;
}

static struct value *unpickle_pop(struct machine *m)
{
    struct value *v = unpickle_top(m);
    m->depth -= v != NULL;
    return v;
}

static void machine_done(struct machine *m)
{
    for (size_t c = 0; c < m->chunk_count; c++) {
        size_t count = c + 1 == m->chunk_count ? m->used : unpickle_chunk_size(c);
        for (size_t i = 0; i < count; i++)
            if (m->chunks[c][i].kind == VALUE_LIST || m->chunks[c][i].kind == VALUE_DICT)
                free(m->chunks[c][i].list.items);
        free(m->chunks[c]);
    }
    free(m->stack);
    free(m->memo);
    free(m->marks);
}

/* ---- Opcodes --------------------------------------------------------------------------------- */

/* A number of that many bytes, little-endian. */
static bool unpickle_read_size(struct machine *m, unsigned bytes, uint64_t *ret)
{
    if ((size_t)(m->end - m->at) < bytes)
        return false;
    *ret = 0;
    for (unsigned i = 0; i < bytes; i++)
        *ret |= (uint64_t)m->at[i] << (8 * i);
    m->at += bytes;
    return true;
}

static bool unpickle_push_integer(struct machine *m, int64_t number)
{
    struct value *v = unpickle_new_value(m, VALUE_INTEGER);
    if (v)
        v->integer = number;
    return unpickle_push(m, v);
}

/* Up to eight bytes, in two's complement. */
static bool unpickle_read_integer(struct machine *m, unsigned bytes)
{
    uint64_t number;
    if (bytes > 8 || !unpickle_read_size(m, bytes, &number))
        return false;
    unsigned above = 8 * (8 - bytes);
    return unpickle_push_integer(m, bytes ? (int64_t)(number << above) >> above : 0);
}

static bool unpickle_read_float(struct machine *m)
{
    uint64_t bits;
    struct value *v = unpickle_new_value(m, VALUE_FLOAT);
    if (!v || !unpickle_read_size(m, 8, &bits))
        return false;
    bits = be64toh(htole64(bits)); /* it is big-endian */
    memcpy(&v->number, &bits, sizeof bits);
    return unpickle_push(m, v);
}

/* Its length comes first, in that many bytes. */
static bool unpickle_read_text(struct machine *m, enum value_kind kind, unsigned length_bytes)
{
    uint64_t length;
    struct value *v = unpickle_new_value(m, kind);
    if (!v || !unpickle_read_size(m, length_bytes, &length) || (uint64_t)(m->end - m->at) < length)
        return false;
    v->text = scan_text((const char *)m->at, (size_t)length);
    m->at += length;
    return unpickle_push(m, v);
}

static bool unpickle_read_line(struct machine *m, struct scan *ret)
{
    const unsigned char *end = memchr(m->at, '\n', (size_t)(m->end - m->at));
    if (!end)
        return false;
    *ret = scan_text((const char *)m->at, (size_t)(end - m->at));
    m->at = end + 1;
    return true;
}

static bool unpickle_stack_global(struct machine *m)
{
    struct value *name = unpickle_pop(m), *module = unpickle_pop(m),
                 *v = unpickle_new_value(m, VALUE_GLOBAL);
    if (!v || !name || !module || name->kind != VALUE_TEXT || module->kind != VALUE_TEXT)
        return false;
    v->global.module = module->text;
    v->global.name = name->text;
    return unpickle_push(m, v);
}

/* Replaces what is above the last mark, or the topmost `count`, by one list. */
static bool unpickle_collect(struct machine *m, size_t count, bool to_mark)
{
    if (to_mark && !m->mark_count)
        return false;
    size_t bottom = m->mark_count ? m->marks[m->mark_count - 1] : 0;
    size_t from = to_mark ? bottom : m->depth - count;
    struct value *v = unpickle_new_value(m, VALUE_LIST);
    if (!v || (!to_mark && m->depth - bottom < count))
        return false;
    for (size_t i = from; i < m->depth; i++)
        if (!unpickle_append(m, v, m->stack[i]))
            return false;
    m->depth = from;
    m->mark_count -= to_mark;
    return unpickle_push(m, v);
}

/* Moves what is above the last mark, or the topmost `count`, into the container below. */
static bool unpickle_fill(struct machine *m, enum value_kind kind, size_t count, bool to_mark)
{
    if (!unpickle_collect(m, count, to_mark))
        return false;
    struct value *items = unpickle_pop(m), *container = unpickle_top(m);
    if (!container || container->kind != kind || (kind == VALUE_DICT && items->list.count % 2))
        return false;
    for (size_t i = 0; i < items->list.count; i++)
        if (!unpickle_append(m, container, items->list.items[i]))
            return false;
    return true;
}

static bool unpickle_make_object(struct machine *m)
{
    struct value *args = unpickle_pop(m), *of = unpickle_pop(m),
                 *v = unpickle_new_value(m, VALUE_OBJECT);
    if (!v || !args || !of || args->kind != VALUE_LIST)
        return false;
    v->object.of = of;
    v->object.args = args;
    return unpickle_push(m, v);
}

static bool unpickle_put_memo(struct machine *m, uint64_t number)
{
    if (!unpickle_top(m) || number > (uint64_t)(m->end - m->start))
        return false;
    m->no_memory |= !ARRAY_RESERVE(m->memo, m->memo_capacity, number + 1);
    if (m->no_memory)
        return false;
    m->memo_count = max_u64(m->memo_count, number + 1);
    m->memo[number] = unpickle_top(m);
    return true;
}

static bool unpickle_read_memo(struct machine *m, unsigned bytes, bool is_put)
{
    uint64_t number;
    if (!unpickle_read_size(m, bytes, &number))
        return false;
    if (is_put)
        return unpickle_put_memo(m, number);
    return number < m->memo_count && unpickle_push(m, m->memo[number]);
}

static bool unpickle_push_bool(struct machine *m, bool is_true)
{
    struct value *v = unpickle_new_value(m, VALUE_BOOL);
    if (v)
        v->integer = is_true;
    return unpickle_push(m, v);
}

/* Those of the protocols 3 to 5 that data needs. */
static bool unpickle_take_opcode(struct machine *m, unsigned char opcode)
{
    uint64_t number;
    struct value *v, *object;
    switch (opcode) {
    case 0x80: return unpickle_read_size(m, 1, &number); /* PROTO */
    case 0x95: return unpickle_read_size(m, 8, &number); /* FRAME */
    case '(':                                            /* MARK */
        m->no_memory |= !ARRAY_RESERVE(m->marks, m->mark_capacity, m->mark_count + 1);
        if (m->no_memory)
            return false;
        m->marks[m->mark_count++] = m->depth;
        return true;
    case 'N': return unpickle_push(m, unpickle_new_value(m, VALUE_NONE));
    case 0x88: return unpickle_push_bool(m, true);
    case 0x89: return unpickle_push_bool(m, false);
    case 'K': return unpickle_read_size(m, 1, &number) && unpickle_push_integer(m, (int64_t)number);
    case 'M': return unpickle_read_size(m, 2, &number) && unpickle_push_integer(m, (int64_t)number);
    case 'J': return unpickle_read_integer(m, 4);
    case 0x8a:
        return unpickle_read_size(m, 1, &number) &&
               unpickle_read_integer(m, (unsigned)number); /* LONG1 */
    case 'G': return unpickle_read_float(m);
    case 'X': return unpickle_read_text(m, VALUE_TEXT, 4);
    case 0x8c: return unpickle_read_text(m, VALUE_TEXT, 1);
    case 0x8d: return unpickle_read_text(m, VALUE_TEXT, 8);
    case 'B': return unpickle_read_text(m, VALUE_BYTES, 4);
    case 'C': return unpickle_read_text(m, VALUE_BYTES, 1);
    case 0x8e: /* BINBYTES8 */
    case 0x96: return unpickle_read_text(m, VALUE_BYTES, 8);
    case ')':
    case ']': return unpickle_push(m, unpickle_new_value(m, VALUE_LIST));
    case 't': return unpickle_collect(m, 0, true);
    case 0x85: return unpickle_collect(m, 1, false);
    case 0x86: return unpickle_collect(m, 2, false);
    case 0x87: return unpickle_collect(m, 3, false);
    case 'a': return unpickle_fill(m, VALUE_LIST, 1, false);
    case 'e': return unpickle_fill(m, VALUE_LIST, 0, true);
    case '}': return unpickle_push(m, unpickle_new_value(m, VALUE_DICT));
    case 's': return unpickle_fill(m, VALUE_DICT, 2, false);
    case 'u': return unpickle_fill(m, VALUE_DICT, 0, true);
    case 'c': /* GLOBAL */
        v = unpickle_new_value(m, VALUE_GLOBAL);
        return v && unpickle_read_line(m, &v->global.module) &&
               unpickle_read_line(m, &v->global.name) && unpickle_push(m, v);
    case 0x93: return unpickle_stack_global(m);
    case 'R': /* REDUCE */
    case 0x81: return unpickle_make_object(m);
    case 'b': /* BUILD */
        v = unpickle_pop(m);
        object = unpickle_top(m);
        if (!v || !object || object->kind != VALUE_OBJECT || object->object.state)
            return false;
        object->object.state = v;
        return true;
    case 0x94: return unpickle_put_memo(m, m->memo_count);
    case 'q': return unpickle_read_memo(m, 1, true);
    case 'r': return unpickle_read_memo(m, 4, true);
    case 'h': return unpickle_read_memo(m, 1, false);
    case 'j': return unpickle_read_memo(m, 4, false);
    default: return false;
    }
}

/* The value that is left at the end, or NULL. */
static struct value *unpickle_run_opcodes(struct machine *m)
{
    while (m->at < m->end) {
        unsigned char opcode = *m->at++;
        if (opcode == '.')
            return m->depth == 1 && !m->mark_count && m->at == m->end ? m->stack[0] : NULL;
        if (!unpickle_take_opcode(m, opcode))
            return NULL;
    }
    return NULL;
}

/* ---- What objects hold ----------------------------------------------------------------------- */

/* numpy 2 has moved its modules: numpy.core.X is numpy._core.X there. */
static bool is_numpy(const struct value *v, const char *module, const char *name)
{
    if (!v || v->kind != VALUE_GLOBAL || !json_in_is(&v->global.name, name))
        return false;
    struct scan at = v->global.module;
    return (scan_word(&at, "numpy.core.") || scan_word(&at, "numpy._core.")) &&
           json_in_is(&at, module);
}

static bool is_global(const struct value *v, const char *module, const char *name)
{
    return v && v->kind == VALUE_GLOBAL && json_in_is(&v->global.module, module) &&
           json_in_is(&v->global.name, name);
}

/* A class of gpu_tracker, or of the package that takes its place. */
static bool unpickle_is_data_class(const struct value *v)
{
    struct scan at;
    if (!v || v->kind != VALUE_GLOBAL)
        return false;
    at = v->global.module;
    return json_in_is(&at, "gpu_tracker") || scan_word(&at, "gpu_tracker.") ||
           scan_word(&at, "toll.compat.");
}

static const struct value *unpickle_item(const struct value *list, size_t i)
{
    bool has_items = list && (list->kind == VALUE_LIST || list->kind == VALUE_DICT);
    return has_items && i < list->list.count ? list->list.items[i] : NULL;
}

static const struct value *unpickle_member(const struct value *dict, const char *name)
{
    for (size_t i = 0; dict && dict->kind == VALUE_DICT && i + 1 < dict->list.count; i += 2) {
        const struct value *key = dict->list.items[i];
        if (key->kind == VALUE_TEXT && json_in_is(&key->text, name))
            return dict->list.items[i + 1];
    }
    return NULL;
}

/* What a number is made of: numpy's dtype('f8'), with the order of its bytes. */
struct number_type {
    char kind; /* f, i, u, b, or O: any object */
    unsigned bytes;
    bool is_big_endian;
};

static bool unpickle_read_number_type(const struct value *v, struct number_type *ret)
{
    if (!v || v->kind != VALUE_OBJECT || !is_global(v->object.of, "numpy", "dtype"))
        return false;
    const struct value *name = unpickle_item(v->object.args, 0),
                       *order = unpickle_item(v->object.state, 1);
    if (!name || name->kind != VALUE_TEXT || name->text.end - name->text.at != 2)
        return false;
    *ret = (struct number_type){name->text.at[0], (unsigned)(name->text.at[1] - '0'),
                                order && order->kind == VALUE_TEXT &&
                                    json_in_is(&order->text, ">")};
    switch (ret->kind) {
    case 'f': return ret->bytes == 4 || ret->bytes == 8;
    case 'i':
    case 'u': return ret->bytes == 1 || ret->bytes == 2 || ret->bytes == 4 || ret->bytes == 8;
    case 'b': return ret->bytes == 1;
    default: return ret->kind == 'O' && ret->bytes == 8;
    }
}

/* One number of an array, as a value of our own. */
static struct value unpickle_number_at(const struct number_type *t, const char *at)
{
    uint64_t bits = 0;
    for (unsigned i = 0; i < t->bytes; i++) {
        unsigned place = t->is_big_endian ? t->bytes - 1 - i : i;
        bits |= (uint64_t)(unsigned char)at[i] << (8 * place);
    }
    if (t->kind == 'f') {
        struct value v = {.kind = VALUE_FLOAT};
        uint32_t half = (uint32_t)bits;
        float narrow;
        memcpy(&narrow, &half, sizeof narrow);
        memcpy(&v.number, &bits, sizeof bits);
        if (t->bytes == 4)
            v.number = narrow;
        return v;
    }
    unsigned above = 8 * (8 - t->bytes);
    struct value v = {.kind = t->kind == 'b' ? VALUE_BOOL : VALUE_INTEGER};
    v.integer = t->kind == 'i' ? (int64_t)(bits << above) >> above : (int64_t)bits;
    if (t->kind == 'u' && v.integer < 0)
        v = (struct value){.kind = VALUE_FLOAT, .number = (double)bits};
    return v;
}

/* numpy's array of one or two dimensions. */
struct array {
    struct number_type type;
    size_t rows, columns; /* one dimension: one row */
    bool is_fortran;      /* stored by columns, not by rows */
    struct scan bytes;
    const struct value *objects; /* in the place of bytes, of the type O */
};

static bool unpickle_read_shape(const struct value *shape, struct array *ret)
{
    const struct value *first = unpickle_item(shape, 0), *second = unpickle_item(shape, 1);
    if (!first || first->kind != VALUE_INTEGER || first->integer < 0 || unpickle_item(shape, 2) ||
        (second && (second->kind != VALUE_INTEGER || second->integer < 0)))
        return false;
    ret->rows = second ? (size_t)first->integer : 1;
    ret->columns = (size_t)(second ? second : first)->integer;
    return ret->rows <= BYTES_AT_MOST && ret->columns <= BYTES_AT_MOST;
}

/* As protocol 4 has it, _reconstruct() with a state, or as protocol 5 does, _frombuffer(). */
static bool unpickle_read_array(const struct value *v, struct array *ret)
{
    if (!v || v->kind != VALUE_OBJECT)
        return false;
    const struct value *type, *shape, *data;
    *ret = (struct array){0};
    if (is_numpy(v->object.of, "multiarray", "_reconstruct")) {
        const struct value *order = unpickle_item(v->object.state, 3);
        shape = unpickle_item(v->object.state, 1);
        type = unpickle_item(v->object.state, 2);
        data = unpickle_item(v->object.state, 4);
        ret->is_fortran = order && order->kind == VALUE_BOOL && order->integer;
    } else if (is_numpy(v->object.of, "numeric", "_frombuffer")) {
        const struct value *order = unpickle_item(v->object.args, 3);
        data = unpickle_item(v->object.args, 0);
        type = unpickle_item(v->object.args, 1);
        shape = unpickle_item(v->object.args, 2);
        ret->is_fortran = order && order->kind == VALUE_TEXT && json_in_is(&order->text, "F");
    } else {
        return false;
    }
    if (!data || !unpickle_read_number_type(type, &ret->type) || !unpickle_read_shape(shape, ret))
        return false;
    size_t count = ret->rows * ret->columns; /* of no more than 2^52 */
    if (ret->type.kind == 'O') {
        ret->objects = data;
        return data->kind == VALUE_LIST && data->list.count == count;
    }
    ret->bytes = data->text;
    return data->kind == VALUE_BYTES && scan_length(data->text) == count * ret->type.bytes;
}

/* ---- JSON ------------------------------------------------------------------------------------ */

struct json_writer {
    struct json_out json;
    size_t steps;
    unsigned depth;
    bool is_damaged;          /* or larger than is read here */
    struct scan module, name; /* of what is not data */
};

static bool unpickle_write_value(struct json_writer *w, const struct value *v);

/* false: that is enough. */
static bool unpickle_step(struct json_writer *w)
{
    bool goes_on = w->steps < STEPS_AT_MOST && w->json.buf->length < BYTES_AT_MOST;
    w->steps++;
    w->is_damaged |= !goes_on;
    return goes_on;
}

static bool unpickle_refuse(struct json_writer *w)
{
    w->is_damaged = true;
    return false;
}

static bool unpickle_refuse_global(struct json_writer *w, const struct value *of)
{
    if (!of || of->kind != VALUE_GLOBAL)
        return unpickle_refuse(w);
    w->module = of->global.module;
    w->name = of->global.name;
    return false;
}

/* A text without a zero in it, or a number. */
static bool unpickle_write_key(struct json_writer *w, const struct value *key)
{
    struct buf text = {0};
    bool is_text = key && key->kind == VALUE_TEXT &&
                   !memchr(key->text.at, '\0', scan_length(key->text));
    if (is_text)
        buf_add(&text, key->text.at, scan_length(key->text));
    else if (key && key->kind == VALUE_INTEGER)
        buf_printf(&text, "%lld", (long long)key->integer);
    else
        return unpickle_refuse(w);
    json_key(&w->json, text.data ? text.data : "");
    w->json.buf->failed |= buf_failed(&text);
    buf_done(&text);
    return true;
}

/* With a point in it, so that it is a float again. */
static void unpickle_write_float(struct json_writer *w, double number)
{
    struct buf text = {0};
    buf_number(&text, number);
    if (text.data && !strpbrk(text.data, ".enl"))
        buf_puts(&text, ".0");
    json_raw(&w->json, text.data ? text.data : "", text.length);
    w->json.buf->failed |= buf_failed(&text);
    buf_done(&text);
}

static bool unpickle_write_element(struct json_writer *w, const struct array *a, size_t row,
                                   size_t column)
{
    bool by_column = a->is_fortran && !a->objects; /* objects are listed by rows whatever it says */
    size_t at = by_column ? column * a->rows + row : row * a->columns + column;
    if (a->objects)
        return unpickle_write_value(w, a->objects->list.items[at]);
    struct value number = unpickle_number_at(&a->type, a->bytes.at + at * a->type.bytes);
    return unpickle_write_value(w, &number);
}

static bool unpickle_write_list(struct json_writer *w, const struct value *v)
{
    json_array(&w->json);
    for (size_t i = 0; i < v->list.count; i++)
        if (!unpickle_write_value(w, v->list.items[i]))
            return false;
    json_array_end(&w->json);
    return true;
}

static bool unpickle_write_dict(struct json_writer *w, const struct value *v)
{
    json_object(&w->json);
    for (size_t i = 0; i + 1 < v->list.count; i += 2)
        if (!unpickle_write_key(w, v->list.items[i]) ||
            !unpickle_write_value(w, v->list.items[i + 1]))
            return false;
    json_object_end(&w->json);
    return true;
}

static bool unpickle_write_array(struct json_writer *w, const struct array *a)
{
    if (a->rows != 1)
        return unpickle_refuse(w);
    json_array(&w->json);
    for (size_t i = 0; i < a->columns; i++)
        if (!unpickle_write_element(w, a, 0, i))
            return false;
    json_array_end(&w->json);
    return true;
}

/* The names that an index of pandas has, an array of objects. */
static bool unpickle_read_index(const struct value *v, struct array *ret)
{
    return v && v->kind == VALUE_OBJECT &&
           is_global(v->object.of, "pandas.core.indexes.base", "_new_Index") &&
           unpickle_read_array(unpickle_member(unpickle_item(v->object.args, 1), "data"), ret) &&
           ret->rows == 1 && ret->objects;
}

/* Series: _mgr holds (axes, [values], …). */
static bool unpickle_write_series(struct json_writer *w, const struct value *state)
{
    const struct value *manager = unpickle_member(state, "_mgr");
    struct array index, values;
    if (!manager || manager->kind != VALUE_OBJECT ||
        !unpickle_read_index(unpickle_item(unpickle_item(manager->object.state, 0), 0), &index) ||
        !unpickle_read_array(unpickle_item(unpickle_item(manager->object.state, 1), 0), &values) ||
        values.rows != 1 || values.columns != index.columns)
        return unpickle_refuse(w);
    json_object(&w->json);
    for (size_t i = 0; i < values.columns; i++)
        if (!unpickle_step(w) || !unpickle_write_key(w, index.objects->list.items[i]) ||
            !unpickle_write_element(w, &values, 0, i))
            return false;
    json_object_end(&w->json);
    return true;
}

/* The column of the table that column i of a block is: slice(start, stop, step), or an array. */
static bool unpickle_column_place(const struct value *places, size_t i, size_t *ret)
{
    struct array numbers;
    if (places && places->kind == VALUE_OBJECT &&
        is_global(places->object.of, "builtins", "slice")) {
        const struct value *start = unpickle_item(places->object.args, 0),
                           *by = unpickle_item(places->object.args, 2);
        if (!start || start->kind != VALUE_INTEGER || !by || by->kind != VALUE_INTEGER ||
            start->integer < 0 || start->integer > BYTES_AT_MOST || by->integer < 1 ||
            by->integer > BYTES_AT_MOST)
            return false;
        *ret = (size_t)start->integer + i * (size_t)by->integer;
        return true;
    }
    if (!unpickle_read_array(places, &numbers) || numbers.objects || numbers.rows != 1 ||
        i >= numbers.columns)
        return false;
    struct value number = unpickle_number_at(&numbers.type,
                                             numbers.bytes.at + i * numbers.type.bytes);
    *ret = (size_t)number.integer;
    return number.kind == VALUE_INTEGER && number.integer >= 0;
}

/* The values of one column: the block that has it, and the row in that block. */
static bool unpickle_find_column(struct json_writer *w, const struct value *blocks, size_t column,
                                 struct array *ret, size_t *ret_row)
{
    for (size_t b = 0; unpickle_item(blocks, b); b++) {
        const struct value *block = unpickle_item(blocks, b);
        if (block->kind != VALUE_OBJECT ||
            !is_global(block->object.of, "pandas._libs.internals", "_unpickle_block") ||
            !unpickle_read_array(unpickle_item(block->object.args, 0), ret))
            return false;
        for (size_t i = 0, place; i < ret->rows && unpickle_step(w); i++)
            if (!unpickle_column_place(unpickle_item(block->object.args, 1), i, &place))
                return false;
            else if (place == column) {
                *ret_row = i;
                return true;
            }
    }
    return false;
}

/* A table: _mgr is made of blocks of columns with values of one type, and of the two axes. A row
 * becomes an object, as gpu_tracker writes it in JSON. */
static bool unpickle_write_frame(struct json_writer *w, const struct value *state)
{
    enum { COLUMNS = 16 };
    const struct value *manager = unpickle_member(state, "_mgr");
    struct array names, rows, blocks[COLUMNS];
    size_t place[COLUMNS];
    if (!manager || manager->kind != VALUE_OBJECT ||
        !is_global(manager->object.of, "pandas.core.internals.managers", "BlockManager") ||
        !unpickle_read_index(unpickle_item(unpickle_item(manager->object.args, 1), 0), &names) ||
        !unpickle_read_index(unpickle_item(unpickle_item(manager->object.args, 1), 1), &rows) ||
        names.columns > COLUMNS)
        return unpickle_refuse(w);
    for (size_t i = 0; i < names.columns; i++)
        if (!unpickle_find_column(w, unpickle_item(manager->object.args, 0), i, &blocks[i],
                                  &place[i]) ||
            blocks[i].columns != rows.columns)
            return unpickle_refuse(w);
    json_object(&w->json);
    for (size_t row = 0; row < rows.columns; row++) {
        if (!unpickle_step(w) || !unpickle_write_key(w, rows.objects->list.items[row]))
            return false;
        json_object(&w->json);
        for (size_t i = 0; i < names.columns; i++)
            if (!unpickle_write_key(w, names.objects->list.items[i]) ||
                !unpickle_write_element(w, &blocks[i], place[i], row))
                return false;
        json_object_end(&w->json);
    }
    json_object_end(&w->json);
    return true;
}

static bool unpickle_write_object(struct json_writer *w, const struct value *v)
{
    const struct value *of = v->object.of, *state = v->object.state;
    struct number_type type;
    struct array array;
    if (is_global(of, "pandas.core.frame", "DataFrame"))
        return unpickle_write_frame(w, state);
    if (is_global(of, "pandas.core.series", "Series"))
        return unpickle_write_series(w, state);
    if (is_numpy(of, "multiarray", "scalar")) {
        const struct value *bytes = unpickle_item(v->object.args, 1);
        if (!unpickle_read_number_type(unpickle_item(v->object.args, 0), &type) ||
            type.kind == 'O' || !bytes || bytes->kind != VALUE_BYTES ||
            bytes->text.end - bytes->text.at != (long)type.bytes)
            return unpickle_refuse(w);
        struct value number = unpickle_number_at(&type, bytes->text.at);
        return unpickle_write_value(w, &number);
    }
    if (unpickle_read_array(v, &array))
        return unpickle_write_array(w, &array);
    if (unpickle_is_data_class(of) && json_in_is(&of->global.name, "Tracker") &&
        unpickle_member(state, "resource_usage"))
        return unpickle_write_value(w, unpickle_member(state, "resource_usage"));
    if (unpickle_is_data_class(of) && state && state->kind == VALUE_DICT)
        return unpickle_write_value(w, state);
    if (unpickle_is_data_class(of) && !state &&
        unpickle_item(v->object.args, 0)) /* what it is made of */
        return unpickle_write_value(w, unpickle_item(v->object.args, 0));
    return unpickle_refuse_global(w, of);
}

static bool unpickle_write_value(struct json_writer *w, const struct value *v)
{
    bool good = true;
    if (!unpickle_step(w) || w->depth == JSON_DEPTH)
        return unpickle_refuse(w);
    w->depth++;
    switch (v->kind) {
    case VALUE_NONE: json_null(&w->json); break;
    case VALUE_BOOL: json_bool(&w->json, v->integer); break;
    case VALUE_INTEGER: json_i64(&w->json, v->integer); break;
    case VALUE_FLOAT: unpickle_write_float(w, v->number); break;
    case VALUE_TEXT:
        if (memchr(v->text.at, '\0', scan_length(v->text)))
            good = unpickle_refuse(w);
        else
            json_string_n(&w->json, v->text.at, scan_length(v->text));
        break;
    case VALUE_BYTES: good = unpickle_refuse(w); break;
    case VALUE_LIST: good = unpickle_write_list(w, v); break;
    case VALUE_DICT: good = unpickle_write_dict(w, v); break;
    case VALUE_GLOBAL: good = unpickle_refuse_global(w, v); break;
    case VALUE_OBJECT: good = unpickle_write_object(w, v); break;
    }
    w->depth--;
    return good;
}

bool pickle_is_one(const char *data, size_t length)
{
    return length >= 2 && (unsigned char)data[0] == 0x80;
}

/* A pickle may set a key of a dictionary twice; JSON readers refuse that. */
static bool unpickle_has_good_names(const struct buf *json)
{
    struct json_in j = {0};
    json_in_begin(&j, json->data ? json->data : "", json->length);
    json_in_skip(&j);
    bool good = json_in_end(&j);
    json_in_done(&j);
    return good;
}

int pickle_to_json(struct buf *ret, const char *pickle, size_t length, struct toll_error *e)
{
    if (!pickle_is_one(pickle, length) || length > BYTES_AT_MOST)
        return err_set(e, -EBADMSG, "not a pickle, or larger than 64 MiB");
    struct machine m = {
        .start = (const unsigned char *)pickle,
        .at = (const unsigned char *)pickle,
        .end = (const unsigned char *)pickle + length,
    };
    struct json_writer w = {0};
    json_begin(&w.json, ret, 0);
    const struct value *all = unpickle_run_opcodes(&m);
    bool good = all && unpickle_write_value(&w, all);
    int r = 0;
    if (m.no_memory || buf_failed(ret))
        r = err_set(e, -ENOMEM, "cannot read the pickle: out of memory");
    else if (!good && w.name.at && !w.is_damaged)
        r = err_set(e, -EOPNOTSUPP, "unsupported object %.*s.%.*s in the pickle",
                    (int)min_u64((uint64_t)(w.module.end - w.module.at), 100), w.module.at,
                    (int)min_u64((uint64_t)(w.name.end - w.name.at), 100), w.name.at);
    else if (!good || !unpickle_has_good_names(ret))
        r = err_set(e, -EBADMSG, "damaged pickle, or one that holds more than data");
    machine_done(&m);
    return r;
}
