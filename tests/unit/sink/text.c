/* SPDX-License-Identifier: MIT */
#include "sink/text/text.h"
#include "sample.h"

#include <stdio.h>

/* ---- text ----------------------------------------------------------------------------------- */

/* What the sink writes of the sample for a terminal of this width; the caller frees. */
static char *text_for(struct sample *s, unsigned flags, unsigned columns)
{
    char path[512];
    struct sink *sink;
    struct toll_output out = {.size = sizeof out,
                              .destination = tree_path(&s->tree, path, "x.txt"),
                              .flags = flags,
                              .columns = columns};
    assert_int_equal(sink_open(&sink, &out, &s->selection, NULL), 0);
    assert_int_equal(sink_begin(sink, &s->run), 0);
    assert_int_equal(sink_frame(sink, &s->frame), 0);
    assert_int_equal(sink_summary(sink, &s->summary), 0);
    sink_close(sink, false);
    return tree_read(&s->tree, "x.txt");
}

static char *text_of(struct sample *s, unsigned flags)
{
    return text_for(s, flags, 0);
}

static void set_command(struct sample *s, char *const argv[])
{
    free(s->run.name); /* that of the command before */
    s->run.name = NULL;
    assert_int_equal(run_set_command(&s->run, argv), 0);
}

static void test_text_the_head(void **state)
{
    struct sample s;
    sample_make(&s, NULL);
    char *text = text_of(&s, 0);
    static const char head[] =
        "toll: make -j2                                                  exit 3 in 2.00 s\n";
    assert_memory_equal(text, head, strlen(head));
    free(text);
    s.summary.whole.end = (struct toll_end){.ended = true, .signaled = true, .status = 9};
    text = text_of(&s, 0);
    assert_non_null(strstr(text, "killed by SIGKILL after"));
    free(text);
    s.summary.whole.end = (struct toll_end){
        .ended = true, .signaled = true, .status = 64, .core_dumped = true};
    text = text_of(&s, 0);
    assert_non_null(strstr(text, "core dumped"));
    free(text);
    s.summary.whole.end = (struct toll_end){0};
    text = text_of(&s, 0);
    assert_non_null(strstr(text, "still running after"));
    free(text);
    sample_remove(&s);
}

static void test_text_the_command_as_one_could_type_it(void **state)
{
    struct sample s;
    sample_make(&s, NULL);
    set_command(&s, (char *[]){strdupa("sh"), strdupa("-c"), strdupa("echo 'it'"), strdupa(""),
                               strdupa("\033[31m"),
                               strdupa("a\xC2\x9B"
                                       "b"),
                               strdupa("ünï"), NULL});
    char *text = text_of(&s, 0);
    static const char head[] = "toll: sh -c 'echo '\\''it'\\''' '' '?[31m' a?b ünï  ";
    assert_memory_equal(text, head, strlen(head));
    free(text);
    sample_remove(&s);
}

static void check_utf8(const char *text)
{
    for (const unsigned char *c = (const unsigned char *)text; *c;) {
        unsigned more = *c < 0x80 ? 0 : *c >= 0xF0 ? 3 : *c >= 0xE0 ? 2 : *c >= 0xC2 ? 1 : 99;
        assert_true(more < 4);
        for (c++; more; more--, c++)
            assert_true((*c & 0xC0) == 0x80);
    }
}

/* However long, it is cut between two letters. */
static void test_text_a_long_command(void **state)
{
    struct sample s;
    sample_make(&s, NULL);
    for (unsigned lead = 0; lead < 8; lead++) {
        char word[2000] = "";
        memset(word, 'x', lead);
        word[lead] = '\0';
        for (int i = 0; i < 200; i++)
            strcat(word, i % 2 ? "€" : "ü");
        set_command(&s, (char *[]){word, word, NULL});
        char *text = text_of(&s, 0);
        *strchr(text, '\n') = '\0';
        assert_true(strlen(text) < 320);
        assert_non_null(strstr(text, "…"));
        check_utf8(text);
        free(text);
    }
    sample_remove(&s);
}

static void test_text_unknown_is_no_number(void **state)
{
    struct sample s;
    sample_make(&s, "cpu_seconds,storage_read_bytes,memory_rss_bytes");
    sample_total(&s, PART_COMBINED, process_cpu_seconds, 1500000000, QUALITY_EXACT_IF_REAPED);
    sample_total(&s, PART_COMBINED, process_storage_read_bytes, 0, QUALITY_EXACT);
    char *text = text_of(&s, 0);
    assert_non_null(strstr(text, "\n  CPU        1.50 s\n"));
    assert_non_null(strstr(text, "\n  Memory     unknown\n"));
    assert_non_null(strstr(text, "\n  Disk       0 B read, unknown written\n"));
    free(text);
    text = text_of(&s, TOLL_OUTPUT_VERBOSE);
    assert_null(strstr(text, "\nresident memory"));
    assert_non_null(strstr(text, "\nnot available: resident memory (RSS) (why: toll doctor)\n"));
    free(text);
    sample_remove(&s);
}

