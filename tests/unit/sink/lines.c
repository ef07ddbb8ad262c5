/* SPDX-License-Identifier: MIT */
#include "sample.h"
#include "sink/words.h"
#include "unit.h"

#include <pty.h>
#include <sys/ioctl.h>
#include <time.h>

/* ---- lines ---------------------------------------------------------------------------------- */

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

static void test_lines_rates_and_gauges(void **state)
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
                  "           memory\n"
                  "    time      RSS io_read_bytes/s processes\n"
                  "17:20:00  412 MiB        1.00 KiB         3\n"
                  "17:20:00        ?               ?         3\n");
    sample_remove(&s);
}

/* A sample just before the end has said it. */
static void test_lines_the_last_sample(void **state)
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
    sample_expect(&s, sink, "x.lines", "    time processes\n17:20:00         1\n");
    sample_remove(&s);
}

/* Without a rate of CPU time the last line says nothing that the one before did not, and a target
 * that has ended has nothing left. */
static void test_lines_the_end(void **state)
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
                      has_rate ? "           CPU   memory\n"
                                 "    time cores      RSS threads processes\n"
                                 "17:20:00  0.50      1 B       1         1\n"
                                 "17:20:00  0.50      0 B       0         0\n"
                               : "           CPU   memory\n"
                                 "    time cores      RSS threads processes\n"
                                 "17:20:00  0.50      1 B       1         1\n");
        sample_remove(&s);
    }
}

static unsigned lines_count(const char *text, const char *what)
{
    unsigned n = 0;
    while ((text = strstr(text, what))) {
        n++;
        text++;
    }
    return n;
}

static void test_lines_the_heading_comes_back(void **state)
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
    assert_int_equal(lines_count(text, "\n"), 45 + 3); /* one above each 22 lines */
    assert_int_equal(lines_count(text, "processes"), 3);
    free(text);
    sample_remove(&s);
}

/* Each of several, and all together; a name does not reach the terminal as it came. */
static void test_lines_several_targets(void **state)
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
                  "    time target                   processes\n"
                  "17:20:00 tür?                             1\n"
                  "17:20:00 a-name-of-more-than-24-l         2\n"
                  "17:20:00 together                         3\n");
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
static void test_lines_the_machine(void **state)
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
        sample_expect(
            &s, sink, "x.lines",
            alone ? "           tasks   tasks    memory\n"
                    "    time running blocked available\n"
                    "17:20:00       7       ?         ?\n"
                  : "         ------------- target ------------- -------- machine --------\n"
                    "           memory                             tasks   tasks    memory\n"
                    "    time      RSS io_read_bytes/s processes running blocked available\n"
                    "17:20:00        ?               ?         ?       7       ?         ?\n");
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

static void test_lines_a_terminal(void **state)
{
    struct sample s;
    struct instance system, *list;
    sample_make(&s, NULL);
    add_system(&s, &system, &list);
    char *text = on_a_terminal(&s, 80, 24, 1);
    for (const char *line = text; *line; line += strcspn(line, "\n") + 1)
        assert_in_range(strcspn(line, "\r\n"), 1, 80 + strlen("\033[2m\033[0m"));
    assert_int_equal(lines_count(text, "\033[2m"), 1); /* the heading */
    assert_int_equal(lines_count(text, "\033[0m"), 1);
    assert_non_null(strstr(text, " write/s")); /* what counts something gives way first */
    assert_null(strstr(text, "processes"));
    assert_null(strstr(text, "available")); /* no room for it */
    text = on_a_terminal(&s, 300, 24, 1);
    assert_non_null(strstr(text, "processes"));
    assert_non_null(strstr(text, "available"));
    text = on_a_terminal(&s, 300, 10, 7); /* six lines, a heading, and the seventh */
    assert_int_equal(lines_count(text, "available"), 2);
    on_a_terminal(&s, 1, 1, 1); /* as good as it goes */
    sample_remove(&s);
}

/* ---- lines gpus ----------------------------------------------------------------------------- */

