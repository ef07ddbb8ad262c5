/* SPDX-License-Identifier: MIT */
#include "base/process.h"
#include "base/util.h"
#include "engine/frame_copy.h"
#include "engine/step.h"
#include "engine/tracker.h"
#include "layout/layout.h"
#include "sample.h"
#include "source/pid_files.h"
#include "unit.h"

#include <math.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* ---- schedule ------------------------------------------------------------------------------- */

#define MS NS_PER_MS

static const uint64_t start = 1000 * NS_PER_SECOND;

static void test_schedule_first_after_a_millisecond(void **state)
{
    static const uint64_t intervals[] = {0, MS, 10 * MS, 3600 * NS_PER_SECOND};
    for (size_t i = 0; i < ARRAY_LEN(intervals); i++) {
        struct schedule s;
        schedule_begin(&s, start, intervals[i], 0.01);
        assert_int_equal(s.deadline_ns, start + MS);
        assert_int_equal(s.missed, 0);
    }
}

/* Samples are late, now more, now less; deadlines are multiples from the start all the same. */
static void test_schedule_fixed_does_not_drift(void **state)
{
    static const uint64_t intervals[] = {MS, 2 * MS, 10 * MS, 333333333, NS_PER_SECOND};
    uint64_t seed = 1;
    for (size_t i = 0; i < ARRAY_LEN(intervals); i++) {
        uint64_t interval = intervals[i];
        struct schedule s;
        schedule_begin(&s, start, interval, 0.01);
        uint64_t first = interval == MS ? 2 : 1; /* at 1 ms the first one is the first multiple */
        for (uint64_t n = 0; n < 5000; n++) {
            uint64_t began = s.deadline_ns + random_below(&seed, MS / 4);
            schedule_advance(&s, began + random_below(&seed, MS / 4), MS / 4);
            assert_int_equal(s.deadline_ns, start + (n + first) * interval);
        }
        assert_int_equal(s.missed, 0);
    }
}

/* What does not fit is counted and left out: taken and missed together are all there were. */
static void test_schedule_missed_are_counted(void **state)
{
    uint64_t seed = 2;
    uint64_t interval = 10 * MS;
    struct schedule s;
    schedule_begin(&s, start, interval, 0.01);
    schedule_advance(&s, start + MS, 0);
    uint64_t taken = 0;
    for (int i = 0; i < 5000; i++) {
        uint64_t began = s.deadline_ns;
        uint64_t ended = began + random_magnitude(&seed, 28);
        taken++;
        schedule_advance(&s, ended, ended - began);
        assert_true(s.deadline_ns > ended);             /* never bunched */
        assert_true(s.deadline_ns <= ended + interval); /* never skipped for nothing */
        assert_true((s.deadline_ns - start) % interval == 0);
        assert_int_equal((s.deadline_ns - start) / interval, taken + s.missed + 1);
    }
    assert_true(s.missed > 0);
}

static void test_schedule_late_first_sample(void **state)
{
    struct schedule s;
    schedule_begin(&s, start, 2 * MS, 0.01);
    schedule_advance(&s, start + 5 * MS, 0); /* 2 and 4 ms are past */
    assert_int_equal(s.deadline_ns, start + 6 * MS);
    assert_int_equal(s.missed, 2);
}

static void test_schedule_auto_steps(void **state)
{
    struct schedule s;
    schedule_begin(&s, start, 0, 0.01);
    assert_int_equal(schedule_auto_step(&s, 0), MS);
    assert_int_equal(schedule_auto_step(&s, MS), MS);
    assert_int_equal(schedule_auto_step(&s, 4 * MS), 4 * MS);
    assert_int_equal(schedule_auto_step(&s, 10 * MS), 10 * MS);
    assert_int_equal(schedule_auto_step(&s, 320 * MS), 10 * MS);
    assert_int_equal(schedule_auto_step(&s, 6400 * MS), 200 * MS);
    assert_int_equal(schedule_auto_step(&s, 32 * NS_PER_SECOND), NS_PER_SECOND);
    assert_int_equal(schedule_auto_step(&s, 86400 * NS_PER_SECOND), NS_PER_SECOND);
    uint64_t before = 0;
    for (uint64_t age = 0; age < 100 * NS_PER_SECOND; age += age / 50 + MS / 7) {
        uint64_t step = schedule_auto_step(&s, age);
        assert_true(step >= before && step >= MS && step <= NS_PER_SECOND);
        before = step;
    }
}