/* A reason where one is known. */
static void test_text_why_memory_is_unknown(void **state)
{
    struct sample s;
    sample_make(&s, NULL);
    char *text = text_of(&s, 0);
    assert_non_null(strstr(text, "\n  Memory     unknown\n"));
    free(text);
    s.summary.elapsed_ns = 5 * NS_PER_MS;
    sample_total(&s, PART_COMBINED, process_processes_started_count, 1, QUALITY_LOWER_BOUND);
    text = text_of(&s, 0);
    assert_non_null(strstr(text, "\n  Memory     unknown (too short to be sampled)\n"));
    free(text);
    sample_total(&s, PART_COMBINED, process_memory_rss_bytes, 400 << 10, QUALITY_LOWER_BOUND);
    text = text_of(&s, 0);
    assert_non_null(strstr(text, "\n  Memory     unknown (too short to be sampled)\n"));
    free(text);
    sample_total(&s, PART_COMBINED, process_memory_peak_bytes, 800 << 10, QUALITY_LOWER_BOUND);
    text = text_of(&s, 0);
    assert_non_null(strstr(text, "\n  Memory     unknown (too short to be sampled)\n"));
    free(text);
    sample_total(&s, PART_COMBINED, process_memory_peak_bytes, 0, QUALITY_UNKNOWN);
    s.summary.elapsed_ns = 2 * NS_PER_SECOND;
    text = text_of(&s, 0);
    assert_non_null(strstr(text, "Memory is a lower bound: samples were skipped.\n"));
    free(text);
    s.summary.whole.end = (struct toll_end){0};
    s.summary.whole.provenance[PART_COMBINED][process_wall_seconds].quality = QUALITY_LOWER_BOUND;
    text = text_of(&s, 0);
    assert_non_null(strstr(text, "Memory is a lower bound: the run is still being measured.\n"));
    free(text);
    s.summary.whole.end = (struct toll_end){.unknown = true};
    text = text_of(&s, 0);
    assert_non_null(strstr(text, "Memory is a lower bound: the record ends before the run did.\n"));
    free(text);
    sample_remove(&s);
}

/* The line of the disk is there, unless its figures were not asked for. */
static void test_text_disk_is_unknown(void **state)
{
    struct sample s;
    sample_make(&s, NULL);
    char *text = text_of(&s, 0);
    assert_non_null(strstr(text, "\n  Disk       unknown\n"));
    free(text);
    sample_total(&s, PART_COMBINED, process_storage_read_bytes, 0, QUALITY_LOWER_BOUND);
    s.summary.whole.denied[PART_COMBINED] = BIT(process_storage_read_bytes);
    text = text_of(&s, 0);
    assert_non_null(strstr(text, "\n  Disk       unknown (not permitted to read it)\n"));
    free(text);
    sample_total(&s, PART_COMBINED, process_storage_read_bytes, 4096, QUALITY_LOWER_BOUND);
    text = text_of(&s, 0);
    assert_non_null(strstr(text, "\n  Disk       ≥ 4.00 KiB read, unknown written\n"));
    free(text);
    sample_remove(&s);
    sample_make(&s, "target_cpu_seconds");
    text = text_of(&s, 0);
    assert_null(strstr(text, "  Disk  "));
    free(text);
    sample_remove(&s);
}

/* A curve without values takes no room from the remark, which ends at the edge. */
static void test_text_remark_is_at_the_edge(void **state)
{
    struct sample s;
    sample_make(&s, NULL);
    sample_total(&s, PART_COMBINED, process_cpu_seconds, NS_PER_SECOND, QUALITY_EXACT);
    struct series *cores = &s.summary.whole.series[PART_COMBINED][process_cpu_cores];
    series_put(cores, metric_of(process_cpu_cores), (union value){.d = 0.5}, 2 * NS_PER_SECOND);
    s.summary.whole.provenance[PART_COMBINED][process_cpu_cores].quality = QUALITY_SAMPLED;
    s.summary.cores_curve.width_ns = NS_PER_SECOND / 10;
    s.summary.cores_curve.end_ns = 2 * NS_PER_SECOND;
    char *text = text_of(&s, 0);
    const char *line = strstr(text, "\n  CPU  ") + 1;
    assert_int_equal(strcspn(line, "\n"), 80);
    assert_memory_equal(line + 80 - strlen(" 0.50 cores"), " 0.50 cores", strlen(" 0.50 cores"));
    free(text);
    sample_remove(&s);
}

/* A curve of few samples, or of next to no CPU time, would show noise. */
static void test_text_no_curve_of_noise(void **state)
{
    static const struct {
        uint64_t samples;
        double cores;
        bool has_curve;
    } cases[] = {{10, 0.5, true}, {9, 0.5, false}, {10, 0.009, false}};
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct sample s;
        sample_make(&s, NULL);
        sample_total(&s, PART_COMBINED, process_cpu_seconds, NS_PER_SECOND, QUALITY_EXACT);
        struct series *cores = &s.summary.whole.series[PART_COMBINED][process_cpu_cores];
        series_put(cores, metric_of(process_cpu_cores), (union value){.d = cases[i].cores},
                   2 * NS_PER_SECOND);
        s.summary.whole.provenance[PART_COMBINED][process_cpu_cores].quality = QUALITY_SAMPLED;
        for (uint64_t at = 0; at < 20; at++)
            curve_add(&s.summary.cores_curve, cases[i].cores, at * NS_PER_SECOND / 10,
                      (at + 1) * NS_PER_SECOND / 10);
        s.summary.self[self_ticks_count - self_first].last.u = cases[i].samples;
        char *text = text_of(&s, 0);
        assert_int_equal(strstr(text, "█") != NULL, cases[i].has_curve);
        free(text);
        sample_remove(&s);
    }
}

/* Numbers of processes are right-aligned. */
static void test_text_pids_line_up(void **state)
{
    struct sample s;
    sample_make(&s, NULL);
    s.summary.largest = calloc(1, sizeof *s.summary.largest);
    assert_non_null(s.summary.largest);
    for (unsigned i = 0; i < 2; i++) {
        struct largest_process p = {
            .pid = i ? 9 : 12345, .name = "cc1", .peak_bytes = 4096, .has_peak = true};
        largest_add(s.summary.largest, &p);
    }
    char *text = text_of(&s, 0);
    assert_non_null(strstr(text, "\n    12345  cc1 "));
    assert_non_null(strstr(text, "\n        9  cc1 "));
    free(text);
    sample_remove(&s);
}

/* Of many processes, the program with most CPU time: exact only where no process is missing, a
 * lower bound only where it is noticeable, nothing where the total is a lower bound itself. */
