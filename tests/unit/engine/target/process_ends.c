/* SPDX-License-Identifier: MIT
 * Records of ended tasks, joined to lines of processes. The kernel's part is replaced by a queue
 * that the tests fill: the functions of source/bpf/task_ends.h are defined here. */
#include "engine/target/process_ends.h"

#include "tree.h"
#include "unit.h"

#include <limits.h>
#include <sys/resource.h>

/* ==== The kernel's part ======================================================================= */

struct task_ends {
    struct task_end *records; /* borrowed */
    size_t count;
    unsigned busy; /* readings that find the records unfinished */
    bool has_processes;
    struct task_totals totals;
};

int task_ends_open(struct task_ends **ret, int cgroup, bool wants_traffic)
{
    (void)ret, (void)cgroup, (void)wants_traffic;
    return -EPERM;
}

int task_ends_check(void)
{
    return -EPERM;
}

void task_ends_close(struct task_ends *t)
{
    (void)t;
}

int task_ends_fd(const struct task_ends *t)
{
    (void)t;
    return -1;
}

bool task_ends_has_processes(const struct task_ends *t)
{
    return t->has_processes;
}

bool task_ends_has_io(const struct task_ends *t)
{
    return t != NULL;
}

bool task_ends_has_traffic(const struct task_ends *t)
{
    return t == NULL;
}

void task_ends_read(struct task_ends *t, void (*take)(void *arg, const struct task_end *e),
                    void *arg)
{
    if (t->busy) {
        t->busy--;
        return;
    }
    for (size_t i = 0; i < t->count; i++)
        take(arg, &t->records[i]);
    t->count = 0;
}

struct task_totals task_ends_totals(const struct task_ends *t)
{
    return t->totals;
}

ssize_t task_ends_read_traffic(struct task_ends *t, const struct process_traffic **ret)
{
    (void)t, (void)ret;
    return -EOPNOTSUPP;
}

int task_end_status(const struct task_end *e)
{
    return e->exit_code;
}

bool task_end_has_executed(const struct task_end *e)
{
    (void)e;
    return true;
}

/* ==== A run =================================================================================== */

/* The ring holds about as many. */
enum { BATCH = 3000, NS_PER_TICK = 10 * NS_PER_MS };

/* Larger than any pid that Linux hands out: no such process exists. */
enum { NO_PID = 1 << 22 };

struct place {
    struct tree tree;
    struct toll_options options;
    struct tracked t;
    struct target whole;
    struct job_cgroup job;
    struct process_ends ends;
    struct task_ends source;
    struct task_end records[2 * BATCH];
    uint64_t next_signals; /* a process is named by an address that is in use once at a time */
};