static void test_lines_gpus_lines(void **state)
{
    struct instance first, second, disk;
    struct instance *instances[] = {&first, &disk, &second};
    struct frame f = {.machine = instances, .machine_count = 3};
    struct sink s = {0};
    assert_int_equal(selection_parse(&s.selection, NULL, NULL), 0);
    instance_init(&first, ENTITY_GPU);
    instance_init(&second, ENTITY_GPU);
    instance_init(&disk, ENTITY_DISK);
    memcpy(first.entity.name, "nvidia0", 8);
    memcpy(second.entity.name, "nvidia1", 8);
    row_put_double(&first.row, gpu_utilization_ratio, 0.63);
    row_put_u64(&first.row, gpu_memory_used_bytes, UINT64_C(1) << 30);
    row_put_u64(&first.row, gpu_energy_joules, 5); /* has no heading */
    row_put_double(&first.row, gpu_memory_controller_ratio, 1);
    row_put_double(&first.row, gpu_power_watts, 1250.5);
    row_put_double(&first.row, gpu_temperature_celsius, 71);
    row_put_u64(&first.row, gpu_clock_sm_hertz, 1410000000);
    row_put_u64(&first.row, gpu_processes_count, 12);
    assert_int_equal(lines_gpus(&s, &f, 120), 1); /* of the other nothing is known */
    buf_putc(&s.text, '\0');
    assert_string_equal(s.text.data,
                        "     nvidia0  busy 63%  memory busy 100%  memory 1.00 GiB  1251W  71°C  "
                        "1.4GHz  processes 12\n");
    buf_clear(&s.text);
    assert_int_equal(lines_gpus(&s, &f, 80), 1); /* what has room */
    buf_putc(&s.text, '\0');
    assert_string_equal(s.text.data, "     nvidia0  busy 63%  memory busy 100%  memory 1.00 GiB  "
                                     "1251W  71°C  1.4GHz\n");
    buf_done(&s.text);
}

/* ---- status ---------------------------------------------------------------------------------- */

static struct sink *open_status(struct sample *s)
{
    char path[512];
    struct sink *sink;
    struct toll_error e = {0};
    struct toll_output out = {.size = sizeof out,
                              .destination = tree_path(&s->tree, path, "x.status"),
                              .format = "status"};
    assert_int_equal(sink_open(&sink, &out, &s->selection, &e), 0);
    return sink;
}

static void test_status_figures(void **state)
{
    struct sample s;
    sample_make(&s, "cpu_seconds,memory_rss_bytes,storage_*_bytes,processes");
    struct sink *sink = open_status(&s);
    struct row *row = &s.parts[PART_COMBINED];
    row_init(row, ENTITY_PROCESS);
    at(&s, 0.001);
    row_put_u64(row, process_cpu_seconds, 0);
    row_put_u64(row, process_storage_read_bytes, 0);
    assert_int_equal(sink_frame(sink, &s.frame), 0); /* nothing to compare with: no line */
    at(&s, 1.001);
    row_put_u64(row, process_cpu_seconds, 3910000000);
    row_put_u64(row, process_memory_rss_bytes, 412 << 20);
    row_put_u64(row, process_storage_read_bytes, 1 << 20);
    row_put_u64(row, process_processes_count, 42);
    assert_int_equal(sink_frame(sink, &s.frame), 0);
    at(&s, 1.2); /* too early for another line; the next has the rates since the last */
    row_put_u64(row, process_cpu_seconds, 3920000000);
    assert_int_equal(sink_frame(sink, &s.frame), 0);
    at(&s, 11.001); /* a little is not nothing */
    row_put_u64(row, process_storage_written_bytes, 5);
    row_put_u64(row, process_processes_count, 1);
    row_bound(row, BIT(process_memory_rss_bytes - process_first));
    assert_int_equal(sink_frame(sink, &s.frame), 0);
    at(&s, 3723.001);
    row_put_u64(row, process_storage_written_bytes, 6);
    row_init(row, ENTITY_PROCESS);
    assert_int_equal(sink_frame(sink, &s.frame), 0);
    at(&s, 3725);
    s.frame.last = true;
    assert_int_equal(sink_frame(sink, &s.frame), 0);
    sample_expect(&s, sink, "x.status",
                  "0:01  3.91 cores  memory 412M  read 1.0M/s  write ?/s  42 processes\n"
                  "0:11  <0.01 cores  memory ≥412M  read 0/s  write ?/s  1 process\n"
                  "1:02:03  ? cores  memory ?  read ?/s  write ?/s  ? processes\n");
    sample_remove(&s);
}

