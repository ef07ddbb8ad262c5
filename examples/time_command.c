/* SPDX-License-Identifier: MIT
 * The shortest way to measure a command: run it, wait for it, print its usage.
 *
 *   time_command COMMAND [ARGUMENT…] */
#include <toll.h>

#include <stdio.h>

int main(int argc, char **argv)
{
    struct toll_summary s = TOLL_INIT(toll_summary);
    struct toll_error e;
    if (argc < 2) {
        fprintf(stderr, "usage: time_command COMMAND [ARGUMENT…]\n");
        return 125;
    }
    if (toll_run_command(argv + 1, NULL, &s, &e) < 0) {
        fprintf(stderr, "time_command: %s\n", e.message);
        return 125;
    }
    /* An unknown value is printed as nan, never as 0. */
    fprintf(stderr, "wall_seconds %.15g\n", s.wall_seconds);
    fprintf(stderr, "target_cpu_seconds %.15g (%s)\n", s.cpu_seconds,
            toll_quality_word(s.cpu_quality));
    fprintf(stderr, "target_memory_rss_bytes %.15g (%s)\n", s.memory_peak_bytes,
            toll_quality_word(s.memory_quality));
    fprintf(stderr, "target_io_written_bytes %.15g\n", s.io_written_bytes);
    fprintf(stderr, "target_processes_started %.15g\n", s.processes_started);
    return s.exit_status < 0 ? 125 : s.exit_status;
}