static void place_make(struct place *p)
{
    memset(p, 0, sizeof *p);
    tree_make(&p->tree);
    p->t.options = &p->options;
    p->t.start_ns = clock_mono(NULL) - 100 * NS_PER_SECOND;
    p->t.reader.page_bytes = 4096;
    p->t.reader.ns_per_tick = NS_PER_TICK;
    p->t.reader.commands = COMMANDS_MASKED;
    p->t.whole = &p->whole;
    p->t.ends = &p->ends;
    p->whole.bit = 1;
    p->whole.is_launched = true;
    members_init(&p->t.members, sizeof(struct process_source));
    p->source = (struct task_ends){.records = p->records, .has_processes = true};
    row_init(&p->ends.sum, ENTITY_PROCESS);
    p->ends.source = &p->source;
    p->ends.has_processes = p->ends.has_io = true;
    /* A cgroup without processes. */
    job_cgroup_init(&p->job);
    tree_write(&p->tree, "cgroup.procs", "");
    p->job.own.directories[0].dir = open(p->tree.path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    p->job.own.cpu = p->job.own.directories[0].dir;
    assert_true(p->job.own.cpu >= 0);
    p->next_signals = 4096;
}

static void place_remove(struct place *p)
{
    close(p->job.own.cpu);
    process_ends_close(&p->ends);
    members_done(&p->t.members);
    events_done(&p->t.events);
    tree_remove(&p->tree);
}

/* ==== Records ================================================================================= */

struct ended {
    pid_t pid, parent;
    const char *name;
    int status; /* as wait4 has it */
    uint64_t cpu_ns, peak_pages;
    uint64_t signals; /* 0: a process of its own */
    uint64_t age_ns;  /* since it ended */
    bool lacks_process, lacks_thread;
};

static void place_add_record(struct place *p, const struct task_end *e)
{
    assert_true(p->source.count < ARRAY_LEN(p->records));
    p->records[p->source.count++] = *e;
}

/* Of a process with one thread, as the programs write it: the process, then the thread. */
static void place_end(struct place *p, const struct ended *e)
{
    struct task_end r = {
        .signals = e->signals ? e->signals : (p->next_signals += 4096),
        .start_ns = clock_since_boot() - NS_PER_SECOND,
        .end_ns = clock_mono(NULL) - e->age_ns,
        .pid = e->pid,
        .thread = e->pid,
        .parent = e->parent,
        .exit_code = e->status,
    };
    snprintf(r.name, sizeof r.name, "%s", e->name);
    struct task_end process = r, thread = r;
    process.kind = TASK_END_PROCESS;
    process.peak_pages = e->peak_pages;
    int length = snprintf(process.arguments, sizeof process.arguments, "%s%c--password=hunter2",
                          e->name, '\0');
    process.arguments_bytes = (uint32_t)length + 1;
    thread.kind = TASK_END_THREAD;
    thread.threads = 1;
    thread.cpu_ns = e->cpu_ns;
    thread.faults_minor = 10;
    thread.io_written_bytes = 1000;
    p->source.totals.processes++;
    p->source.totals.tasks++;
    p->source.totals.cpu_ns += e->cpu_ns;
    p->source.totals.lost += e->lacks_process + e->lacks_thread;
    if (!e->lacks_process)
        place_add_record(p, &process);
    if (!e->lacks_thread)
        place_add_record(p, &thread);
}

/* The line at that place among those that were sent. */
static const struct event *place_line(const struct place *p, size_t at)
{
    for (size_t i = 0; i < p->t.events.count; i++)
        if (!p->t.events.items[i].note && at-- == 0)
            return &p->t.events.items[i];
    return NULL;
}

static size_t place_lines(const struct place *p)
{
    size_t count = 0;
    while (place_line(p, count))
        count++;
    return count;
}

static bool place_has_note(const struct place *p, const char *part)
{
    for (size_t i = 0; i < p->t.events.count; i++)
        if (p->t.events.items[i].note && strstr(p->t.events.items[i].note, part))
            return true;
    return false;
}

/* What a walk has of a process that it found to have left. */
static struct process seen_process(pid_t pid, const char *command)
{
    struct process seen = {
        .entity = {.kind = ENTITY_PROCESS, .pid = pid, .parent = 7, .targets = 1}};
    row_init(&seen.own, ENTITY_PROCESS);
    snprintf(seen.entity.name, sizeof seen.entity.name, "seen");
    seen.entity.start_ticks = (clock_since_boot() - NS_PER_SECOND) / NS_PER_TICK;
    row_put_u64(&seen.own, process_cpu_seconds, 5 * NS_PER_MS);
    row_put_u64(&seen.own, process_memory_rss_bytes, 12345);
    seen.command = command ? strdup(command) : NULL;
    return seen;
}

static bool place_see_leaving(struct place *p, pid_t pid, const char *command)
{
    struct process seen = seen_process(pid, command);
    struct process_end e = {.process = &seen, .how = LEFT_UNSEEN};
    bool is_kept = process_ends_keep(&p->ends, &p->t, &e);
    free(seen.command);
    return is_kept;
}

/* ==== Joining ================================================================================= */

static void test_record_alone(void **state)
{
    struct place *p = *state;
    place_end(p, &(struct ended){.pid = NO_PID,
                                 .parent = 7,
                                 .name = "cc1",
                                 .status = 3 << 8,
                                 .cpu_ns = 20 * NS_PER_MS,
                                 .peak_pages = 100});
    process_ends_read(&p->ends, &p->t);
    assert_int_equal(place_lines(p), 1);
    const struct event *line = place_line(p, 0);
    assert_true(line->end.is_recorded && line->end.has_status && !line->end.end.signaled);
    assert_int_equal(line->end.end.status, 3);
    assert_int_equal(line->end.threads, 1);
    assert_int_equal(line->process.entity.pid, NO_PID);
    assert_int_equal(line->process.entity.parent, 7);
    assert_string_equal(line->process.entity.name, "cc1");
    assert_string_equal(line->process.command, "cc1 --password=***");
    assert_int_equal(row_u64(&line->process.own, process_cpu_seconds), 20 * NS_PER_MS);
    assert_int_equal(row_u64(&line->process.own, process_memory_peak_bytes), 100 * 4096);
    assert_int_equal(p->ends.pending_count, 0);
}

/* Its identity and its figures are the kernel's; what only walks read is kept. */
static void test_record_after_a_walk(void **state)
{
    struct place *p = *state;
    assert_true(place_see_leaving(p, NO_PID, "seen by a walk"));
    process_ends_read(&p->ends, &p->t);
    assert_int_equal(place_lines(p), 0);
    place_end(p, &(struct ended){.pid = NO_PID,
                                 .parent = 8,
                                 .name = "cc1",
                                 .status = 9,
                                 .cpu_ns = 20 * NS_PER_MS,
                                 .peak_pages = 100});
    process_ends_read(&p->ends, &p->t);
    assert_int_equal(place_lines(p), 1);
    const struct event *line = place_line(p, 0);
    assert_string_equal(line->process.command, "seen by a walk");
    assert_string_equal(line->process.entity.name, "cc1");
    assert_int_equal(line->process.entity.parent, 8);
    assert_true(line->end.end.signaled && line->end.end.status == 9);
    assert_int_equal(row_u64(&line->process.own, process_cpu_seconds), 20 * NS_PER_MS);
    assert_int_equal(row_u64(&line->process.own, process_memory_rss_bytes), 12345);
}

/* A zombie that is not reaped: its line is sent, and the walk that finds it gone sends no other. */
static void test_walk_after_a_record(void **state)
{
    struct place *p = *state;
    place_end(p, &(struct ended){.pid = getpid(), .name = "zombie", .age_ns = 10 * NS_PER_SECOND});
    process_ends_read(&p->ends, &p->t);
    assert_int_equal(place_lines(p), 1);
    struct entity e = {.pid = getpid()};
    assert_true(process_ends_has_sent(&p->ends, &e));
    assert_true(place_see_leaving(p, getpid(), NULL));
    process_ends_read(&p->ends, &p->t);
    assert_int_equal(place_lines(p), 1);
    assert_int_equal(p->ends.pending_count, 0);
}

/* Where the machine stands still between the end of a process and its last switch, the record of
 * its thread comes long after it was reaped. */
static void test_thread_long_after_its_process(void **state)
{
    struct place *p = *state;
    place_end(p, &(struct ended){.pid = NO_PID, .name = "slow", .cpu_ns = 30 * NS_PER_MS});
    p->source.count = 1;
    assert_true(place_see_leaving(p, NO_PID, NULL));
    process_ends_read(&p->ends, &p->t);
    usleep(220 * 1000);
    process_ends_read(&p->ends, &p->t);
    assert_int_equal(place_lines(p), 0);
    p->records[0] = p->records[1];
    p->source.count = 1;
    process_ends_finish(&p->ends, &p->t, &p->job);
    assert_int_equal(place_lines(p), 1);
    assert_true(place_line(p, 0)->end.is_recorded);
    assert_int_equal(row_u64(&place_line(p, 0)->process.own, process_cpu_seconds), 30 * NS_PER_MS);
}

/* A member that walks still meet is sent when they have found it gone. */
static void test_record_of_a_member(void **state)
{
    struct place *p = *state;
    struct member *m = members_add(&p->t.members, NO_PID);
    assert_non_null(m);
    m->process = seen_process(NO_PID, NULL);
    m->was_seen = true;
    place_end(p, &(struct ended){.pid = NO_PID, .name = "cc1", .cpu_ns = 20 * NS_PER_MS});
    process_ends_read(&p->ends, &p->t);
    assert_int_equal(place_lines(p), 0);
    assert_true(place_see_leaving(p, NO_PID, "from a walk"));
    process_ends_read(&p->ends, &p->t);
    assert_int_equal(place_lines(p), 1);
    assert_string_equal(place_line(p, 0)->process.command, "from a walk");
}

/* Both processes have their line, also where the first was not complete. */
static void test_pid_used_again(void **state)
{
    struct place *p = *state;
    place_end(p, &(struct ended){.pid = NO_PID, .name = "first", .cpu_ns = 1});
    place_end(p, &(struct ended){.pid = NO_PID, .name = "second", .cpu_ns = 2});
    process_ends_read(&p->ends, &p->t);
    assert_int_equal(place_lines(p), 2);
    assert_string_equal(place_line(p, 0)->process.entity.name, "first");
    assert_string_equal(place_line(p, 1)->process.entity.name, "second");
}

/* A thread other than the first calls exec: it takes over the pid, and the first thread dies under
 * it. Both have the pid as their own, and are one process. */
static void test_exec_by_a_thread(void **state)
{
    struct place *p = *state;
    for (int has_processes = 0; has_processes < 2; has_processes++) {
        p->ends.has_processes = has_processes;
        struct ended e = {.pid = NO_PID,
                          .name = "python3",
                          .cpu_ns = 30 * NS_PER_MS,
                          .signals = 100 + (uint64_t)has_processes,
                          .lacks_process = true};
        place_end(p, &e);
        p->records[p->source.count - 1].threads = 0; /* there is another */
        process_ends_read(&p->ends, &p->t);
        assert_int_equal(place_lines(p), 0);
        e.name = "true";
        e.cpu_ns = 50 * NS_PER_MS;
        e.lacks_process = !has_processes;
        place_end(p, &e);
        p->records[p->source.count - 1].threads = 2;
        process_ends_read(&p->ends, &p->t);
        assert_int_equal(place_lines(p), 1);
        const struct event *line = place_line(p, 0);
        assert_string_equal(line->process.entity.name, "true");
        assert_int_equal(line->end.threads, 2);
        assert_int_equal(row_u64(&line->process.own, process_cpu_seconds), 80 * NS_PER_MS);
        events_clear(&p->t.events);
    }
}

/* ==== Lost records ============================================================================ */

/* One whose thread's record was lost is there at the end, without figures and not as recorded. */
static void test_lost_record_of_a_thread(void **state)
{
    struct place *p = *state;
    place_end(p, &(struct ended){.pid = NO_PID,
                                 .name = "cut",
                                 .cpu_ns = NS_PER_SECOND,
                                 .status = 5 << 8,
                                 .lacks_thread = true});
    process_ends_finish(&p->ends, &p->t, &p->job);
    assert_int_equal(place_lines(p), 1);
    const struct event *line = place_line(p, 0);
    assert_false(line->end.is_recorded);
    assert_int_equal(line->end.end.status, 5);
    assert_true(line->process.denied & BIT(process_cpu_seconds) ||
                !row_has(&line->process.own, process_cpu_seconds));
    assert_true(place_has_note(p, "the kernel dropped 1 record of"));
    assert_true(place_has_note(p, "covers 0.00 s of 1.00 s of CPU time"));
    assert_int_equal(p->ends.exact & ~BIT(process_processes_started_count), 0);
    assert_int_equal(p->whole.ledger.recorded, 1);
}

/* What a walk found to have left has its line without a record, as far as it was seen. */
static void test_all_records_lost(void **state)
{
    struct place *p = *state;
    place_end(
        p, &(struct ended){.pid = NO_PID, .lacks_process = true, .lacks_thread = true, .name = ""});
    assert_true(place_see_leaving(p, NO_PID, "seen"));
    process_ends_finish(&p->ends, &p->t, &p->job);
    assert_int_equal(place_lines(p), 1);
    assert_false(place_line(p, 0)->end.is_recorded || place_line(p, 0)->end.has_status);
    assert_int_equal(row_u64(&place_line(p, 0)->process.own, process_cpu_seconds), 5 * NS_PER_MS);
}

/* Nothing is lost and no process lives: what was counted of all processes is exact. */
static void test_nothing_lost(void **state)
{
    struct place *p = *state;
    for (int i = 0; i < 10; i++)
        place_end(p, &(struct ended){
                         .pid = NO_PID + i, .name = "cc1", .cpu_ns = NS_PER_MS, .peak_pages = 10});
    p->job.has_cpu = true;
    p->job.cpu.cpu_ns = 10 * NS_PER_MS;
    process_ends_finish(&p->ends, &p->t, &p->job);
    assert_int_equal(place_lines(p), 10);
    assert_int_equal(p->t.events.count, 10);
    assert_true(p->ends.exact & BIT(process_io_written_bytes));
    assert_true(p->ends.exact & BIT(process_memory_peak_bytes));
    assert_int_equal(row_u64(&p->ends.sum, process_io_written_bytes), 10 * 1000);
}

/* The cgroup has counted more than the records. */
static void test_discrepancy(void **state)
{
    struct place *p = *state;
    place_end(p, &(struct ended){.pid = NO_PID, .name = "cc1", .cpu_ns = NS_PER_SECOND});
    p->job.has_cpu = true;
    p->job.cpu.cpu_ns = 2 * NS_PER_SECOND;
    process_ends_finish(&p->ends, &p->t, &p->job);
    assert_true(
        place_has_note(p, "show 1.000 s of CPU time, but the cgroup of the command 2.000 s"));
    assert_false(p->ends.exact & BIT(process_io_written_bytes));
}

/* The programs have counted tasks whose records are still being written, and nothing of them was
 * read: that does not look as if there were none. */
static void test_records_that_are_being_written(void **state)
{
    struct place *p = *state;
    place_end(p, &(struct ended){.pid = NO_PID, .name = "cc1", .cpu_ns = NS_PER_SECOND});
    p->source.busy = 100;
    p->job.has_cpu = true;
    p->job.cpu.cpu_ns = NS_PER_SECOND;
    process_ends_finish(&p->ends, &p->t, &p->job);
    assert_int_equal(place_lines(p), 1);
    assert_int_equal(p->t.events.count, 1);
    assert_true(p->ends.exact & BIT(process_io_written_bytes));
}

static void test_records_that_stay_unfinished(void **state)
{
    struct place *p = *state;
    place_end(p, &(struct ended){.pid = NO_PID, .name = "cc1", .cpu_ns = NS_PER_SECOND});
    p->source.busy = UINT_MAX;
    p->job.has_cpu = true;
    p->job.cpu.cpu_ns = NS_PER_SECOND;
    process_ends_finish(&p->ends, &p->t, &p->job);
    assert_true(place_has_note(p, "the ends of 0 of 1 tasks were recorded"));
    assert_false(p->ends.exact & BIT(process_io_written_bytes));
}

/* More were born than have ended, none lives, and what is missing used too little for the
 * comparison of CPU times. */
static void test_task_without_an_end(void **state)
{
    struct place *p = *state;
    place_end(p, &(struct ended){.pid = NO_PID, .name = "cc1", .cpu_ns = NS_PER_SECOND});
    p->source.totals.born = 2;
    p->job.has_cpu = true;
    p->job.cpu.cpu_ns = NS_PER_SECOND;
    process_ends_finish(&p->ends, &p->t, &p->job);
    assert_true(place_has_note(p, "the ends of 1 of 3 tasks were recorded"));
    assert_int_equal(p->ends.exact, 0);
}

/* One that lives has not ended. */
static void test_task_that_lives(void **state)
{
    struct place *p = *state;
    tree_write(&p->tree, "cgroup.procs", "1\n");
    place_end(p, &(struct ended){.pid = NO_PID, .name = "cc1", .cpu_ns = NS_PER_SECOND});
    p->source.totals.born = 1;
    process_ends_finish(&p->ends, &p->t, &p->job);
    assert_int_equal(p->t.events.count, 1);
    assert_int_equal(p->ends.exact, BIT(process_processes_started_count));
}

/* ==== Folding ================================================================================= */

enum { LINES_AT_MOST = 10000 };

/* Ends, in batches as the ring holds them, and what was sent in between. */
static size_t storm_of(struct place *p, size_t count, struct ended (*one)(size_t i))
{
    size_t sent = 0;
    for (size_t i = 0; i < count;) {
        for (size_t n = 0; n < BATCH && i < count; n++, i++) {
            struct ended e = one(i);
            place_end(p, &e);
        }
        process_ends_read(&p->ends, &p->t);
        sent += place_lines(p);
        events_clear(&p->t.events);
    }
    process_ends_finish(&p->ends, &p->t, &p->job);
    return sent + place_lines(p);
}

static struct ended one_of_a_few(size_t i)
{
    return (struct ended){
        .pid = NO_PID + (pid_t)i,
        .parent = (pid_t)(i % 3) + 1,
        .name = i % 2 ? "cc1" : "as",
        .status = i % 5 ? 0 : 1 << 8,
        .cpu_ns = i == 15001 ? NS_PER_SECOND : NS_PER_MS,
        .peak_pages = i,
    };
}

static void test_folding_by_program_parent_and_outcome(void **state)
{
    struct place *p = *state;
    enum { COUNT = 16000, FOLDS = 3 * 2 * 2 };
    /* One used enough to have its own line. */
    assert_int_equal(storm_of(p, COUNT, one_of_a_few), LINES_AT_MOST + 1 + FOLDS);
    assert_int_equal(place_lines(p), FOLDS);
    assert_true(
        place_has_note(p, "5999 of 16000 processes, which used less than 0.1 s of CPU time each"));
    assert_true(place_has_note(p, "are grouped into 12 lines by program, parent and exit status"));
    uint64_t count = 0, cpu_ns = 0, bytes = 0, most = 0;
    for (size_t i = 0; i < FOLDS; i++) {
        const struct event *line = place_line(p, i);
        const struct row *own = &line->process.own;
        count += line->end.count;
        cpu_ns += row_u64(own, process_cpu_seconds);
        bytes += row_u64(own, process_io_written_bytes);
        most = max_u64(most, row_u64(own, process_memory_peak_bytes));
        assert_int_equal(line->end.threads, line->end.count);
        assert_null(line->process.command);
        for (size_t k = 0; k < i; k++) {
            const struct event *other = place_line(p, k);
            assert_false(other->process.entity.parent == line->process.entity.parent &&
                         other->end.end.status == line->end.end.status &&
                         strcmp(other->process.entity.name, line->process.entity.name) == 0);
        }
    }
    assert_int_equal(count, COUNT - LINES_AT_MOST - 1);
    assert_int_equal(cpu_ns, count * NS_PER_MS);
    assert_int_equal(bytes, count * 1000);
    assert_int_equal(most, (COUNT - 1) * 4096);
}

/* Each with another parent, and then each with another name too. */
static struct ended one_of_many_programs(size_t i)
{
    static char names[20000][8];
    snprintf(names[i], sizeof names[i], "p%zu", i < 14000 ? i % 10 : i);
    return (struct ended){
        .pid = NO_PID + (pid_t)i, .parent = (pid_t)i + 1, .name = names[i], .cpu_ns = NS_PER_MS};
}

static void test_more_folds_than_there_is_room_for(void **state)
{
    struct place *p = *state;
    enum { COUNT = 20000, FOLDS = 256 };
    assert_int_equal(storm_of(p, COUNT, one_of_many_programs), LINES_AT_MOST + FOLDS);
    uint64_t count = 0;
    bool has_others = false;
    for (size_t i = 0; i < FOLDS; i++) {
        count += place_line(p, i)->end.count;
        has_others |= strcmp(place_line(p, i)->process.entity.name, "(others)") == 0;
    }
    assert_int_equal(count, COUNT - LINES_AT_MOST);
    assert_true(has_others);
}

/* ==== A storm ================================================================================= */

enum { STORM = 1000 * 1000, PIDS = 32768 };

static long peak_kib(void)
{
    struct rusage usage;
    assert_int_equal(getrusage(RUSAGE_SELF, &usage), 0);
    return usage.ru_maxrss;
}

/* What is kept does not grow with the number of processes. */
static void assert_is_bounded(const struct place *p)
{
    assert_true(p->ends.pending_capacity <= 2 * BATCH);
    assert_true(p->ends.fold_capacity <= 512);
}

/* The pids are used again, as the kernel does. */
static struct ended one_of_a_storm(size_t i)
{
    return (struct ended){.pid = NO_PID + (pid_t)(i % PIDS),
                          .parent = (pid_t)(i % 1000) + 1,
                          .name = i % 10 ? "true" : "sh",
                          .cpu_ns = NS_PER_MS};
}

static void test_a_million_processes(void **state)
{
    struct place *p = *state;
    long before_kib = peak_kib();
    uint64_t cpu_ns = clock_thread_cpu();
    size_t lines = storm_of(p, STORM, one_of_a_storm);
    cpu_ns = clock_thread_cpu() - cpu_ns;
    print_message("a million ends: %.2f us of CPU time each, %ld KiB of memory, %zu lines\n",
                  (double)cpu_ns / STORM / 1000, peak_kib() - before_kib, lines);
    assert_is_bounded(p);
    assert_true(lines <= LINES_AT_MOST + 256);
    uint64_t count = LINES_AT_MOST;
    for (size_t i = 0; i < place_lines(p); i++)
        count += place_line(p, i)->end.count;
    assert_int_equal(count, STORM);
    assert_int_equal(p->ends.ended, STORM);
    assert_int_equal(p->whole.ledger.recorded, STORM);
    assert_int_equal(row_u64(&p->ends.sum, process_cpu_seconds), (uint64_t)STORM * NS_PER_MS);
}

/* Where records are lost, one of the two of a process may be there: it does not stay for ever. */
static struct ended one_of_a_storm_with_losses(size_t i)
{
    struct ended e = one_of_a_storm(i);
    e.pid = NO_PID + (pid_t)i;
    e.age_ns = 3 * NS_PER_SECOND;
    e.lacks_process = i % 4 == 1;
    e.lacks_thread = i % 4 == 2;
    return e;
}

static void test_a_storm_with_losses(void **state)
{
    struct place *p = *state;
    enum { COUNT = 200 * 1000 };
    storm_of(p, COUNT, one_of_a_storm_with_losses);
    assert_is_bounded(p);
    assert_true(place_has_note(p, "the kernel dropped 100000 records"));
}

/* A process of which a thread has ended long ago lives on, although records of others were lost. */
static void test_threads_of_a_long_process(void **state)
{
    struct place *p = *state;
    struct ended e = {.pid = getpid(),
                      .name = "long",
                      .age_ns = 10 * NS_PER_SECOND,
                      .cpu_ns = NS_PER_SECOND,
                      .signals = 64,
                      .lacks_process = true};
    place_end(p, &e);
    p->records[p->source.count - 1].thread = getpid() + 1;
    p->records[p->source.count - 1].threads = 0;
    for (int i = 0; i < 3; i++)
        process_ends_read(&p->ends, &p->t);
    assert_int_equal(p->ends.pending_count, 1);
    e.age_ns = 0;
    e.lacks_process = false;
    place_end(p, &e);
    p->records[p->source.count - 1].threads = 2;
    process_ends_finish(&p->ends, &p->t, &p->job);
    assert_int_equal(place_lines(p), 1);
    assert_int_equal(row_u64(&place_line(p, 0)->process.own, process_cpu_seconds),
                     2 * NS_PER_SECOND);
}

static int setup(void **state)
{
    struct place *p = malloc(sizeof *p);
    assert_non_null(p);
    place_make(p);
    *state = p;
    return 0;
}

static int teardown(void **state)
{
    place_remove(*state);
    free(*state);
    return 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_a_million_processes), /* first: its peak is not hidden by another's */
        TEST(test_record_alone),
        TEST(test_record_after_a_walk),
        TEST(test_walk_after_a_record),
        TEST(test_thread_long_after_its_process),
        TEST(test_record_of_a_member),
        TEST(test_pid_used_again),
        TEST(test_exec_by_a_thread),
        TEST(test_lost_record_of_a_thread),
        TEST(test_all_records_lost),
        TEST(test_nothing_lost),
        TEST(test_discrepancy),
        TEST(test_records_that_are_being_written),
        TEST(test_records_that_stay_unfinished),
        TEST(test_task_without_an_end),
        TEST(test_task_that_lives),
        TEST(test_folding_by_program_parent_and_outcome),
        TEST(test_more_folds_than_there_is_room_for),
        TEST(test_a_storm_with_losses),
        TEST(test_threads_of_a_long_process),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
