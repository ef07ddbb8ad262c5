/* SPDX-License-Identifier: MIT
 * What programs can learn about layouts. */
#include "base/err.h"
#include "base/io/file.h"
#include "base/text/encoding.h"
#include "base/util.h"
#include "engine/frame_copy.h"
#include "engine/marks/marks.h"
#include "layout/gpu_tracker/gpu_tracker.h"
#include "layout/layout.h"
#include "layout/translation.h"

#include <fcntl.h>
#include <math.h>
#include <pthread.h>
#include <string.h>

/* ==== Phase files ============================================================================= */

/* The public calls for the files of code blocks: analysis, comparison, combination, and what
 * Python has pickled of them. */

enum phase_format { FORMAT_TEXT, FORMAT_JSON };

static int phase_files_format(const char *name, enum phase_format *ret, struct toll_error *e)
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
static int phase_files_return(struct buf *b, char **ret, struct toll_error *e)
{
    if (buf_failed(b) || !b->data) {
        buf_done(b);
        return err_set(e, -ENOMEM, "cannot write the results: out of memory");
    }
    *ret = b->data;
    return 0;
}

static bool phase_files_have_points(const char *path)
{
    return ends_with(path, ".csv") || ends_with(path, ".sqlite") || ends_with(path, ".jsonl");
}

/* Whether it begins as results of an analysis do, as JSON or as a pickle; their names end with
 * anything. */
static bool phase_files_hold_results(const char *path)
{
    char begin[64];
    CLEANUP_CLOSE int fd = phase_files_have_points(path)
                               ? -1
                               : open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    ssize_t got = fd < 0 ? 0 : pread(fd, begin, sizeof begin - 1, 0);
    begin[got > 0 ? got : 0] = '\0';
    return got > 0 && (pickle_is_one(begin, (size_t)got) || begin[strspn(begin, " \t\r\n")] == '{');
}

/* A record has both in it; other blocks may be meant. Results of an earlier analysis are read as
 * they are. */
static int phase_files_analyze(struct analysis *ret, const char *points, const char *blocks,
                               struct toll_error *e)
{
    struct phase_record record;
    if (!blocks && phase_files_hold_results(points))
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
    int r = points ? phase_files_format(format, &as, e)
                   : err_set(e, -EINVAL, "no tracking file given");
    if (r == 0)
        r = phase_files_analyze(&a, points, blocks, e);
    if (r < 0)
        return r;
    (as == FORMAT_JSON ? analysis_write_json : analysis_write_text)(&b, &a);
    analysis_done(&a);
    return phase_files_return(&b, ret, e);
}

int toll_pickle_to_json(const char *path, char **ret, struct toll_error *e)
{
    struct buf pickle = {0}, json = {0};
    if (!ret)
        return err_set_no_place(e);
    if (!path)
        return err_set(e, -EINVAL, "no file given");
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
    return phase_files_return(&json, ret, e);
}

int toll_phases_combine(const char *destination, const char *const *files, struct toll_error *e)
{
    if (!destination || !files || !files[0])
        return err_set(e, -EINVAL, "no sub-tracking files given");
    return combine_blocks(destination, files, e);
}

int toll_phases_store(const char *points, const char *destination, struct toll_error *e)
{
    if (!points || !destination)
        return err_set(e, -EINVAL, "no tracking file given");
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
static int phase_files_read_session(struct sessions *s, const char *text, struct toll_error *e)
{
    const char *sign = strchr(text, '=');
    if (!sign || sign == text || !sign[1])
        return err_set(e, -EINVAL, "invalid tracking session '%s' (expected NAME=FILE)", text);
    char *name = strndup(text, (size_t)(sign - text));
    if (!name)
        return err_set(e, -ENOMEM, "cannot write the results: out of memory");
    for (size_t i = 0; i < s->count; i++)
        if (strcmp(s->names[i], name) == 0) {
            free(name);
            return err_set(e, -EINVAL,
                           "tracking session '%s' is given twice (names must be unique)",
                           s->names[i]);
        }
    const char *path = sign + 1;
    int r = phase_files_have_points(path) ? phase_files_analyze(&s->list[s->count], path, NULL, e)
                                          : analysis_read_json(&s->list[s->count], path, e);
    if (r < 0) {
        free(name);
        return r;
    }
    s->names[s->count++] = name;
    return 0;
}

static int phase_files_read_sessions(struct sessions *s, const char *const *texts,
                                     struct toll_error *e)
{
    size_t count = 0;
    while (texts && texts[count])
        count++;
    if (!count)
        return err_set(e, -EINVAL, "no tracking sessions given (expected NAME=FILE)");
    s->names = calloc(count, sizeof *s->names);
    s->list = calloc(count, sizeof *s->list);
    int r = s->names && s->list ? 0
                                : err_set(e, -ENOMEM, "cannot write the results: out of memory");
    for (size_t i = 0; i < count && r == 0; i++)
        r = phase_files_read_session(s, texts[i], e);
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
        r = phase_files_format(asked.format, &as, e);
    if (r < 0)
        return r;
    const char *word = asked.statistic ? asked.statistic : "mean";
    int statistic = statistic_by_name(word);
    if (statistic < 0)
        return err_set(e, -EINVAL,
                       "Invalid summary statistic '%s'. Valid values are min max mean std.", word);
    r = phase_files_read_sessions(&s, asked.sessions, e);
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
        r = phase_files_return(&b, ret, e);
    }
    sessions_done(&s);
    return r;
}

