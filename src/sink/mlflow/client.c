/* SPDX-License-Identifier: MIT */
#include "sink/mlflow/mlflow.h"

#include "base/err.h"
#include "base/io/http.h"
#include "base/rank.h"
#include "base/text/json.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

/* ==== Answers ================================================================================= */

/* In the next value. What follows it is not read: a long answer may be cut. */
static bool mlflow_answer_find(struct json_in *j, const char *name, struct scan *ret)
{
    struct scan key;
    switch (json_in_next(j)) {
    case JSON_OBJECT:
        json_in_object(j);
        while (json_in_key(j, &key)) {
            if (json_in_is(&key, name) && json_in_next(j) == JSON_STRING)
                return json_in_string(j, ret);
            if (mlflow_answer_find(j, name, ret))
                return true;
        }
        return false;
    case JSON_ARRAY:
        json_in_array(j);
        while (json_in_item(j))
            if (mlflow_answer_find(j, name, ret))
                return true;
        return false;
    default: json_in_skip(j); return false;
    }
}

bool mlflow_answer_text(const char *body, size_t length, const char *name, char *ret,
                        size_t capacity)
{
    struct json_in j = {0};
    struct scan text = {0};
    json_in_begin(&j, body, length);
    bool found = mlflow_answer_find(&j, name, &text) && text.at < text.end &&
                 (size_t)(text.end - text.at) < capacity;
    for (const char *c = text.at; found && c < text.end; c++) /* it may become part of a URL */
        found = (unsigned char)*c >= 0x20 && (unsigned char)*c < 0x7F;
    if (found) {
        memcpy(ret, text.at, (size_t)(text.end - text.at));
        ret[text.end - text.at] = '\0';
    }
    json_in_done(&j);
    return found;
}

bool mlflow_answer_is(const char *body, size_t length, const char *error_code)
{
    char found[64];
    return mlflow_answer_text(body, length, "error_code", found, sizeof found) &&
           strcmp(found, error_code) == 0;
}

/* ==== Client ================================================================================== */

/* A 500 with a page of HTML is a bug in the server, or a body that it cannot read, or a database
 * that is away for a minute. With a spool the request is tried again, as after any 500. Without one
 * it must not hold up the requests after it: after this many in a row there is no further retry. */
enum { HTML_ERRORS = 3 };

bool mlflow_client_is_id(const char *text)
{
    size_t length = strlen(text);
    for (size_t i = 0; i < length; i++)
        if (!isalnum((unsigned char)text[i]) && !strchr("-_", text[i]))
            return false;
    return length && length < MLFLOW_ID_BYTES;
}

/* ---- One request ----------------------------------------------------------------------------- */

/* To the URL that is in c->url. */
static enum delivery mlflow_client_send(struct mlflow_client *c, const char *method,
                                        const char *type, const char *body, size_t length,
                                        struct http_response *ret, struct attempt *a)
{
    const char *headers[] = {type, NULL};
    *ret = (struct http_response){.body = ""};
    if (buf_failed(&c->url) || buf_failed(&c->body)) {
        buf_done(&c->url);
        buf_done(&c->body);
        snprintf(a->why, sizeof a->why, "out of memory for a request");
        return DELIVERY_AGAIN;
    }
    struct http_request request = {
        .method = method,
        .url = c->url.data,
        .headers = headers,
        .body = body,
        .length = length,
        .timeout_ns = c->timeout_ns,
    };
    enum delivery d = http_sink_send(c->sink, c->http, &request, ret, a);
    char message[sizeof a->why - 32]; /* without the JSON around it */
    if (ret->status >= 300 &&
        mlflow_answer_text(ret->body, ret->length, "message", message, sizeof message)) {
        snprintf(a->why, sizeof a->why, "server answered %d: %s", ret->status, message);
        http_mask_credentials(c->http, c->sink->place, a->why);
    }
    bool is_html = ret->status == 500 && ret->length && *ret->body == '<';
    c->html_errors = is_html ? c->html_errors + 1 : 0;
    return c->html_errors >= HTML_ERRORS && !c->has_spool ? DELIVERY_REFUSED : d;
}

static void mlflow_client_begin_url(struct mlflow_client *c, const char *path)
{
    buf_clear(&c->url);
    buf_printf(&c->url, "%s/api/2.0/mlflow/%s", c->base, path);
}

static enum delivery mlflow_client_post(struct mlflow_client *c, const char *path,
                                        struct http_response *ret, struct attempt *a)
{
    mlflow_client_begin_url(c, path);
    return mlflow_client_send(c, "POST", "Content-Type: application/json", c->body.data,
                              c->body.length, ret, a);
}