static void test_status_gpus(void **state)
{
    struct sample s;
    struct instance first, second;
    struct instance *instances[] = {&first, &second};
    sample_make(&s, "cpu_seconds,memory_rss_bytes");
    struct sink *sink = open_status(&s);
    row_init(&s.parts[PART_COMBINED], ENTITY_PROCESS);
    instance_init(&first, ENTITY_GPU);
    instance_init(&second, ENTITY_GPU);
    s.frame.machine = instances;
    row_put_double(&first.row, gpu_utilization_ratio, 0.63);
    row_put_u64(&first.row, gpu_memory_used_bytes, UINT64_C(3) << 30);
    static const struct {
        double at;
        unsigned gpus;
    } frames[] = {{1, 0}, {2, 1}, {3, 0}, {4, 2}, {9, 0}};
    for (size_t i = 0; i < ARRAY_LEN(frames); i++) {
        at(&s, frames[i].at);
        s.frame.machine_count = frames[i].gpus;
        if (i == 3)
            row_put_double(&second.row, gpu_utilization_ratio, 0);
        assert_int_equal(sink_frame(sink, &s.frame), 0);
    }
    sample_expect(&s, sink, "x.status",
                  "0:02  ? cores  memory ?  GPU 63% 3.0G\n"
                  "0:03  ? cores  memory ?  GPU 63% 3.0G\n" /* it has not been read since */
                  "0:04  ? cores  memory ?  2 GPUs 32% ?\n"
                  "0:09  ? cores  memory ?  GPU ?\n");
    sample_remove(&s);
}

/* ---- jsonl ---------------------------------------------------------------------------------- */

static void test_jsonl_a_sample(void **state)
{
    struct sample s;
    sample_make(&s, "cpu_seconds,memory_rss_bytes");
    struct sink *sink = sample_sink(&s, "x.jsonl");
    row_put_u64(&s.parts[PART_COMBINED], process_cpu_seconds, 2500000000);
    row_put_u64(&s.parts[PART_MAIN], process_memory_rss_bytes, 0);
    row_put_u64(&s.process.own, process_memory_rss_bytes, 4096);
    struct frame_row rows[] = {{&s.process.entity, &s.process.own}};
    s.frame.tick = 7;
    s.frame.processes = rows;
    s.frame.process_count = 1;
    assert_int_equal(sink_frame(sink, &s.frame), 0);
    sample_expect(&s, sink, "x.jsonl",
                  "{\"type\":\"sample\",\"tick\":7,\"time\":\"2024-11-07T17:20:00.123Z\","
                  "\"unix_seconds\":1731000000.123,\"elapsed_"
                  "seconds\":1.5,"
                  "\"interval_seconds\":0.01,\"target\":{"
                  "\"combined\":{\"cpu_seconds\":2.5,\"memory_rss_bytes\":null},"
                  "\"main\":{\"cpu_seconds\":null,\"memory_rss_bytes\":0},"
                  "\"descendants\":{\"cpu_seconds\":null,\"memory_rss_bytes\":null}},"
                  "\"self\":{\"cpu_seconds\":null,\"memory_rss_bytes\":null},"
                  "\"processes\":[{\"pid\":101,\"parent\":100,\"start_ticks\":5,\"name\":\"cc\","
                  "\"cpu_seconds\":null,\"memory_rss_bytes\":4096}]}\n");
    sample_remove(&s);
}

/* Unknown, with what is known of it beside. */
static void test_jsonl_lower_bounds(void **state)
{
    struct sample s;
    sample_make(&s, "target_cpu_seconds,target_memory_rss_bytes,process_memory_rss_bytes");
    struct sink *sink = sample_sink(&s, "x.jsonl");
    row_put_u64(&s.parts[PART_COMBINED], process_cpu_seconds, 2500000000);
    row_put_u64(&s.parts[PART_COMBINED], process_memory_rss_bytes, 4096);
    row_put_u64(&s.parts[PART_COMBINED], process_memory_pss_bytes, 1); /* not selected */
    row_bound(&s.parts[PART_COMBINED],
              BIT(process_memory_rss_bytes) | BIT(process_memory_pss_bytes));
    assert_int_equal(sink_frame(sink, &s.frame), 0);
    row_put_u64(&s.process.own, process_memory_rss_bytes, 8192);
    s.process.denied = BIT(process_memory_rss_bytes);
    struct process_end end = {.process = &s.process, .how = LEFT_INSIDE};
    assert_int_equal(sink_process_end(sink, &end), 0);
    sample_expect(&s, sink, "x.jsonl",
                  "{\"type\":\"sample\",\"tick\":0,\"time\":\"2024-11-07T17:20:00.123Z\","
                  "\"unix_seconds\":1731000000.123,\"elapsed_seconds\":1.5,"
                  "\"interval_seconds\":0.01,\"target\":{"
                  "\"combined\":{\"cpu_seconds\":2.5,\"memory_rss_bytes\":null,"
                  "\"lower_bound\":{\"memory_rss_bytes\":4096}},"
                  "\"main\":{},\"descendants\":{}},\"self\":{}}\n"
                  "{\"type\":\"process\",\"elapsed_seconds\":0,\"left\":\"reaped inside\","
                  "\"end\":null,\"pid\":101,\"parent\":100,\"start_ticks\":5,\"name\":\"cc\","
                  "\"memory_rss_bytes\":null,\"lower_bound\":{\"memory_rss_bytes\":8192}}\n");
    sample_remove(&s);
}