/* A run of two seconds has a curve, a run of two days stays small. */
static void test_schedule_auto_counts(void **state)
{
    struct schedule s;
    schedule_begin(&s, start, 0, 0.01);
    uint64_t samples = 0, in_two_seconds = 0;
    for (; s.deadline_ns < start + 2 * 86400 * NS_PER_SECOND; samples++) {
        in_two_seconds += s.deadline_ns <= start + 2 * NS_PER_SECOND;
        schedule_advance(&s, s.deadline_ns + 10000, 10000);
    }
    assert_true(in_two_seconds > 60 && in_two_seconds < 200);
    assert_true(samples < 2 * 86400 + 400);
    assert_int_equal(s.missed, 0);
}

/* Where samples are dear they become rare, but never rarer than ten seconds. */
static void test_schedule_auto_keeps_to_its_budget(void **state)
{
    uint64_t costs[] = {10000, 100000, MS, 20 * MS, 500 * MS};
    for (size_t i = 0; i < ARRAY_LEN(costs); i++) {
        struct schedule s;
        schedule_begin(&s, start, 0, 0.01);
        uint64_t spent = 0;
        while (s.deadline_ns < start + 3600 * NS_PER_SECOND) {
            uint64_t began = s.deadline_ns;
            spent += costs[i];
            schedule_advance(&s, began + costs[i], costs[i]);
            assert_true(s.deadline_ns - began <= 10 * NS_PER_SECOND + costs[i]);
            assert_true(s.deadline_ns > began + costs[i]);
        }
        if (costs[i] <= 20 * MS)
            assert_true(spent <= 3600 * NS_PER_SECOND / 100 + 20 * costs[i]);
    }
}

/* One slow sample among quick ones does not change the pace for long. */
static void test_schedule_cost_is_smoothed(void **state)
{
    struct schedule s;
    schedule_begin(&s, start, 0, 0.01);
    for (int i = 0; i < 100; i++)
        schedule_advance(&s, s.deadline_ns + 10000, 10000);
    uint64_t cost = s.cost_ns;
    schedule_advance(&s, s.deadline_ns + 800000, 800000);
    assert_true(s.cost_ns > cost && s.cost_ns < 800000 / 4);
    for (int i = 0; i < 60; i++)
        schedule_advance(&s, s.deadline_ns + 10000, 10000);
    assert_true(s.cost_ns < 11000);
}

/* A clock that was read before the sample began does no harm. */
static void test_schedule_no_time_at_all(void **state)
{
    struct schedule s;
    schedule_begin(&s, start, MS, 0.01);
    schedule_advance(&s, start, 0);
    assert_int_equal(s.deadline_ns, start + 2 * MS);
    assert_int_equal(s.cost_ns, 0);
}

/* Members are looked at as often as with auto, however rare samples are. */
static void test_schedule_looks_between_samples(void **state)
{
    struct schedule s, automatic;
    schedule_begin(&s, start, 3600 * NS_PER_SECOND, 0.01);
    schedule_begin(&automatic, start, 0, 0.01);
    assert_int_equal(schedule_due(&s), start + MS);
    schedule_advance(&s, start + MS, 0);
    schedule_looked(&s, start + MS, 0);
    for (int i = 0; i < 500; i++) {
        uint64_t at = schedule_due(&s);
        assert_true(at < s.deadline_ns);
        schedule_looked(&s, at, 10 * NS_PER_US);
        assert_int_equal(schedule_due(&s), at + schedule_auto_step(&automatic, at - start));
    }
    assert_int_equal(s.missed, 0);
}

/* They keep to the budget, and never come after the sample that is due. */
static void test_schedule_looks_that_cost(void **state)
{
    struct schedule s;
    schedule_begin(&s, start, NS_PER_SECOND, 0.01);
    schedule_advance(&s, start + MS, 0);
    schedule_looked(&s, start + MS, 3 * MS);
    assert_int_equal(schedule_look_spacing(&s), 300 * MS);
    assert_int_equal(schedule_due(&s), start + 2 * MS); /* the first ones of a young run */
    schedule_looked(&s, start + 20 * MS, 3 * MS);
    assert_int_equal(schedule_due(&s), start + 320 * MS);
    schedule_looked(&s, start + 900 * MS, 3 * MS);
    assert_int_equal(schedule_due(&s), start + 1000 * MS);
}

