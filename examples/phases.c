/* SPDX-License-Identifier: MIT
 * Figures of the phases of a program, its gauges and the energy of the run, without parsing a
 * report.
 *
 *   phases */
#include <toll.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { BYTES = 32 << 20 };

static void work(struct toll_tracker *t, const char *phase, int rounds)
{
    unsigned char *data = malloc(BYTES);
    toll_mark_phase_begin(t, phase);
    for (int i = 0; data && i < rounds; i++) {
        memset(data, i, BYTES);
        toll_mark_gauge(t, "rounds_done", i + 1);
    }
    toll_mark_phase_end(t, phase);
    free(data);
}

int main(void)
{
    struct toll_tracker *t = NULL;
    struct toll_error e;
    if (toll_measure_self(&t, NULL, &e) < 0) {
        fprintf(stderr, "phases: %s\n", e.message);
        return 1;
    }
    work(t, "short", 5);
    work(t, "long", 50);
    toll_tracker_finish(t, NULL);

    struct toll_phase phase = TOLL_INIT(toll_phase);
    for (size_t i = 0; toll_tracker_phase(t, i, &phase) == 0; i++) {
        struct toll_figure cpu = TOLL_INIT(toll_figure);
        toll_tracker_phase_figure(t, phase.name, "cpu_seconds", &cpu);
        printf("phase %s %.9g s, CPU %.9g s (%s)\n", phase.name, (double)phase.total_ns / 1e9,
               cpu.total, cpu.quality_word);
    }
    struct toll_gauge gauge = TOLL_INIT(toll_gauge);
    for (size_t i = 0; toll_tracker_gauge(t, i, &gauge) == 0; i++)
        printf("gauge %s last %.9g max %.9g\n", gauge.name, gauge.last, gauge.max);
    struct toll_energy energy = TOLL_INIT(toll_energy);
    if (toll_tracker_energy(t, &energy) == 0)
        printf("energy %.9g J\n", energy.total_joules); /* nan: unknown */
    toll_tracker_free(t);
    return 0;
}
