/* SPDX-License-Identifier: MIT */
#include "sink/lines_gpus.h"

#include "sink/human.h"
#include "sink/text_words.h"

enum { INDENT = 8 };

static void add_figures(struct sink *s, const struct measured *gpu)
{
    FOR_EACH_BIT(i, gpu->row.present & s->selection.of[ENTITY_GPU])
    {
        const struct metric *m = metric_of(gpu_first + i);
        if (!*m->line || m->kind == METRIC_COUNTER)
            continue;
        buf_printf(&s->text, "  %s ", m->line);
        human_short(&s->text, m, metric_number(m, gpu->row.values[i]));
    }
}

unsigned lines_gpus(struct sink *s, const struct frame *f)
{
    unsigned count = 0;
    for (size_t i = 0; i < f->machine_count; i++) {
        const struct measured *m = f->machine[i];
        if (m->entity.kind != ENTITY_GPU || !(m->row.present & s->selection.of[ENTITY_GPU]))
            continue;
        size_t start = s->text.length;
        buf_pad(&s->text, start, INDENT + 1);
        text_foreign(s, entity_name(&m->entity));
        add_figures(s, m);
        buf_putc(&s->text, '\n');
        count++;
    }
    return count;
}