/* ==== Translator ============================================================================== */

/* Frames of a program in a layout. */

struct toll_translator {
    struct layout_choice choice;
    struct translation translation;
    bool is_open;                   /* the table is known */
    double facts[LAYOUT_FACTS];     /* that were set; NAN: not */
    struct buf *names;              /* owned, of the columns */
    struct buf text;                /* the last that was asked for … */
    const struct frame_copy *frame; /* borrowed while it is read */
};

int toll_translator_new(struct toll_translator **ret, const char *layout, struct toll_error *e)
{
    struct toll_translator *tr = ret ? calloc(1, sizeof *tr) : NULL;
    if (!ret)
        return err_set_no_place(e);
    if (!tr)
        return err_set(e, -ENOMEM, "cannot open the layout: out of memory");
    int r = layout ? layout_choice_parse(&tr->choice, layout, e)
                   : err_set(e, -EINVAL, "no layout given");
    for (unsigned f = 0; f < LAYOUT_FACTS; f++)
        tr->facts[f] = (double)NAN;
    tr->facts[FACT_OWN_PID] = (double)getpid();
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    if (online > 0)
        tr->facts[FACT_CPUS] = (double)online;
    if (r < 0)
        toll_translator_free(tr);
    else
        *ret = tr;
    return r;
}

void toll_translator_free(struct toll_translator *tr)
{
    if (!tr)
        return;
    for (size_t i = 0; tr->names && i < tr->translation.table->count; i++)
        buf_done(&tr->names[i]);
    free(tr->names);
    if (tr->is_open)
        translation_done(&tr->translation);
    layout_choice_done(&tr->choice);
    buf_done(&tr->text);
    free(tr);
}

int toll_translator_set_fact(struct toll_translator *tr, const char *fact, double value)
{
    for (unsigned f = 0; tr && fact && f < LAYOUT_FACTS; f++)
        if (strcmp(layout_fact_names[f], fact) == 0) {
            tr->facts[f] = value;
            return 0;
        }
    return -EINVAL;
}

/* ---- The frame as a source ------------------------------------------------------------------- */

/* Rows of several targets have names, and come in their order; a row of each part. */
static const struct frame_copy_row *translator_find_row(const struct frame_copy *f,
                                                        const struct layout_place *p)
{
    size_t target = 0, instance = 0;
    for (size_t i = 0; i < f->head.row_count; i++) {
        const struct frame_copy_row *r = &f->rows[i];
        if (r->kind != p->kind)
            continue;
        if (r->kind != ENTITY_TARGET && instance++ == p->instance)
            return r;
        if (r->kind != ENTITY_TARGET)
            continue;
        target += r->target && r->part == PART_COMBINED;
        if (r->part == p->part && (r->target ? target : 0) == p->target)
            return r;
    }
    return NULL;
}

static double translator_figure(const void *of, const struct layout_place *place,
                                enum layout_take take)
{
    const struct frame_copy_row *r = translator_find_row(
        ((const struct toll_translator *)of)->frame, place);
    return r ? frame_copy_number(r, place->id - metric_first(place->kind)) : (double)NAN;
}

static bool translator_is_partial(const void *of, const struct layout_place *place)
{
    const struct frame_copy_row *r = translator_find_row(
        ((const struct toll_translator *)of)->frame, place);
    return r && r->at_least >> (place->id - metric_first(place->kind)) & 1;
}