static void test_schedule_no_looks_with_auto(void **state)
{
    struct schedule s;
    schedule_begin(&s, start, 0, 0.01);
    schedule_advance(&s, start + MS, 0);
    schedule_looked(&s, start + MS, 0);
    assert_int_equal(schedule_due(&s), s.deadline_ns);
}

/* A second more than was to be expected. */
static void test_schedule_gaps(void **state)
{
    struct schedule s;
    schedule_begin(&s, 1000, 0, 0.01);
    s.cost_ns = NS_PER_SECOND; /* what the budget asks for is a gap all the same */
    schedule_note_gap(&s, 1000 + NS_PER_SECOND, NS_PER_SECOND);
    assert_int_equal(s.pauses, 0);
    schedule_note_gap(&s, 1000 + 10 * NS_PER_SECOND, 6 * NS_PER_SECOND);
    schedule_note_gap(&s, 1000 + 20 * NS_PER_SECOND, 3 * NS_PER_SECOND);
    assert_int_equal(s.pauses, 2);
    assert_int_equal(s.longest_ns, 6 * NS_PER_SECOND);
    schedule_begin(&s, 1000, 5 * NS_PER_SECOND, 0.01);
    schedule_note_gap(&s, 1000 + 5 * NS_PER_SECOND, 5 * NS_PER_SECOND);
    assert_int_equal(s.pauses, 0);
    schedule_note_gap(&s, 1000 + 12 * NS_PER_SECOND, 7 * NS_PER_SECOND);
    assert_int_equal(s.pauses, 1);
}

/* ---- timeout -------------------------------------------------------------------------------- */

static void test_timeout_when_it_is_due(void **state)
{
    struct toll_tracker t = {.tracked = {.start_ns = 1000, .options = &t.options}};
    assert_int_equal(timeout_due(&t.timeout, &t.tracked), UINT64_MAX);
    t.options.timeout_ns = 500;
    assert_int_equal(timeout_due(&t.timeout, &t.tracked), 1500);
    t.timeout.term_sent = true;
    assert_int_equal(timeout_due(&t.timeout, &t.tracked), 1500 + 10 * NS_PER_SECOND);
    t.options.grace_ns = 7;
    assert_int_equal(timeout_due(&t.timeout, &t.tracked), 1507);
    t.options.grace_ns = UINT64_MAX; /* never, not at once */
    assert_true(timeout_due(&t.timeout, &t.tracked) == UINT64_MAX);
    t.timeout.kill_sent = true; /* what was born in the meantime is killed too … */
    t.timeout.again_ns = 2000;
    assert_int_equal(timeout_due(&t.timeout, &t.tracked), 2000);
    t.timeout.is_over = true; /* … until more cannot be done */
    assert_int_equal(timeout_due(&t.timeout, &t.tracked), UINT64_MAX);
    t.timeout.is_over = false;
    t.tracked.is_recorded = true; /* no process to signal in a recording */
    assert_int_equal(timeout_due(&t.timeout, &t.tracked), UINT64_MAX);
}

static unsigned notes;

static void note(void *arg, const char *sentence)
{
    notes += strstr(sentence, "SIGKILL") != NULL;
}

/* Runs a script with a timeout to its end. */
static struct toll_end run(const char *script, uint64_t timeout_ns, uint64_t grace_ns)
{
    struct toll_options o = {
        .size = sizeof o, .timeout_ns = timeout_ns, .grace_ns = grace_ns, .note = note};
    struct toll_tracker *t = NULL;
    notes = 0;
    assert_int_equal(toll_tracker_new(&t, &o, NULL), 0);
    char *argv[] = {strdupa("sh"), strdupa("-c"), strdupa(script), NULL};
    assert_int_equal(toll_tracker_launch(t, argv, NULL, NULL), 0);
    while (toll_tracker_step(t) > 0) {
        struct pollfd fd = {.fd = toll_tracker_fd(t), .events = POLLIN};
        assert_true(poll(&fd, 1, 60000) > 0); /* it would hang; no statement about speed */
    }
    struct toll_end end = {.size = sizeof end};
    assert_int_equal(toll_tracker_finish(t, &end), 0);
    toll_tracker_free(t);
    return end;
}

static void test_timeout_sigterm_is_enough(void **state)
{
    struct toll_end end = run("exec sleep 1000", 20 * NS_PER_MS, 0);
    assert_true(end.signaled && end.timed_out);
    assert_int_equal(end.status, SIGTERM);
    assert_int_equal(notes, 0);
}

