/* SPDX-License-Identifier: MIT
 * Texts of users and of other programs. */
#include "base/io/http.h"
#include "base/text/buf.h"
#include "base/text/encoding.h"
#include "base/text/json.h"
#include "base/text/scan.h"
#include "base/text/secrets.h"
#include "fuzz.h"
#include "metric/frame.h"
#include "metric/metric.h"
#include "study/study.h"

#include <math.h>

/* ---- scan_duration -------------------------------------------------------------------------- */

/* What was read, written as seconds, reads the same within what a double can hold. */
FUZZ_TARGET(scan_duration)
{
    CLEANUP_FREE char *text = fuzz_string(data, size);
    uint64_t ns, again;
    fuzz_fill(&ns, sizeof ns);
    int r = scan_duration(text, &ns);
    if (r < 0) {
        CHECK(r == -EINVAL && fuzz_is_filled(&ns, sizeof ns));
        return 0;
    }
    CHECK(ns <= UINT64_C(1000000000000000000));
    struct buf b = {0};
    buf_seconds(&b, ns);
    CHECK(scan_duration(b.data, &again) == 0);
    CHECK(max_u64(ns, again) - min_u64(ns, again) <= 1 + (ns >> 50));
    buf_done(&b);
    return 0;
}

/* ---- condition ------------------------------------------------------------------------------ */

/* What is accepted names a figure, can be judged, and does not depend on blanks around it. */
FUZZ_TARGET(condition)
{
    CLEANUP_FREE char *text = fuzz_string(data, size);
    struct toll_error e = {0};
    struct condition c, again;
    fuzz_fill(&c, sizeof c);
    int r = condition_parse(text, strlen(text), &c, &e);
    if (r < 0) {
        CHECK(r == -EINVAL && e.message[0] && fuzz_is_filled(&c, sizeof c));
        return 0;
    }
    CHECK(c.figure < STUDY_FIGURES && c.limit == c.limit && c.limit <= 1e300 && c.limit >= -1e300);
    CHECK(c.is_relative || !c.is_percent);
    struct buf b = {0};
    buf_printf(&b, " %s ", text);
    CHECK(buf_failed(&b) || (condition_parse(b.data, b.length, &again, &e) == 0 &&
                             again.limit == c.limit && again.figure == c.figure));
    buf_done(&b);
    struct condition_side side = {{1, QUALITY_EXACT}, 1, 1};
    enum toll_judged judged = condition_judge(&c, &side, &side, &b);
    CHECK(judged <= TOLL_NOT_PROVEN && b.length);
    buf_done(&b);
    return 0;
}

/* ---- metric_globs --------------------------------------------------------------------------- */

static bool any_matches(const char *globs)
{
    for (unsigned id = 0; id < METRIC_COUNT; id++) {
        const struct metric *m = metric_of((enum metric_id)id);
        if (metric_matches(globs, m->facts.entity, m))
            return true;
        for (enum part p = 0; id < PROCESS_METRICS && p < PARTS; p++)
            if (metric_matches(globs, part_prefix(p), m))
                return true;
    }
    return false;
}

/* A list that is accepted matches something; a refusal says why; one more * matches everything. */
FUZZ_TARGET(metric_globs)
{
    CLEANUP_FREE char *globs = fuzz_string(data, size);
    struct toll_error e = {0};
    int r = metric_check_globs(globs, &e);
    CHECK(r == 0 ? any_matches(globs) && !*e.message : r == -EINVAL && e.code == r && *e.message);
    struct buf b = {0};
    buf_puts(&b, globs);
    buf_puts(&b, ",*");
    CHECK(metric_matches(b.data, "main", metric_of(process_cpu_seconds)));
    buf_done(&b);
    return 0;
}

/* ---- url ------------------------------------------------------------------------------------ */

static bool url_is_within(struct scan part, const char *text)
{
    return part.at >= text && part.at <= part.end && part.end <= text + strlen(text);
}

/* The parts stand in the text, in their order. What is shown is a URL again, the same when it is
 * shown once more, and has neither a user nor a query. */
