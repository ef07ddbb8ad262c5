/* SPDX-License-Identifier: MIT */
#include "record/keys.h"

#include "record/reading.h"

#include <limits.h>
#include <stddef.h>

/* ==== Words =================================================================================== */

const char *const record_words_end[END_STATUSES] = {
    [END_RUNNING] = "running",
    [END_EXITED] = "exited",
    [END_SIGNALED] = "signaled",
    [END_UNKNOWN] = "unknown",
};

const char *const record_words_left[DEPARTURES] = {
    [LEFT_REAPED] = "reaped by toll",
    [LEFT_INSIDE] = "reaped inside",
    [LEFT_LOST] = "reaped by nobody",
    [LEFT_UNSEEN] = "not seen",
};

const char *const record_words_way[OUTPUT_WAYS] = {
    [OUTPUT_FILE] = "file",
    [OUTPUT_STREAM] = "stream",
    [OUTPUT_SENT] = "sent",
    [OUTPUT_SCRAPED] = "scraped",
};

const char *const record_words_scope[2] = {"process", "target"};

const char *const record_words_mark[MARK_KINDS] = {
    [MARK_PHASE_END] = "phase",
    [MARK_EVENT] = "event",
    [MARK_GAUGE] = "gauge",
};

const char *const record_words_limit[LIMITS] = {
    [LIMIT_CPUS] = "cpus",
    [LIMIT_MEMORY_BYTES] = "memory_bytes",
    [LIMIT_SWAP_BYTES] = "swap_bytes",
    [LIMIT_TASKS] = "tasks",
    [LIMIT_OPEN_FILES] = "open_files",
    [LIMIT_PROCESSES] = "processes",
    [LIMIT_ADDRESS_BYTES] = "address_space_bytes",
    [LIMIT_CPU_SECONDS] = "cpu_time_seconds",
    [LIMIT_FILE_BYTES] = "file_size_bytes",
    [LIMIT_CORE_BYTES] = "core_file_bytes",
    [LIMIT_LOCKED_BYTES] = "locked_memory_bytes",
};

const double record_quantiles[RECORD_QUANTILES] = {0.5, 0.9, 0.99};

/* ==== The table =============================================================================== */

#define DECLARE_NAME
#define DECLARE_OWNED
#define DECLARE_KEPT
#define DECLARE_COUNT
#define DECLARE_PID
#define DECLARE_INT
#define DECLARE_SECONDS
#define DECLARE_TIME
#define DECLARE_REAL6
#define DECLARE_REAL9
#define DECLARE_NUMBER
#define DECLARE_FLAG
#define DECLARE_NOT
#define DECLARE_QUALITY
#define DECLARE_WORD(name)
#define DECLARE_MEMBER(name)
#define DECLARE_SPECIAL(name) extern const struct record_special record_special_##name;

#define KEY(object, key, type, ...)    DECLARE_##type
#define KEY_IF(object, key, type, ...) DECLARE_##type
#include "record/record.def"

extern const struct record_special record_special_end, record_special_limits;

/* The struct of each object, under its name. */
#define OBJECT(name, type, ...) typedef type record_struct_##name;
#include "record/record.def"

/* The keys of an object are a run of numbers that begins with first_NAME. */
enum {
#define CONCAT(a, b)      a##b
#define KEY_NUMBER(line)  CONCAT(key_in_line_, line)
#define OBJECT(name, ...) first_##name, first_##name##_ = first_##name - 1,
#define KEY(...)          KEY_NUMBER(__LINE__),
#define KEY_IF(...)       KEY_NUMBER(__LINE__),
#include "record/record.def"
    RECORD_KEYS,
};

static const unsigned first_keys[RECORD_OBJECTS + 1] = {
#define OBJECT(name, ...) [RECORD_OBJECT_##name] = first_##name,
#include "record/record.def"
    [RECORD_OBJECTS] = RECORD_KEYS,
};

#define RECORD_WORD(name)                                                                          \
    RECORD_WORD, .words = record_words_##name, .word_count = ARRAY_LEN(record_words_##name)