/* The same for a script that ignores SIGTERM. It inherits that: a trap of its own might come after
 * the signal on a busy machine. */
static struct toll_end run_deaf(const char *script)
{
    signal(SIGTERM, SIG_IGN);
    struct toll_end end = run(script, 50 * NS_PER_MS, 50 * NS_PER_MS);
    signal(SIGTERM, SIG_DFL);
    return end;
}

/* SIGTERM comes first, and children are killed as well. */
static void test_timeout_sigkill_after_the_grace(void **state)
{
    struct toll_end end = run_deaf("while :; do sleep 1000; done");
    assert_true(end.signaled && end.timed_out);
    assert_int_equal(end.status, SIGKILL);
    assert_int_equal(notes, 1);
}

static bool kill_fails;

/* Takes the place of the C library's. */
int kill(pid_t pid, int number)
{
    errno = EPERM;
    return kill_fails ? -1 : (int)syscall(SYS_kill, pid, number);
}

/* A number may be another process's by the time it is signalled, a pidfd never is. */
static void test_timeout_without_numbers_of_processes(void **state)
{
    int pidfd = process_open_pidfd(getpid());
    if (pidfd < 0)
        skip();
    close(pidfd);
    kill_fails = true;
    struct toll_end end = run_deaf("sleep 1000 & while :; do sleep 1000; done");
    kill_fails = false;
    assert_true(end.signaled && end.timed_out);
    assert_int_equal(end.status, SIGKILL);
}

/* The process that has the number is not the one that was read before. */
static void test_timeout_a_number_that_is_used_again(void **state)
{
    struct sysroot root = SYSROOT_NONE;
    struct process_reader reader;
    struct pid_stat st;
    assert_int_equal(sysroot_open_proc(&root, NULL), 0);
    assert_int_equal(process_reader_init(&reader, &root, 0), 0);
    pid_t child = fork();
    if (child == 0)
        for (;;)
            pause();
    ssize_t n = process_read_once(&reader, child, "stat");
    assert_true(n > 0 && parse_pid_stat(scan_text(reader.text, (size_t)n), &st) == 0);
    struct entity e = {.kind = ENTITY_PROCESS, .pid = child, .start_ticks = st.start_ticks + 1};
    assert_int_equal(timeout_signal(&reader, &e, SIGKILL), -ESRCH);
    e.start_ticks = st.start_ticks;
    assert_int_equal(timeout_signal(&reader, &e, SIGTERM), 0);
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    assert_int_equal(timeout_signal(&reader, &e, SIGTERM), -ESRCH);
    process_reader_done(&reader);
    sysroot_close(&root);
}

static void test_timeout_a_command_that_is_in_time(void **state)
{
    struct toll_end end = run("exit 3", 3600 * NS_PER_SECOND, 0);
    assert_false(end.signaled || end.timed_out);
    assert_int_equal(end.status, 3);
}

/* ---- translator ----------------------------------------------------------------------------- */

static size_t column(const struct toll_translator *tr, const char *name)
{
    const char *this;
    for (size_t i = 0; (this = toll_translator_column(tr, i)); i++)
        if (strcmp(this, name) == 0)
            return i;
    fail_msg("there is no column %s", name);
    return 0;
}

static struct toll_frame *take(const struct sample *s)
{
    struct frame_copy *frame = frame_copy_new(&s->frame, &s->selection);
    assert_non_null(frame);
    return &frame->head;
}

