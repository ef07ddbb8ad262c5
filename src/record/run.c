/* SPDX-License-Identifier: MIT
 * The first line of a run: what does not change while it goes on. */
#include "record/keys.h"
#include "record/reading.h"

#include <stdio.h>

/* ==== Values that several lines have ========================================================== */

const char *reading_keep(struct reading *r, struct scan text)
{
    size_t length = (size_t)(text.end - text.at);
    char *copy = arena_take(r->text ? r->text : &r->kept, length + 1);
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

void reading_note_unknown(struct reading *r, const struct scan *key)
{
    size_t length = min_u64((uint64_t)(key->end - key->at), sizeof r->unknown - 1);
    if (!r->unknown[0] && length) {
        memcpy(r->unknown, key->at, length);
        r->unknown[length] = '\0';
    }
}

void reading_skip(struct reading *r, const struct scan *key)
{
    reading_note_unknown(r, key);
    json_in_skip(&r->json);
}

bool read_u64(struct json_in *j, uint64_t *ret)
{
    struct decimal n;
    return json_in_null(j) ||
           (json_in_number(j, &n) && (decimal_u64(&n, 0, ret) || json_in_fail(j)));
}

bool read_double(struct json_in *j, double *ret)
{
    struct decimal n;
    return json_in_null(j) ||
           (json_in_number(j, &n) && (decimal_double(&n, ret) || json_in_fail(j)));
}

bool read_utc(struct json_in *j, uint64_t *ret_real_ns)
{
    struct scan text;
    return json_in_string(j, &text) &&
           ((scan_utc(&text, ret_real_ns) && scan_done(&text)) || json_in_fail(j));
}

bool read_words(struct reading *r, const char *wrong,
                void (*add)(struct reading *r, const struct buf *word, void *arg), void *arg)
{
    struct json_in *j = &r->json;
    struct scan key, value;
    struct buf word = {0};
    json_in_object(j);
    while (json_in_key(j, &key)) {
        size_t length = (size_t)(key.end - key.at);
        if (!length || memchr(key.at, '=', length)) {
            reading_wrong(r, wrong);
            break;
        }
        buf_clear(&word);
        buf_add(&word, key.at, length);
        buf_putc(&word, '=');
        if (!json_in_string(j, &value))
            break;
        buf_add(&word, value.at, (size_t)(value.end - value.at));
        if (buf_failed(&word))
            r->no_memory = true;
        else
            add(r, &word, arg);
    }
    buf_done(&word);
    return !j->failed;
}

/* ==== Values of a run ========================================================================= */

static void write_run_id(struct json_out *j, const void *object, const struct record_context *c)
{
    json_string(j, ((const struct run *)object)->id);
}

/* A text that is no UUID is ignored: the id becomes a label and a part of URLs. */
static bool read_run_id(struct reading *r, void *object)
{
    struct run *run = object;
    struct scan text;
    if (!json_in_string(&r->json, &text))
        return false;
    size_t length = (size_t)(text.end - text.at);
    if (length == UUID_BYTES - 1 && uuid_is(text.at, length))
        memcpy(run->id, text.at, length);
    return true;
}

const struct record_special record_special_run_id = {write_run_id, read_run_id, NULL};

/* Adds to a NULL-terminated list of texts. */
static void read_list_add(struct reading *r, char ***list, size_t *count, const char *text,
                          size_t length)
{
    char *copy = strndup(text ? text : "", length);
    if (!copy || !ARRAY_GROW(*list, *count) || !ARRAY_GROW(*list, *count + 1)) {
        free(copy);
        r->no_memory = true;
        return;
    }
    (*list)[(*count)++] = copy;
    (*list)[*count] = NULL;
}

static void write_command(struct json_out *j, const void *object, const struct record_context *c)
{
    json_array(j);
    for (char **arg = ((const struct run *)object)->command; arg && *arg; arg++)
        json_string(j, *arg);
    json_array_end(j);
}

/* An empty one stays NULL: there was no command. */
static bool read_command(struct reading *r, void *object)
{
    struct json_in *j = &r->json;
    struct scan word;
    size_t count = 0;
    json_in_array(j);
    while (json_in_item(j) && json_in_string(j, &word))
        read_list_add(r, &((struct run *)object)->command, &count, word.at,
                      (size_t)(word.end - word.at));
    return !j->failed;
}

const struct record_special record_special_command = {write_command, read_command, NULL};

static void write_labels(struct json_out *j, const void *object, const struct record_context *c)
{
    json_object(j);
    for (char **l = ((const struct run *)object)->labels; l && *l; l++) {
        const char *equals = strchr(*l, '=');
        if (!equals)
            continue;
        char *key = strndup(*l, (size_t)(equals - *l));
        json_put_string(j, key ? key : "", equals + 1);
        free(key);
    }
    json_object_end(j);
}

static void read_label(struct reading *r, const struct buf *word, void *count)
{
    read_list_add(r, &r->run.labels, count, word->data, word->length);
}

static bool read_labels(struct reading *r, void *object)
{
    size_t count = 0;
    return read_words(r, "a label whose key is empty or contains '='", read_label, &count);
}

const struct record_special record_special_labels = {write_labels, read_labels, NULL};

static void write_attached(struct json_out *j, const void *object, const struct record_context *c)
{
    const struct run *run = object;
    json_array(j);
    for (size_t i = 0; i < run->target_count; i++)
        record_write_object(j, RECORD_OBJECT_attached, &run->targets[i], c);
    json_array_end(j);
}

static bool read_attached(struct reading *r, void *object)
{
    struct json_in *j = &r->json;
    struct run *run = object;
    json_in_array(j);
    while (json_in_item(j)) {
        struct run_target t = {0};
        record_read_object(r, RECORD_OBJECT_attached, &t);
        if (run_add_target(run, t.name ? t.name : "", t.what ? t.what : "") < 0) {
            r->no_memory = true;
        } else {
            run->targets[run->target_count - 1].pid = t.pid;
            run->targets[run->target_count - 1].group = t.group;
        }
        free(t.name);
        free(t.what);
        if (run->target_count > RUN_TARGETS)
            reading_wrong(r, "too many targets");
    }
    return !j->failed;
}

const struct record_special record_special_attached = {write_attached, read_attached, NULL};

/* ==== The line ================================================================================ */

void record_json_run(struct json_out *j, const struct run *run)
{
    static char version[] = TOLL_VERSION;
    struct run facts = *run;
    facts.version = run->version ? run->version : version;
    record_write(j, RECORD_OBJECT_facts, &facts, &(struct record_context){.run = run});
}

void record_json_run_line(struct json_out *j, const struct run *run,
                          const struct selection *selection)
{
    struct record_details details = {
        .start_real_ns = run->start_real_ns,
        .own_pid = run->own_pid,
        .group = run->group,
        .online_cpus = run->online_cpus,
        .gpus = run->gpus,
        .has_gpus = !run->gpus_unlisted && !run->gpus_unread,
    };
    struct selection asked, left_out = {0};
    struct buf names = {0};
    /* What was selected of the machine and has no figures because nothing here could have them.
     * Missing figures of others show in the samples, where unknown is null. */
    if (run->system && selection_parse(&asked, run->metrics, NULL) == 0) {
        left_out.of[ENTITY_SYSTEM] = asked.of[ENTITY_SYSTEM] & ~selection->of[ENTITY_SYSTEM];
        selection_write(&names, &left_out);
        details.left_out = buf_failed(&names) ? NULL : names.data;
    }
    record_json_run(j, run);
    record_write(j, RECORD_OBJECT_details, &details, NULL);
    buf_done(&names);
}

static bool read_run_other(struct reading *r, const struct scan *key, void *arg)
{
    struct scan schema;
    if (!json_in_is(key, "schema"))
        return false;
    r->has_schema = true;
    if (!json_in_string(&r->json, &schema) || json_in_is(&schema, RECORD_SCHEMA))
        return true;
    snprintf(r->schema, sizeof r->schema, "%.*s",
             (int)min_u64((uint64_t)(schema.end - schema.at), sizeof r->schema - 1), schema.at);
    json_in_fail(&r->json);
    return true;
}

bool read_run(struct reading *r)
{
    struct run *run = &r->run;
    struct record_details details = {0};
    struct record_fields fields[] = {{RECORD_OBJECT_facts, run}, {RECORD_OBJECT_details, &details}};
    struct selection left_out;
    r->text = &r->kept;
    record_read(r, fields, ARRAY_LEN(fields), read_run_other, NULL);
    if (!json_in_end(&r->json) || !r->has_schema)
        return false;
    run->own_pid = details.own_pid;
    run->group = details.group;
    run->online_cpus = details.online_cpus;
    run->gpus = details.gpus;
    run->gpus_unlisted = !details.has_gpus;
    run->system |= details.left_out != NULL;
    if (details.start_real_ns)
        run->start_real_ns = details.start_real_ns;
    run->shows_secrets = r->shows_secrets;
    run->no_args = r->no_args;
    r->no_memory |= run_mask_secrets(run) < 0;

    /* A run without a choice of metrics may have all. Those of targets, processes and toll itself
     * are found in the samples. */
    r->no_memory |= selection_parse(&r->selection, run->metrics, NULL) < 0 &&
                    selection_parse(&r->selection, NULL, NULL) < 0;
    r->selection.by_name = run->metrics != NULL;
    memset(r->selection.parts, 0, sizeof r->selection.parts);
    r->selection.of[ENTITY_SELF] = r->selection.of[ENTITY_PROCESS] = 0;
    if (details.left_out && selection_parse(&left_out, details.left_out, NULL) == 0)
        for (unsigned kind = 0; kind < ENTITY_KINDS; kind++)
            r->selection.of[kind] &= ~left_out.of[kind];

    r->no_memory |= summary_init(&r->summary, run) < 0;
    if (run->target_count > 1) {
        size_t count = run->target_count;
        r->targets = arena_take(&r->kept, count * sizeof *r->targets);
        r->rows = arena_take(&r->kept, count * sizeof *r->rows);
        r->no_memory |= !r->targets || !r->rows || summary_add_targets(&r->summary, count) < 0;
        for (size_t i = 0; r->targets && i < count; i++)
            r->targets[i].name = run->targets[i].name;
    }
    return true;
}
