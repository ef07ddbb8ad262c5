/* SPDX-License-Identifier: MIT */
#include "sink/mlflow/mlflow.h"

#include "base/err.h"
#include "base/io/url.h"
#include "base/rank.h"

#include <stdio.h>
#include <string.h>

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