static void test_translator_rows(void **state)
{
    struct sample s;
    struct toll_translator *tr;
    struct toll_error e = {0};
    sample_make(&s, NULL);
    s.entity.kind = ENTITY_TARGET;
    static struct entity self = {.kind = ENTITY_SELF};
    s.frame.self.entity = &self;
    s.frame.target[PART_MAIN].row = s.frame.target[PART_DESCENDANTS].row = NULL;
    row_put_u64(&s.parts[PART_COMBINED], process_cpu_user_seconds, 1500 * NS_PER_MS);
    row_put_u64(&s.parts[PART_COMBINED], process_storage_read_bytes, 10);
    assert_int_equal(toll_translator_new(&tr, "resource-tracker,columns=v2", &e), 0);
    assert_null(toll_translator_column(tr, 0));
    assert_int_equal(toll_translator_set_fact(tr, "pid", 4711), 0);
    assert_int_equal(toll_translator_set_fact(tr, "weight", 1), -EINVAL);
    struct toll_frame *frame = take(&s);
    assert_int_equal(toll_translator_frame(tr, frame), 1);
    toll_frame_free(frame);
    assert_string_equal(toll_translator_column(tr, 1), "pid");
    assert_float_equal(toll_translator_value(tr, 0, 1), 4711, 0);
    assert_float_equal(toll_translator_value(tr, 0, column(tr, "utime")), 1.5, 0);
    assert_string_equal(toll_translator_text(tr, 0, column(tr, "utime")), "1.5");
    assert_null(toll_translator_text(tr, 0, column(tr, "memory_mib")));
    assert_true(isnan(toll_translator_value(tr, 0, column(tr, "memory_mib"))));
    assert_true(isnan(toll_translator_value(tr, 1, 0)));
    row_put_u64(&s.parts[PART_COMBINED], process_storage_read_bytes, 25);
    s.frame.elapsed_ns += NS_PER_SECOND;
    frame = take(&s);
    assert_int_equal(toll_translator_frame(tr, frame), 1);
    toll_frame_free(frame);
    assert_float_equal(toll_translator_value(tr, 0, column(tr, "disk_read_bytes")), 15, 0);
    toll_translator_free(tr);
    sample_remove(&s);
}

/* Looks one by one: they are of no run, and count from the birth of the process. */
static void test_translator_looks(void **state)
{
    struct sample s;
    struct toll_translator *tr;
    sample_make(&s, NULL);
    s.entity.kind = ENTITY_TARGET;
    static struct entity self = {.kind = ENTITY_SELF};
    s.frame.self.entity = &self;
    s.frame.target[PART_MAIN].row = s.frame.target[PART_DESCENDANTS].row = NULL;
    assert_int_equal(toll_translator_new(&tr, "resource-tracker,columns=v2", NULL), 0);
    assert_int_equal(toll_translator_set_fact(tr, "since", 1), 0);
    for (unsigned i = 0; i < 2; i++) {
        row_put_u64(&s.parts[PART_COMBINED], process_cpu_seconds, (3 + i) * NS_PER_SECOND);
        assert_int_equal(toll_translator_set_fact(tr, "elapsed", 100 + 4 * i), 0);
        struct toll_frame *frame = take(&s);
        assert_int_equal(toll_translator_frame(tr, frame), 1);
        toll_frame_free(frame);
        double cores = toll_translator_value(tr, 0, column(tr, "cpu_usage"));
        assert_true(i ? cores == 0.25 : isnan(cores));
    }
    toll_translator_free(tr);
    sample_remove(&s);
}

/* A row of several samples begins with the first of them. */
static void test_translator_long_rows(void **state)
{
    struct sample s;
    struct toll_translator *tr;
    sample_make(&s, NULL);
    s.entity.kind = ENTITY_TARGET;
    static struct entity self = {.kind = ENTITY_SELF};
    s.frame.self.entity = &self;
    s.frame.target[PART_MAIN].row = s.frame.target[PART_DESCENDANTS].row = NULL;
    assert_int_equal(toll_translator_new(&tr, "process-metrics,samples=2,prefix=", NULL), 0);
    assert_int_equal(toll_translator_set_fact(tr, "since", 1), 0);
    for (unsigned i = 0; i < 2; i++) {
        row_put_u64(&s.parts[PART_COMBINED], process_cpu_seconds, (7 + i) * NS_PER_SECOND);
        row_put_u64(&s.parts[PART_COMBINED], process_threads_count, 3);
        s.frame.elapsed_ns += 2 * NS_PER_SECOND;
        s.frame.interval_ns = (i + 1) * 333333333;
        struct toll_frame *frame = take(&s);
        assert_int_equal(toll_translator_frame(tr, frame), (int)i);
        toll_frame_free(frame);
    }
    assert_float_equal(toll_translator_value(tr, 0, column(tr, "cpu_usage_percentage")), 50, 0);
    assert_true(toll_translator_value(tr, 0, column(tr, "num_threads")) == 3);
    toll_translator_free(tr);
    sample_remove(&s);
}

