/* SPDX-License-Identifier: MIT
 * A SQLite file: the record for queries. While a sample is taken its rows are put on a tape; the
 * courier's thread plays them into the file, a transaction for each batch. docs/sqlite.md describes
 * the tables. */
#include "sink/sinks.h"
#include "sink/sqlite_file.h"
#include "sink/sqlite_rows.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>

struct state {
    char *path; /* owned, absolute: the program may go elsewhere */
    bool is_ours_to_remove;
    bool has_begun;
    struct sqlite_rows rows;  /* of the side that samples */
    struct sqlite_file *file; /* owned, of the courier's thread; NULL: not open */
};

static int sqlite_open_place(struct sink *s, struct toll_error *e)
{
    struct state *x = s->state = calloc(1, sizeof *x);
    if (!x)
        return err_set(e, -ENOMEM, "no memory for an output");
    int r = sqlite_file_prepare(s->place, &x->is_ours_to_remove, e);
    if (r < 0)
        return r;
    x->path = realpath(s->place, NULL);
    if (!x->path)
        return err_set(e, -errno, "cannot write to '%s': %s", s->place, strerror(errno));
    s->plan.first_at_once = true; /* that there is a run */
    /* To know the file again; a descriptor of this kind disturbs none of SQLite's locks. */
    s->fd = open(x->path, O_PATH | O_CLOEXEC);
    s->owns_fd = s->fd >= 0;
    return 0;
}

static void sqlite_close_place(struct sink *s)
{
    struct state *x = s->state;
    if (!x)
        return;
    sqlite_file_close(x->file);
    if (x->is_ours_to_remove && !x->has_begun && x->path)
        sqlite_file_discard(x->path);
    sqlite_entities_done(&x->rows.entities);
    free(x->path);
    free(x);
}

/* ---- While a sample is taken ----------------------------------------------------------------- */

/* What was met for the first time goes before the rows that are of it, in a piece that is not
 * dropped with a sample. */
static void describe(struct sink *s)
{
    struct buf *met = &((struct state *)s->state)->rows.entities.met;
    struct piece p = {.of = PIECE_HEADING, .data = met->data, .length = met->length};
    if (buf_failed(met) || (met->length && courier_put(s->courier, &p) == -ENOMEM))
        s->text.failed = true; /* rows of what nobody knows say nothing: it is tried again */
    else
        buf_clear(met);
}

static struct sqlite_rows *rows_of(struct sink *s)
{
    return &((struct state *)s->state)->rows;
}

static void begin(struct sink *s, const struct run *run)
{
    ((struct state *)s->state)->has_begun = true;
    sqlite_rows_run(&s->text, run, &s->selection);
}

static void frame(struct sink *s, const struct frame *f)
{
    sqlite_rows_frame(&s->text, rows_of(s), f, s->run, &s->selection);
    describe(s);
}

static void process_end(struct sink *s, const struct process_end *e)
{
    sqlite_rows_process_end(&s->text, rows_of(s), e, s->run, &s->selection);
}

static void mark(struct sink *s, const struct told_mark *m)
{
    sqlite_rows_mark(&s->text, rows_of(s), m, &s->selection);
}

static void note(struct sink *s, uint64_t elapsed_ns, const char *sentence)
{
    sqlite_rows_note(&s->text, rows_of(s), elapsed_ns, sentence);
}

static void summary(struct sink *s, const struct summary *summary)
{
    sqlite_summary(&s->text, rows_of(s), summary, &s->selection);
    describe(s);
}

/* ---- The courier's thread -------------------------------------------------------------------- */

/* What will not get better; anything else may: somebody else writes, or the disk is full. At the
 * end only the former is waited for. */
static bool is_final(int error, bool is_ending)
{
    return (is_ending && error != -EBUSY) || error == -ESTALE || error == -EBADMSG ||
           error == -EINVAL || error == -EOPNOTSUPP || error == -EROFS || error == -EACCES;
}

static enum delivery deliver(struct sink *s, const struct batch *b, struct attempt *a)
{
    struct state *x = s->state;
    struct toll_error e = {0};
    int r = x->file ? 0 : sqlite_file_open(&x->file, x->path, s->stays_open, &e);
    if (r == 0)
        r = sqlite_file_write(x->file, b, &e);
    bool is_last = b->count && b->pieces[b->count - 1].of == PIECE_SUMMARY;
    if (is_last && r == 0) {
        sqlite_file_close(x->file);
        x->file = NULL;
    }
    if (r == 0)
        return DELIVERY_DONE;
    snprintf(a->why, sizeof a->why, "%s", e.message);
    return is_final(r, courier_is_ending(s->courier)) ? DELIVERY_REFUSED : DELIVERY_AGAIN;
}

static const struct sink_option options[] = {SINK_COURIER_OPTIONS("1s"), {.facts = {0}}};

const struct sink_kind sink_sqlite = {
    .format = {"sqlite", ".sqlite",
               "a SQLite file (.db, .sqlite3 too): the record for queries, as it happens", "FILE"},
    .other_suffixes = {".db", ".sqlite3"},
    .options = options,
    .has_no_bytes = true, /* others may write to the file */
    .open = sqlite_open_place,
    .begin = begin,
    .frame = frame,
    .process_end = process_end,
    .mark = mark,
    .note = note,
    .summary = summary,
    .close = sqlite_close_place,
    .deliver = deliver,
};
