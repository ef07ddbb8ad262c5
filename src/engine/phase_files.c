/* SPDX-License-Identifier: MIT
 * The public calls for the files of code blocks: analysis, comparison, combination, and what
 * Python has pickled of them. */
#include "base/err.h"
#include "base/file.h"
#include "base/pickle.h"
#include "base/sized.h"
#include "engine/phase_record.h"
#include "subtrack/combine.h"
#include "subtrack/comparison.h"
#include "subtrack/point_store.h"

#include <fcntl.h>
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

static bool has_points_suffix(const char *path)
{
    return ends_with(path, ".csv") || ends_with(path, ".sqlite") || ends_with(path, ".jsonl");
}

/* Whether it begins as results of an analysis do, as JSON or as a pickle; their names end with
 * anything. */
static bool holds_results(const char *path)
{
    char begin[64];
    CLEANUP_CLOSE int fd = has_points_suffix(path) ? -1
                                                   : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t got = fd < 0 ? 0 : pread(fd, begin, sizeof begin - 1, 0);
    begin[got > 0 ? got : 0] = '\0';
    return got > 0 && (pickle_is_one(begin, (size_t)got) || begin[strspn(begin, " \t\r\n")] == '{');
}

/* A record has both in it; other blocks may be meant. Results of an earlier analysis are read as
 * they are. */
static int analyze(struct analysis *ret, const char *points, const char *blocks,
                   struct toll_error *e)
{
    struct phase_record record;
    if (!blocks && holds_results(points))
        return analysis_read_json(ret, points, e);
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
    if (!ret)
        return err_set_no_place(e);
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

int toll_pickle_to_json(const char *path, char **ret, struct toll_error *e)
{
    struct buf pickle = {0}, json = {0};
    if (!ret)
        return err_set_no_place(e);
    if (!path)
        return err_set(e, -EINVAL, "no file is named");
    CLEANUP_CLOSE int fd = open(path, O_RDONLY | O_CLOEXEC);
    int r = fd < 0 ? -errno : file_reread_whole(fd, FILE_ANY_LINE, &pickle);
    if (r < 0)
        r = err_set(e, r, "%s: %s", path, strerror(-r));
    else if ((r = pickle_to_json(&json, pickle.data, pickle.length, e)) < 0)
        err_wrap(e, r, "%s", path);
    buf_done(&pickle);
    if (r < 0) {
        buf_done(&json);
        return r;
    }
    return hand_out(&json, ret, e);
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
    int r = has_points_suffix(path) ? analyze(&s->list[s->count], path, NULL, e)
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
    if (!ret)
        return err_set_no_place(e);
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
    struct comparison c = {
        .names = (const char *const *)s.names,
        .sessions = s.list,
        .count = s.count,
        .statistic = (enum statistic)statistic,
    };
    if (r == 0)
        r = comparison_match(&c, asked.note, asked.note_arg, e);
    if (r == 0) {
        (as == FORMAT_JSON ? comparison_write_json : comparison_write_text)(&b, &c);
        r = hand_out(&b, ret, e);
    }
    sessions_done(&s);
    return r;
}