static void test_translator_mistakes(void **state)
{
    struct toll_translator *tr;
    struct toll_error e = {0};
    assert_int_equal(toll_translator_new(&tr, "parrot", &e), -EINVAL);
    assert_non_null(strstr(e.message, "unknown layout 'parrot'"));
    assert_int_equal(toll_translator_new(&tr, NULL, &e), -EINVAL);
    toll_translator_free(NULL);
}

/* What programs are told is what the tables say. */
static void test_translator_tables(void **state)
{
    for (size_t i = 0; layouts[i]; i++) {
        const struct layout *d = layouts[i];
        size_t n = 0;
        assert_ptr_equal(toll_layout_at(i), &d->facts);
        for (size_t k = 0; k < d->option_count; k++)
            assert_string_equal(toll_layout_option_at(d->facts.name, k)->name, d->options[k].name);
        assert_null(toll_layout_option_at(d->facts.name, d->option_count));
        for (size_t k = 0; k < d->table_count; k++)
            for (size_t c = 0; c < d->tables[k].count; c++)
                assert_string_equal(toll_layout_column_at(d->facts.name, n++)->name,
                                    d->tables[k].columns[c].name);
        assert_null(toll_layout_column_at(d->facts.name, n));
    }
    assert_string_equal(toll_layout_option_at("resource-tracker", 0)->accepted,
                        "v1 0.4 v2 combined-0.4 combined host-proc");
    assert_null(toll_layout_column_at("parrot", 0));
    assert_null(toll_layout_option_at(NULL, 0));
}

/* ---- taken ---------------------------------------------------------------------------------- */

/* A frame with a target in three parts, one of several, a disk, a process and toll itself. */
struct made {
    struct frame frame;
    struct row rows[PARTS], one, process, self;
    struct entity entities[PARTS], one_entity, process_entity, self_entity;
    struct frame_target targets[1];
    struct frame_row processes[1];
    struct instance disk;
    struct instance *machine[1];
};

static void make(struct made *m)
{
    memset(m, 0, sizeof *m);
    for (unsigned part = 0; part < PARTS; part++) {
        m->entities[part] = (struct entity){.kind = ENTITY_TARGET, .part = part};
        row_init(&m->rows[part], ENTITY_PROCESS);
        row_put_u64(&m->rows[part], process_cpu_seconds, (part + 1) * NS_PER_SECOND / 2);
        m->frame.target[part] = (struct frame_row){&m->entities[part], &m->rows[part]};
    }
    m->one_entity = (struct entity){.kind = ENTITY_TARGET};
    row_init(&m->one, ENTITY_PROCESS);
    row_put_double(&m->one, process_cpu_cores, 1.25);
    m->targets[0].name = "web";
    m->targets[0].parts[PART_COMBINED] = (struct frame_row){&m->one_entity, &m->one};
    m->process_entity = (struct entity){
        .kind = ENTITY_PROCESS, .pid = 42, .parent = 7, .name = "make"};
    row_init(&m->process, ENTITY_PROCESS);
    row_put_u64(&m->process, process_memory_rss_bytes, 4096);
    m->processes[0] = (struct frame_row){&m->process_entity, &m->process};
    m->self_entity = (struct entity){.kind = ENTITY_SELF};
    row_init(&m->self, ENTITY_SELF);
    m->frame.self = (struct frame_row){&m->self_entity, &m->self};
    instance_init(&m->disk, ENTITY_DISK);
    strcpy(m->disk.entity.name, "vda");
    row_put_u64(&m->disk.row, disk_read_bytes, 512);
    m->machine[0] = &m->disk;
    m->frame.targets = m->targets;
    m->frame.target_count = 1;
    m->frame.machine = m->machine;
    m->frame.machine_count = 1;
    m->frame.processes = m->processes;
    m->frame.process_count = 1;
    m->frame.tick = 3;
    m->frame.elapsed_ns = 30;
}

static struct frame_copy *copy(struct made *m, const char *metrics)
{
    struct selection selection;
    assert_int_equal(selection_parse(&selection, metrics, NULL), 0);
    make(m);
    struct frame_copy *t = frame_copy_new(&m->frame, &selection);
    assert_non_null(t);
    memset(m, 0xAA, sizeof *m); /* the copy stands alone */
    return t;
}

