/* SPDX-License-Identifier: MIT */
#include "record/sqlite/sqlite.h"

#include <limits.h>
#include <math.h>

enum { SQLITE_SOURCE_BUSY_MS = 10000 };

/* Tables whose rows are lines of a run; all are in the order of their columns "seq". */
enum {
    STREAM_FIRST = STATEMENT_SAMPLE,
    STREAM_LAST = STATEMENT_NOTE,
    STREAMS = STREAM_LAST - STREAM_FIRST + 1,
};

enum { OBJECT_COLUMNS = 16 };

/* Where a statement has the columns of the objects of its table; -1: the file is older. */
struct object_columns {
    int of[SQLITE_TABLE_OBJECTS][OBJECT_COLUMNS];
};

/* The samples of one kind of entity. */
struct kind_samples {
    struct sqlite_statement *statement; /* owned; NULL: there is no such table */
    struct sqlite_figures figures;
    int part, name, labels;       /* columns */
    int ended, lower_bound;       /* columns, -1: there is none */
    int identity[OBJECT_COLUMNS]; /* columns of RECORD_OBJECT_identity */
};

struct sqlite_source {
    struct sqlite *db;
    char *path;                       /* owned */
    struct sqlite_statement *runs;    /* has a row while in_run */
    struct sqlite_statement *figures; /* of the summary of a run */
    bool in_run, has_selection;
    bool is_over;  /* there are no more runs */
    bool has_next; /* next and stream are known */
    enum record_line next;
    unsigned stream; /* that comes next */
    int64_t run;
    int64_t last_tick; /* of a run that has ended; -1: it has not */
    struct {
        struct sqlite_statement *statement;
        struct object_columns columns;
        bool has_row;
        int64_t seq; /* of that row */
    } streams[STREAMS];
    struct sqlite_figures process_figures;
    int process_bounds; /* column of the stream of processes, -1: there is none */
    struct kind_samples samples[ENTITY_KINDS + 1];
    struct selection selection; /* what the run has figures of */
};

/* ==== Columns ================================================================================= */

void sqlite_figures_find(struct sqlite_figures *f, const struct sqlite_statement *st,
                         enum entity_kind kind, int first, unsigned table)
{
    int columns = sqlite_columns(st);
    struct buf name = {0};
    f->kind = kind;
    f->columns = columns < SQLITE_COLUMNS_AT_MOST ? columns : SQLITE_COLUMNS_AT_MOST;
    for (int at = 0; at < f->columns; at++) {
        const char *column = sqlite_column_name(st, at);
        f->of[at] = at < first || sqlite_table_has_own(table, column) ? COLUMN_IS_NO_METRIC
                                                                      : COLUMN_IS_UNKNOWN;
        if (f->of[at] == COLUMN_IS_NO_METRIC)
            continue;
        FOR_EACH_BIT(i, sqlite_schema_metrics(kind))
        {
            buf_clear(&name);
            sqlite_schema_column(&name, metric_of(metric_first(kind) + i));
            if (!buf_failed(&name) && strcmp(name.data, column) == 0)
                f->of[at] = (int)i;
        }
    }
    buf_done(&name);
}

/* A number has as many decimals as in JSON: figures do not depend on the source of a record. */
bool sqlite_figures_read(const struct sqlite_figures *f, const struct sqlite_statement *st,
                         struct row *ret)
{
    row_init(ret, f->kind);
    for (int i = 0; i < f->columns; i++) {
        if (f->of[i] < 0 || sqlite_column_type(st, i) == SQLITE_IS_NULL)
            continue;
        enum metric_id id = ret->first + (unsigned)f->of[i];
        uint64_t whole;
        double number = sqlite_column_double(st, i);
        if (!metric_is_double(metric_of(id)) && sqlite_column_u64(st, i, &whole))
            row_put_u64(ret, id, whole);
        else if (metric_is_double(metric_of(id)) && isfinite(number) &&
                 sqlite_column_type(st, i) != SQLITE_IS_TEXT)
            row_put_double(ret, id, buf_double_again(number, METRIC_DECIMALS));
        else
            return false;
    }
    return true;
}

const char *sqlite_figures_unknown(const struct sqlite_figures *f,
                                   const struct sqlite_statement *st)
{
    for (int i = 0; i < f->columns; i++)
        if (f->of[i] == COLUMN_IS_UNKNOWN && sqlite_column_type(st, i) != SQLITE_IS_NULL)
            return sqlite_column_name(st, i);
    return NULL;
}