FUZZ_TARGET(url)
{
    CLEANUP_FREE char *text = fuzz_string(data, size);
    struct url u, again;
    struct buf shown = {0}, twice = {0};
    fuzz_fill(&u, sizeof u);
    url_show(&shown, text);
    if (!url_split(text, &u)) {
        CHECK(fuzz_is_filled(&u, sizeof u));
        CHECK(strcmp(shown.data, "?") == 0);
        buf_done(&shown);
        return 0;
    }
    const struct scan parts[] = {u.scheme, u.user, u.host, u.port, u.path, u.query};
    for (size_t i = 0; i < ARRAY_LEN(parts); i++) {
        CHECK(url_is_within(parts[i], text));
        CHECK(!i || parts[i].at >= parts[i - 1].end);
    }
    CHECK(u.host.at < u.host.end);
    CHECK(url_port(&u) > 0 && url_port(&u) < 65536);
    CHECK(url_split(shown.data, &again));
    CHECK(again.user.at == again.user.end && again.query.at == again.query.end);
    CHECK(url_port(&again) == url_port(&u) && again.is_secure == u.is_secure);
    CHECK(again.host.end - again.host.at == u.host.end - u.host.at);
    url_show(&twice, shown.data);
    CHECK(strcmp(shown.data, twice.data) == 0);
    buf_done(&shown);
    buf_done(&twice);
    return 0;
}

/* ---- secrets -------------------------------------------------------------------------------- */

static char **mask_and_check(const char *const words[])
{
    char **masked = secrets_mask_command(words);
    CHECK(masked);
    size_t i = 0;
    for (; words[i]; i++)
        CHECK(masked[i]);
    CHECK(!masked[i]);
    return masked;
}

static void free_words(char **words)
{
    for (char **w = words; *w; w++)
        free(*w);
    free(words);
}

/* Whatever it is, it is masked where it is announced, and text never grows by more than a mask for
 * each of its characters. */
FUZZ_TARGET(secrets)
{
    CLEANUP_FREE char *text = fuzz_string(data, size);
    size_t length = strlen(text);
    struct buf shown = {0};
    secrets_mask_text(&shown, text, length);
    CHECK(shown.length <= 4 * length + 4);
    buf_done(&shown);

    struct buf pair = {0};
    buf_puts(&pair, "DB_PASSWORD=");
    buf_puts(&pair, text);
    const char *const words[] = {"x", text, "--password", text, pair.data, NULL};
    char **masked = mask_and_check(words);
    bool is_option = text[0] == '-' && text[1] == '-';
    CHECK(!length || is_option || strcmp(masked[3], "***") == 0);
    CHECK(!length || strcmp(masked[4], "DB_PASSWORD=***") == 0 ||
          (is_option && strcmp(masked[4], "***") == 0));
    free_words(masked);
    buf_done(&pair);

    const char *const script[] = {"sh", "-c", text, NULL};
    free_words(mask_and_check(script));
    secrets_mask_sentence(text, length + 1);
    CHECK(strlen(text) <= length);
    return 0;
}

/* ---- csv_record ----------------------------------------------------------------------------- */

/* What was read, written again, is read as the same. */
FUZZ_TARGET(csv_record)
{
    struct csv_record first = {0}, second = {0};
    struct buf again = {0};
    int r = parse_csv_record(fuzz_text(data, size), &first);
    if (r == 0) {
        for (size_t i = 0; i < first.count; i++) {
            buf_puts(&again, i ? "," : "");
            csv_record_write(&again, csv_record_cell(&first, i));
        }
        CHECK(!buf_failed(&again));
        r = parse_csv_record(scan_text(again.data ? again.data : "", again.length), &second);
        CHECK(r == 0 && first.count == second.count);
        for (size_t i = 0; i < first.count; i++)
            CHECK(strcmp(csv_record_cell(&first, i), csv_record_cell(&second, i)) == 0);
    } else {
        CHECK(r == -EAGAIN || r == -EBADMSG || r == -E2BIG);
    }
    buf_done(&again);
    csv_record_done(&first);
    csv_record_done(&second);
    return 0;
}

/* ---- json_in -------------------------------------------------------------------------------- */

