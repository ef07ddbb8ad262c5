/* SPDX-License-Identifier: MIT */
#include "sample.h"
#include "sink/text/table.h"

#include <stdio.h>

static char *written(struct sample *s, unsigned flags)
{
    struct sink sink = {.selection = s->selection, .flags = flags};
    text_marks(&sink, &s->summary.marks);
    buf_putc(&sink.text, '\0');
    return sink.text.data; /* the caller frees */
}

static void test_nothing_said(void **state)
{
    struct sample s;
    sample_make(&s, NULL);
    char *text = written(&s, 0);
    assert_string_equal(text, "");
    free(text);
    sample_remove(&s);
}

static void test_tables(void **state)
{
    struct sample s;
    sample_make(&s, NULL);
    struct mark_totals *t = &s.summary.marks;
    struct phase_figures f, none;
    struct row row;
    phase_figures_init(&f);
    phase_figures_init(&none);
    row_init(&row, ENTITY_PROCESS);
    row_put_u64(&row, process_cpu_seconds, 0);
    row_put_u64(&row, process_memory_rss_bytes, 3 << 20);
    phase_figures_look(&f, &row, 0, 0);
    row_put_u64(&row, process_cpu_seconds, NS_PER_SECOND);
    phase_figures_look(&f, &row, 2 * NS_PER_SECOND, 2 * NS_PER_SECOND);
    struct phase_over over = {"load", 7, 0, 2 * NS_PER_SECOND, .figures = &f};
    mark_totals_phase(t, &over);
    over.name = "a phase with a ü long name";
    over.figures = &none;
    over.not_ended = over.widened = true;
    mark_totals_phase(t, &over);
    mark_totals_gauge(t, "loss", 0.123456789, 0);
    mark_totals_gauge(t, "loss", 1e9, 0);
    t->taken = 5;
    t->events = 1;
    t->lost = 2;
    char *text = written(&s, 0);
    assert_string_equal(
        text, "\n"
              "phase                times     time      cpu cores       rss      read     write\n"
              "load                     1   2.00 s   1.00 s  0.50  3.00 MiB         ?         ?\n"
              "a phase with a ü long name\n"
              "                         1   2.00 s        ?     ?         ?         ?         ?\n"
              "figures of phases are sampled; CPU time of children may count late, for the next\n"
              "phase\n"
              "not ended when the run was over: a phase with a ü long name\n"
              "figures of the whole target: a phase with a ü long name\n"
              "\n"
              "gauge                      times        last         min        mean         max\n"
              "loss                           2  1000000000 0.123456789 500000000.1  1000000000\n"
              "1 event in the record\n"
              "2 marks were lost\n"
              "\n");
    free(text);
    sample_remove(&s);
}

/* A screen for people; all of it on demand. */
static void test_many(void **state)
{
    struct sample s;
    sample_make(&s, NULL);
    struct phase_figures none;
    phase_figures_init(&none);
    for (int i = 0; i < 30; i++) {
        char name[16];
        snprintf(name, sizeof name, "n%d", i);
        mark_totals_phase(&s.summary.marks, &(struct phase_over){name, 7, 0, 1, .figures = &none});
        mark_totals_gauge(&s.summary.marks, name, 30005037, 0);
    }
    s.summary.marks.taken = 60;
    char *text = written(&s, 0);
    const char *first = strstr(text, "… and 10 more; in the record and in JSON\n");
    assert_non_null(first);
    assert_non_null(strstr(first + 1, "… and 10 more; in the record and in JSON\n"));
    assert_non_null(strstr(text, "\nn19 "));
    assert_null(strstr(text, "\nn20 "));
    assert_non_null(strstr(text, " 30005037 "));
    free(text);
    text = written(&s, TOLL_OUTPUT_VERBOSE);
    assert_null(strstr(text, "more"));
    assert_non_null(strstr(text, "\nn29 "));
    free(text);
    sample_remove(&s);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_said),
        cmocka_unit_test(test_tables),
        cmocka_unit_test(test_many),
    };
    return RUN("text_marks", tests);
}
