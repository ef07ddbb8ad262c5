/* SPDX-License-Identifier: MIT */
#include "sink/text_gpus.h"

#include "sink/human.h"
#include "summary/energy.h"

static const struct series *series_of(const struct thing_summary *t, enum metric_id id)
{
    const struct series *s = &t->series[id - gpu_first];
    return s->observed_ns ? s : NULL;
}

static void add_mean(struct buf *b, const struct thing_summary *t, enum metric_id id,
                     const char *lead, const char *tail)
{
    const struct series *s = series_of(t, id);
    if (!s)
        return;
    buf_puts(b, lead);
    human_number(b, metric_of(id), series_mean(s, metric_of(id)));
    buf_puts(b, tail);
}

/* A driver that was late, or silent for a while: of all the time it cannot be told. */
static void add_watched(struct buf *b, uint64_t watched_ns, uint64_t elapsed_ns)
{
    const struct metric *m = metric_of(gpu_watched_seconds);
    if (watched_ns >= elapsed_ns / 10 * 9)
        return;
    buf_puts(b, " that is known of it, ");
    human_number(b, m, (double)watched_ns / 1e9);
    buf_puts(b, " of ");
    human_number(b, m, (double)elapsed_ns / 1e9);
}

/* What a GPU that costs money did not do, in a line; the most it did is in the table. */
static void add_idle(struct sink *s, const struct summary *summary, const struct thing_summary *t)
{
    const struct series *idle = series_of(t, gpu_idle_seconds);
    const struct series *watched = series_of(t, gpu_watched_seconds);
    if (!idle || !watched || !watched->last.u ||
        !(s->selection.of[ENTITY_GPU] >> (gpu_idle_seconds - gpu_first) & 1))
        return;
    struct buf b = {0};
    buf_printf(&b, "%s idled ", entity_name(&t->thing->entity));
    buf_double_fixed(&b, (double)idle->last.u / (double)watched->last.u * 100, 0);
    buf_puts(&b, " % of the time");
    add_watched(&b, watched->last.u, summary->elapsed_ns);
    add_mean(&b, t, gpu_utilization_ratio, "; on average ", " busy");
    add_mean(&b, t, gpu_power_watts, ", ", "");
    if (!buf_failed(&b))
        text_paragraph(s, "the GPU ", b.data);
    buf_done(&b);
}

static void add_energy(struct sink *s, const struct summary *summary)
{
    struct energy e = energy_of(summary);
    const struct metric *m = metric_of(gpu_energy_joules);
    struct buf b = {0};
    if (!e.has_gpus || !e.knows_gpus)
        return;
    const char *sign = e.gpus_quality == QUALITY_LOWER_BOUND ? "≥ " : "";
    if (e.knows_processors) {
        buf_puts(&b, sign);
        human_number(&b, m, e.gpus_joules + e.processors_joules);
        buf_puts(&b, " = ");
    }
    buf_puts(&b, sign);
    human_number(&b, m, e.gpus_joules);
    buf_puts(&b, " GPUs");
    if (e.knows_processors) {
        buf_puts(&b, " + ");
        human_number(&b, m, e.processors_joules);
        buf_puts(&b, " processors (RAPL)");
    }
    buf_puts(&b, ", of all that ran meanwhile");
    if (!buf_failed(&b))
        text_paragraph(s, "energy: ", b.data);
    buf_done(&b);
}

void text_gpus(struct sink *s, const struct summary *summary, bool has_table)
{
    bool any = false;
    for (size_t i = 0; i < summary->thing_count; i++)
        any |= summary->things[i].thing->entity.kind == ENTITY_GPU;
    if (!any)
        return;
    if (!has_table) {
        buf_putc(&s->text, '\n');
        text_kind(s, summary, ENTITY_GPU);
    }
    for (size_t i = 0; i < summary->thing_count; i++)
        if (summary->things[i].thing->entity.kind == ENTITY_GPU)
            add_idle(s, summary, &summary->things[i]);
    add_energy(s, summary);
}