static void source_find_columns(int ret[OBJECT_COLUMNS], const struct sqlite_statement *st,
                                enum record_object object)
{
    unsigned count;
    const struct record_key *k = record_keys(object, &count);
    for (unsigned i = 0; i < count && i < OBJECT_COLUMNS; i++)
        ret[i] = *k[i].column ? sqlite_column_called(st, k[i].column, 0) : -1;
}

/* A text as records have it: UTF-8 without a zero byte. */
static bool source_text(const struct sqlite_statement *st, int at, struct scan *ret)
{
    size_t length, taken;
    if (sqlite_column_type(st, at) != SQLITE_IS_TEXT)
        return false;
    const char *text = sqlite_column_text(st, at, &length);
    for (size_t i = 0; i < length; i += taken) {
        taken = (unsigned char)text[i] < 0x80
                    ? text[i] != '\0'
                    : utf8_length((const unsigned char *)text + i, length - i);
        if (!taken)
            return false;
    }
    *ret = scan_text(text, length);
    return true;
}

/* JSON in a column, for what reads it from r->json. */
static void source_json(struct reading *r, const struct sqlite_statement *st, int at)
{
    size_t length;
    const char *text = sqlite_column_text(st, at, &length);
    json_in_begin(&r->json, text, length);
}

static bool source_read_key(struct reading *r, const struct record_key *k, void *object,
                            const struct sqlite_statement *st, int at)
{
    void *member = (char *)object + k->offset;
    enum sqlite_type type = sqlite_column_type(st, at);
    int64_t number = sqlite_column_i64(st, at);
    struct scan text;
    uint64_t whole;
    switch (k->type) {
    case RECORD_NAME:
    case RECORD_OWNED:
    case RECORD_KEPT:
    case RECORD_QUALITY:
    case RECORD_WORD: return source_text(st, at, &text) && record_key_put_text(r, k, object, text);
    case RECORD_COUNT:
    case RECORD_PID:
    case RECORD_SECONDS:
    case RECORD_TIME:
    case RECORD_FLAG:
    case RECORD_NOT:
        return sqlite_column_u64(st, at, &whole) && record_key_put_whole(k, object, whole);
    case RECORD_INT:
        *(int *)member = (int)number;
        return type == SQLITE_IS_INTEGER && number >= -INT_MAX && number <= INT_MAX;
    case RECORD_REAL6:
    case RECORD_REAL9:
    case RECORD_NUMBER:
        *(double *)member = sqlite_column_double(st, at);
        return type != SQLITE_IS_TEXT && isfinite(*(double *)member);
    case RECORD_SPECIAL:
    case RECORD_MEMBER:
        source_json(r, st, at);
        return k->special->read(r, k->type == RECORD_MEMBER ? member : object) &&
               json_in_end(&r->json);
    }
    return false;
}

static bool source_read_object(struct reading *r, enum record_object object, void *data,
                               const struct sqlite_statement *st, const int columns[OBJECT_COLUMNS])
{
    unsigned count;
    const struct record_key *k = record_keys(object, &count);
    for (unsigned i = 0; i < count; i++) {
        if (!*k[i].column)
            continue;
        if (columns[i] < 0 || sqlite_column_type(st, columns[i]) == SQLITE_IS_NULL) {
            if (sqlite_key_is_required(&k[i], false))
                return false;
            continue;
        }
        if (!source_read_key(r, &k[i], data, st, columns[i]))
            return false;
        record_key_note(&k[i], data);
    }
    return true;
}

/* The column "lower_bound" of a row; at < 0: the table has none. */
static bool source_read_bounds(struct reading *r, struct row *row, enum entity_kind kind,
                               const struct sqlite_statement *st, int at)
{
    if (at >= 0 && sqlite_column_type(st, at) != SQLITE_IS_NULL) {
        source_json(r, st, at);
        if (!read_bounds(r, kind, row) || !json_in_end(&r->json))
            return false;
    }
    return read_row_is_sound(r, row);
}

static void source_note_unknown(struct reading *r, const struct sqlite_figures *f,
                                const struct sqlite_statement *st)
{
    const char *name = sqlite_figures_unknown(f, st);
    struct scan key = scan_string(name ? name : "");
    if (name)
        reading_note_unknown(r, &key);
}