static void test_jsonl_the_end_of_a_process(void **state)
{
    struct sample s;
    sample_make(&s, "process_cpu_seconds");
    struct sink *sink = sample_sink(&s, "x.jsonl");
    row_put_u64(&s.process.own, process_cpu_seconds, 1);
    struct process_end end = {.process = &s.process,
                              .how = LEFT_REAPED,
                              .has_status = true,
                              .end = {.ended = true, .signaled = true, .status = 9},
                              .elapsed_ns = 500000000};
    assert_int_equal(sink_process_end(sink, &end), 0);
    end.how = LEFT_LOST;
    end.has_status = false;
    assert_int_equal(sink_process_end(sink, &end), 0);
    sample_expect(
        &s, sink, "x.jsonl",
        "{\"type\":\"process\",\"elapsed_seconds\":0.5,\"left\":\"reaped by toll\",\"end\":{"
        "\"status\":\"signaled\",\"code\":null,\"signal\":9,\"core_dumped\":false,\"oom_killed\":"
        "false,\"timed_out\":false},"
        "\"pid\":101,\"parent\":100,\"start_ticks\":5,\"name\":\"cc\","
        "\"cpu_seconds\":0.000000001}\n"
        "{\"type\":\"process\",\"elapsed_seconds\":0.5,\"left\":\"reaped by nobody\",\"end\":null,"
        "\"pid\":101,\"parent\":100,\"start_ticks\":5,\"name\":\"cc\","
        "\"cpu_seconds\":0.000000001}\n");
    sample_remove(&s);
}

static void test_jsonl_a_note(void **state)
{
    struct sample s;
    sample_make(&s, NULL);
    struct sink *sink = sample_sink(&s, "x.jsonl");
    assert_int_equal(sink_note(sink, 1, "a \"quoted\" word\n"), 0);
    sample_expect(&s, sink, "x.jsonl",
                  "{\"type\":\"event\",\"elapsed_seconds\":0.000000001,\"name\":\"note\","
                  "\"text\":\"a \\\"quoted\\\" word\\n\"}\n");
    sample_remove(&s);
}

/* Every piece is one line, so that a cut record is a shorter record. */
static void test_jsonl_a_line_a_chunk(void **state)
{
    struct sample s;
    sample_make(&s, NULL);
    struct sink *sink = sample_sink(&s, "x.jsonl");
    s.process.entity.name[0] = '\n';
    struct process_end end = {.process = &s.process};
    sink_begin(sink, &s.run);
    sink_frame(sink, &s.frame);
    sink_process_end(sink, &end);
    sink_note(sink, 0, "line\nbreak");
    sink_summary(sink, &s.summary);
    assert_int_equal(sink->chunks, 5);
    sink_close(sink, false);
    char *text = tree_read(&s.tree, "x.jsonl");
    unsigned lines = 0;
    for (const char *line = text; *line; line = strchr(line, '\n') + 1, lines++)
        assert_memory_equal(line, "{\"type\":\"", 9);
    assert_int_equal(lines, 5);
    free(text);
    sample_remove(&s);
}

/* ---- json ----------------------------------------------------------------------------------- */

/* Nothing but the summary is written, and it is a whole document. */
static void test_json_only_the_summary(void **state)
{
    struct sample s;
    sample_make(&s, "target_cpu_seconds");
    struct sink *sink = sample_sink(&s, "x.json");
    struct process_end end = {.process = &s.process};
    assert_int_equal(sink_begin(sink, &s.run), 0);
    assert_int_equal(sink_frame(sink, &s.frame), 0);
    assert_int_equal(sink_process_end(sink, &end), 0);
    assert_int_equal(sink_note(sink, 0, "note"), 0);
    assert_int_equal(sink->chunks, 0);
    assert_int_equal(sink_summary(sink, &s.summary), 0);
    assert_int_equal(sink->chunks, 1);
    sink_close(sink, false);
    char *text = tree_read(&s.tree, "x.json");
    static const char head[] = "{\n  \"schema\": \"toll.summary/1\",\n  \"toll\": \"" TOLL_VERSION
                               "\",\n  \"name\": \"make\",\n";
    assert_memory_equal(text, head, strlen(head));
    size_t length = strlen(text);
    assert_string_equal(text + length - 3, "\n}\n");
    free(text);
    sample_remove(&s);
}