static enum delivery mlflow_client_get(struct mlflow_client *c, const char *path, const char *name,
                                       const char *value, struct http_response *ret,
                                       struct attempt *a)
{
    mlflow_client_begin_url(c, path);
    buf_printf(&c->url, "?%s=", name);
    url_encode(&c->url, value, strlen(value), "");
    return mlflow_client_send(c, NULL, NULL, NULL, 0, ret, a);
}

/* The body is the object with one more member in front: {"run_id":"…", and the rest. */
static void mlflow_client_begin_body(struct mlflow_client *c, const char *name, const char *value,
                                     struct scan object)
{
    bool is_empty = object.end - object.at <= 2;
    buf_clear(&c->body);
    buf_printf(&c->body, "{\"%s\":\"%s\"%s", name, value, is_empty ? "}" : ",");
    if (!is_empty)
        buf_add(&c->body, object.at + 1, (size_t)(object.end - object.at) - 1);
}

static bool mlflow_client_take_id(const struct http_response *answer, const char *name,
                                  char ret[MLFLOW_ID_BYTES])
{
    char id[MLFLOW_ID_BYTES];
    if (!mlflow_answer_text(answer->body, answer->length, name, id, sizeof id) ||
        !mlflow_client_is_id(id))
        return false;
    memcpy(ret, id, sizeof id);
    return true;
}

/* The same where an answer without the ID is not that of an MLflow server. */
static enum delivery mlflow_client_need_id(const struct http_response *answer, const char *name,
                                           char ret[MLFLOW_ID_BYTES], struct attempt *a)
{
    if (mlflow_client_take_id(answer, name, ret))
        return DELIVERY_DONE;
    snprintf(a->why, sizeof a->why, "response is not from an MLflow server");
    return DELIVERY_REFUSED;
}

static void mlflow_client_take_artifacts(struct mlflow_client *c,
                                         const struct http_response *answer)
{
    mlflow_answer_text(answer->body, answer->length, "artifact_uri", c->run.artifacts,
                       sizeof c->run.artifacts);
}

/* ---- The run --------------------------------------------------------------------------------- */

/* By its name. Another client may make it between our two requests. */
static enum delivery mlflow_client_find_experiment(struct mlflow_client *c, struct attempt *a)
{
    struct http_response answer;
    enum delivery d = DELIVERY_AGAIN;
    for (unsigned round = 0; round < 2; round++) {
        d = mlflow_client_get(c, "experiments/get-by-name", "experiment_name", c->experiment,
                              &answer, a);
        if (d == DELIVERY_DONE)
            return mlflow_client_need_id(&answer, "experiment_id", c->run.experiment_id, a);
        if (answer.status != 404 ||
            !mlflow_answer_is(answer.body, answer.length, "RESOURCE_DOES_NOT_EXIST"))
            return d;
        struct json_out j;
        buf_clear(&c->body);
        json_begin(&j, &c->body, 0);
        json_object(&j);
        json_put_string(&j, "name", c->experiment);
        json_object_end(&j);
        d = mlflow_client_post(c, "experiments/create", &answer, a);
        if (d == DELIVERY_DONE)
            return mlflow_client_need_id(&answer, "experiment_id", c->run.experiment_id, a);
        if (!mlflow_answer_is(answer.body, answer.length, "RESOURCE_ALREADY_EXISTS"))
            return d;
    }
    return d;
}

/* A nested run is shown below its parent only in the same experiment. */
static enum delivery mlflow_client_find_parent(struct mlflow_client *c, struct attempt *a)
{
    static const char before[] = "\"key\":\"" MLFLOW_PARENT_TAG "\",\"value\":\"";
    struct http_response answer;
    char parent[MLFLOW_ID_BYTES];
    const char *at = c->create ? strstr(c->create, before) : NULL;
    if (!at) {
        snprintf(c->run.experiment_id, sizeof c->run.experiment_id, "0");
        return DELIVERY_DONE;
    }
    at += sizeof before - 1;
    snprintf(parent, sizeof parent, "%.*s", (int)strcspn(at, "\""), at);
    enum delivery d = mlflow_client_get(c, "runs/get", "run_id", parent, &answer, a);
    if (d != DELIVERY_DONE)
        return d;
    return mlflow_client_need_id(&answer, "experiment_id", c->run.experiment_id, a);
}