static void test_text_share_of_the_busiest_program(void **state)
{
    static const struct {
        unsigned processes; /* of cc1, with 100 ms each, of 2 s in all */
        uint64_t started;
        enum quality of_started, of_total;
        bool is_complete;
        const char *shown; /* NULL: nothing */
    } cases[] = {
        {13, 13, QUALITY_EXACT, QUALITY_EXACT, true, "cc1 65 % of CPU\n"},
        {13, 13, QUALITY_EXACT, QUALITY_EXACT_IF_REAPED, true, "cc1 65 % of CPU\n"},
        {13, 14, QUALITY_EXACT, QUALITY_EXACT, true, "cc1 ≥ 65 % of CPU\n"},
        {13, 13, QUALITY_LOWER_BOUND, QUALITY_EXACT, true, "cc1 ≥ 65 % of CPU\n"},
        {13, 13, QUALITY_EXACT, QUALITY_EXACT, false, "cc1 ≥ 65 % of CPU\n"},
        {40, 40, QUALITY_EXACT, QUALITY_EXACT, true, "cc1 100 % of CPU\n"},
        {13, 13, QUALITY_EXACT, QUALITY_LOWER_BOUND, true, NULL},
        {13, 13, QUALITY_EXACT, QUALITY_UNKNOWN, true, NULL},
        {12, 12, QUALITY_EXACT, QUALITY_EXACT, true, NULL},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct sample s;
        sample_make(&s, NULL);
        sample_total(&s, PART_COMBINED, process_cpu_seconds, 2 * NS_PER_SECOND, cases[i].of_total);
        sample_total(&s, PART_COMBINED, process_processes_started_count, cases[i].started,
                     cases[i].of_started);
        s.summary.largest = calloc(1, sizeof *s.summary.largest);
        assert_non_null(s.summary.largest);
        for (unsigned k = 0; k < cases[i].processes; k++) {
            struct largest_process p = {.pid = (pid_t)k + 1,
                                        .name = "cc1",
                                        .has_cpu = true,
                                        .cpu_ns = NS_PER_SECOND / 10,
                                        .is_complete = cases[i].is_complete};
            largest_add(s.summary.largest, &p);
        }
        char *text = text_of(&s, 0);
        const char *found = strstr(text, "cc1 ");
        assert_int_equal(strstr(text, "% of CPU\n") != NULL, cases[i].shown != NULL);
        if (cases[i].shown)
            assert_memory_equal(found, cases[i].shown, strlen(cases[i].shown));
        free(text);
        sample_remove(&s);
    }
}

static void test_text_how_figures_were_obtained(void **state)
{
    struct sample s;
    sample_make(&s, "cpu_seconds,io_read_bytes");
    sample_total(&s, PART_COMBINED, process_cpu_seconds, 1500000000, QUALITY_LOWER_BOUND);
    sample_total(&s, PART_COMBINED, process_io_read_bytes, 100, QUALITY_SAMPLED);
    char *text = text_of(&s, TOLL_OUTPUT_VERBOSE);
    assert_non_null(strstr(text, "\n  CPU        ≥ 1.50 s\n"));
    assert_non_null(strstr(text, " at least\n"));
    assert_non_null(strstr(text, " sampled\n"));
    free(text);
    sample_remove(&s);
}

static void test_text_no_escapes_unless_asked(void **state)
{
    struct sample s;
    sample_make(&s, NULL);
    sample_total(&s, PART_COMBINED, process_cpu_seconds, 1500000000, QUALITY_SAMPLED);
    char *plain = text_of(&s, TOLL_OUTPUT_VERBOSE);
    char *colored = text_of(&s, TOLL_OUTPUT_VERBOSE | TOLL_OUTPUT_COLOR);
    assert_null(strchr(plain, '\033'));
    assert_non_null(strchr(colored, '\033'));
    /* Without its sequences it is the same text. */
    char *to = colored;
    for (const char *c = colored; *c; c++) {
        if (*c == '\033')
            c = strchr(c, 'm');
        else
            *to++ = *c;
    }
    *to = '\0';
    assert_string_equal(colored, plain);
    free(plain);
    free(colored);
    sample_remove(&s);
}

static void test_text_survivors(void **state)
{
    struct sample s;
    sample_make(&s, NULL);
    for (int i = 0; i < SUMMARY_STILL_RUNNING; i++)
        s.summary.survivors[i] = (struct survivor){.pid = 500 + i, .name = "evil\033]0;x\a"};
    s.summary.survivors[9].has_rss = true;
    s.summary.survivor_count = SUMMARY_STILL_RUNNING + 7;
    char *text = text_of(&s, 0);
    assert_non_null(strstr(text, "  Running    17 processes left: 500 evil?]0;x?, "));
    assert_null(strchr(text, '\033'));
    free(text);
    text = text_of(&s, TOLL_OUTPUT_VERBOSE);
    assert_non_null(strstr(text, "  509 evil?]0;x?: 0 s CPU, 0 B\n"));
    assert_non_null(strstr(text, "  508 evil?]0;x?: 0 s CPU, memory unknown\n"));
    assert_non_null(strstr(text, "and 7 more"));
    assert_null(strchr(text, '\033'));
    free(text);
    sample_remove(&s);
}

/* Whatever the figures, a line fits a terminal, and none ends in blanks. */
static void test_text_lines(void **state)
{
    uint64_t seed = 1;
    for (int round = 0; round < 200; round++) {
        struct sample s;
        sample_make(&s, NULL);
        for (unsigned part = 0; part < PARTS; part++)
            for (unsigned id = 0; id < PROCESS_METRICS; id++)
                if (!metric_is_double(metric_of(id)))
                    sample_total(&s, part, id, random_magnitude(&seed, 24),
                                 (enum quality)random_below(&seed, QUALITIES));
        summary_note(&s.summary, "a sentence that is long enough to be broken into several lines, "
                                 "because no terminal is as wide as that");
        char *text = text_of(&s, random_below(&seed, 2) ? TOLL_OUTPUT_VERBOSE : 0);
        check_utf8(text);
        for (char *line = text, *end; *line; line = end + 1) {
            end = strchr(line, '\n');
            assert_non_null(end);
            unsigned columns = 0;
            for (const char *c = line; c < end; c++)
                columns += (*c & 0xC0) != 0x80;
            assert_true(columns <= 84);
            assert_true(end == line || end[-1] != ' ');
        }
        free(text);
        sample_remove(&s);
    }
}

