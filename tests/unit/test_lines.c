/* SPDX-License-Identifier: MIT */
#include "sample.h"

#include <pty.h>
#include <sys/ioctl.h>
#include <time.h>

/* The time of day in front of a line is that of the place the test runs at. */
static void set_clock(void)
{
    setenv("TZ", "UTC", 1);
    tzset();
}

static void at(struct sample *s, double seconds)
{
    s->frame.elapsed_ns = s->frame.mono_ns = (uint64_t)(seconds * 1e9);
    s->frame.interval_ns = NS_PER_SECOND;
}

static void test_rates_and_gauges(void **state)
{
    struct sample s;
    sample_make(&s, "memory_rss_bytes,io_read_bytes,processes");
    struct sink *sink = sample_sink(&s, "x.lines");
    struct row *row = &s.parts[PART_COMBINED];
    at(&s, 1);
    row_put_u64(row, process_memory_rss_bytes, 412 << 20);
    row_put_u64(row, process_io_read_bytes, 1000);
    assert_int_equal(sink_frame(sink, &s.frame), 0); /* nothing to compare with: no line */
    at(&s, 3);
    row_put_u64(row, process_io_read_bytes, 1000 + (2 << 10));
    row_put_u64(row, process_processes_count, 3);
    assert_int_equal(sink_frame(sink, &s.frame), 0);
    at(&s, 4);
    row_unknown(row, process_memory_rss_bytes);
    row_unknown(row, process_io_read_bytes);
    assert_int_equal(sink_frame(sink, &s.frame), 0);
    sample_expect(&s, sink, "x.lines",
                  "    time   rss io_read_bytes/s procs\n"
                  "17:20:00  412M            1.0k     3\n"
                  "17:20:00     ?               ?     3\n");
    sample_remove(&s);
}

/* A sample just before the end has said it. */
static void test_the_last_sample(void **state)
{
    struct sample s;
    sample_make(&s, "processes");
    struct sink *sink = sample_sink(&s, "x.lines");
    row_put_u64(&s.parts[PART_COMBINED], process_processes_count, 1);
    for (unsigned i = 1; i < 4; i++) {
        at(&s, i);
        s.frame.last = i == 3;
        s.frame.interval_ns = i == 3 ? NS_PER_MS : NS_PER_SECOND;
        assert_int_equal(sink_frame(sink, &s.frame), 0);
    }
    sample_expect(&s, sink, "x.lines", "    time procs\n17:20:00     1\n");
    sample_remove(&s);
}

/* Without a rate of CPU time the last line says nothing that the one before did not, and a target
 * that has ended has nothing left. */
static void test_the_end(void **state)
{
    for (unsigned has_rate = 0; has_rate < 2; has_rate++) {
        struct sample s;
        sample_make(&s, "cpu_cores,memory_rss_bytes,threads,processes");
        struct sink *sink = sample_sink(&s, "x.lines");
        struct row *row = &s.parts[PART_COMBINED];
        for (unsigned i = 1; i < 4; i++) {
            at(&s, i);
            bool last = s.frame.last = i == 3;
            s.frame.interval_ns = last ? 200 * NS_PER_MS : NS_PER_SECOND;
            row_init(row, ENTITY_PROCESS);
            if (!last || has_rate)
                row_put_double(row, process_cpu_cores, 0.5);
            for (unsigned k = 0; k < 3 && !last; k++)
                row_put_u64(row,
                            (enum metric_id[]){process_memory_rss_bytes, process_threads_count,
                                               process_processes_count}[k],
                            1);
            assert_int_equal(sink_frame(sink, &s.frame), 0);
        }
        sample_expect(&s, sink, "x.lines",
                      has_rate ? "    time cores   rss   thr procs\n"
                                 "17:20:00  0.50     1     1     1\n"
                                 "17:20:00  0.50     0     0     0\n"
                               : "    time cores   rss   thr procs\n"
                                 "17:20:00  0.50     1     1     1\n");
        sample_remove(&s);
    }
}

static unsigned count(const char *text, const char *what)
{
    unsigned n = 0;
    while ((text = strstr(text, what))) {
        n++;
        text++;
    }
    return n;
}

static void test_the_heading_comes_back(void **state)
{
    struct sample s;
    sample_make(&s, "processes");
    struct sink *sink = sample_sink(&s, "x.lines");
    row_put_u64(&s.parts[PART_COMBINED], process_processes_count, 1);
    for (unsigned i = 0; i < 46; i++) {
        at(&s, i);
        assert_int_equal(sink_frame(sink, &s.frame), 0);
    }
    sink_close(sink, false);
    char *text = tree_read(&s.tree, "x.lines");
    assert_int_equal(count(text, "\n"), 45 + 3); /* one above each 22 lines */
    assert_int_equal(count(text, "procs"), 3);
    free(text);
    sample_remove(&s);
}