#define RECORD_SPECIAL(name) RECORD_SPECIAL, .special = &record_special_##name
#define RECORD_MEMBER(name)  RECORD_MEMBER, .special = &record_special_##name

/* clang-format off */
#define MEMBER_SIZE(object, member) sizeof(((record_struct_##object *)0)->member)
#define KEY_IF(of, name, how, member, when, condition, in, ...)                                    \
    {.key = name, .column = in, .object = RECORD_OBJECT_##of, .presence = RECORD_##when,           \
     .offset = offsetof(record_struct_##of, member), .size = MEMBER_SIZE(of, member),              \
     .condition_offset = offsetof(record_struct_##of, condition),                                  \
     .condition_size = MEMBER_SIZE(of, condition), .type = RECORD_##how},
#define KEY(of, name, how, member, when, in, ...)                                                  \
    KEY_IF(of, name, how, member, when, member, in, __VA_ARGS__)
/* clang-format on */
static const struct record_key keys[RECORD_KEYS] = {
#include "record/record.def"
};

const struct record_key *record_keys(enum record_object object, unsigned *ret_count)
{
    *ret_count = first_keys[object + 1] - first_keys[object];
    return &keys[first_keys[object]];
}

/* ==== Members ================================================================================= */

bool record_key_is_set(const struct record_key *k, const void *object,
                       const struct record_context *c)
{
    const char *condition = (const char *)object + k->condition_offset;
    bool is_set = false;
    if (k->presence == RECORD_ALWAYS)
        return true;
    if (k->special && k->special->is_set)
        return k->special->is_set(object, c);
    /* A text in an array is there when its first byte is. */
    unsigned size = k->type == RECORD_NAME && k->condition_offset == k->offset ? 1
                                                                               : k->condition_size;
    for (unsigned i = 0; i < size; i++)
        is_set |= condition[i] != 0;
    return is_set != (k->presence == RECORD_UNLESS);
}

void record_key_note(const struct record_key *k, void *object)
{
    if (k->condition_offset != k->offset &&
        (k->presence == RECORD_OPTIONAL || k->presence == RECORD_NULLABLE))
        *(bool *)((char *)object + k->condition_offset) = true;
}

uint64_t record_key_whole(const struct record_key *k, const void *object)
{
    const void *member = (const char *)object + k->offset;
    if (k->size == sizeof(uint64_t))
        return *(const uint64_t *)member;
    if (k->size == sizeof(unsigned))
        return *(const unsigned *)member;
    return *(const bool *)member != (k->type == RECORD_NOT);
}

bool record_key_put_whole(const struct record_key *k, void *object, uint64_t value)
{
    void *member = (char *)object + k->offset;
    if (k->type == RECORD_PID && value > INT_MAX)
        return false;
    /* A time to the millisecond does not replace the same one in full. */
    if (k->type == RECORD_TIME && value / NS_PER_MS == *(uint64_t *)member / NS_PER_MS)
        return true;
    if (k->size == sizeof(uint64_t))
        *(uint64_t *)member = value;
    else if (k->size == sizeof(unsigned))
        *(unsigned *)member = (unsigned)min_u64(value, UINT32_MAX);
    else
        *(bool *)member = (value != 0) != (k->type == RECORD_NOT);
    return true;
}

const char *record_key_text(const struct record_key *k, const void *object)
{
    const char *member = (const char *)object + k->offset;
    if (k->type == RECORD_WORD)
        return k->words[record_key_whole(k, object)];
    if (k->type == RECORD_QUALITY)
        return quality_word(*(const enum quality *)(const void *)member);
    if (k->type == RECORD_NAME)
        return member;
    const char *text = *(const char *const *)(const void *)member;
    return text ? text : "";
}

bool record_key_put_text(struct reading *r, const struct record_key *k, void *object,
                         struct scan text)
{
    void *member = (char *)object + k->offset;
    size_t length = (size_t)(text.end - text.at);
    char *copy;
    switch (k->type) {
    case RECORD_WORD:
        for (unsigned i = 0; i < k->word_count; i++)
            if (k->words[i] && json_in_is(&text, k->words[i]))
                return record_key_put_whole(k, object, i);
        return false;
    case RECORD_QUALITY:
        for (unsigned q = 0; q < QUALITIES; q++)
            if (json_in_is(&text, quality_word(q))) {
                *(enum quality *)member = q;
                return true;
            }
        return false;
    case RECORD_NAME:
        length = min_u64(length, k->size - 1);
        if (length)
            memcpy(member, text.at, length);
        ((char *)member)[length] = '\0';
        return true;
    case RECORD_OWNED:
        copy = scan_copy(text);
        free(*(char **)member);
        *(char **)member = copy;
        r->no_memory |= !copy;
        return true;
    default: *(const char **)member = reading_keep(r, text); return true;
    }
}

/* ==== JSON ==================================================================================== */

static void record_write_value(struct json_out *j, const struct record_key *k, const void *object,
                               const struct record_context *c)
{
    const void *member = (const char *)object + k->offset;
    switch (k->type) {
    case RECORD_NAME:
    case RECORD_OWNED:
    case RECORD_KEPT:
    case RECORD_QUALITY:
    case RECORD_WORD: json_string(j, record_key_text(k, object)); break;
    case RECORD_COUNT: json_u64(j, record_key_whole(k, object)); break;
    case RECORD_PID:
    case RECORD_INT: json_i64(j, *(const int *)member); break;
    case RECORD_SECONDS: json_seconds(j, record_key_whole(k, object)); break;
    case RECORD_TIME: json_utc(j, record_key_whole(k, object)); break;
    case RECORD_REAL6: json_double(j, *(const double *)member, 6); break;
    case RECORD_REAL9: json_double(j, *(const double *)member, SERIES_DECIMALS); break;
    case RECORD_NUMBER: json_number(j, *(const double *)member); break;
    case RECORD_FLAG:
    case RECORD_NOT: json_bool(j, record_key_whole(k, object)); break;
    case RECORD_SPECIAL: k->special->write(j, object, c); break;
    case RECORD_MEMBER: k->special->write(j, member, c); break;
    }
}

void record_write(struct json_out *j, enum record_object object, const void *data,
                  const struct record_context *c)
{
    unsigned count;
    const struct record_key *k = record_keys(object, &count);
    for (const struct record_key *end = k + count; k < end; k++) {
        bool is_set = record_key_is_set(k, data, c);
        if (!is_set && k->presence != RECORD_NULLABLE)
            continue;
        json_key(j, k->key);
        if (is_set)
            record_write_value(j, k, data, c);
        else
            json_null(j);
    }
}

void record_write_object(struct json_out *j, enum record_object object, const void *data,
                         const struct record_context *c)
{
    json_object(j);
    record_write(j, object, data, c);
    json_object_end(j);
}

/* A number may be null, which leaves the member as it is; so may a text that is marked so. */
static bool record_read_value(struct reading *r, const struct record_key *k, void *object)
{
    struct json_in *j = &r->json;
    void *member = (char *)object + k->offset;
    struct decimal n, size;
    struct scan text;
    uint64_t whole;
    bool flag, is_good;
    switch (k->type) {
    case RECORD_NAME:
    case RECORD_OWNED:
    case RECORD_KEPT:
    case RECORD_QUALITY:
    case RECORD_WORD:
        if (k->presence == RECORD_NULLABLE && json_in_null(j))
            return true;
        if (!json_in_string(j, &text) || !record_key_put_text(r, k, object, text))
            return json_in_fail(j);
        break;
    case RECORD_TIME:
        if (!read_utc(j, &whole) || !record_key_put_whole(k, object, whole))
            return json_in_fail(j);
        break;
    case RECORD_FLAG:
    case RECORD_NOT:
        if (!json_in_bool(j, &flag))
            return false;
        record_key_put_whole(k, object, flag);
        break;
    case RECORD_SPECIAL:
    case RECORD_MEMBER:
        if (k->presence == RECORD_NULLABLE && json_in_null(j))
            return true;
        if (!k->special->read)
            json_in_skip(j);
        else if (!k->special->read(r, k->type == RECORD_MEMBER ? member : object))
            return json_in_fail(j);
        break;
    default:
        if (json_in_null(j))
            return true;
        if (!json_in_number(j, &n))
            return false;
        size = n;
        if (k->type == RECORD_REAL6 || k->type == RECORD_REAL9 || k->type == RECORD_NUMBER) {
            is_good = decimal_double(&n, (double *)member);
        } else if (k->type == RECORD_INT) {
            size.negative = false;
            is_good = decimal_u64(&size, 0, &whole) && whole <= INT_MAX;
            if (is_good)
                *(int *)member = n.negative ? -(int)whole : (int)whole;
        } else {
            is_good = decimal_u64(&n, k->type == RECORD_SECONDS ? 9 : 0, &whole) &&
                      record_key_put_whole(k, object, whole);
        }
        if (!is_good)
            return json_in_fail(j);
    }
    record_key_note(k, object);
    return true;
}

bool record_read(struct reading *r, const struct record_fields *fields, unsigned count,
                 bool (*other)(struct reading *r, const struct scan *key, void *arg), void *arg)
{
    struct json_in *j = &r->json;
    unsigned of = 0, next = 0; /* keys come in the order of the table, as a rule */
    struct scan key;
    json_in_object(j);
    while (json_in_key(j, &key)) {
        const struct record_key *found = NULL;
        for (unsigned tries = 0; tries <= count && !found; tries++) {
            unsigned key_count;
            const struct record_key *k = record_keys(fields[of].object, &key_count);
            for (; next < key_count && !found; next++)
                if (json_in_is(&key, k[next].key))
                    found = &k[next];
            if (!found) {
                of = (of + 1) % count;
                next = 0;
            }
        }
        if (found)
            record_read_value(r, found, fields[of].data);
        else if (other && other(r, &key, arg))
            continue;
        else if (json_in_is(&key, "type"))
            json_in_skip(j);
        else
            reading_skip(r, &key);
    }
    return !j->failed;
}

bool record_read_object(struct reading *r, enum record_object object, void *data)
{
    return record_read(r, &(struct record_fields){object, data}, 1, NULL, NULL);
}

/* ==== How something ended ===================================================================== */

struct record_end record_end_of(const struct toll_end *end)
{
    bool has_status = end->ended && !end->unknown;
    return (struct record_end){
        .status = end->unknown    ? END_UNKNOWN
                  : !end->ended   ? END_RUNNING
                  : end->signaled ? END_SIGNALED
                                  : END_EXITED,
        .code = end->status,
        .signal = end->status,
        .has_code = has_status && !end->signaled,
        .has_signal = has_status && end->signaled,
        .core_dumped = end->core_dumped,
        .oom_killed = end->oom_killed,
        .timed_out = end->timed_out,
        .cut_short = end->unknown && !end->ended,
    };
}

struct toll_end record_end_back(const struct record_end *end)
{
    return (struct toll_end){
        .ended = end->status != END_RUNNING && !(end->cut_short && end->status == END_UNKNOWN),
        .unknown = end->status == END_UNKNOWN,
        .signaled = end->status == END_SIGNALED,
        .status = end->has_signal ? end->signal : end->code,
        .core_dumped = end->core_dumped,
        .oom_killed = end->oom_killed,
        .timed_out = end->timed_out,
    };
}

static void write_end(struct json_out *j, const void *member, const struct record_context *c)
{
    struct record_end end = record_end_of(member);
    record_write_object(j, RECORD_OBJECT_end, &end, c);
}

static bool read_end(struct reading *r, void *member)
{
    struct record_end end = {0};
    bool is_good = record_read_object(r, RECORD_OBJECT_end, &end);
    *(struct toll_end *)member = record_end_back(&end);
    return is_good;
}

const struct record_special record_special_end = {write_end, read_end, NULL};
