/* SPDX-License-Identifier: MIT */
#include "sink/lines_gpus.h"

#include "sink/human.h"
#include "sink/text_words.h"

enum { INDENT = 8 };

/* What has a unit that nothing else here has needs no word beside it: a line holds 80 characters.
 */
static void add_figure(struct buf *b, const struct metric *m, double number)
{
    switch (m->unit) {
    case UNIT_watts:
        buf_puts(b, "  ");
        buf_double_fixed(b, number, number < 9.95 ? 1 : 0);
        buf_putc(b, 'W');
        break;
    case UNIT_celsius:
        buf_puts(b, "  ");
        buf_double_fixed(b, number, 0);
        buf_puts(b, "°C");
        break;
    case UNIT_hertz:
        buf_puts(b, "  ");
        human_short(b, m, number);
        buf_puts(b, "Hz");
        break;
    case UNIT_ratio:
        buf_printf(b, "  %s ", m->line);
        buf_double_fixed(b, number * 100, 0);
        buf_putc(b, '%');
        break;
    default:
        buf_printf(b, "  %s ", m->line);
        human_short(b, m, number);
        break;
    }
}

static void add_figures(struct sink *s, const struct measured *gpu)
{
    FOR_EACH_BIT(i, gpu->row.present & s->selection.of[ENTITY_GPU])
    {
        const struct metric *m = metric_of(gpu_first + i);
        if (*m->line && m->kind != METRIC_COUNTER)
            add_figure(&s->text, m, metric_number(m, gpu->row.values[i]));
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