/* ==== Opening ================================================================================= */

static int source_prepare_stream(struct sqlite_source *s, unsigned i, struct toll_error *e)
{
    unsigned number = STREAM_FIRST + i;
    const struct sqlite_table *t = sqlite_table(number);
    struct buf sql = {0};
    /* Columns that every file has are named, so that SQLite refuses a table without one. */
    buf_puts(&sql, "SELECT seq");
    for (unsigned o = 0; o < t->object_count; o++) {
        unsigned count;
        for (const struct record_key *k = record_keys(t->objects[o], &count); count; k++, count--)
            if (*k->column && sqlite_key_is_required(k, false))
                buf_printf(&sql, ", %s", k->column);
    }
    buf_printf(&sql, ", * FROM %s WHERE run = ?1 ORDER BY %s", t->name, t->keys);
    int r = buf_failed(&sql) ? err_set(e, -ENOMEM, "cannot read the record: out of memory")
                             : sqlite_prepare(&s->streams[i].statement, s->db, sql.data, e);
    buf_done(&sql);
    for (unsigned o = 0; r == 0 && o < t->object_count; o++)
        source_find_columns(s->streams[i].columns.of[o], s->streams[i].statement, t->objects[o]);
    return r;
}

static int source_prepare_kind(struct sqlite_source *s, enum entity_kind kind, struct toll_error *e)
{
    static const char question[] =
        "SELECT e.part, e.name, e.labels, e.pid, e.parent, e.start_ticks, e.targets, s.* FROM %s s "
        "CROSS JOIN entities e ON e.run = s.run AND e.entity = s.entity WHERE s.run = ?1 AND "
        "s.tick = ?2 ORDER BY s.entity";
    enum { FIRST_FIGURE = 7 };
    struct kind_samples *x = &s->samples[kind];
    struct buf table = {0}, sql = {0};
    sqlite_table_name(&table, STATEMENT_ROW + kind);
    buf_printf(&sql, question, table.data ? table.data : "");
    int r = buf_failed(&table) || buf_failed(&sql)
                ? err_set(e, -ENOMEM, "cannot read the record: out of memory")
                : sqlite_find_table(s->db, table.data, e);
    if (r > 0)
        r = sqlite_prepare(&x->statement, s->db, sql.data, e);
    buf_done(&table);
    buf_done(&sql);
    if (!x->statement)
        return r;
    sqlite_figures_find(&x->figures, x->statement, kind, FIRST_FIGURE, STATEMENT_ROW + kind);
    x->part = 0;
    x->name = 1;
    x->labels = 2;
    x->ended = sqlite_column_called(x->statement, "ended", FIRST_FIGURE);
    x->lower_bound = sqlite_column_called(x->statement, "lower_bound", FIRST_FIGURE);
    source_find_columns(x->identity, x->statement, RECORD_OBJECT_identity);
    return 0;
}

static int source_prepare(struct sqlite_source *s, struct toll_error *e)
{
    /* One state of the file, whatever is written to it meanwhile. */
    int r = sqlite_run(s->db, "BEGIN", e);
    if (r == 0)
        r = sqlite_schema_check_kinds(s->db, e);
    if (r == 0)
        r = sqlite_prepare(&s->runs, s->db,
                           "SELECT run, facts, summary, (SELECT max(tick) FROM samples s WHERE "
                           "s.run = runs.run) FROM runs WHERE run > ?1 ORDER BY run",
                           e);
    if (r == 0)
        r = sqlite_prepare(&s->figures, s->db,
                           "SELECT entity, metric FROM summary WHERE run = ?1 AND entity <= ?2", e);
    for (unsigned i = 0; i < STREAMS && r == 0; i++)
        r = source_prepare_stream(s, i, e);
    for (unsigned kind = 0; kind <= ENTITY_TARGET && r == 0; kind++)
        r = source_prepare_kind(s, kind, e);
    if (r < 0)
        return r;
    const struct sqlite_statement *processes =
        s->streams[STATEMENT_PROCESS - STREAM_FIRST].statement;
    sqlite_figures_find(&s->process_figures, processes, ENTITY_PROCESS, 0, STATEMENT_PROCESS);
    s->process_bounds = sqlite_column_called(processes, "lower_bound", 0);
    sqlite_bind_i64(s->runs, 1, INT64_MIN);
    return 0;
}