/* No answer came when it was to be made: it may exist all the same. */
static enum delivery mlflow_client_find_run(struct mlflow_client *c, struct attempt *a)
{
    struct http_response answer;
    /* In a spool of an older toll the tag has another name. */
    const char *tag = c->create && !strstr(c->create, "toll.output_id") ? "toll.id"
                                                                        : "toll.output_id";
    buf_clear(&c->body);
    buf_printf(&c->body,
               "{\"experiment_ids\":[\"%s\"],\"filter\":\"tags.`%s` = '%s'\","
               "\"max_results\":1}",
               c->run.experiment_id, tag, c->id);
    enum delivery d = mlflow_client_post(c, "runs/search", &answer, a);
    if (d == DELIVERY_DONE && mlflow_client_take_id(&answer, "run_id", c->run.run_id))
        mlflow_client_take_artifacts(c, &answer);
    if (d == DELIVERY_DONE || d == DELIVERY_REFUSED) /* it does not, or there is no way to know */
        c->run.may_exist = false;
    return d == DELIVERY_REFUSED ? DELIVERY_DONE : d;
}

static enum delivery mlflow_client_make_run(struct mlflow_client *c, struct attempt *a)
{
    struct http_response answer;
    mlflow_client_begin_body(c, "experiment_id", c->run.experiment_id, scan_string(c->create));
    c->run.may_exist = true;
    enum delivery d = mlflow_client_post(c, "runs/create", &answer, a);
    c->run.may_exist = d == DELIVERY_AGAIN;
    if (d != DELIVERY_DONE)
        return d;
    mlflow_client_take_artifacts(c, &answer);
    return mlflow_client_need_id(&answer, "run_id", c->run.run_id, a);
}

enum delivery mlflow_client_prepare(struct mlflow_client *c, struct attempt *a)
{
    if (*c->run.run_id)
        return DELIVERY_DONE;
    if (c->is_refused) {
        snprintf(a->why, sizeof a->why, "%s", c->refusal);
        return DELIVERY_KEPT;
    }
    enum delivery d = *c->run.experiment_id ? DELIVERY_DONE
                      : c->experiment       ? mlflow_client_find_experiment(c, a)
                                            : mlflow_client_find_parent(c, a);
    if (d == DELIVERY_DONE && c->run.may_exist)
        d = mlflow_client_find_run(c, a);
    if (d == DELIVERY_DONE && !*c->run.run_id)
        d = mlflow_client_make_run(c, a);
    if (d == DELIVERY_REFUSED || d == DELIVERY_KEPT) {
        c->is_refused = true;
        snprintf(c->refusal, sizeof c->refusal, "%s", a->why);
        return DELIVERY_KEPT;
    }
    return d;
}

/* ---- Operations ------------------------------------------------------------------------------ */

static const char *mlflow_client_type_of(struct scan name)
{
    static const struct {
        const char *suffix, *type;
    } types[] = {
        {".json", "Content-Type: application/json"},
        {".html", "Content-Type: text/html; charset=utf-8"},
        {".txt", "Content-Type: text/plain; charset=utf-8"},
    };
    for (size_t i = 0; i < ARRAY_LEN(types); i++) {
        size_t length = strlen(types[i].suffix);
        if ((size_t)(name.end - name.at) > length &&
            memcmp(name.end - length, types[i].suffix, length) == 0)
            return types[i].type;
    }
    return "Content-Type: application/octet-stream";
}

/* The server accepts files only where it stores them itself: mlflow-artifacts:/EXPERIMENT/RUN/…,
 * also with a host after two slashes. */
static enum delivery mlflow_client_put_artifact(struct mlflow_client *c, const struct spool_op *op,
                                                struct attempt *a)
{
    static const char scheme[] = "mlflow-artifacts:";
    struct http_response answer;
    if (!*c->run.artifacts) {
        enum delivery d = mlflow_client_get(c, "runs/get", "run_id", c->run.run_id, &answer, a);
        if (d != DELIVERY_DONE)
            return d;
        mlflow_client_take_artifacts(c, &answer);
    }
    const char *path = c->run.artifacts;
    if (strncmp(path, scheme, sizeof scheme - 1) != 0) {
        snprintf(a->why, sizeof a->why,
                 "cannot upload the summary: the run keeps its artifacts outside the server (%.*s)",
                 (int)strcspn(path, ":"), path);
        return DELIVERY_REFUSED;
    }
    path += sizeof scheme - 1;
    if (strncmp(path, "//", 2) == 0)
        path += 2 + strcspn(path + 2, "/");
    buf_clear(&c->url);
    buf_printf(&c->url, "%s/api/2.0/mlflow-artifacts/artifacts%s", c->base,
               *path == '/' ? "" : "/");
    url_encode(&c->url, path, strlen(path), "/%:@=+,;");
    buf_printf(&c->url, "/%.*s", (int)(op->name.end - op->name.at), op->name.at);
    enum delivery d = mlflow_client_send(c, "PUT", mlflow_client_type_of(op->name), op->body.at,
                                         (size_t)(op->body.end - op->body.at), &answer, a);
    if (answer.status == 503 && memmem(answer.body, answer.length, "serve-artifacts", 15))
        return DELIVERY_REFUSED; /* it runs without --serve-artifacts */
    return d;
}

