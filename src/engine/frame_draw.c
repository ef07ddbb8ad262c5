/* SPDX-License-Identifier: MIT
 * Frames that a program holds as charts: they are handed to the model of the report again. */
#include "engine/frame_copy.h"

#include "base/err.h"
#include "sink/report/report.h"

#include <stdlib.h>
#include <string.h>

int toll_chart_at(size_t i, struct toll_chart *ret)
{
    const struct chart_plan *p = chart_plan_at(i);
    int r = ret ? sized_check(ret, "chart", NULL) : -EINVAL;
    if (r == 0 && !p)
        r = -ENOENT;
    if (r == 0)
        sized_give(ret, &(struct toll_chart){.name = p->name, .title = p->title, .about = p->about},
                   sizeof *ret);
    return r;
}

/* ---- Frames as collectors make them ---------------------------------------------------------- */

/* What a frame of the model refers to. Devices keep their numbers from frame to frame. */
struct replayed {
    struct row target;
    struct instance *devices; /* owned */
    struct instance **here;   /* owned: those of the current frame */
    size_t count, capacity;
};

static void replay_row(struct row *ret, const struct frame_copy_row *r)
{
    row_init(ret, r->kind);
    ret->present = r->known;
    ret->at_least = r->at_least;
    memcpy(ret->values, r->values, r->count * sizeof *r->values);
}

/* The device of a row, by its kind and name; NULL: no memory. */
static struct instance *replay_device(struct replayed *p, const struct frame_copy_row *r)
{
    for (size_t i = 0; i < p->count; i++)
        if (p->devices[i].entity.kind == r->kind &&
            strncmp(p->devices[i].entity.name, r->facts.name, ENTITY_NAME_BYTES - 1) == 0)
            return &p->devices[i];
    if (p->count == p->capacity) {
        size_t capacity = p->capacity ? 2 * p->capacity : 4;
        struct instance *devices = realloc(p->devices, capacity * sizeof *devices);
        if (devices)
            p->devices = devices;
        struct instance **here = realloc(p->here, capacity * sizeof *here);
        if (here)
            p->here = here;
        if (!devices || !here)
            return NULL;
        p->capacity = capacity;
    }
    struct instance *d = &p->devices[p->count++];
    instance_init(d, r->kind);
    d->number = (unsigned)p->count;
    size_t length = strnlen(r->facts.name, ENTITY_NAME_BYTES - 1);
    memcpy(d->entity.name, r->facts.name, length);
    d->entity.name[length] = '\0';
    return d;
}

static bool is_drawn(enum entity_kind kind)
{
    const struct chart_plan *p;
    for (size_t i = 0; (p = chart_plan_at(i)); i++)
        if (p->of == kind)
            return true;
    return false;
}

/* Hands a frame to the model; false: no memory. */
static bool replay_frame(struct report *report, struct replayed *p, const struct toll_frame *frame)
{
    const struct frame_copy *copy = (const struct frame_copy *)frame;
    struct frame f = {.tick = frame->number,
                      .real_ns = frame->real_ns,
                      .elapsed_ns = frame->elapsed_ns,
                      .interval_ns = frame->interval_ns,
                      .last = frame->last};
    for (size_t i = 0; i < frame->row_count; i++) {
        const struct frame_copy_row *r = &copy->rows[i];
        if (!is_drawn(r->kind))
            continue;
        if (r->kind != ENTITY_TARGET) {
            struct instance *d = replay_device(p, r);
            if (!d)
                return false;
            replay_row(&d->row, r);
            d->is_new = true; /* it is in this frame */
        } else if (!r->target && r->part == PART_COMBINED) {
            replay_row(&p->target, r);
            f.target[PART_COMBINED].row = &p->target;
        }
    }
    for (size_t i = 0; i < p->count; i++)
        if (p->devices[i].is_new) {
            p->devices[i].is_new = false;
            p->here[f.machine_count++] = &p->devices[i];
        }
    f.machine = p->here;
    report_add_frame(report, &f);
    return true;
}

/* ---- Choosing and drawing -------------------------------------------------------------------- */

