/* SPDX-License-Identifier: MIT
 * A program that only sends marks. Under `toll run`, its phases, events and gauges are in the
 * record; otherwise a mark does nothing and costs next to nothing.
 *
 *   toll run -o run.jsonl -- ./marks_only */
#include <toll.h>

#include <stdio.h>

enum { STEPS = 3 };

/* Work whose result improves with each step. */
static double train(int step)
{
    volatile double loss = 1;
    for (int i = 0; i < 20000000; i++)
        loss = loss * 0.9999999 + 1e-9;
    return loss / (step + 1);
}

int main(void)
{
    static const char *const settings[] = {"steps=3", "rate=1e-7", NULL};
    int r = toll_mark_event(NULL, "settings", settings);
    printf("%s\n", r == 0 ? "toll is listening" : "no listener");

    toll_mark_phase_begin(NULL, "train");
    for (int step = 0; step < STEPS; step++) {
        toll_mark_phase_begin(NULL, "step"); /* phases may be nested, and repeated */
        toll_mark_gauge(NULL, "loss", train(step));
        toll_mark_phase_end(NULL, "step");
    }
    toll_mark_phase_end(NULL, "train");
    return 0;
}