enum delivery mlflow_client_do(struct mlflow_client *c, const struct spool_op *op,
                               struct attempt *a)
{
    struct http_response answer;
    bool is_request = op->kind == SPOOL_BATCH || op->kind == SPOOL_PARAMS ||
                      op->kind == SPOOL_UPDATE || op->kind == SPOOL_ARTIFACT;
    enum delivery d = is_request ? mlflow_client_prepare(c, a) : DELIVERY_DONE;
    if (d != DELIVERY_DONE || !is_request || (op->kind == SPOOL_UPDATE && c->is_joined))
        return d;
    if (op->kind == SPOOL_ARTIFACT)
        return mlflow_client_put_artifact(c, op, a);
    mlflow_client_begin_body(c, "run_id", c->run.run_id, op->body);
    d = mlflow_client_post(c, op->kind == SPOOL_UPDATE ? "runs/update" : "runs/log-batch", &answer,
                           a);
    return answer.status == 404 ? DELIVERY_KEPT : d; /* no such run, but there may be another */
}

static bool mlflow_answer_has_string(const struct http_response *answer, const char *text)
{
    struct buf quoted = {0};
    struct json_out j;
    json_begin(&j, &quoted, 0);
    json_string(&j, text);
    bool found = !buf_failed(&quoted) &&
                 memmem(answer->body, answer->length, quoted.data, quoted.length);
    buf_done(&quoted);
    return found;
}

int mlflow_client_run_has(struct mlflow_client *c, const char *metric, const char *tag)
{
    struct http_response answer;
    struct attempt a = {0};
    if (!*c->run.run_id ||
        mlflow_client_get(c, "runs/get", "run_id", c->run.run_id, &answer, &a) != DELIVERY_DONE)
        return -EAGAIN;
    return mlflow_answer_has_string(&answer, metric) && !mlflow_answer_has_string(&answer, tag);
}

void mlflow_client_done(struct mlflow_client *c)
{
    http_close(c->http);
    free(c->base);
    free(c->experiment);
    free(c->create);
    buf_done(&c->url);
    buf_done(&c->body);
    *c = (struct mlflow_client){0};
}

/* ==== Setup =================================================================================== */

static const char *mlflow_setup_variable(const char *name)
{
    const char *value = getenv(name);
    return value && *value ? value : NULL;
}

/* The URL of the option or of the variable, without slashes at its end. */
static int mlflow_setup_find_server(struct sink *s, struct toll_error *e)
{
    struct url u;
    const char *uri = *s->place ? s->place : mlflow_setup_variable("MLFLOW_TRACKING_URI");
    if (!uri)
        return err_set(e, -EINVAL,
                       "mlflow: no server given (expected a URL, as in "
                       "'mlflow:http://localhost:5000', or MLFLOW_TRACKING_URI)");
    if (!url_split(uri, &u)) /* which may have a password in it */
        return err_set(e, -EINVAL,
                       "mlflow: invalid URL in %s (expected a tracking server, http://… or "
                       "https://…; for directories and databases start 'mlflow server')",
                       *s->place ? "the destination" : "MLFLOW_TRACKING_URI");
    size_t length = strcspn(uri, "?#");
    while (length && uri[length - 1] == '/')
        length--;
    char *copy = strndup(uri, length);
    if (!copy)
        return err_set(e, -ENOMEM, "cannot open the output: out of memory");
    free(s->place);
    s->place = copy;
    return 0;
}

static bool mlflow_setup_is_true(const char *variable)
{
    const char *word = mlflow_setup_variable(variable);
    return word && (strcasecmp(word, "true") == 0 || strcmp(word, "1") == 0);
}

static int mlflow_setup_copy_id(char to[MLFLOW_ID_BYTES], const char *id, const char *what,
                                struct toll_error *e)
{
    if (!mlflow_client_is_id(id))
        return err_set(
            e, -EINVAL,
            "mlflow: invalid ID in %s (expected letters, digits, '-' and '_', at most %d)", what,
            MLFLOW_ID_BYTES - 1);
    snprintf(to, MLFLOW_ID_BYTES, "%s", id);
    return 0;
}

