/* SPDX-License-Identifier: MIT
 * The public calls for the files of code blocks: analysis, comparison, combination. */
#include "base/err.h"
#include "base/sized.h"
#include "engine/phase_record.h"
#include "subtrack/combine.h"
#include "subtrack/comparison.h"
#include "subtrack/point_store.h"

#include <string.h>

enum phase_format { FORMAT_TEXT, FORMAT_JSON };

static int choose_format(const char *name, enum phase_format *ret, struct toll_error *e)
{
    if (!name || strcmp(name, "text") == 0)
        *ret = FORMAT_TEXT;
    else if (strcmp(name, "json") == 0)
        *ret = FORMAT_JSON;
    else
        return err_set(e, -EINVAL,
                       "\"%s\" is not a valid format. Valid values are \"json\" or \"text\".",
                       name);
    return 0;
}

/* The text of it, for the caller to free. */
static int hand_out(struct buf *b, char **ret, struct toll_error *e)
{
    if (buf_failed(b) || !b->data) {
        buf_done(b);
        return err_set(e, -ENOMEM, "no memory for the results");
    }
    *ret = b->data;
    return 0;
}

/* A record has both in it; other blocks may be meant. */
static int analyze(struct analysis *ret, const char *points, const char *blocks,
                   struct toll_error *e)
{
    struct phase_record record;
    int r = phase_record_open(&record, points, e);
    if (r <= 0)
        return r < 0 ? r : analysis_make(ret, points, blocks, e);
    r = analysis_make(ret, record.points.data, blocks ? blocks : record.blocks.data, e);
    phase_record_close(&record);
    return r;
}

int toll_phases_analyze(const char *points, const char *blocks, const char *format, char **ret,
                        struct toll_error *e)
{
    struct analysis a;
    struct buf b = {0};
    enum phase_format as;
    int r = points ? choose_format(format, &as, e)
                   : err_set(e, -EINVAL, "no tracking file is named");
    if (r == 0)
        r = analyze(&a, points, blocks, e);
    if (r < 0)
        return r;
    (as == FORMAT_JSON ? analysis_write_json : analysis_write_text)(&b, &a);
    analysis_done(&a);
    return hand_out(&b, ret, e);
}

int toll_phases_combine(const char *destination, const char *const *files, struct toll_error *e)
{
    if (!destination || !files || !files[0])
        return err_set(e, -EINVAL, "no sub-tracking files are named");
    return combine_blocks(destination, files, e);
}

int toll_phases_store(const char *points, const char *destination, struct toll_error *e)
{
    if (!points || !destination)
        return err_set(e, -EINVAL, "no tracking file is named");
    return points_to_sqlite(points, destination, e);
}

/* ---- Comparison ------------------------------------------------------------------------------ */

struct sessions {
    char **names;          /* owned */
    struct analysis *list; /* owned */
    size_t count;
};

static void sessions_done(struct sessions *s)
{
    for (size_t i = 0; i < s->count; i++) {
        free(s->names[i]);
        analysis_done(&s->list[i]);
    }
    free(s->names);
    free(s->list);
}

/* "NAME=FILE" */
static int read_session(struct sessions *s, const char *text, struct toll_error *e)
{
    const char *sign = strchr(text, '=');
    if (!sign || sign == text || !sign[1])
        return err_set(e, -EINVAL, "'%s' is not of the form NAME=FILE", text);
    char *name = strndup(text, (size_t)(sign - text));
    if (!name)
        return err_set(e, -ENOMEM, "no memory for the results");
    for (size_t i = 0; i < s->count; i++)
        if (strcmp(s->names[i], name) == 0) {
            free(name);
            return err_set(e, -EINVAL, "two tracking sessions are named \"%s\"", s->names[i]);
        }
    const char *path = sign + 1;
    bool is_points = ends_with(path, ".csv") || ends_with(path, ".sqlite") ||
                     ends_with(path, ".jsonl");
    int r = is_points ? analyze(&s->list[s->count], path, NULL, e)
                      : analysis_read_json(&s->list[s->count], path, e);
    if (r < 0) {
        free(name);
        return r;
    }
    s->names[s->count++] = name;
    return 0;
}

static int read_sessions(struct sessions *s, const char *const *texts, struct toll_error *e)
{
    size_t count = 0;
    while (texts && texts[count])
        count++;
    if (!count)
        return err_set(e, -EINVAL, "no tracking sessions are named; each is NAME=FILE");
    s->names = calloc(count, sizeof *s->names);
    s->list = calloc(count, sizeof *s->list);
    int r = s->names && s->list ? 0 : err_set(e, -ENOMEM, "no memory for the results");
    for (size_t i = 0; i < count && r == 0; i++)
        r = read_session(s, texts[i], e);
    return r;
}

int toll_phases_compare(const struct toll_comparison *comparison, char **ret, struct toll_error *e)
{
    struct toll_comparison asked;
    struct sessions s = {0};
    struct buf b = {0};
    enum phase_format as;
    int r = sized_take(&asked, sizeof asked, comparison, "comparison", e);
    if (r == 0)
        r = choose_format(asked.format, &as, e);
    if (r < 0)
        return r;
    const char *word = asked.statistic ? asked.statistic : "mean";
    int statistic = statistic_by_name(word);
    if (statistic < 0)
        return err_set(e, -EINVAL,
                       "Invalid summary statistic '%s'. Valid values are min max mean std.", word);
    r = read_sessions(&s, asked.sessions, e);
    struct comparison c = {(const char *const *)s.names, s.list, s.count,
                           (enum statistic)statistic};
    if (r == 0)
        r = comparison_match(&c, asked.note, asked.note_arg, e);
    if (r == 0) {
        (as == FORMAT_JSON ? comparison_write_json : comparison_write_text)(&b, &c);
        r = hand_out(&b, ret, e);
    }
    sessions_done(&s);
    return r;
}