/* What is read is written again, and read as the same. */
static void json_copy(struct json_in *in, struct json_out *out)
{
    struct scan text;
    struct decimal n;
    bool yes;
    double number;
    switch (json_in_next(in)) {
    case JSON_OBJECT:
        json_object(out);
        for (json_in_object(in); json_in_key(in, &text);) {
            struct buf key = {0};
            buf_add(&key, text.at ? text.at : "", (size_t)(text.end - text.at));
            json_key(out, key.data);
            buf_done(&key);
            json_copy(in, out);
        }
        json_object_end(out);
        break;
    case JSON_ARRAY:
        json_array(out);
        for (json_in_array(in); json_in_item(in);)
            json_copy(in, out);
        json_array_end(out);
        break;
    case JSON_STRING:
        if (json_in_string(in, &text))
            json_string_n(out, text.at ? text.at : "", (size_t)(text.end - text.at));
        break;
    case JSON_NUMBER:
        if (json_in_number(in, &n) && decimal_double(&n, &number))
            json_number(out, number);
        else
            json_u64(out, 0);
        break;
    case JSON_BOOL:
        if (json_in_bool(in, &yes))
            json_bool(out, yes);
        break;
    default:
        if (!json_in_null(in))
            json_in_fail(in);
        json_null(out);
    }
}

FUZZ_TARGET(json_in)
{
    struct json_in j = {0};
    struct json_out out;
    struct buf once = {0};
    json_in_begin(&j, (const char *)data, size);
    json_in_skip(&j);
    bool good = json_in_end(&j);
    json_in_begin(&j, (const char *)data, size);
    json_begin(&out, &once, 0);
    json_copy(&j, &out);
    CHECK(json_in_end(&j) == good);
    if (good) {
        json_in_begin(&j, once.data, once.length);
        json_in_skip(&j);
        CHECK(json_in_end(&j));
    }
    json_in_done(&j);
    buf_done(&once);
    return 0;
}

/* ---- pickle --------------------------------------------------------------------------------- */

/* What is taken for a pickle is JSON, and that makes a pickle again. */
FUZZ_TARGET(pickle)
{
    struct buf json = {0}, pickle = {0};
    if (pickle_to_json(&json, (const char *)data, size, NULL) == 0)
        CHECK(pickle_from_json(&pickle, json.data, json.length) == 0);
    buf_done(&json);
    buf_done(&pickle);
    return 0;
}

/* ---- packed_frame --------------------------------------------------------------------------- */

/* What is taken for a frame can be packed, and is the same frame again. */
FUZZ_TARGET(packed_frame)
{
    struct toll_frame *frame = NULL, *again = NULL;
    void *once = NULL, *twice = NULL;
    size_t once_size, twice_size;
    int r = toll_frame_unpack(&frame, data, size, NULL);
    if (r < 0) {
        CHECK((r == -EBADMSG || r == -EOPNOTSUPP) && !frame);
        return 0;
    }
    const struct toll_row *row;
    for (size_t i = 0; (row = toll_frame_row(frame, i)); i++) {
        double value;
        for (size_t k = 0; toll_row_at(row, k, &value); k++)
            continue;
        CHECK(strlen(row->name) <= size);
    }
    CHECK(toll_frame_pack(frame, &once, &once_size) == 0);
    CHECK(toll_frame_unpack(&again, once, once_size, NULL) == 0);
    CHECK(toll_frame_pack(again, &twice, &twice_size) == 0);
    CHECK(once_size == twice_size && memcmp(once, twice, once_size) == 0);
    free(once);
    free(twice);
    toll_frame_free(frame);
    toll_frame_free(again);
    return 0;
}

/* ---- mark_text ------------------------------------------------------------------------------ */

FUZZ_TARGET(mark_text)
{
    struct mark_text m, again;
    fuzz_fill(&m, sizeof m);
    int r = parse_mark_text(fuzz_text(data, size), &m);
    if (r < 0) {
        CHECK(r == -EBADMSG && fuzz_is_filled(&m, sizeof m));
        return 0;
    }
    CHECK(m.kind < MARK_KINDS && m.pid >= 0 && isfinite(m.value));
    CHECK(mark_text_is_name(m.name));
    char text[64];
    const char *value;
    struct scan rest = m.attributes;
    while (mark_text_attribute(&rest, text, sizeof text, &value))
        CHECK(value >= text && value < text + sizeof text && memchr(value, 0, 64));
    struct buf b = {0}; /* what is written of it is read as the same */
    mark_text_begin(&b, m.kind, m.name);
    if (m.kind == MARK_GAUGE)
        mark_text_add_value(&b, m.value);
    CHECK(!buf_failed(&b));
    CHECK(parse_mark_text(scan_text(b.data, b.length), &again) == 0);
    CHECK(again.kind == m.kind && fabs(again.value - m.value) <= fabs(m.value) * 1e-15 + 1e-300 &&
          strcmp(again.name, m.name) == 0);
    buf_done(&b);
    return 0;
}