/* ---- text kind ------------------------------------------------------------------------------ */

static void text_kind_expect(struct sample *s, unsigned flags, enum entity_kind kind,
                             const char *text)
{
    struct sink sink = {.flags = flags, .selection = s->selection};
    if (kind == ENTITY_TARGET)
        text_targets(&sink, &s->summary);
    else
        text_kind(&sink, &s->summary, kind);
    buf_putc(&sink.text, '\0');
    assert_string_equal(sink.text.data, text);
    buf_done(&sink.text);
}

enum { DISKS = 3 };

/* Disks of which the first has read something, the second nothing, and the third is not known. */
struct disks {
    struct instance instances[DISKS];
    struct series *series[DISKS];
};

static void add_disks(struct sample *s, struct disks *d)
{
    static const char *const names[DISKS] = {"sda", "sdb", "a-disk-with-a-long-\033-name"};
    s->summary.instances = calloc(DISKS, sizeof *s->summary.instances);
    assert_non_null(s->summary.instances);
    s->summary.instance_count = DISKS;
    for (unsigned i = 0; i < DISKS; i++) {
        instance_init(&d->instances[i], ENTITY_DISK);
        snprintf(d->instances[i].entity.name, ENTITY_NAME_BYTES, "%s", names[i]);
        d->series[i] = calloc(metric_count(ENTITY_DISK), sizeof *d->series[i]);
        assert_non_null(d->series[i]);
        s->summary.instances[i] = (struct instance_summary){&d->instances[i], d->series[i]};
        if (i == 2)
            continue;
        unsigned at = disk_read_bytes - metric_first(ENTITY_DISK);
        series_put(&d->series[i][at], metric_of(disk_read_bytes),
                   (union value){.u = i == 0 ? 3 << 20 : 0}, 2 * NS_PER_SECOND);
    }
}

static void test_text_kind_instances(void **state)
{
    struct sample s;
    struct disks d;
    sample_make(&s, NULL);
    text_kind_expect(&s, 0, ENTITY_DISK, ""); /* there is none */
    add_disks(&s, &d);
    text_kind_expect(&s, TOLL_OUTPUT_VERBOSE, ENTITY_DISK,
                     "disks                         read\n"
                     "sda                       3.00 MiB\n"
                     "sdb                            0 B\n"
                     "a-disk-with-a-long-?-name\n"
                     "                                 ?\n\n");
    text_kind_expect(&s, 0, ENTITY_CORE, "");
    sample_remove(&s);
}

static void test_text_kind_targets(void **state)
{
    struct sample s;
    sample_make(&s, "cpu_wait_seconds,storage_read_bytes");
    assert_int_equal(run_add_target(&s.run, "web", "process 1"), 0);
    assert_int_equal(run_add_target(&s.run, "db", "process 2"), 0);
    assert_int_equal(summary_add_targets(&s.summary, 2), 0);
    text_kind_expect(&s, 0, ENTITY_TARGET, ""); /* nothing is known of any */
    struct target_summary *web = &s.summary.targets[0];
    series_put(&web->series[PART_COMBINED][process_storage_read_bytes - process_first],
               metric_of(process_storage_read_bytes), (union value){.u = 1 << 20},
               2 * NS_PER_SECOND);
    web->provenance[PART_COMBINED][process_storage_read_bytes - process_first] =
        (struct provenance){QUALITY_SAMPLED, "test"};
    sample_total(&s, PART_COMBINED, process_storage_read_bytes, 1 << 20, QUALITY_SAMPLED);
    text_kind_expect(&s, 0, ENTITY_TARGET,
                     "                              disk\n"
                     "targets                       read\n"
                     "web                       1.00 MiB\n"
                     "db                               ?\n"
                     "together                  1.00 MiB\n\n");
    web->provenance[PART_COMBINED][process_storage_read_bytes - process_first].quality =
        QUALITY_LOWER_BOUND;
    text_kind_expect(&s, 0, ENTITY_TARGET,
                     "                              disk\n"
                     "targets                       read\n"
                     "web                      ≥1.00 MiB\n"
                     "db                               ?\n"
                     "together                  1.00 MiB\n\n");
    sample_remove(&s);
}

/* ---- text marks ----------------------------------------------------------------------------- */

static char *written(struct sample *s, unsigned flags)
{
    struct sink sink = {.selection = s->selection, .flags = flags};
    text_marks(&sink, &s->summary.marks);
    buf_putc(&sink.text, '\0');
    return sink.text.data; /* the caller frees */
}

static void test_text_marks_nothing_said(void **state)
{
    struct sample s;
    sample_make(&s, NULL);
    char *text = written(&s, 0);
    assert_string_equal(text, "");
    free(text);
    sample_remove(&s);
}

static void test_text_marks_tables(void **state)
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
        text, "phase                times     time      cpu cores       RSS      read     write\n"
              "load                     1   2.00 s   1.00 s  0.50  3.00 MiB         ?         ?\n"
              "a phase with a ü long name\n"
              "                         1   2.00 s        ?     ?         ?         ?         ?\n"
              "figures of phases are sampled; CPU time of children may be counted late, in the\n"
              "next phase\n"
              "phases that had not ended by the end of the run: a phase with a ü long name\n"
              "phases with the figures of the whole job: a phase with a ü long name\n"
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
static void test_text_marks_many(void **state)
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

/* ---- text gpus ------------------------------------------------------------------------------ */

static void text_gpus_expect(struct sample *s, bool has_table, const char *text)
{
    struct sink sink = {.selection = s->selection};
    text_gpus(&sink, &s->summary, has_table);
    buf_putc(&sink.text, '\0');
    assert_string_equal(sink.text.data, text);
    buf_done(&sink.text);
}