int sqlite_source_open(struct sqlite_source **ret, const char *path, struct toll_error *e)
{
    int64_t application = 0, version = 0;
    int r = sqlite_schema_peek(path, &application, &version, e);
    if (r == 0)
        r = sqlite_schema_is_ours(path, application, version, e);
    if (r < 0)
        return r == -EBADMSG ? 0 : r;
    struct sqlite_source *s = calloc(1, sizeof *s);
    if (!s || !(s->path = strdup(path))) {
        free(s);
        return err_set(e, -ENOMEM, "cannot read the record: out of memory");
    }
    r = sqlite_open(&s->db, path, SQLITE_MODE_READ, SQLITE_SOURCE_BUSY_MS, e);
    if (r == 0)
        r = source_prepare(s, e);
    if (r < 0) {
        sqlite_source_close(s);
        return r;
    }
    *ret = s;
    return 1;
}

void sqlite_source_close(struct sqlite_source *s)
{
    if (!s)
        return;
    for (unsigned kind = 0; kind <= ENTITY_TARGET; kind++)
        sqlite_end(s->samples[kind].statement);
    for (unsigned i = 0; i < STREAMS; i++)
        sqlite_end(s->streams[i].statement);
    sqlite_end(s->figures);
    sqlite_end(s->runs);
    sqlite_close(s->db);
    free(s->path);
    free(s);
}

uint64_t sqlite_source_run(const struct sqlite_source *s)
{
    return (uint64_t)s->run;
}

/* ==== What a run has figures of =============================================================== */

/* What was asked for, as far as the summary has it: in the tables both what was not read and what
 * is unknown are NULL. A summary has a row for each figure that was read, unknown ones too. Metrics
 * that the machine has no source for were left out of all parts; those of the whole alone are left
 * out of the other parts and of single processes. */
static int source_choose_metrics(struct sqlite_source *s, const struct run *run,
                                 struct toll_error *e)
{
    uint64_t found[SQLITE_ENTITY_SELF + 1] = {0};
    struct selection *selection = &s->selection;
    size_t length;
    int r = 0;
    if (selection_parse(selection, run->metrics, NULL) < 0)
        r = selection_parse(selection, NULL, e); /* of a later version: whatever is there */
    if (r < 0)
        return r;
    sqlite_bind_i64(s->figures, 1, s->run);
    sqlite_bind_i64(s->figures, 2, SQLITE_ENTITY_SELF);
    while ((r = sqlite_step(s->figures, e)) > 0) {
        int64_t entity = sqlite_column_i64(s->figures, 0);
        enum entity_kind kind = entity == SQLITE_ENTITY_SELF ? ENTITY_SELF : ENTITY_TARGET;
        struct scan name = scan_string(sqlite_column_text(s->figures, 1, &length));
        unsigned next = 0;
        int i = read_row_find(kind, &name, &next);
        if (entity >= SQLITE_ENTITY_COMBINED && i >= 0)
            found[entity] |= BIT(i);
    }
    uint64_t combined = found[SQLITE_ENTITY_COMBINED], self = found[SQLITE_ENTITY_SELF];
    uint64_t left_out = combined ? selection->parts[PART_COMBINED] & ~combined : 0;
    for (unsigned part = 0; part < PARTS; part++) {
        uint64_t own = found[SQLITE_ENTITY_COMBINED + part];
        left_out |= own && part == PART_MAIN ? selection->parts[part] & ~own : 0;
        selection->parts[part] &= own ? own : ~left_out;
    }
    selection->of[ENTITY_PROCESS] &= ~left_out;
    if (self)
        selection->of[ENTITY_SELF] &= self;
    s->has_selection = true;
    return r;
}

/* ==== Samples ================================================================================= */

/* 1: the first or the next row of that kind is there. */
static int source_next_row(struct sqlite_source *s, enum entity_kind kind, uint64_t tick,
                           bool is_first, struct row *ret, struct toll_error *e)
{
    struct kind_samples *x = &s->samples[kind];
    if (!x->statement)
        return 0;
    if (is_first) {
        sqlite_bind_i64(x->statement, 1, s->run);
        sqlite_bind_i64(x->statement, 2, (int64_t)tick);
    }
    int n = sqlite_step(x->statement, e);
    if (n > 0 && !sqlite_figures_read(&x->figures, x->statement, ret))
        return err_set(e, -EBADMSG,
                       "run %lld, tick %lld: invalid figure (expected a number, 0 or more)",
                       (long long)s->run, (long long)tick);
    return n;
}

