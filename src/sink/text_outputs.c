/* SPDX-License-Identifier: MIT */
#include "sink/text_outputs.h"

#include "sink/human.h"
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
    if (o->way == OUTPUT_FILE && o->has_bytes && o->bytes) {
        buf_puts(b, ", ");
        human_bytes(b, (double)o->bytes);
    }
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

static void describe_scrapes(struct buf *b, const struct output_summary *o)
{
    buf_printf(b, "%s: ", o->name);
    if (o->scrapes)
        add_count(b, o->scrapes, "time");
    else
        buf_puts(b, "never");
    if (*o->why)
        buf_printf(b, ": %s", o->why);
}

static void add_line(struct sink *s, const char *lead, struct buf *b)
{
    if (b->length && !buf_failed(b))
        text_paragraph(s, lead, b->data);
    buf_done(b);
}

/* Files that have everything share a line. */
static void add_files(struct sink *s, const struct summary *summary)
{
    struct buf b = {0};
    for (size_t i = 0; i < summary->output_count; i++) {
        const struct output_summary *o = &summary->outputs[i];
        if (o->way != OUTPUT_FILE || !o->is_whole)
            continue;
        buf_puts(&b, b.length ? "; " : "");
        describe(&b, o);
    }
    add_line(s, "written to ", &b);
}

void text_outputs(struct sink *s, const struct summary *summary)
{
    add_files(s, summary);
    for (size_t i = 0; i < summary->output_count; i++) {
        const struct output_summary *o = &summary->outputs[i];
        struct buf b = {0};
        if (o->way == OUTPUT_SCRAPED) {
            describe_scrapes(&b, o);
            add_line(s, "scraped at ", &b);
        } else if (o->way == OUTPUT_SENT || !o->is_whole) {
            describe(&b, o);
            add_line(s, o->way == OUTPUT_SENT ? "sent to " : "written to ", &b);
        }
    }
}