/* Each of several, and all together; a name does not reach the terminal as it came. */
static void test_several_targets(void **state)
{
    struct sample s;
    sample_make(&s, "processes");
    struct sink *sink = sample_sink(&s, "x.lines");
    struct row rows[2];
    struct frame_target targets[2] = {{.name = "tür\033"},
                                      {.name = "a-name-of-more-than-24-letters"}};
    for (unsigned i = 0; i < 2; i++) {
        row_init(&rows[i], ENTITY_PROCESS);
        row_put_u64(&rows[i], process_processes_count, i + 1);
        targets[i].parts[PART_COMBINED] = (struct frame_row){&s.entity, &rows[i]};
    }
    row_put_u64(&s.parts[PART_COMBINED], process_processes_count, 3);
    s.frame.targets = targets;
    s.frame.target_count = 2;
    for (unsigned i = 1; i < 3; i++) {
        at(&s, i);
        assert_int_equal(sink_frame(sink, &s.frame), 0);
    }
    sample_expect(&s, sink, "x.lines",
                  "    time target                   procs\n"
                  "17:20:00 tür?                         1\n"
                  "17:20:00 a-name-of-more-than-24-l     2\n"
                  "17:20:00 together                     3\n");
    sample_remove(&s);
}

static void add_system(struct sample *s, struct instance *system, struct instance **list)
{
    instance_init(system, ENTITY_SYSTEM);
    row_init(&system->row, ENTITY_SYSTEM);
    row_put_u64(&system->row, system_tasks_running_count, 7);
    *list = system;
    s->frame.machine = list;
    s->frame.machine_count = 1;
}

/* Beside a target, the machine's columns have a word above them; alone they need none. */
static void test_the_machine(void **state)
{
    for (unsigned alone = 0; alone < 2; alone++) {
        struct sample s;
        struct instance system, *list;
        sample_make(&s, "target_processes,memory_rss_bytes,io_read_bytes,system_tasks_running,"
                        "system_tasks_blocked,system_memory_available_bytes");
        struct sink *sink = sample_sink(&s, "x.lines");
        add_system(&s, &system, &list);
        for (unsigned part = 0; alone && part < PARTS; part++)
            s.frame.target[part].row = NULL;
        for (unsigned i = 1; i < 3; i++) {
            at(&s, i);
            assert_int_equal(sink_frame(sink, &s.frame), 0);
        }
        sample_expect(&s, sink, "x.lines",
                      alone ? "    time   run   blk avail\n"
                              "17:20:00     7     ?     ?\n"
                            : "         --------- target ---------- ---- machine ----\n"
                              "    time   rss io_read_bytes/s procs   run   blk avail\n"
                              "17:20:00     ?               ?     ?     7     ?     ?\n");
        sample_remove(&s);
    }
}

/* As wide as a window, which has colours. */
static char *on_a_terminal(struct sample *s, unsigned short columns, unsigned short rows,
                           unsigned frames)
{
    int master, slave;
    struct winsize window = {.ws_col = columns, .ws_row = rows};
    assert_int_equal(openpty(&master, &slave, NULL, NULL, &window), 0);
    struct sink *sink;
    struct toll_output out = {
        .size = sizeof out, .fd = slave, .format = "lines", .flags = TOLL_OUTPUT_COLOR};
    assert_int_equal(sink_open(&sink, &out, &s->selection, NULL), 0);
    for (unsigned i = 1; i < frames + 2; i++) {
        at(s, i);
        assert_int_equal(sink_frame(sink, &s->frame), 0);
    }
    sink_close(sink, false);
    static char text[4096]; /* a terminal holds as much */
    close(slave);
    size_t length = 0;
    for (ssize_t n; (n = read(master, text + length, sizeof text - 1 - length)) > 0;)
        length += (size_t)n; /* until there is nobody who could write more */
    text[length] = '\0';
    close(master);
    return text;
}

static void test_a_terminal(void **state)
{
    struct sample s;
    struct instance system, *list;
    sample_make(&s, NULL);
    add_system(&s, &system, &list);
    char *text = on_a_terminal(&s, 80, 24, 1);
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
        assert_in_range(strcspn(line, "\r\n"), 1, 80 + strlen("\033[2m\033[0m"));
    assert_int_equal(count(text, "\033[2m"), 1); /* the heading */
    assert_int_equal(count(text, "\033[0m"), 1);
    assert_non_null(strstr(text, " procs"));
    assert_null(strstr(text, "avail")); /* no room for it */
    text = on_a_terminal(&s, 300, 24, 1);
    assert_non_null(strstr(text, "avail"));
    text = on_a_terminal(&s, 300, 8, 7); /* six lines, a heading, and the seventh */
    assert_int_equal(count(text, "avail"), 2);
    on_a_terminal(&s, 1, 1, 1); /* as good as it goes */
    sample_remove(&s);
}

int main(void)
{
    set_clock();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_rates_and_gauges), cmocka_unit_test(test_the_last_sample),
        cmocka_unit_test(test_the_end),          cmocka_unit_test(test_the_heading_comes_back),
        cmocka_unit_test(test_several_targets),  cmocka_unit_test(test_the_machine),
        cmocka_unit_test(test_a_terminal),
    };
    return RUN("lines", tests);
}
