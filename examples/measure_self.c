/* SPDX-License-Identifier: MIT
 * A program that measures itself: a thread of the library takes samples, the program marks its
 * phases, and prints the figures at the end.
 *
 *   measure_self [SUMMARY.json] */
#include <toll.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES = 64 << 20, ROUNDS = 5 };

/* Allocates and touches memory. */
static unsigned char *load(void)
{
    unsigned char *data = malloc(BYTES);
    if (data)
        memset(data, 1, BYTES);
    return data;
}

/* Uses CPU time only. */
static unsigned long compute(const unsigned char *data)
{
    unsigned long sum = 0;
    for (unsigned round = 0; round < ROUNDS; round++)
        for (size_t i = 0; i < BYTES; i++)
            sum = sum * 31 + data[i];
    return sum;
}

static void print_figure(struct toll_tracker *t, const char *name)
{
    struct toll_figure f = {.size = sizeof f};
    if (toll_tracker_figure(t, name, &f) < 0)
        return;
    /* A counter has a total, a gauge a peak. An unknown value is NAN, never 0. */
    double value = f.total == f.total ? f.total : f.max;
    printf("%s %.15g (%s)\n", name, value, f.quality_word);
}

int main(int argc, char **argv)
{
    struct toll_options options = {.size = sizeof options};
    struct toll_target self = {.size = sizeof self}; /* no id: this process and its children */
    struct toll_output output = {.size = sizeof output, .destination = argv[1]};
    struct toll_tracker *t = NULL;
    struct toll_error e;

    if (toll_tracker_new(&t, &options, &e) < 0 || toll_tracker_add_target(t, &self, &e) < 0 ||
        (argc > 1 && toll_tracker_add_output(t, &output, &e) < 0) ||
        toll_tracker_start(t, &e) < 0) {
        fprintf(stderr, "measure_self: not measured: %s\n", e.message);
        toll_tracker_free(t);
        t = NULL; /* the program continues: marks then go to a `toll run` around it, if any */
    }

    toll_mark_phase_begin(t, "load");
    unsigned char *data = load();
    toll_mark_phase_end(t, "load");
    if (!data)
        return 1;

    toll_mark_phase_begin(t, "compute");
    printf("result %lu\n", compute(data));
    toll_mark_phase_end(t, "compute");
    free(data);

    if (t) {
        toll_tracker_finish(t, NULL); /* the last sample; the summary goes to the output */
        print_figure(t, "target_cpu_seconds");
        print_figure(t, "target_memory_rss_bytes");
        print_figure(t, "self_cpu_seconds"); /* the cost of measuring, not in the first */
        toll_tracker_free(t);
    }
    return 0;
}
