/* SPDX-License-Identifier: MIT
 * The JSON file that gpu-tracker takes in the place of options. */
#include "base/err.h"
#include "base/file.h"
#include "base/json_in.h"
#include "cli/gpu_tracker_options.h"

#include <fcntl.h>
#include <string.h>

/* A copy that lives as long as the options. */
static const char *keep(struct gpu_tracker *g, struct buf *text)
{
    if (buf_failed(text) || !gpu_tracker_append((const char ***)(void *)&g->kept, text->data)) {
        buf_done(text);
        return NULL;
    }
    return text->data;
}

static bool read_value(struct gpu_tracker *g, struct json_in *j, const struct tracker_option *o)
{
    struct scan text;
    struct buf value = {0};
    enum json_kind kind = json_in_next(j);
    const char *start = j->text.at;
    if (kind == JSON_NULL)
        return json_in_null(j); /* as if it were not there */
    if (o->kind == IS_SWITCH) {
        bool on = false;
        if (json_in_bool(j, &on) && on && !*gpu_tracker_text_at(g, o))
            *gpu_tracker_text_at(g, o) = "";
        return !j->failed;
    }
    if (o->kind == IS_TEXT && json_in_string(j, &text)) {
        buf_add(&value, text.at, (size_t)(text.end - text.at));
    } else if (o->kind == IS_NUMBER && kind == JSON_NUMBER) {
        json_in_skip(j);
        buf_add(&value, start, (size_t)(j->text.at - start));
    } else if (o->kind == IS_WORDS && json_in_array(j)) {
        while (json_in_item(j) && json_in_string(j, &text)) {
            buf_puts(&value, value.length ? "," : "");
            buf_add(&value, text.at, (size_t)(text.end - text.at));
        }
    }
    buf_puts(&value, ""); /* an empty one is a text too */
    if (j->failed || (kind != JSON_STRING && kind != JSON_NUMBER && kind != JSON_ARRAY)) {
        buf_done(&value);
        return json_in_fail(j);
    }
    const char *kept = keep(g, &value);
    if (kept && !*gpu_tracker_text_at(g, o))
        *gpu_tracker_text_at(g, o) = kept;
    return kept;
}

static int read_keyword(struct gpu_tracker *g, struct json_in *j, struct scan key,
                        struct toll_error *e)
{
    char name[64];
    size_t length = min_u64((uint64_t)(key.end - key.at), sizeof name - 1);
    memcpy(name, key.at, length);
    name[length] = '\0';
    for (const struct tracker_option *o = tracker_options;
         o < tracker_options + tracker_option_count; o++) {
        if (!o->keyword || strcmp(o->keyword, name) != 0)
            continue;
        if (o->kind == IS_IGNORED)
            json_in_skip(j);
        else if (!read_value(g, j, o))
            return err_set(e, -EINVAL, "%s: the value of \"%s\" is of the wrong type", g->config,
                           name);
        return 0;
    }
    return err_set(e, -EINVAL, "%s: Tracker.__init__() got an unexpected keyword argument '%s'",
                   g->config, name);
}

/* "file_path_map": {"A": "a.json", …}; -m comes behind those. */
static int read_sessions(struct gpu_tracker *g, struct json_in *j)
{
    const char **given = g->sessions;
    struct scan key, path;
    g->sessions = NULL;
    bool good = json_in_object(j);
    while (good && json_in_key(j, &key)) {
        struct buf text = {0};
        buf_add(&text, key.at, (size_t)(key.end - key.at));
        buf_putc(&text, '=');
        good = json_in_string(j, &path);
        if (good)
            buf_add(&text, path.at, (size_t)(path.end - path.at));
        const char *kept = keep(g, &text);
        good = good && kept && gpu_tracker_append(&g->sessions, kept);
    }
    for (const char **s = given; s && *s; s++)
        good &= gpu_tracker_append(&g->sessions, *s);
    free(given);
    return good ? 0 : -EINVAL;
}

static int read_comparison(struct gpu_tracker *g, struct json_in *j, struct scan key,
                           struct toll_error *e)
{
    static const struct tracker_option statistic = {
        .at = offsetof(struct gpu_tracker, statistic), .keyword = "statistic", .kind = IS_TEXT};
    if (json_in_is(&key, "statistic"))
        return read_value(g, j, &statistic)
                   ? 0
                   : err_set(e, -EINVAL, "%s: the statistic is no text", g->config);
    if (json_in_is(&key, "file_path_map"))
        return read_sessions(g, j) == 0
                   ? 0
                   : err_set(e, -EINVAL, "%s: file_path_map does not map names to files",
                             g->config);
    return err_set(e, -EINVAL, "%s: there is more in it than file_path_map and statistic",
                   g->config);
}

int gpu_tracker_read_config(struct gpu_tracker *g, struct toll_error *e)
{
    struct buf text = {0};
    struct json_in j = {0};
    struct scan key;
    CLEANUP_CLOSE int fd = open(g->config, O_RDONLY | O_CLOEXEC);
    int r = fd < 0 ? -errno : file_reread_whole(fd, FILE_ANY_LINE, &text);
    if (r < 0) {
        buf_done(&text);
        return err_set(e, r, "%s: %s", g->config, strerror(-r));
    }
    json_in_begin(&j, text.data ? text.data : "", text.length);
    bool is_object = json_in_object(&j);
    while (r == 0 && is_object && json_in_key(&j, &key))
        r = g->task == TASK_COMPARE ? read_comparison(g, &j, key, e) : read_keyword(g, &j, key, e);
    if (r == 0 && !json_in_end(&j))
        r = err_set(e, -EINVAL, "%s: it is no JSON file with one object in it", g->config);
    json_in_done(&j);
    buf_done(&text);
    return r;
}