static size_t translator_count(const void *of, enum entity_kind kind)
{
    const struct frame_copy *f = ((const struct toll_translator *)of)->frame;
    size_t count = 0;
    for (size_t i = 0; i < f->head.row_count; i++) {
        const struct frame_copy_row *r = &f->rows[i];
        bool is_one = kind != ENTITY_TARGET || (r->target && r->part == PART_COMBINED);
        count += r->kind == kind && is_one;
    }
    return count;
}

static double translator_fact(const void *of, enum layout_fact fact, size_t target)
{
    const struct toll_translator *tr = of;
    if (!isnan(tr->facts[fact]))
        return tr->facts[fact];
    switch (fact) {
    case FACT_TIME: return layout_seconds(tr->frame->head.real_ns);
    case FACT_ELAPSED: return (double)tr->frame->head.elapsed_ns / 1e9;
    case FACT_INTERVAL: return (double)tr->frame->head.interval_ns / 1e9;
    default: return (double)NAN;
    }
}

static const char *translator_name(const void *of, enum entity_kind kind, size_t number)
{
    const struct frame_copy *f = ((const struct toll_translator *)of)->frame;
    struct layout_place place = {.kind = kind};
    if (kind == ENTITY_TARGET)
        place.target = number;
    else
        place.instance = number;
    const struct frame_copy_row *r = translator_find_row(f, &place);
    return r ? r->facts.name : "";
}

static double translator_own(const void *of, const char *name)
{
    return (double)NAN; /* a frame has none */
}

static enum space_kind translator_space(const void *of, size_t instance)
{
    struct layout_place place = {.kind = ENTITY_MOUNT, .instance = instance};
    const struct frame_copy_row *r = translator_find_row(
        ((const struct toll_translator *)of)->frame, &place);
    return r ? r->space : SPACE_NONE;
}

/* ---- Rows ------------------------------------------------------------------------------------ */

static const struct layout_table *find_table(const struct toll_translator *tr)
{
    static const char *const series[] = {"csv", "jsonl", "text"};
    struct layout_place whole = {.kind = ENTITY_TARGET};
    enum layout_subject subject = translator_find_row(tr->frame, &whole) ? SUBJECT_TARGET
                                                                         : SUBJECT_MACHINE;
    const struct layout_table *table = NULL;
    for (size_t i = 0; i < ARRAY_LEN(series) && !table; i++)
        table = layout_choice_table(&tr->choice, series[i], subject);
    return table && layout_table_is_sampled(table) ? table : NULL;
}

static int open_table(struct toll_translator *tr)
{
    const struct layout_table *table = find_table(tr);
    if (!table)
        return -EINVAL;
    tr->is_open = true;
    int r = translation_open(&tr->translation, &tr->choice, table);
    tr->names = r == 0 ? calloc(table->count, sizeof *tr->names) : NULL;
    for (size_t i = 0; tr->names && i < table->count; i++)
        translation_name(&tr->names[i], &tr->translation, i);
    return tr->names ? 0 : -ENOMEM;
}

int toll_translator_frame(struct toll_translator *tr, const struct toll_frame *frame)
{
    if (!tr || !frame)
        return -EINVAL;
    tr->frame = (const struct frame_copy *)frame;
    int r = tr->is_open ? 0 : open_table(tr);
    struct layout_source source = {
        .of = tr,
        .figure = translator_figure,
        .count = translator_count,
        .fact = translator_fact,
        .name = translator_name,
        .own = translator_own,
        .space = translator_space,
        .is_partial = translator_is_partial,
    };
    if (r == 0)
        r = translation_put(&tr->translation, &source, frame->last);
    tr->frame = NULL;
    return r;
}

const char *toll_translator_column(const struct toll_translator *tr, size_t i)
{
    return tr && tr->names && i < tr->translation.table->count ? tr->names[i].data : NULL;
}

static const struct layout_cell *find_cell(const struct toll_translator *tr, size_t row,
                                           size_t column)
{
    if (!tr)
        return NULL;
    const struct translation *t = &tr->translation;
    return tr->is_open && row < t->ready && column < t->table->count
               ? translation_cell(t, row, column)
               : NULL;
}

double toll_translator_value(const struct toll_translator *tr, size_t row, size_t column)
{
    const struct layout_cell *cell = find_cell(tr, row, column);
    return cell ? cell->number : (double)NAN;
}

const char *toll_translator_text(struct toll_translator *tr, size_t row, size_t column)
{
    const struct layout_cell *cell = find_cell(tr, row, column);
    if (!cell || (!cell->text && isnan(cell->number)))
        return NULL;
    buf_clear(&tr->text);
    cell_write(&tr->text, &tr->translation.table->columns[column], cell);
    return buf_failed(&tr->text) ? NULL : tr->text.data;
}