static void test_taken_rows(void **state)
{
    struct made m;
    struct toll_frame *f = &copy(&m, NULL)->head;
    assert_int_equal(f->number, 3);
    assert_int_equal(f->elapsed_ns, 30);
    assert_int_equal(f->row_count, 7);
    const struct toll_row *r = toll_frame_row(f, 0);
    assert_string_equal(r->entity, "target");
    assert_string_equal(r->part, "combined");
    assert_string_equal(r->name, "");
    double value = 0;
    assert_int_equal(toll_row_get(r, "cpu_seconds", &value), 0);
    assert_true(value == 0.5 &&
                toll_row_value(r, toll_metric_find("target", "cpu_seconds")) == 0.5);
    assert_int_equal(toll_row_get(r, "cpu_user_seconds", &value), 0);
    assert_true(isnan(value));
    assert_int_equal(toll_row_get(r, "no_such_thing", &value), -ENOENT);
    assert_true(isnan(toll_row_value(r, toll_metric_find("disk", "read_bytes"))));
    assert_true(isnan(toll_row_value(r, -ENOENT)));
    assert_string_equal(toll_frame_row(f, 3)->name, "web");
    assert_string_equal(toll_frame_row(f, 4)->entity, "disk");
    r = toll_frame_row(f, 5);
    assert_string_equal(r->entity, "process");
    assert_string_equal(r->name, "make");
    assert_int_equal(r->pid, 42);
    assert_int_equal(r->parent, 7);
    assert_string_equal(toll_frame_row(f, 6)->entity, "self");
    assert_null(toll_frame_row(f, 7));
    toll_frame_free(f);
    toll_frame_free(NULL);
}

static void test_taken_columns(void **state)
{
    struct made m;
    struct toll_frame *f = &copy(&m, NULL)->head;
    assert_true(frame_value(f, "target_cpu_seconds") == 0.5);
    assert_true(frame_value(f, "main_cpu_seconds") == 1);
    assert_true(frame_value(f, "descendants_cpu_seconds") == 1.5);
    assert_true(frame_value(f, "target.web.cpu_cores") == 1.25);
    assert_true(frame_value(f, "disk.vda.read_bytes") == 512);
    assert_true(isnan(frame_value(f, "disk.vdb.read_bytes")));
    assert_true(isnan(frame_value(f, "self_cpu_seconds")));
    double value;
    assert_int_equal(toll_frame_get(f, "", &value), -ENOENT);
    assert_int_equal(toll_frame_get(f, "target_cpu_second", &value), -ENOENT);
    assert_int_equal(toll_frame_get(f, "disk.vdb.read_byte", &value), -ENOENT);
    assert_int_equal(toll_frame_get(f, NULL, &value), -EINVAL);
    toll_frame_free(f);
}

static void test_taken_names_of_columns(void **state)
{
    struct made m;
    struct toll_frame *f = &copy(&m, NULL)->head;
    char name[64];
    assert_int_equal(toll_row_column(toll_frame_row(f, 1), "cpu_seconds", name, sizeof name), 16);
    assert_string_equal(name, "main_cpu_seconds");
    assert_int_equal(toll_row_column(toll_frame_row(f, 3), "", name, sizeof name), 11);
    assert_string_equal(name, "target.web.");
    toll_row_column(toll_frame_row(f, 4), "read_bytes", name, sizeof name);
    assert_string_equal(name, "disk.vda.read_bytes");
    assert_int_equal(toll_row_column(toll_frame_row(f, 4), "read_bytes", name, 5), 19);
    assert_string_equal(name, "disk");
    assert_int_equal(toll_row_column(toll_frame_row(f, 4), "read_bytes", NULL, 0), 19);
    assert_int_equal(toll_row_column(toll_frame_row(f, 5), "cpu_seconds", name, sizeof name), 0);
    assert_string_equal(name, "");
    toll_row_column(toll_frame_row(f, 6), "cpu_seconds", name, sizeof name);
    assert_string_equal(name, "self_cpu_seconds");
    toll_frame_free(f);
}

static void test_taken_the_whole_alone(void **state)
{
    struct made m;
    struct selection selection;
    make(&m);
    assert_int_equal(selection_parse(&selection, NULL, NULL), 0);
    struct toll_frame *f = &frame_copy_new_whole(&m.frame, &selection)->head;
    assert_int_equal(f->row_count, 1);
    assert_true(frame_value(f, "target_cpu_seconds") == 0.5);
    assert_true(isnan(frame_value(f, "main_cpu_seconds")));
    toll_frame_free(f);
    assert_int_equal(selection_parse(&selection, "disk_*", NULL), 0);
    f = &frame_copy_new_whole(&m.frame, &selection)->head;
    assert_int_equal(f->row_count, 0);
    assert_null(toll_frame_row(f, 0));
    toll_frame_free(f);
}