static int source_read_targets(struct sqlite_source *s, struct reading *r, uint64_t tick,
                               struct toll_error *e)
{
    const struct kind_samples *x = &s->samples[ENTITY_TARGET];
    struct frame *f = &r->frame;
    size_t count = r->targets ? r->run.target_count : 0;
    struct row row;
    int n;
    for (size_t i = 0; i < count; i++)
        r->targets[i] = (struct frame_target){.name = r->run.targets[i].name};
    f->targets = r->targets;
    f->target_count = count;
    for (bool first = true; (n = source_next_row(s, ENTITY_TARGET, tick, first, &row, e)) > 0;
         first = false) {
        struct scan part_word, name;
        int part = source_text(x->statement, x->part, &part_word) ? read_part(&part_word) : -1;
        size_t i = 0;
        if (part < 0 || !source_text(x->statement, x->name, &name))
            continue;
        while (i < count && !json_in_is(&name, r->targets[i].name))
            i++;
        /* All targets together have no name. */
        struct row *rows = i < count ? r->rows[i] : r->whole;
        struct frame_row *parts = i < count ? r->targets[i].parts : f->target;
        row.present &= s->selection.parts[part];
        if (!source_read_bounds(r, &row, ENTITY_TARGET, x->statement, x->lower_bound))
            return 0;
        rows[part] = row;
        parts[part] = (struct frame_row){&r->entities[part], &rows[part]};
        r->selection.parts[part] |= s->selection.parts[part];
        if (i < count && x->ended >= 0 && sqlite_column_i64(x->statement, x->ended) > 0)
            r->targets[i].has_ended = true;
    }
    if (!f->target[PART_COMBINED].row)
        memset(f->target, 0, sizeof f->target);
    return n < 0 ? n : 1;
}

/* The instance that a row is of, from the columns of its entity; NULL: not as expected. */
static struct instance *source_find_instance(struct reading *r, const struct kind_samples *x,
                                             enum entity_kind kind)
{
    struct entity entity = {.kind = kind};
    struct scan text, key;
    if (kind != ENTITY_SYSTEM) {
        if (!source_text(x->statement, x->name, &text))
            return NULL;
        r->text = &r->frame.arena; /* it was met before, as a rule */
        entity.path = reading_keep(r, text);
        r->text = &r->kept;
    }
    if (kind != ENTITY_SYSTEM && sqlite_column_type(x->statement, x->labels) != SQLITE_IS_NULL) {
        source_json(r, x->statement, x->labels);
        json_in_object(&r->json);
        while (json_in_key(&r->json, &key))
            if (json_in_is(&key, "name"))
                json_in_fail(&r->json);
            else
                read_instances_word(r, &key, &entity);
        if (!json_in_end(&r->json))
            return NULL;
    }
    return read_instances_find(r, &entity);
}

/* All of a kind, in the order in which they were first met. */
static int source_read_kind(struct sqlite_source *s, struct reading *r, enum entity_kind kind,
                            uint64_t tick, struct toll_error *e)
{
    struct kind_samples *x = &s->samples[kind];
    uint64_t selected = s->selection.of[kind];
    struct row row;
    int n;
    for (bool first = true; (n = source_next_row(s, kind, tick, first, &row, e)) > 0;
         first = false) {
        source_note_unknown(r, &x->figures, x->statement);
        if (kind == ENTITY_PROCESS) {
            struct process_row *p = read_sample_add_process(r);
            if (!p || !source_read_object(r, RECORD_OBJECT_identity, &p->entity, x->statement,
                                          x->identity))
                return 0;
            p->row = row;
            p->row.present &= selected & ~metric_fold_mask(FOLD_WHOLE);
            if (!source_read_bounds(r, &p->row, kind, x->statement, x->lower_bound))
                return 0;
            r->selection.of[kind] |= selected & ~metric_fold_mask(FOLD_WHOLE);
        } else if (kind == ENTITY_SELF) {
            r->self = row;
            r->self.present &= selected;
            r->selection.of[kind] |= selected;
        } else {
            if (kind == ENTITY_SYSTEM && !first)
                return err_set(e, -EBADMSG,
                               "run %lld, tick %lld: several rows of the machine (expected one)",
                               (long long)s->run, (long long)tick);
            struct instance *m = source_find_instance(r, x, kind);
            if (!m)
                return 0;
            m->row = row;
            m->row.present &= selected;
            r->run.system |= kind == ENTITY_SYSTEM;
            r->selection.of[kind] |= m->row.present;
            r->no_memory |= instance_list_add(&r->machine, m) < 0;
        }
    }
    return n < 0 ? n : 1;
}