/* ==== Layout api ============================================================================= */

const struct toll_layout *toll_layout_at(size_t i)
{
    for (size_t k = 0; layouts[k]; k++)
        if (k == i)
            return &layouts[k]->facts;
    return NULL;
}

/* ---- As the world outside has them ----------------------------------------------------------- */

/* Made of the tables once, and kept: they are handed out as pointers that live as long as the
 * program. */
enum { LAYOUTS_AT_MOST = 16, OPTIONS_AT_MOST = 64, COLUMNS_AT_MOST = 1024, WORDS_BYTES = 2048 };

static struct {
    struct toll_layout_option options[OPTIONS_AT_MOST];
    struct toll_layout_column columns[COLUMNS_AT_MOST];
    struct {
        size_t option, column;
    } first[LAYOUTS_AT_MOST + 1];
    char words[WORDS_BYTES];
} shown;

static pthread_once_t shown_once = PTHREAD_ONCE_INIT;

static const char *or_empty(const char *text)
{
    return text ? text : "";
}

/* The words of an option with blanks between. */
static const char *layout_api_accepted(const struct layout_option *o, size_t *at)
{
    if (!o->words)
        return o->is_number ? "NUMBER" : "TEXT";
    char *start = &shown.words[*at];
    for (const struct layout_word *w = o->words; w->word; w++) {
        size_t length = strlen(w->word);
        if (*at + length + 2 > WORDS_BYTES)
            break;
        if (w != o->words)
            shown.words[(*at)++] = ' ';
        memcpy(&shown.words[*at], w->word, length);
        *at += length;
    }
    shown.words[(*at)++] = '\0';
    return start;
}

static struct toll_layout_column show_column(const struct layout_table *t,
                                             const struct layout_column *c)
{
    static const char *const takes[] = {"value", "delta", "rate", "total", "max", "mean", "share"};
    static const char *const types[] = {"integer", "float", "text"};
    static const char *const subjects[] = {"", "target", "machine"};
    return (struct toll_layout_column){
        .format = t->format,
        .columns = or_empty(t->variant),
        .subject = subjects[t->subject],
        .file = or_empty(t->file),
        .name = c->name,
        .label = or_empty(c->label),
        .terms = c->terms,
        .take = takes[c->take],
        .type = types[c->type],
        .factor = c->factor != 0 ? c->factor : 1,
        .decimals = c->decimals ? c->decimals : t->decimals,
        .optional = c->flags & OMIT_ZERO,
        .scale = or_empty(c->scale),
        .per = or_empty(c->per),
    };
}

static void show_all(void)
{
    size_t option = 0, column = 0, words = 0, d = 0;
    for (; layouts[d] && d < LAYOUTS_AT_MOST; d++) {
        const struct layout *from = layouts[d];
        shown.first[d].option = option;
        shown.first[d].column = column;
        for (size_t i = 0; i < from->option_count && option < OPTIONS_AT_MOST; i++)
            shown.options[option++] = (struct toll_layout_option){
                .name = from->options[i].name,
                .value = or_empty(from->options[i].value),
                .accepted = layout_api_accepted(&from->options[i], &words),
                .help = from->options[i].help,
            };
        for (size_t i = 0; i < from->table_count; i++)
            for (size_t k = 0; k < from->tables[i].count && column < COLUMNS_AT_MOST; k++)
                shown.columns[column++] = show_column(&from->tables[i],
                                                      &from->tables[i].columns[k]);
    }
    shown.first[d].option = option;
    shown.first[d].column = column;
}

/* The number of a layout in the list, or -1. */
static int layout_api_number_of(const char *name)
{
    for (int i = 0; name && layouts[i]; i++)
        if (strcmp(layouts[i]->facts.name, name) == 0) {
            pthread_once(&shown_once, show_all);
            return i;
        }
    return -1;
}

const struct toll_layout_option *toll_layout_option_at(const char *layout, size_t i)
{
    int d = layout_api_number_of(layout);
    return d >= 0 && i < shown.first[d + 1].option - shown.first[d].option
               ? &shown.options[shown.first[d].option + i]
               : NULL;
}

const struct toll_layout_column *toll_layout_column_at(const char *layout, size_t i)
{
    int d = layout_api_number_of(layout);
    return d >= 0 && i < shown.first[d + 1].column - shown.first[d].column
               ? &shown.columns[shown.first[d].column + i]
               : NULL;
}
