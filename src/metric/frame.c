/* SPDX-License-Identifier: MIT */
#include "metric/frame.h"

#include "base/text/buf.h"

#include <limits.h>
#include <math.h>

/* ==== Inherited =============================================================================== */

/* The place of each conserved metric: how many come before it in the table. */
#define IF_CONSERVED(id) place_of_##id,
#define IF_SUM(id)
#define IF_MAX(id)
#define IF_ONCE(id)
#define IF_KEPT(id)
#define IF_WHOLE(id)
#define IF_RATE(id)
#define IF_NONE(id)
enum {
#define METRIC(entity, stem, kind, unit, fold, ...) IF_##fold(entity##_##stem##_##unit)
#include "metric/metrics.def"
    PLACES
};

_Static_assert((int)PLACES == (int)INHERITED_METRICS, "as many as there are conserved metrics");

#undef IF_CONSERVED
#define IF_CONSERVED(id) [id] = place_of_##id,
static const unsigned char places[PROCESS_METRICS] = {
#define METRIC(entity, stem, kind, unit, fold, ...) IF_##fold(entity##_##stem##_##unit)
#include "metric/metrics.def"
};

void inherited_put(struct inherited *i, enum metric_id id, uint64_t value)
{
    i->values[places[id]] = value;
    i->present |= BIT(id);
}

uint64_t inherited_u64(const struct inherited *i, enum metric_id id)
{
    return inherited_has(i, id) ? i->values[places[id]] : 0;
}

void inherited_add(struct row *sum, const struct inherited *i)
{
    FOR_EACH_BIT(id, i->present)
    row_put_u64(sum, id, row_u64(sum, id) + inherited_u64(i, id));
}

/* ==== Frame =================================================================================== */

void row_init(struct row *r, enum entity_kind kind)
{
    r->present = r->at_least = 0;
    r->first = metric_first(kind);
}

