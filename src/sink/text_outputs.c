/* SPDX-License-Identifier: MIT */
#include "sink/text_outputs.h"

#include "sink/text_table.h"

static void add_count(struct buf *b, uint64_t count, const char *noun)
{
    buf_printf(b, "%llu %s%s", (unsigned long long)count, noun, count == 1 ? "" : "s");
}

/* All is well: how many. Otherwise what became of them, and why. */
static void describe(struct buf *b, const struct output_summary *o)
{
    buf_printf(b, "%s: ", o->name);
    add_count(b, o->delivered, "sample");
    if (o->kept)
        buf_printf(b, ", %llu put aside", (unsigned long long)o->kept);
    else if (o->has_kept)
        buf_puts(b, ", the end put aside");
    if (o->dropped)
        buf_printf(b, ", %llu lost", (unsigned long long)o->dropped);
    else if (!o->is_whole)
        buf_puts(b, ", not everything arrived");
    if (o->retries) {
        buf_puts(b, ", ");
        add_count(b, o->retries, "attempt");
        buf_puts(b, " repeated");
    }
    if (*o->why && (!o->is_whole || o->kept || o->has_kept))
        buf_printf(b, ": %s", o->why);
}

void text_outputs(struct sink *s, const struct summary *summary)
{
    for (size_t i = 0; i < summary->output_count; i++) {
        struct buf b = {0};
        describe(&b, &summary->outputs[i]);
        if (b.length && !buf_failed(&b))
            text_paragraph(s, "sent to ", b.data);
        buf_done(&b);
    }
}