static void put(struct series *series, enum metric_id id, union value value)
{
    series_put(&series[id - gpu_first], metric_of(id), value, 2 * NS_PER_SECOND);
}

static void test_text_gpus_gpu(void **state)
{
    struct sample s;
    struct instance gpu;
    sample_make(&s, NULL);
    text_gpus_expect(&s, false, "");
    instance_init(&gpu, ENTITY_GPU);
    memcpy(gpu.entity.name, "nvidia0", 8);
    s.summary.instances = calloc(1, sizeof *s.summary.instances);
    struct series *series = calloc(metric_count(ENTITY_GPU), sizeof *series);
    assert_true(s.summary.instances && series);
    s.summary.instances[0] = (struct instance_summary){&gpu, series};
    s.summary.instance_count = 1;
    text_gpus_expect(&s, true, ""); /* it is not known how long it idled */
    put(series, gpu_idle_seconds, (union value){.u = 1260 * NS_PER_MS});
    put(series, gpu_watched_seconds, (union value){.u = 2 * NS_PER_SECOND});
    put(series, gpu_utilization_ratio, (union value){.d = 0.25});
    put(series, gpu_power_watts, (union value){.d = 120});
    put(series, gpu_energy_joules, (union value){.u = 240000000});
    text_gpus_expect(&s, true,
                     "the GPU nvidia0 idled 63 % of the time; on average 25.0 % busy, 120 W\n");
    text_gpus_expect(&s, false,
                     "\ngpus                          busy     power\n"
                     "nvidia0                     25.0 %     120 W\n\n"
                     "the GPU nvidia0 idled 63 % of the time; on average 25.0 % busy, 120 W\n");
    /* Of half of the time nothing was known: it is not taken for busy. */
    put(series, gpu_idle_seconds, (union value){.u = 500 * NS_PER_MS});
    put(series, gpu_watched_seconds, (union value){.u = NS_PER_SECOND});
    text_gpus_expect(&s, true,
                     "the GPU nvidia0 idled 50 % of the time in which it was watched, 1.00 s of\n"
                     "        2.00 s; on average 25.0 % busy, 120 W\n");
    sample_remove(&s);
}

static struct instance *add_gpus(struct sample *s, unsigned count)
{
    struct instance *gpus = calloc(count, sizeof *gpus);
    s->summary.instances = calloc(count, sizeof *s->summary.instances);
    assert_true(gpus && s->summary.instances);
    for (unsigned i = 0; i < count; i++) {
        instance_init(&gpus[i], ENTITY_GPU);
        snprintf(gpus[i].entity.name, ENTITY_NAME_BYTES, "nvidia%u", i);
        struct series *series = calloc(metric_count(ENTITY_GPU), sizeof *series);
        assert_non_null(series);
        s->summary.instances[s->summary.instance_count++] = (struct instance_summary){&gpus[i],
                                                                                      series};
    }
    return gpus;
}

static void put_gpu(struct sample *s, unsigned i, double busy, uint64_t gib, double watts,
                    unsigned throttled)
{
    struct series *series = s->summary.instances[i].series;
    memset(series, 0, metric_count(ENTITY_GPU) * sizeof *series);
    put(series, gpu_utilization_ratio, (union value){.d = busy});
    put(series, gpu_memory_used_bytes, (union value){.u = gib << 30});
    put(series, gpu_memory_total_bytes, (union value){.u = UINT64_C(40) << 30});
    put(series, gpu_power_watts, (union value){.d = watts});
    put(series, gpu_power_limit_watts, (union value){.d = 400});
    put(series, gpu_throttled_count, (union value){.u = throttled});
}

/* A line of the block, from its label on. */
static void expect_line(struct sample *s, unsigned columns, const char *line)
{
    char *text = text_for(s, 0, columns);
    if (!strstr(text, line))
        fail_msg("no line '%s' in\n%s", line, text);
    free(text);
}

static void test_glance_few_gpus(void **state)
{
    struct sample s;
    sample_make(&s, NULL);
    struct instance *gpus = add_gpus(&s, 2);
    put_gpu(&s, 0, 0.63, 12, 250, 1);
    expect_line(&s, 80,
                "\n  nvidia0    63 % busy, memory 12.0 of 40.0 GiB, 250 of 400 W, throttled\n");
    expect_line(&s, 80, "\n  nvidia1    no figures\n");
    sample_remove(&s);
    free(gpus);
}

static void test_glance_many_gpus(void **state)
{
    struct sample s;
    sample_make(&s, NULL);
    struct instance *gpus = add_gpus(&s, 16);
    for (unsigned i = 0; i < 16; i++)
        put_gpu(&s, i, 0.9, 12 + i, 300, 0);
    expect_line(&s, 80,
                "\n  GPUs       16, 90 % busy, memory up to 27.0 of 40.0 GiB, 300 of 400 W each\n");
    expect_line(&s, 60, "\n  GPUs       16, 90 % busy, memory up to 27.0 of 40.0 GiB\n");
    put_gpu(&s, 3, 0, 1, 60, 1);
    put_gpu(&s, 5, 0.9, 12, 300, 1);
    memset(s.summary.instances[7].series, 0,
           metric_count(ENTITY_GPU) * sizeof *s.summary.instances[7].series);
    expect_line(
        &s, 80,
        "\n             nvidia3 0 % busy, throttled; nvidia5 throttled; nvidia7 no figures\n");
    for (unsigned i = 0; i < 16; i++)
        put_gpu(&s, i, 0.9, 12, 300, 1);
    expect_line(&s, 80, "\n             all throttled\n");
    sample_remove(&s);
    free(gpus);
}

/* Whatever happened: at most sixteen lines, none wider than the terminal, none with blanks at its
 * end, no heading without a row. */