static int source_read_sample(struct sqlite_source *s, struct reading *r, struct toll_error *e)
{
    unsigned stream = STATEMENT_SAMPLE - STREAM_FIRST;
    struct record_sample sample = {0};
    read_sample_begin(r);
    if (!source_read_object(r, RECORD_OBJECT_sample, &sample, s->streams[stream].statement,
                            s->streams[stream].columns.of[0]))
        return err_set(
            e, -EBADMSG,
            "cannot read '%s': run %lld: invalid tick or time of a sample (expected a number)",
            s->path, (long long)s->run);
    sample.last = s->last_tick >= 0 && sample.tick == (uint64_t)s->last_tick;
    int n = source_read_targets(s, r, sample.tick, e);
    for (unsigned kind = 0; kind < ENTITY_KINDS && n > 0; kind++)
        n = source_read_kind(s, r, kind, sample.tick, e);
    return n > 0 ? read_sample_end(r, &sample) : n;
}

/* ==== Lines =================================================================================== */

static int source_read_process(struct sqlite_source *s, struct reading *r, struct toll_error *e)
{
    unsigned stream = STATEMENT_PROCESS - STREAM_FIRST;
    const struct sqlite_statement *st = s->streams[stream].statement;
    const struct object_columns *columns = &s->streams[stream].columns;
    uint64_t selected = s->selection.of[ENTITY_PROCESS] & ~metric_fold_mask(FOLD_WHOLE);
    struct record_end end = {0};
    int status = columns->of[1][0];
    read_process_begin(r);
    if (!sqlite_figures_read(&s->process_figures, st, &r->process.own))
        return err_set(e, -EBADMSG,
                       "cannot read '%s': run %lld: invalid figure of a process (expected a "
                       "number, 0 or more)",
                       s->path, (long long)s->run);
    source_note_unknown(r, &s->process_figures, st);
    r->process.own.present &= selected;
    r->selection.of[ENTITY_PROCESS] |= selected;
    r->process_end.has_status = status >= 0 && sqlite_column_type(st, status) != SQLITE_IS_NULL;
    if (!source_read_object(r, RECORD_OBJECT_departure, &r->process_end, st, columns->of[0]) ||
        (r->process_end.has_status &&
         !source_read_object(r, RECORD_OBJECT_end, &end, st, columns->of[1])) ||
        !source_read_object(r, RECORD_OBJECT_identity, &r->process.entity, st, columns->of[2]) ||
        !source_read_bounds(r, &r->process.own, ENTITY_PROCESS, st, s->process_bounds))
        return 0;
    r->process_end.end = record_end_back(&end);
    return 1;
}

/* A mark or a note: all objects of its table are parts of struct record_mark. */
static int source_read_mark(struct sqlite_source *s, struct reading *r, enum mark_kind kind)
{
    const struct sqlite_statement *st = s->streams[s->stream].statement;
    const struct sqlite_table *t = sqlite_table(STREAM_FIRST + s->stream);
    read_mark_begin(r, kind);
    for (unsigned i = 0; i < t->object_count; i++)
        if (!source_read_object(r, t->objects[i], &r->said, st,
                                s->streams[s->stream].columns.of[i]))
            return 0;
    if (STREAM_FIRST + s->stream == STATEMENT_NOTE)
        r->said.name = "note";
    return read_mark_end(r);
}

static int source_step(struct sqlite_source *s, unsigned stream, struct toll_error *e)
{
    int r = sqlite_step(s->streams[stream].statement, e);
    s->streams[stream].has_row = r > 0;
    if (r > 0)
        s->streams[stream].seq = sqlite_column_i64(s->streams[stream].statement, 0);
    return r < 0 ? r : 0;
}

