/* SPDX-License-Identifier: MIT */
#include "record/reading.h"

#include "sink/record_words.h"

#include <limits.h>

const char *reading_keep(struct reading *r, struct scan text)
{
    size_t length = (size_t)(text.end - text.at);
    char *copy = arena_take(&r->kept, length + 1);
    r->no_memory |= !copy;
    if (copy && length)
        memcpy(copy, text.at, length);
    return copy ? copy : "";
}

bool reading_wrong(struct reading *r, const char *what)
{
    if (!r->json.failed && !r->wrong)
        r->wrong = what;
    return json_in_fail(&r->json);
}

void reading_skip(struct reading *r, const struct scan *key)
{
    size_t length = min_u64((uint64_t)(key->end - key->at), sizeof r->unknown - 1);
    if (!r->unknown[0] && length) {
        memcpy(r->unknown, key->at, length);
        r->unknown[length] = '\0';
    }
    json_in_skip(&r->json);
}

bool read_seconds(struct json_in *j, uint64_t *ret_ns)
{
    struct json_number n;
    return json_in_null(j) ||
           (json_in_number(j, &n) && (json_number_u64(&n, 9, ret_ns) || json_in_fail(j)));
}

bool read_u64(struct json_in *j, uint64_t *ret)
{
    struct json_number n;
    return json_in_null(j) ||
           (json_in_number(j, &n) && (json_number_u64(&n, 0, ret) || json_in_fail(j)));
}

bool read_double(struct json_in *j, double *ret)
{
    struct json_number n;
    return json_in_null(j) ||
           (json_in_number(j, &n) && (json_number_double(&n, ret) || json_in_fail(j)));
}

bool read_pid(struct json_in *j, pid_t *ret)
{
    uint64_t pid = (uint64_t)*ret;
    if (!read_u64(j, &pid) || pid > INT_MAX)
        return json_in_fail(j);
    *ret = (pid_t)pid;
    return true;
}

bool read_utc(struct json_in *j, uint64_t *ret_real_ns)
{
    struct scan text;
    return json_in_string(j, &text) &&
           ((scan_utc(&text, ret_real_ns) && scan_done(&text)) || json_in_fail(j));
}

const char *read_kept(struct reading *r)
{
    struct scan text;
    return json_in_string(&r->json, &text) ? reading_keep(r, text) : "";
}

bool read_name(struct json_in *j, char *ret, size_t capacity)
{
    struct scan text;
    if (!json_in_string(j, &text))
        return false;
    size_t length = min_u64((uint64_t)(text.end - text.at), capacity - 1);
    memcpy(ret, text.at, length);
    ret[length] = '\0';
    return true;
}

int read_word(struct json_in *j, const char *const *words, size_t count)
{
    struct scan text;
    if (!json_in_string(j, &text))
        return -1;
    for (size_t i = 0; i < count; i++)
        if (words[i] && json_in_is(&text, words[i]))
            return (int)i;
    json_in_fail(j);
    return -1;
}

/* A number of an exit code or a signal, which null leaves alone. */
static bool read_status(struct json_in *j, int *ret)
{
    struct json_number n;
    uint64_t value;
    if (json_in_null(j))
        return true;
    if (!json_in_number(j, &n))
        return false;
    struct json_number size = n;
    size.negative = false;
    if (!json_number_u64(&size, 0, &value) || value > INT_MAX)
        return json_in_fail(j);
    *ret = n.negative ? -(int)value : (int)value;
    return true;
}

bool read_end(struct reading *r, struct toll_end *ret)
{
    struct json_in *j = &r->json;
    struct toll_end end = {0};
    struct scan key;
    int status;
    bool cut_short = false;
    json_in_object(j);
    while (json_in_key(j, &key)) {
        if (json_in_is(&key, "status")) {
            status = read_word(j, record_words_end, END_STATUSES);
            end.ended = status != END_RUNNING;
            end.unknown = status == END_UNKNOWN;
            end.signaled = status == END_SIGNALED;
        } else if (json_in_is(&key, "code") || json_in_is(&key, "signal")) {
            read_status(j, &end.status);
        } else if (json_in_is(&key, "core_dumped")) {
            json_in_bool(j, &end.core_dumped);
        } else if (json_in_is(&key, "oom_killed")) {
            json_in_bool(j, &end.oom_killed);
        } else if (json_in_is(&key, "timed_out")) {
            json_in_bool(j, &end.timed_out);
        } else if (json_in_is(&key, "cut_short")) {
            json_in_bool(j, &cut_short);
        } else {
            reading_skip(r, &key);
        }
    }
    if (cut_short && end.unknown)
        end.ended = false;
    *ret = end;
    return !j->failed;
}