/* Sets the bits of the charts that are named. */
static int choose_charts(const char *names, unsigned *ret, struct toll_error *e)
{
    *ret = 0;
    for (const char *at = names;;) {
        size_t length = strcspn(at, ",");
        const struct chart_plan *p;
        size_t i = 0;
        while ((p = chart_plan_at(i)) &&
               (strlen(p->name) != length || memcmp(p->name, at, length) != 0))
            i++;
        if (!p) {
            struct buf known = {0};
            for (i = 0; (p = chart_plan_at(i)); i++) {
                buf_puts(&known, i ? ", " : "");
                buf_puts(&known, p->name);
            }
            char *list = buf_take(&known);
            int r = err_set(e, -EINVAL, "charts: unknown chart '%.*s' (expected %s)",
                            (int)(length < 60 ? length : 60), at, list ? list : "cpu or memory");
            free(list);
            return r;
        }
        *ret |= 1u << i;
        if (!at[length])
            return 0;
        at += length + 1;
    }
}

static void put_frames_json(const struct report *r, const struct chart *const *charts,
                            unsigned count, struct buf *b)
{
    struct json_out j;
    json_begin(&j, b, 0);
    json_object(&j);
    json_put_u64(&j, "samples", r->frames);
    json_put_seconds(&j, "elapsed_seconds", r->summary->elapsed_ns);
    json_put_array(&j, "charts");
    for (unsigned i = 0; i < count; i++)
        chart_put_json(r, charts[i], &j);
    json_array_end(&j);
    json_object_end(&j);
    buf_putc(b, '\n');
}

int toll_frames_draw(const struct toll_frame *const *frames, size_t count,
                     const struct toll_drawing *how, char **ret, struct toll_error *e)
{
    struct toll_drawing asked = {0};
    unsigned wanted = 0;
    int r = !ret ? err_set_no_place(e) : 0;
    if (r == 0 && count && !frames)
        r = err_set(e, -EINVAL, "frames is NULL (expected %zu frames)", count);
    if (r == 0)
        r = sized_take(&asked, sizeof asked, how, "how", e);
    bool is_json = r == 0 && asked.format && strcmp(asked.format, "json") == 0;
    if (r == 0 && asked.format && !is_json && strcmp(asked.format, "svg") != 0)
        r = err_set(e, -EINVAL, "format: unknown format '%s' (expected svg or json)", asked.format);
    if (r == 0 && asked.charts)
        r = choose_charts(asked.charts, &wanted, e);
    if (r < 0)
        return r;

    struct replayed replayed = {0};
    struct summary *summary = calloc(1, sizeof *summary);
    struct report *report = report_new();
    struct buf text = {.units = BYTES_BINARY};
    bool ok = summary && report;
    for (size_t i = 0; ok && i < count; i++) {
        ok = replay_frame(report, &replayed, frames[i]);
        summary->elapsed_ns = max_u64(summary->elapsed_ns, frames[i]->elapsed_ns);
    }
    if (ok) {
        const struct chart *charts[REPORT_CHARTS];
        unsigned drawn = 0;
        struct limit *limits = summary->whole.limits.of;
        limits[LIMIT_CPUS] = (struct limit){.known = asked.cores_allowed > 0,
                                            .cores = asked.cores_allowed};
        double bytes = asked.memory_limit_bytes;
        limits[LIMIT_MEMORY_BYTES] = (struct limit){
            .known = bytes > 0 && bytes<9e18, .value = bytes> 0 && bytes < 9e18 ? (uint64_t)bytes
                                                                                : 0};
        report->summary = summary;
        for (unsigned i = 0; i < REPORT_CHARTS; i++) {
            bool is_wanted = asked.charts ? wanted >> i & 1 : drawn < 2;
            if (is_wanted && !chart_is_empty(&report->charts[i]))
                charts[drawn++] = &report->charts[i];
        }
        if (is_json)
            put_frames_json(report, charts, drawn, &text);
        else
            charts_draw(report, charts, drawn, NULL, &text);
        ok = !report->has_failed;
    }
    report_free(report);
    free(summary);
    free(replayed.devices);
    free(replayed.here);
    char *result = buf_take(&text);
    if (!ok || !result) {
        free(result);
        return err_set(e, -ENOMEM, "cannot draw the frames: out of memory");
    }
    *ret = result;
    return 0;
}