/* The process metrics that are held as doubles, as bits. */
#define METRIC(entity, stem, kind, unit, ...)                                                      \
    | ((int)entity##_##stem##_##unit < (int)PROCESS_METRICS && UNIT_##unit >= UNIT_cores           \
           ? BIT((unsigned)entity##_##stem##_##unit % METRICS_PER_ENTITY)                          \
           : 0)
static const uint64_t process_doubles = 0
#include "metric/metrics.def"
    ;

void row_add(struct row *sum, const struct row *r, uint64_t mask)
{
    FOR_EACH_BIT(id, mask & r->present & ~process_doubles)
    row_put_u64(sum, id, row_u64(sum, id) + r->values[id].u);
    FOR_EACH_BIT(id, mask & r->present & process_doubles)
    row_put_double(sum, id, (row_has(sum, id) ? row_value(sum, id).d : 0) + r->values[id].d);
}

void instance_init(struct instance *m, enum entity_kind kind)
{
    *m = (struct instance){.entity = {.kind = kind}};
    row_init(&m->read, kind);
    row_init(&m->row, kind);
    row_init(&m->base, kind);
}

int instance_list_add(struct instance_list *l, struct instance *m)
{
    if (!ARRAY_RESERVE(l->items, l->capacity, l->count + 1))
        return -ENOMEM;
    l->items[l->count++] = m;
    return 0;
}

void instance_list_done(struct instance_list *l)
{
    free(l->items);
    *l = (struct instance_list){0};
}

void frame_begin(struct frame *f)
{
    arena_empty(&f->arena);
    f->processes = NULL;
    f->process_count = 0;
    f->last = f->is_brief = false;
}

void frame_done(struct frame *f)
{
    arena_done(&f->arena);
}

/* ==== Marks =================================================================================== */

/* The words of each kind before the name. */
static const char *const mark_leads[MARK_KINDS] = {
    [MARK_PHASE_BEGIN] = "phase begin ",
    [MARK_PHASE_END] = "phase end ",
    [MARK_EVENT] = "event ",
    [MARK_GAUGE] = "gauge ",
};

/* ---- Reading --------------------------------------------------------------------------------- */

/* One byte of a word, decoded from %XX; -1 when it is malformed. */
static int mark_text_take_byte(struct scan *word)
{
    unsigned char c = (unsigned char)*word->at++;
    if (c < 0x20 || c == 0x7F)
        return -1;
    if (c != '%')
        return c;
    int high = word->end - word->at < 2 ? -1 : scan_hex_digit(word->at[0]);
    int low = high < 0 ? -1 : scan_hex_digit(word->at[1]);
    if (low < 0)
        return -1;
    word->at += 2;
    return high << 4 | low;
}

/* Cuts off the word before the next blank, which is taken too. False when it is empty. */
static bool mark_text_take_word(struct scan *text, struct scan *ret)
{
    const char *blank = scan_done(text) ? NULL : memchr(text->at, ' ', scan_length(*text));
    *ret = (struct scan){text->at, blank ? blank : text->end};
    if (ret->at == ret->end || (blank && blank + 1 == text->end))
        return false;
    text->at = blank ? blank + 1 : text->end;
    return true;
}

static bool mark_text_take_name(struct scan *text, char ret[MARK_NAME_BYTES + 1])
{
    struct scan word;
    size_t length = 0;
    if (!mark_text_take_word(text, &word))
        return false;
    while (word.at < word.end) {
        int c = mark_text_take_byte(&word);
        if (c <= 0 || length == MARK_NAME_BYTES)
            return false;
        ret[length++] = (char)c;
    }
    ret[length] = '\0';
    return utf8_is_text(ret, length);
}

static bool mark_text_take_number(struct scan word, const char *key, uint64_t most, uint64_t *ret)
{
    uint64_t number;
    if (!scan_word(&word, key) || !scan_u64_here(&word, &number) || !scan_done(&word) ||
        number > most)
        return false;
    *ret = number;
    return true;
}

/* A word about the mark itself. Unknown ones are ignored. */
static bool mark_text_take_about(struct scan word, struct mark_text *m)
{
    uint64_t pid = 0;
    if (mark_text_take_number(word, "@pid=", INT_MAX, &pid)) {
        m->pid = (pid_t)pid;
        return pid > 0;
    }
    struct scan key = word;
    if (mark_text_take_number(word, "@time=", UINT64_MAX, &m->time_ns) ||
        mark_text_take_number(word, "@lost=", UINT64_MAX / 2, &m->lost))
        return true;
    return !scan_word(&key, "@pid=") && !scan_word(&key, "@time=") && !scan_word(&key, "@lost=");
}

static bool mark_text_has_key(struct scan word)
{
    const char *equals = memchr(word.at, '=', (size_t)(word.end - word.at));
    return equals && equals > word.at;
}

/* Everything after the name. */
static bool mark_text_take_rest(struct scan *text, struct mark_text *m)
{
    struct scan word;
    bool has_value = false;
    bool takes_attributes = m->kind == MARK_PHASE_BEGIN || m->kind == MARK_EVENT;
    m->attributes = *text;
    while (text->at < text->end) {
        if (!mark_text_take_word(text, &word))
            return false;
        for (struct scan bytes = word; !scan_done(&bytes);)
            if (mark_text_take_byte(&bytes) < 0)
                return false;
        if (*word.at == '@') {
            if (!mark_text_take_about(word, m))
                return false;
        } else if (m->kind == MARK_GAUGE && !has_value) {
            has_value = scan_number(&word, &m->value) && scan_done(&word);
            if (!has_value)
                return false;
        } else if (!takes_attributes || !mark_text_has_key(word)) {
            return false;
        }
    }
    return has_value == (m->kind == MARK_GAUGE);
}

int parse_mark_text(struct scan text, struct mark_text *ret)
{
    struct mark_text m = {.kind = MARK_KINDS};
    if (text.at < text.end && text.end[-1] == '\n')
        text.end--;
    for (unsigned kind = 0; kind < MARK_KINDS && m.kind == MARK_KINDS; kind++)
        if (scan_word(&text, mark_leads[kind]))
            m.kind = kind;
    if (m.kind == MARK_KINDS || !mark_text_take_name(&text, m.name) ||
        !mark_text_take_rest(&text, &m))
        return -EBADMSG;
    *ret = m;
    return 0;
}

/* Both are attributes. */
static bool mark_text_same_key(struct scan a, struct scan b)
{
    for (;;) {
        int x = mark_text_take_byte(&a), y = mark_text_take_byte(&b);
        if (x != y || x < 0)
            return false;
        if (x == '=')
            return true;
        if (a.at == a.end || b.at == b.end)
            return false;
    }
}

bool mark_text_attribute(struct scan *attributes, char *ret, size_t capacity,
                         const char **ret_value)
{
    struct scan word, other;
    bool is_last;
    do {
        if (!mark_text_take_word(attributes, &word))
            return false;
        is_last = *word.at != '@' && mark_text_has_key(word);
        for (struct scan rest = *attributes; is_last && mark_text_take_word(&rest, &other);)
            is_last = *other.at == '@' || !mark_text_has_key(other) ||
                      !mark_text_same_key(word, other);
    } while (!is_last);
    size_t length = 0;
    const char *value = NULL;
    while (word.at < word.end && length + 1 < capacity) {
        int c = mark_text_take_byte(&word);
        bool is_sign = c == '=' && !value;
        ret[length++] = is_sign || c <= 0 ? '\0' : (char)c;
        if (is_sign)
            value = ret + length;
    }
    ret[length] = '\0';
    *ret_value = value ? value : ret + length;
    return true;
}

/* ---- Writing --------------------------------------------------------------------------------- */

bool mark_text_is_name(const char *name)
{
    size_t length = name ? strnlen(name, MARK_NAME_BYTES + 1) : 0;
    return length > 0 && length <= MARK_NAME_BYTES && utf8_is_text(name, length);
}

bool mark_text_is_attribute(const char *text)
{
    return *text != '@' && mark_text_has_key(scan_string(text));
}

static void mark_text_add_word(struct buf *b, const char *word)
{
    for (; *word; word++) {
        unsigned char c = (unsigned char)*word;
        if (c <= 0x20 || c == 0x7F || c == '%')
            buf_printf(b, "%%%02X", c);
        else
            buf_putc(b, *word);
    }
}

void mark_text_begin(struct buf *b, enum mark_kind kind, const char *name)
{
    buf_puts(b, mark_leads[kind]);
    mark_text_add_word(b, name);
}

void mark_text_add(struct buf *b, const char *attribute)
{
    buf_putc(b, ' ');
    mark_text_add_word(b, attribute);
}

void mark_text_add_value(struct buf *b, double value)
{
    buf_putc(b, ' ');
    buf_number(b, value);
}

void mark_text_add_number(struct buf *b, const char *key, uint64_t number)
{
    buf_printf(b, " @%s=", key);
    buf_u64(b, number);
}