/* Steps to the next run. */
static int source_begin_run(struct sqlite_source *s, struct toll_error *e)
{
    static const char cut_short[] = "\"cut_short\":true";
    int n = sqlite_step(s->runs, e);
    if (n <= 0)
        return n;
    /* Whether the summary is of a run that was measured to its end. In a string of JSON the quotes
     * of the key would have backslashes before them. */
    size_t length;
    const char *summary = sqlite_column_text(s->runs, 2, &length);
    bool has_end = sqlite_column_type(s->runs, 2) != SQLITE_IS_NULL && summary &&
                   !memmem(summary, length, cut_short, sizeof cut_short - 1) &&
                   sqlite_column_type(s->runs, 3) != SQLITE_IS_NULL;
    s->run = sqlite_column_i64(s->runs, 0);
    s->last_tick = has_end ? sqlite_column_i64(s->runs, 3) : -1;
    s->in_run = true;
    s->has_selection = false;
    for (unsigned i = 0; i < STREAMS && n >= 0; i++) {
        sqlite_bind_i64(s->streams[i].statement, 1, s->run);
        n = source_step(s, i, e);
    }
    return n < 0 ? n : 1;
}

int sqlite_source_next(struct sqlite_source *s, const struct run *run, enum record_line *ret,
                       enum mark_kind *ret_kind, struct toll_error *e)
{
    static const struct {
        enum record_line line;
        enum mark_kind kind;
    } lines[STREAMS] = {
        [STATEMENT_SAMPLE - STREAM_FIRST] = {LINE_SAMPLE, MARK_KINDS},
        [STATEMENT_PROCESS - STREAM_FIRST] = {LINE_PROCESS, MARK_KINDS},
        [STATEMENT_PHASE - STREAM_FIRST] = {LINE_MARK, MARK_PHASE_END},
        [STATEMENT_EVENT - STREAM_FIRST] = {LINE_MARK, MARK_EVENT},
        [STATEMENT_GAUGE - STREAM_FIRST] = {LINE_MARK, MARK_GAUGE},
        [STATEMENT_NOTE - STREAM_FIRST] = {LINE_MARK, MARK_EVENT},
    };
    int n;
    if (!s->has_next && s->in_run) {
        /* The stream whose row was reported first; at the end of the run its summary, if any. */
        n = s->has_selection ? 0 : source_choose_metrics(s, run, e);
        if (n < 0)
            return n;
        s->stream = STREAMS;
        for (unsigned i = 0; i < STREAMS; i++)
            if (s->streams[i].has_row &&
                (s->stream == STREAMS || s->streams[i].seq < s->streams[s->stream].seq))
                s->stream = i;
        s->in_run = s->stream != STREAMS;
        s->next = s->in_run ? lines[s->stream].line : LINE_SUMMARY;
        s->has_next = s->in_run || sqlite_column_type(s->runs, 2) != SQLITE_IS_NULL;
    }
    if (!s->has_next) {
        n = s->is_over ? 0 : source_begin_run(s, e);
        s->is_over = n == 0;
        if (n <= 0)
            return n;
        s->next = LINE_RUN;
        s->has_next = true;
    }
    *ret = s->next;
    if (s->next == LINE_MARK)
        *ret_kind = lines[s->stream].kind;
    return 1;
}

int sqlite_source_read(struct sqlite_source *s, struct reading *r, struct toll_error *e)
{
    enum mark_kind kind = MARK_KINDS;
    enum record_line line;
    int n = sqlite_source_next(s, &r->run, &line, &kind, e);
    if (n <= 0)
        return n;
    s->has_next = false;
    json_in_begin(&r->json, "", 0);
    switch (line) {
    case LINE_RUN:
        source_json(r, s->runs, 1);
        r->has_schema = true;
        return read_run(r);
    case LINE_SUMMARY: source_json(r, s->runs, 2); return read_summary(r);
    case LINE_SAMPLE: n = source_read_sample(s, r, e); break;
    case LINE_PROCESS: n = source_read_process(s, r, e); break;
    default: n = source_read_mark(s, r, kind); break;
    }
    if (n <= 0)
        return n;
    int stepped = source_step(s, s->stream, e);
    return stepped < 0 ? stepped : n;
}