/* ---- csv ------------------------------------------------------------------------------------ */

static void test_csv_rows(void **state)
{
    struct sample s;
    sample_make(&s, "target_cpu_seconds,target_cpu_cores,main_memory_rss_bytes,self_ticks");
    struct sink *sink = sample_sink(&s, "x.csv");
    assert_int_equal(sink_begin(sink, &s.run), 0);
    assert_int_equal(sink_frame(sink, &s.frame), 0); /* nothing is known yet */
    row_put_u64(&s.parts[PART_COMBINED], process_cpu_seconds, 1234567891);
    row_put_double(&s.parts[PART_COMBINED], process_cpu_cores, 0);
    row_put_u64(&s.parts[PART_MAIN], process_memory_rss_bytes, 4096);
    row_put_u64(&s.self, self_ticks_count, 2);
    assert_int_equal(sink_frame(sink, &s.frame), 0);
    assert_int_equal(sink_summary(sink, &s.summary), 0); /* not in a table */
    sample_expect(&s, sink, "x.csv",
                  "time,elapsed_seconds,interval_seconds,target_cpu_seconds,target_cpu_cores,"
                  "main_memory_rss_bytes,self_ticks\n"
                  "2024-11-07T17:20:00.123Z,1.5,0.01,,,,\n"
                  "2024-11-07T17:20:00.123Z,1.5,0.01,1.234567891,0,4096,2\n");
    sample_remove(&s);
}

static unsigned commas(const char *line)
{
    unsigned count = 0;
    for (; *line && *line != '\n'; line++)
        count += *line == ',';
    return count;
}

/* Every row has the columns of the head, with and without parts, whatever is known. */
static void test_csv_columns(void **state)
{
    static const char *const metrics[] = {NULL, "cpu_*", "descendants_*", "self_*", "main_io_*"};
    for (unsigned i = 0; i < ARRAY_LEN(metrics) * 2; i++) {
        struct sample s;
        sample_make(&s, metrics[i / 2]);
        s.run.no_children = i % 2;
        for (unsigned part = PART_MAIN; part < PARTS && i % 2; part++)
            s.frame.target[part].row = NULL; /* as the engine does it */
        struct sink *sink = sample_sink(&s, "x.csv");
        sink_begin(sink, &s.run);
        sink_frame(sink, &s.frame);
        sink_close(sink, false);
        char *text = tree_read(&s.tree, "x.csv");
        const char *row = strchr(text, '\n') + 1;
        assert_int_equal(commas(text), commas(row));
        assert_int_equal(strstr(text, ",main_") != NULL,
                         i % 2 == 0 && (i / 2 == 0 || i / 2 == 1 || i / 2 == 4));
        free(text);
        sample_remove(&s);
    }
}

static int set_up(void **state)
{
    set_clock();
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines_rates_and_gauges),
        cmocka_unit_test(test_lines_the_last_sample),
        cmocka_unit_test(test_lines_the_end),
        cmocka_unit_test(test_lines_the_heading_comes_back),
        cmocka_unit_test(test_lines_several_targets),
        cmocka_unit_test(test_lines_the_machine),
        cmocka_unit_test(test_lines_a_terminal),
        cmocka_unit_test(test_lines_gpus_lines),
        cmocka_unit_test(test_status_figures),
        cmocka_unit_test(test_status_gpus),
        cmocka_unit_test(test_jsonl_a_sample),
        cmocka_unit_test(test_jsonl_lower_bounds),
        cmocka_unit_test(test_jsonl_the_end_of_a_process),
        cmocka_unit_test(test_jsonl_a_note),
        cmocka_unit_test(test_jsonl_a_line_a_chunk),
        cmocka_unit_test(test_json_only_the_summary),
        cmocka_unit_test(test_csv_rows),
        cmocka_unit_test(test_csv_columns),
    };
    return cmocka_run_group_tests_name("sink/lines", tests, set_up, NULL);
}
