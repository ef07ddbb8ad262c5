/* SPDX-License-Identifier: MIT
 * One reading: what a target has used since it started, and its current values.
 *
 *   snapshot process PID | tree PID | group PGID | cgroup /PATH | machine */
#include <toll.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void print_target(const struct toll_frame *frame)
{
    static const char *const names[] = {"target_cpu_seconds", "target_memory_rss_bytes",
                                        "target_processes"};
    double value;
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (toll_frame_get(frame, names[i], &value) == 0 && !isnan(value)) /* NAN: unknown */
            printf("%s %.15g\n", names[i], value);
    for (size_t i = 0; i < frame->row_count; i++) {
        const struct toll_row *row = toll_frame_row(frame, i);
        if (row->pid && toll_row_get(row, "memory_rss_bytes", &value) == 0)
            printf("process %d of %d, %s: %.15g bytes\n", (int)row->pid, (int)row->parent,
                   row->name, value);
    }
}

/* Prints every value of every row. */
static void print_machine(const struct toll_frame *frame)
{
    const struct toll_metric *metric;
    double value;
    for (size_t i = 0; i < frame->row_count; i++) {
        const struct toll_row *row = toll_frame_row(frame, i);
        for (size_t k = 0; (metric = toll_row_at(row, k, &value)); k++)
            if (!isnan(value))
                printf("%s%s%s_%s %.15g\n", row->entity, *row->name ? "." : "", row->name,
                       metric->name, value);
    }
}

int main(int argc, char **argv)
{
    const char *what = argc > 1 ? argv[1] : "";
    bool is_machine = strcmp(what, "machine") == 0;
    if (argc != 3 && !(is_machine && argc == 2)) {
        fprintf(stderr, "usage: snapshot process PID | tree PID | group PGID | cgroup /PATH | "
                        "machine\n");
        return 2;
    }
    struct toll_options options = {
        .size = sizeof options,
        .processes = TOLL_PROCESSES_ALL,
        .no_children = strcmp(what, "process") == 0,
    };
    struct toll_target target = {.size = sizeof target, .kind = TOLL_TARGET_PROCESS};
    if (strcmp(what, "group") == 0)
        target.kind = TOLL_TARGET_GROUP;
    if (strcmp(what, "cgroup") == 0)
        target.kind = TOLL_TARGET_CGROUP;
    target.id = is_machine ? 0 : atoi(argv[2]);
    target.text = argv[2];

    struct toll_frame *frame;
    struct toll_error e;
    if (toll_snapshot(&frame, is_machine ? NULL : &target, &options, &e) < 0) {
        fprintf(stderr, "snapshot: %s\n", e.message);
        return 1;
    }
    (is_machine ? print_machine : print_target)(frame);
    toll_frame_free(frame);
    return 0;
}
