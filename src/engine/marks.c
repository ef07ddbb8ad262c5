/* SPDX-License-Identifier: MIT
 * The public calls for marks: what is said is checked, written down, and sent on its way. */
#include "base/sized.h"
#include "base/util.h"
#include "engine/mark_client.h"
#include "engine/tracker.h"
#include "parse/mark_text.h"

#include <math.h>

static const enum mark_kind kinds[] = {
    [TOLL_MARK_PHASE_BEGIN] = MARK_PHASE_BEGIN,
    [TOLL_MARK_PHASE_END] = MARK_PHASE_END,
    [TOLL_MARK_EVENT] = MARK_EVENT,
    [TOLL_MARK_GAUGE] = MARK_GAUGE,
};

static int check(const struct toll_mark *m)
{
    if ((unsigned)m->kind >= ARRAY_LEN(kinds) || !mark_text_is_name(m->name) || m->pid < 0)
        return -EINVAL;
    if (m->kind == TOLL_MARK_GAUGE && !isfinite(m->value))
        return -EINVAL;
    bool may_have = m->kind == TOLL_MARK_EVENT || m->kind == TOLL_MARK_PHASE_BEGIN;
    for (const char *const *a = m->attributes; a && *a; a++)
        if (!may_have || !mark_text_is_attribute(*a))
            return -EINVAL;
    return 0;
}

static void write_down(struct buf *b, const struct toll_mark *m)
{
    mark_text_begin(b, kinds[m->kind], m->name);
    if (m->kind == TOLL_MARK_GAUGE)
        mark_text_add_value(b, m->value);
    for (const char *const *a = m->attributes; a && *a; a++)
        mark_text_add(b, *a);
    mark_text_add_number(b, "time", clock_mono(NULL));
    if (m->pid)
        mark_text_add_number(b, "pid", (uint64_t)m->pid);
}

/* To the tracker of this program. */
static int hand_over(struct toll_tracker *t, struct buf *b)
{
    if (buf_failed(b))
        return -ENOMEM;
    char *text = b->data;
    *b = (struct buf){0};
    int r = mark_queue_put(&t->marks.queue, text);
    if (r == 0)
        background_wake(t);
    return r;
}

int toll_mark(struct toll_tracker *t, const struct toll_mark *mark)
{
    enum { FOR_WHAT_IS_ADDED = 64 };
    struct toll_mark m;
    int r = mark ? sized_take(&m, sizeof m, mark, "mark", NULL) : -EINVAL;
    if (r == 0)
        r = check(&m);
    if (r < 0)
        return r;
    if (t && is_elsewhere(t))
        return -ESRCH;
    if (!t && !m.attributes && !mark_client_has_listener())
        return 1; /* attributes may be too long, which is told whoever listens */
    struct buf b = {0};
    write_down(&b, &m);
    if (!buf_failed(&b) && b.length > MARK_TEXT_BYTES - FOR_WHAT_IS_ADDED)
        r = -EINVAL;
    else
        r = t ? hand_over(t, &b) : mark_client_send(&b);
    buf_done(&b);
    return r;
}

static int mark(struct toll_tracker *t, enum toll_mark_kind kind, const char *name, double value,
                const char *const *attributes)
{
    const struct toll_mark m = {
        .size = sizeof m,
        .kind = kind,
        .name = name,
        .value = value,
        .attributes = attributes,
    };
    return toll_mark(t, &m);
}

int toll_mark_phase_begin(struct toll_tracker *t, const char *name)
{
    return mark(t, TOLL_MARK_PHASE_BEGIN, name, 0, NULL);
}

int toll_mark_phase_end(struct toll_tracker *t, const char *name)
{
    return mark(t, TOLL_MARK_PHASE_END, name, 0, NULL);
}

int toll_mark_gauge(struct toll_tracker *t, const char *name, double value)
{
    return mark(t, TOLL_MARK_GAUGE, name, value, NULL);
}

int toll_mark_event(struct toll_tracker *t, const char *name, const char *const *attributes)
{
    return mark(t, TOLL_MARK_EVENT, name, 0, attributes);
}