static void test_taken_the_metrics_of_a_row(void **state)
{
    struct made m;
    struct toll_frame *f = &copy(&m, NULL)->head;
    size_t known = 0, n = 0;
    double value;
    const struct toll_metric *metric;
    for (; (metric = toll_row_at(toll_frame_row(f, 0), n, &value)); n++) {
        assert_string_equal(metric->entity, "process");
        known += !isnan(value);
    }
    assert_int_equal(n, PROCESS_METRICS);
    assert_int_equal(known, 1);
    assert_non_null(toll_row_at(toll_frame_row(f, 6), 0, NULL));
    toll_frame_free(f);
}

/* What was not asked for is not known, and things of which nothing was asked are not there. */
static void test_taken_what_was_selected(void **state)
{
    struct made m;
    struct toll_frame *f = &copy(&m, "main_cpu_seconds")->head;
    assert_int_equal(f->row_count, 1);
    assert_true(frame_value(f, "main_cpu_seconds") == 1);
    assert_true(isnan(frame_value(f, "target_cpu_seconds")));
    toll_frame_free(f);
}

static void test_taken_holders(void **state)
{
    struct made m;
    struct frame_copy *t = copy(&m, NULL);
    assert_ptr_equal(frame_copy_hold(t), t);
    frame_copy_release(t);
    assert_true(frame_value(&t->head, "target_cpu_seconds") == 0.5);
    frame_copy_release(t);
    frame_copy_release(NULL);
}

/* The last sample stands for one deadline that has passed; the others were missed. */
static void test_schedule_end(void **state)
{
    struct schedule s;
    schedule_begin(&s, 0, NS_PER_MS, 0.01);
    schedule_advance(&s, NS_PER_MS + 1, 0);
    assert_int_equal(s.deadline_ns, 2 * NS_PER_MS);
    schedule_end(&s, 2 * NS_PER_MS - 1);
    assert_int_equal(s.missed, 0);
    schedule_end(&s, 2 * NS_PER_MS + 5);
    assert_int_equal(s.missed, 0);
    schedule_end(&s, 6 * NS_PER_MS + 5);
    assert_int_equal(s.missed, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_schedule_end),
        cmocka_unit_test(test_schedule_first_after_a_millisecond),
        cmocka_unit_test(test_schedule_fixed_does_not_drift),
        cmocka_unit_test(test_schedule_missed_are_counted),
        cmocka_unit_test(test_schedule_late_first_sample),
        cmocka_unit_test(test_schedule_auto_steps),
        cmocka_unit_test(test_schedule_auto_counts),
        cmocka_unit_test(test_schedule_auto_keeps_to_its_budget),
        cmocka_unit_test(test_schedule_cost_is_smoothed),
        cmocka_unit_test(test_schedule_no_time_at_all),
        cmocka_unit_test(test_schedule_looks_between_samples),
        cmocka_unit_test(test_schedule_looks_that_cost),
        cmocka_unit_test(test_schedule_gaps),
        cmocka_unit_test(test_schedule_no_looks_with_auto),
        cmocka_unit_test(test_timeout_when_it_is_due),
        cmocka_unit_test(test_timeout_sigterm_is_enough),
        cmocka_unit_test(test_timeout_sigkill_after_the_grace),
        cmocka_unit_test(test_timeout_without_numbers_of_processes),
        cmocka_unit_test(test_timeout_a_number_that_is_used_again),
        cmocka_unit_test(test_timeout_a_command_that_is_in_time),
        cmocka_unit_test(test_translator_rows),
        cmocka_unit_test(test_translator_looks),
        cmocka_unit_test(test_translator_long_rows),
        cmocka_unit_test(test_translator_mistakes),
        cmocka_unit_test(test_translator_tables),
        cmocka_unit_test(test_taken_rows),
        cmocka_unit_test(test_taken_columns),
        cmocka_unit_test(test_taken_names_of_columns),
        cmocka_unit_test(test_taken_the_whole_alone),
        cmocka_unit_test(test_taken_the_metrics_of_a_row),
        cmocka_unit_test(test_taken_what_was_selected),
        cmocka_unit_test(test_taken_holders),
    };
    return RUN("engine/schedule", tests);
}