static void test_glance_any(void **state)
{
    static const char *const words[] = {"cc1plus", "-fno-such-option=1", "€ü", "x", "/usr/lib/a/b"};
    uint64_t seed = 7;
    for (int round = 0; round < 400; round++) {
        struct sample s;
        sample_make(&s, NULL);
        unsigned columns = 40 + (unsigned)random_below(&seed, 160);
        char *argv[40] = {0};
        for (unsigned i = 0; i <= random_below(&seed, 39); i++)
            argv[i] = strdupa(words[random_below(&seed, ARRAY_LEN(words))]);
        set_command(&s, argv);
        for (unsigned id = 0; id < PROCESS_METRICS; id++)
            if (!metric_is_double(metric_of(id)))
                sample_total(&s, PART_COMBINED, id, random_magnitude(&seed, 60),
                             (enum quality)random_below(&seed, QUALITIES));
        for (unsigned kind = 0; kind < LIMITS; kind++)
            s.summary.whole.limits.of[kind] = (struct limit){
                .known = random_below(&seed, 2),
                .value = random_magnitude(&seed, 50),
                .cores = 2,
                .by = "machine",
                .has_used = true,
                .used = 1e9,
                .reached = random_below(&seed, 3) ? NULL : "OOM killer",
                .reached_times = random_below(&seed, 3)};
        for (uint64_t i = random_below(&seed, 4); i--;) {
            char note[400] = "";
            for (uint64_t k = random_below(&seed, 18); k--;)
                snprintf(note + strlen(note), sizeof note - strlen(note), "%s%llu ",
                         words[random_below(&seed, ARRAY_LEN(words))], (unsigned long long)i);
            if (!random_below(&seed, 4))
                memset(note, 'w', sizeof note - 1);
            summary_note(&s.summary, note);
        }
        struct instance *gpus = add_gpus(&s, (unsigned)random_below(&seed, 18));
        for (unsigned i = 0; i < s.summary.instance_count; i++)
            if (random_below(&seed, 5))
                put_gpu(&s, i, (double)random_below(&seed, 100) / 100, random_below(&seed, 40), 200,
                        (unsigned)random_below(&seed, 2));
        struct phase_figures none;
        phase_figures_init(&none);
        for (uint64_t i = random_below(&seed, 8); i--;)
            mark_totals_phase(&s.summary.marks, &(struct phase_over){words[i % ARRAY_LEN(words)], 7,
                                                                     0, 1, .figures = &none});
        s.summary.survivor_count = random_below(&seed, 3);
        s.summary.largest = calloc(1, sizeof *s.summary.largest);
        assert_non_null(s.summary.largest);
        for (uint64_t i = random_below(&seed, 20); i--;) {
            struct largest_process p = {.pid = (pid_t)random_magnitude(&seed, 22),
                                        .cpu_ns = random_magnitude(&seed, 60),
                                        .peak_bytes = random_magnitude(&seed, 50)};
            p.has_cpu = p.has_peak = true;
            snprintf(p.name, sizeof p.name, "%s", words[random_below(&seed, ARRAY_LEN(words))]);
            memset(p.command, 'c', random_below(&seed, sizeof p.command));
            largest_add(s.summary.largest, &p);
        }
        char *text = text_for(&s, 0, columns);
        check_utf8(text);
        unsigned lines = 0, width = columns > 160 ? 160 : columns;
        for (char *line = text, *end; *line; line = end + 1, lines++) {
            end = strchr(line, '\n');
            assert_non_null(end);
            size_t line_columns = utf8_columns(line, (size_t)(end - line));
            if (line_columns > width &&
                (line[2] == ' ' || memchr(line + 2, ' ', (size_t)(end - line - 2))))
                fail_msg("wider than %u columns, and not a path:\n%s", width, text);
            lines += line_columns ? (unsigned)(line_columns - 1) / width : 0;
            assert_true(end == line || end[-1] != ' ');
            bool is_heading = strncmp(line, "  Largest p", 11) == 0 ||
                              strncmp(line, "  Programs ", 11) == 0 ||
                              strncmp(line, "  Phase  ", 9) == 0;
            if (is_heading && strncmp(end + 1, "    ", 4) != 0)
                fail_msg("a heading without rows:\n%s", text);
        }
        if (lines > 16)
            fail_msg("%u lines:\n%s", lines, text);
        free(text);
        sample_remove(&s);
        free(gpus);
    }
}

/* ---- text table ----------------------------------------------------------------------------- */

/* The lines of the table of the sample's target, as this part of the sink makes them. */
static void text_table_expect(struct sample *s, unsigned flags, const char *text)
{
    struct sink sink = {.flags = flags, .selection = s->selection};
    struct text_rows r = text_rows_of_target(&sink, &s->summary.whole);
    text_table(&sink, &r, s->summary.elapsed_ns);
    buf_putc(&sink.text, '\0');
    assert_string_equal(sink.text.data, text);
    buf_done(&sink.text);
}

static void test_text_table_figures(void **state)
{
    struct sample s;
    sample_make(&s, NULL);
    s.summary.whole.has_parts = false;
    text_table_expect(&s, 0, ""); /* nothing is known: no heading either */
    sample_total(&s, PART_COMBINED, process_cpu_seconds, 2500000000, QUALITY_EXACT);
    sample_total(&s, PART_COMBINED, process_storage_read_bytes, 4 << 20, QUALITY_LOWER_BOUND);
    sample_total(&s, PART_COMBINED, process_storage_written_bytes, 0, QUALITY_EXACT);
    text_table_expect(&s, 0,
                      "                                    total      peak       mean quality\n"
                      "CPU time                           2.50 s                      exact\n"
                      "storage read                    ≥4.00 MiB           2.00 MiB/s at least\n"
                      "storage written                       0 B                0 B/s exact\n\n");
    sample_remove(&s);
}