/* An option wins over variables, the name of an experiment over its ID. */
static int mlflow_setup_experiment(struct sink *s, struct mlflow_client *c, struct toll_error *e)
{
    const char *name = sink_options_text(&s->settings, "experiment");
    const char *id = mlflow_setup_variable("MLFLOW_EXPERIMENT_ID");
    if (!name)
        name = mlflow_setup_variable("MLFLOW_EXPERIMENT_NAME");
    if (!name && !id && sink_options_has(&s->settings, "parent"))
        return 0; /* the experiment of the parent */
    if (!name)
        return mlflow_setup_copy_id(c->run.experiment_id, id ? id : "0", "MLFLOW_EXPERIMENT_ID", e);
    c->experiment = strdup(name);
    return c->experiment ? 0 : err_set(e, -ENOMEM, "cannot open the output: out of memory");
}

int mlflow_setup_server(struct sink *s, struct http **ret, struct toll_error *e)
{
    int r = mlflow_setup_find_server(s, e);
    if (r < 0)
        return r;
    struct http_settings from_variables = {
        .user = mlflow_setup_variable("MLFLOW_TRACKING_USERNAME"),
        .password = mlflow_setup_variable("MLFLOW_TRACKING_PASSWORD"),
        .token = mlflow_setup_variable("MLFLOW_TRACKING_TOKEN"),
        .ca_file = mlflow_setup_variable("MLFLOW_TRACKING_SERVER_CERT_PATH"),
        .cert_file = mlflow_setup_variable("MLFLOW_TRACKING_CLIENT_CERT_PATH"),
        .any_certificate = mlflow_setup_is_true("MLFLOW_TRACKING_INSECURE_TLS"),
    };
    if (!from_variables.user || !from_variables.password) /* together, they win over a token */
        from_variables.user = from_variables.password = NULL;
    return http_sink_open(s, &from_variables, ret, e);
}

int mlflow_setup_run(struct sink *s, struct mlflow_client *c, bool by_variable,
                     struct toll_error *e)
{
    const char *option = sink_options_text(&s->settings, "run_id");
    const char *parent = sink_options_text(&s->settings, "parent");
    const char *id = option                   ? option
                     : by_variable && !parent ? mlflow_setup_variable("MLFLOW_RUN_ID")
                                              : NULL;
    char checked[MLFLOW_ID_BYTES];
    if (option && parent)
        return err_set(e, -EINVAL,
                       "mlflow: run_id and parent cannot be combined (run_id joins a run, parent "
                       "creates one)");
    int r = parent ? mlflow_setup_copy_id(checked, parent, "parent", e) : 0;
    if (r < 0)
        return r;
    c->run = (struct mlflow_run){0};
    c->is_joined = id;
    free(c->experiment);
    c->experiment = NULL;
    if (id)
        return mlflow_setup_copy_id(c->run.run_id, id, option ? "run_id" : "MLFLOW_RUN_ID", e);
    return mlflow_setup_experiment(s, c, e);
}

void mlflow_setup_node(const struct sink *s, bool is_joined, char ret[MLFLOW_ID_BYTES])
{
    struct parallel place;
    const char *node = sink_options_text(&s->settings, "node");
    if (!node)
        node = mlflow_setup_variable("MLFLOW_SYSTEM_METRICS_NODE_ID");
    *ret = '\0';
    if (node)
        snprintf(ret, MLFLOW_ID_BYTES, "%s", node);
    else if (is_joined && parallel_find(&place))
        snprintf(ret, MLFLOW_ID_BYTES, "rank_%s", place.rank);
}

bool mlflow_setup_has_monitor(void)
{
    return mlflow_setup_is_true("MLFLOW_ENABLE_SYSTEM_METRICS_LOGGING");
}

/* Without a password, and without slashes at its end. */
static void mlflow_setup_add_plain(struct buf *b, const char *url)
{
    url_show(b, url);
    while (!buf_failed(b) && b->length && b->data[b->length - 1] == '/')
        b->data[--b->length] = '\0';
}

bool mlflow_setup_is_known(const struct sink *s)
{
    const char *known = mlflow_setup_variable("MLFLOW_TRACKING_URI");
    struct buf there = {0}, here = {0};
    if (known)
        mlflow_setup_add_plain(&there, known);
    mlflow_setup_add_plain(&here, s->place);
    bool is_same = known && !buf_failed(&there) && !buf_failed(&here) &&
                   strcmp(there.data, here.data) == 0;
    buf_done(&there);
    buf_done(&here);
    return is_same;
}