/* Too short a run says nothing about a second. */
static void test_text_table_no_rates_of_a_moment(void **state)
{
    struct sample s;
    sample_make(&s, NULL);
    s.summary.whole.has_parts = false;
    s.summary.elapsed_ns = NS_PER_SECOND - 1;
    sample_total(&s, PART_COMBINED, process_storage_read_bytes, 4 << 20, QUALITY_EXACT);
    text_table_expect(&s, 0,
                      "                                    total      peak       mean quality\n"
                      "storage read                     4.00 MiB                      exact\n\n");
    sample_remove(&s);
}

/* Main process and descendants, as soon as these did something; unknown is no number. */
static void test_text_table_parts(void **state)
{
    struct sample s;
    sample_make(&s, "cpu_seconds");
    sample_total(&s, PART_COMBINED, process_cpu_seconds, 3000000000, QUALITY_EXACT);
    sample_total(&s, PART_DESCENDANTS, process_cpu_seconds, 1000000000, QUALITY_EXACT);
    text_table_expect(
        &s, 0,
        "                         total      peak       mean      main  children quality\n"
        "CPU time                3.00 s                              ?    1.00 s exact\n\n");
    sample_remove(&s);
}

/* A part that is worse than the whole says so. */
static void test_text_table_parts_that_are_worse(void **state)
{
    struct sample s;
    sample_make(&s, "cpu_seconds,cpu_user_seconds,cpu_wait_seconds,storage_read_bytes");
    for (unsigned part = 0; part < PARTS; part++) {
        enum quality q = part == PART_COMBINED ? QUALITY_EXACT_IF_REAPED : QUALITY_SAMPLED;
        sample_total(&s, part, process_cpu_seconds, 3000000000, QUALITY_EXACT);
        sample_total(&s, part, process_cpu_user_seconds, 2000000000, q);
        sample_total(&s, part, process_cpu_wait_seconds, 1000000000,
                     part == PART_MAIN ? QUALITY_LOWER_BOUND : QUALITY_SAMPLED);
        sample_total(&s, part, process_storage_read_bytes, 4096,
                     part == PART_DESCENDANTS ? QUALITY_SAMPLED : QUALITY_LOWER_BOUND);
    }
    text_table_expect(
        &s, 0,
        "                         total      peak       mean      main  children quality\n"
        "CPU time                3.00 s                         3.00 s    3.00 s exact\n"
        "CPU time, user          2.00 s                        ~2.00 s   ~2.00 s counted\n"
        "waiting for CPU         1.00 s                        ≥1.00 s    1.00 s sampled\n"
        "storage read         ≥4.00 KiB           2.00 KiB/s ≥4.00 KiB ~4.00 KiB at least\n\n");
    sample_remove(&s);
}

/* Zero is an answer and has a line; a lower bound of zero is not known. */
static void test_text_table_unavailable(void **state)
{
    struct sample s;
    sample_make(&s, "cpu_seconds,storage_read_bytes,storage_written_bytes");
    s.summary.whole.has_parts = false;
    sample_total(&s, PART_COMBINED, process_cpu_seconds, NS_PER_SECOND, QUALITY_EXACT);
    sample_total(&s, PART_COMBINED, process_storage_read_bytes, 0, QUALITY_EXACT);
    sample_total(&s, PART_COMBINED, process_storage_written_bytes, 0, QUALITY_LOWER_BOUND);
    struct sink sink = {.selection = s.selection};
    struct text_rows r = text_rows_of_target(&sink, &s.summary.whole);
    text_unavailable(&sink, &r, NS_PER_SECOND);
    buf_putc(&sink.text, '\0');
    assert_string_equal(sink.text.data, "not available: storage written (why: toll doctor)\n\n");
    sink.text.length = 0;
    text_unavailable(&sink, &r, NS_PER_SECOND / 2);
    buf_putc(&sink.text, '\0');
    assert_string_equal(sink.text.data, "not available: storage written (the run may be too short; "
                                        "see also toll doctor)\n\n");
    buf_done(&sink.text);
    sample_remove(&s);
}

/* ---- text outputs --------------------------------------------------------------------------- */

/* The lines of outputs; the rest of the block is that of an empty run, with no cost known. */
static void text_outputs_expect(struct output_summary *o, size_t count, const char *text)
{
    struct sample s;
    sample_make(&s, "cpu_seconds");
    s.summary.outputs = o;
    s.summary.output_count = count;
    struct sink sink = {.selection = s.selection};
    text_glance(&sink, &s.summary);
    buf_putc(&sink.text, '\0');
    char *line = strstr(sink.text.data, "CPU        unknown\n");
    assert_non_null(line);
    line = strchr(line, '\n') + 1;
    assert_string_equal(line, text);
    buf_done(&sink.text);
    s.summary.outputs = NULL;
    s.summary.output_count = 0;
    sample_remove(&s);
}

static void test_text_outputs_lines(void **state)
{
    struct output_summary o = {
        .name = "x http://h", .way = OUTPUT_SENT, .delivered = 5, .is_whole = true};
    text_outputs_expect(&o, 1, "  Sent       x http://h, 5 samples\n");
    o = (struct output_summary){.name = "x",
                                .way = OUTPUT_SENT,
                                .delivered = 1,
                                .retries = 2,
                                .is_whole = true,
                                .why = "it was away"};
    text_outputs_expect(&o, 1, "  Sent       x, 1 sample, 2 retries\n");
    o = (struct output_summary){
        .name = "x", .way = OUTPUT_SENT, .dropped = 3, .retries = 1, .why = "it was away"};
    text_outputs_expect(&o, 1, "  Sent       x, 0 samples, 3 lost, 1 retry: it was away\n");
    o = (struct output_summary){
        .name = "x", .way = OUTPUT_SENT, .kept = 3, .is_whole = true, .why = "in run.spool"};
    text_outputs_expect(&o, 1, "  Sent       x, 0 samples, 3 kept to send later: in run.spool\n");
    o = (struct output_summary){.name = "x",
                                .way = OUTPUT_SENT,
                                .delivered = 3,
                                .has_kept = true,
                                .is_whole = true,
                                .why = "in run.spool"};
    text_outputs_expect(&o, 1,
                        "  Sent       x, 3 samples, the end kept to send later: in run.spool\n");
    o = (struct output_summary){.name = "x", .way = OUTPUT_SENT, .delivered = 3, .why = "no"};
    text_outputs_expect(&o, 1, "  Sent       x, 3 samples, incomplete: no\n");
}

static void test_text_outputs_an_endpoint(void **state)
{
    struct output_summary o = {.name = ":9464", .way = OUTPUT_SCRAPED, .is_whole = true};
    text_outputs_expect(&o, 1, "  Scraped    :9464, 0 times\n");
    o.scrapes = 1;
    text_outputs_expect(&o, 1, "  Scraped    :9464, 1 time\n");
}

/* Complete files share a line; what a terminal or a pipe has shown has none. */
static void test_text_outputs_files(void **state)
{
    struct output_summary o[] = {
        {.name = "a.csv", .delivered = 3, .bytes = 2048, .has_bytes = true, .is_whole = true},
        {.name = "stdout", .way = OUTPUT_STREAM, .delivered = 3, .is_whole = true},
        {.name = "b.csv", .delivered = 1, .dropped = 2, .why = "No space left on device"},
        {.name = "c.sqlite", .delivered = 3, .is_whole = true},
        {.name = "stderr", .way = OUTPUT_STREAM, .dropped = 3, .why = "Broken pipe"},
    };
    text_outputs_expect(o, ARRAY_LEN(o),
                        "  Saved      a.csv, 3 samples, 2.00 KiB; c.sqlite, 3 samples\n"
                        "  Saved      b.csv, 1 sample, 2 lost: No space left on device\n"
                        "  Not saved  stderr, 0 samples, 3 lost: Broken pipe\n");
}

/* ---- text block ----------------------------------------------------------------------------- */

/* However much there is to say, sixteen lines; what matters most stays. */
static void test_text_block_is_short(void **state)
{
    struct sample s;
    sample_make(&s, NULL);
    struct output_summary o[12] = {0};
    for (unsigned i = 0; i < ARRAY_LEN(o); i++) {
        o[i] = (struct output_summary){.way = OUTPUT_SENT, .delivered = 1, .is_whole = true};
        snprintf(o[i].name, sizeof o[i].name, "place %u", i);
    }
    s.summary.outputs = o;
    s.summary.output_count = ARRAY_LEN(o);
    for (unsigned id = 0; id < PROCESS_METRICS; id++)
        if (!metric_is_double(metric_of(id)))
            sample_total(&s, PART_COMBINED, id, 5 * NS_PER_SECOND, QUALITY_LOWER_BOUND);
    summary_note(&s.summary, "what could not be read");
    char *text = text_of(&s, 0);
    unsigned lines = 0;
    for (const char *c = text; *c; c++)
        lines += *c == '\n';
    assert_int_equal(lines, 16);
    assert_non_null(strstr(text, "\n  CPU        ≥ 5.00 s"));
    assert_non_null(strstr(text, "\n  Memory     "));
    assert_non_null(strstr(text, "\n  Note       what could not be read\n"));
    free(text);
    s.summary.outputs = NULL;
    s.summary.output_count = 0;
    sample_remove(&s);
}

/* Same columns without any character beyond ASCII. */
static void test_text_block_in_ascii(void **state)
{
    struct buf b = {0};
    buf_puts(&b, "ü≥ 5 s … × 3 µs ▁▂▃▄▅▆▇█ █▏▎▍▌▋▊▉· ≥1 °C 日本");
    size_t columns = utf8_columns(b.data, b.length);
    text_to_ascii(&b, 0);
    buf_putc(&b, '\0');
    assert_string_equal(b.data, "?>=5 s ~ x 3 us _.-=+*%# #---===#. >1  C ??");
    assert_true(strlen(b.data) <= columns);
    buf_done(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text_the_head),
        cmocka_unit_test(test_text_the_command_as_one_could_type_it),
        cmocka_unit_test(test_text_a_long_command),
        cmocka_unit_test(test_text_unknown_is_no_number),
        cmocka_unit_test(test_text_why_memory_is_unknown),
        cmocka_unit_test(test_text_disk_is_unknown),
        cmocka_unit_test(test_text_remark_is_at_the_edge),
        cmocka_unit_test(test_text_no_curve_of_noise),
        cmocka_unit_test(test_text_pids_line_up),
        cmocka_unit_test(test_text_share_of_the_busiest_program),
        cmocka_unit_test(test_text_how_figures_were_obtained),
        cmocka_unit_test(test_text_no_escapes_unless_asked),
        cmocka_unit_test(test_text_survivors),
        cmocka_unit_test(test_text_lines),
        cmocka_unit_test(test_text_kind_instances),
        cmocka_unit_test(test_text_kind_targets),
        cmocka_unit_test(test_text_marks_nothing_said),
        cmocka_unit_test(test_text_marks_tables),
        cmocka_unit_test(test_text_marks_many),
        cmocka_unit_test(test_text_gpus_gpu),
        cmocka_unit_test(test_glance_few_gpus),
        cmocka_unit_test(test_glance_many_gpus),
        cmocka_unit_test(test_glance_any),
        cmocka_unit_test(test_text_table_figures),
        cmocka_unit_test(test_text_table_no_rates_of_a_moment),
        cmocka_unit_test(test_text_table_parts),
        cmocka_unit_test(test_text_table_parts_that_are_worse),
        cmocka_unit_test(test_text_table_unavailable),
        cmocka_unit_test(test_text_block_is_short),
        cmocka_unit_test(test_text_block_in_ascii),
        cmocka_unit_test(test_text_outputs_an_endpoint),
        cmocka_unit_test(test_text_outputs_files),
        cmocka_unit_test(test_text_outputs_lines),
    };
    return RUN("sink/text", tests);
}
