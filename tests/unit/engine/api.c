/* SPDX-License-Identifier: MIT */
#include "base/util.h"
#include "layout/layout.h"
#include "proc_tree.h"
#include "toll.h"
#include "tree.h"
#include "unit.h"

#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>

/* ---- api ------------------------------------------------------------------------------------ */

/* The calls of toll.h, as a program makes them. */

static struct toll_tracker *make(void)
{
    struct toll_tracker *t = NULL;
    struct toll_options o = {.size = sizeof o};
    assert_int_equal(toll_tracker_new(&t, &o, NULL), 0);
    return t;
}

static void test_api_tables(void **state)
{
    size_t n = 0;
    for (const struct toll_metric *m; (m = toll_metric_at(n)); n++) {
        assert_true(*m->entity && *m->name && *m->title && *m->kind && *m->fold && *m->help);
        assert_non_null(m->unit);
        assert_non_null(m->otel);
    }
    assert_true(n > 30);
    assert_null(toll_metric_at(n + 1));
    assert_null(toll_metric_at(SIZE_MAX));
    assert_string_equal(toll_format_at(0)->name, "csv");
    for (const struct toll_format *f = toll_format_at(n = 0); f; f = toll_format_at(++n))
        assert_true(*f->name && f->suffix && *f->place && *f->help);
    assert_null(toll_format_at(SIZE_MAX));
    assert_string_equal(toll_format_of("runs.db")->name, "sqlite");
    assert_string_equal(toll_format_of("a.sub-tracking.csv")->name, "sub-tracking");
    assert_string_equal(toll_format_of("run.om,every=5s")->name, "openmetrics");
    assert_string_equal(toll_format_of("csv:run.json")->name, "csv");
    assert_null(toll_format_of("run"));
    assert_string_equal(toll_version(), TOLL_VERSION);
}

static void check_number(double number, const char *unit, const char *expected)
{
    char text[32] = "x";
    assert_int_equal(toll_number_text(number, unit, text, sizeof text), strlen(expected));
    assert_string_equal(text, expected);
}

static void test_api_numbers_as_text(void **state)
{
    check_number(271, "seconds", "4m 31s");
    check_number(0.0123, "seconds", "12.3 ms");
    check_number(0, "seconds", "0 s");
    check_number(-5, "seconds", "-5.00 s");
    check_number(1.82 * (1 << 30), "bytes", "1.82 GiB");
    check_number(0.235, "ratio", "23.5 %");
    check_number(1234, "", "1,234");
    check_number(2.5, "", "2.50");
    check_number((double)NAN, "bytes", "unknown");
    check_number(HUGE_VAL, "", "unknown");
    check_number(1e300, "", "1,000,000,000,000,000,000");
    check_number(1, "furlongs", "");
    check_number(1, NULL, "");
    char cut[4];
    assert_int_equal(toll_number_text(271, "seconds", cut, sizeof cut), 6);
    assert_string_equal(cut, "4m ");
    assert_int_equal(toll_number_text(271, "seconds", NULL, 0), 6);
}

/* Every row, name and value is there again. */
static void test_api_packed_frames(void **state)
{
    struct toll_frame *frame = NULL, *again = NULL, *none = NULL;
    struct toll_options o = {
        .size = sizeof o, .system = true, .processes = TOLL_PROCESSES_ALL, .gpus = "none"};
    struct toll_target self = {.size = sizeof self};
    struct toll_error e;
    void *bytes = NULL;
    size_t size = 0;
    assert_int_equal(toll_snapshot(&frame, &self, &o, NULL), 0);
    assert_int_equal(toll_frame_pack(frame, &bytes, &size), 0);
    assert_int_equal(toll_frame_unpack(&again, bytes, size, &e), 0);
    assert_int_equal(again->number, frame->number);
    assert_int_equal(again->real_ns, frame->real_ns);
    assert_int_equal(again->row_count, frame->row_count);
    for (size_t i = 0; i < frame->row_count; i++) {
        const struct toll_row *a = toll_frame_row(frame, i), *b = toll_frame_row(again, i);
        assert_string_equal(a->entity, b->entity);
        assert_string_equal(a->part, b->part);
        assert_string_equal(a->name, b->name);
        assert_true(a->pid == b->pid && a->parent == b->parent);
        double x, y;
        for (size_t k = 0; toll_row_at(a, k, &x); k++) {
            assert_non_null(toll_row_at(b, k, &y));
            assert_true(x == y || (isnan(x) && isnan(y)));
        }
    }
    toll_frame_free(again);
    toll_frame_free(frame);

    /* Whatever is cut off, it is noticed; so is a byte too many. */
    for (size_t cut = 0; cut < size; cut++)
        assert_int_equal(toll_frame_unpack(&none, bytes, cut, &e), -EBADMSG);
    unsigned char *longer = calloc(1, size + 1);
    assert_non_null(longer);
    memcpy(longer, bytes, size);
    assert_int_equal(toll_frame_unpack(&none, longer, size + 1, &e), -EBADMSG);
    /* Whatever is changed, nothing worse than an error or another frame comes of it. */
    for (size_t i = 0; i < size; i++) {
        memcpy(longer, bytes, size);
        longer[i] ^= 0xff;
        if (toll_frame_unpack(&none, longer, size, &e) == 0)
            toll_frame_free(none);
    }
    memcpy(longer, "toll frame 2\n", 13);
    assert_int_equal(toll_frame_unpack(&none, longer, size, &e), -EOPNOTSUPP);
    assert_string_equal(e.message,
                        "packed frame: unknown version (expected 1); a newer toll can read it");
    free(longer);
    free(bytes);
    assert_int_equal(toll_frame_unpack(NULL, "", 0, &e), -EINVAL);
    assert_int_equal(toll_frame_unpack(&none, NULL, 0, &e), -EINVAL);
    assert_int_equal(toll_frame_pack(NULL, &bytes, &size), -EINVAL);
}

static void refuse(struct toll_options o)
{
    struct toll_tracker *t = NULL;
    struct toll_error e = {0};
    o.size = sizeof o;
    assert_int_equal(toll_tracker_new(&t, &o, &e), -EINVAL);
    assert_int_equal(e.code, -EINVAL);
    assert_true(*e.message);
    assert_null(t);
    assert_int_equal(toll_tracker_new(&t, &o, NULL), -EINVAL);
}

static void test_api_settings_are_checked(void **state)
{
    const char *no_equals[] = {"a=b", "x", NULL}, *no_key[] = {"=x", NULL};
    refuse((struct toll_options){.interval_ns = 1});
    refuse((struct toll_options){.interval_ns = 86401 * NS_PER_SECOND});
    refuse((struct toll_options){.metrics = "no_such_metric"});
    refuse((struct toll_options){.metrics = ""});
    refuse((struct toll_options){.labels = no_equals});
    refuse((struct toll_options){.labels = no_key});
    refuse((struct toll_options){.budget_percent = -1});
    refuse((struct toll_options){.budget_percent = 101});
    refuse((struct toll_options){.budget_percent = 0.0 / 0.0});
    refuse((struct toll_options){.memory = (enum toll_memory)7});
    refuse((struct toll_options){.processes = (enum toll_processes)7});
    refuse((struct toll_options){.wait = (enum toll_wait)7});
}

static int add_output(struct toll_output o, struct toll_error *e)
{
    struct toll_tracker *t = make();
    int r = toll_tracker_add_output(t, &o, e);
    toll_tracker_free(t);
    return r;
}

static void test_api_outputs_are_checked(void **state)
{
    struct toll_error e;
    assert_int_equal(add_output((struct toll_output){.size = sizeof(struct toll_output)}, &e),
                     -EINVAL);
    assert_non_null(strstr(e.message, "format"));
    struct toll_output o = {.size = sizeof o, .format = "jsonl", .fd = 99};
    assert_int_equal(add_output(o, &e), -EBADF);
    assert_non_null(strstr(e.message, "descriptor 99"));
    o.fd = 2;
    o.flags = 1 << 9;
    assert_int_equal(add_output(o, &e), -EINVAL);
    assert_non_null(strstr(e.message, "0x200"));
    o.flags = 0;
    assert_int_equal(add_output(o, &e), 0);
    o.size = 0;
    assert_int_equal(add_output(o, &e), -EINVAL);
}

/* A reader that goes away costs figures, not the program. */
static void test_api_a_broken_pipe(void **state)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    close(ends[0]);
    struct toll_tracker *t = make();
    struct toll_output o = {.size = sizeof o, .format = "jsonl", .fd = ends[1]};
    char *argv[] = {(char[]){"true"}, NULL};
    assert_int_equal(toll_tracker_add_output(t, &o, NULL), 0);
    assert_int_equal(toll_tracker_launch(t, argv, NULL, NULL), 0);
    while (toll_tracker_step(t) > 0)
        usleep(1000);
    assert_int_equal(toll_tracker_finish(t, NULL), -EPIPE);
    toll_tracker_free(t);
    close(ends[1]);
}

/* What is not given has its defaults. */
static void test_api_nothing_but_defaults(void **state)
{
    struct toll_tracker *t = NULL;
    assert_int_equal(toll_tracker_new(&t, NULL, NULL), 0);
    assert_int_equal(toll_tracker_add_target(t, NULL, NULL), 0); /* this process */
    assert_int_equal(toll_tracker_start(t, NULL), 0);
    assert_int_equal(toll_tracker_fd(t), -EINVAL);
    assert_false(toll_tracker_contains(t, getpid()));
    struct toll_end no_size = {0};
    assert_int_equal(toll_tracker_finish(t, &no_size), -EINVAL);
    assert_int_equal(toll_tracker_finish(t, NULL), 0);
    toll_tracker_free(t);
}

static void test_api_a_fork_has_no_tracker(void **state)
{
    struct toll_tracker *t = make();
    pid_t child = fork();
    if (child == 0) {
        struct toll_output o = {.size = sizeof o, .format = "jsonl", .fd = 2};
        char *argv[] = {(char[]){"true"}, NULL};
        bool right = toll_tracker_add_target(t, NULL, NULL) == -ESRCH &&
                     toll_tracker_add_output(t, &o, NULL) == -ESRCH &&
                     toll_tracker_launch(t, argv, NULL, NULL) == -ESRCH &&
                     toll_tracker_attach(t, NULL) == -ESRCH &&
                     toll_tracker_replay(t, "/", NULL) == -ESRCH;
        _exit(right ? 0 : 1);
    }
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    toll_tracker_free(t);
}

/* A program built against an older header gives less. */
static void test_api_smaller_structs(void **state)
{
    struct toll_tracker *t = NULL;
    struct toll_options o = {.size = sizeof o.size, .interval_ns = 1};
    assert_int_equal(toll_tracker_new(&t, &o, NULL), 0); /* the bad interval is not looked at */
    toll_tracker_free(t);
    toll_tracker_free(NULL);
}

static void test_api_out_of_turn(void **state)
{
    struct toll_tracker *t = make();
    struct toll_end end = {.size = sizeof end};
    struct toll_error e = {0};
    assert_true(toll_tracker_step(t) < 0);
    assert_true(toll_tracker_finish(t, &end) < 0);
    assert_int_equal(toll_tracker_pid(t), 0);
    assert_false(toll_tracker_contains(t, getpid()));
    assert_true(toll_tracker_fd(t) < 0);
    struct toll_output bad = {.size = sizeof bad, .destination = "/no/such/place/x.csv"};
    assert_int_equal(toll_tracker_add_output(t, &bad, &e), -ENOENT);
    bad.destination = "x.unknown";
    assert_int_equal(toll_tracker_add_output(t, &bad, &e), -EINVAL);
    assert_int_equal(toll_tracker_replay(t, "/no/such/place", &e), -ENOENT);
    toll_tracker_free(t);
}

static void test_api_a_command_that_cannot_be_run(void **state)
{
    struct tree tree;
    char path[512];
    tree_make(&tree);
    struct toll_tracker *t = make();
    struct toll_output out = {.size = sizeof out, .destination = tree_path(&tree, path, "x.csv")};
    assert_int_equal(toll_tracker_add_output(t, &out, NULL), 0);
    assert_true(tree_has(&tree, "x.csv"));
    char *argv[] = {strdupa("/no/such/command"), NULL};
    struct toll_launch launch = {.size = sizeof launch};
    struct toll_error e = {0};
    assert_int_equal(toll_tracker_launch(t, argv, &launch, &e), -ENOENT);
    assert_int_equal(launch.exec_errno, ENOENT);
    assert_int_equal(toll_tracker_pid(t), 0);
    toll_tracker_free(t);
    assert_false(tree_has(&tree, "x.csv"));
    tree_remove(&tree);
}

/* As the head of toll.h shows it. */
static void test_api_a_whole_run(void **state)
{
    struct tree tree;
    char path[512];
    unsigned before = tree_open_fds();
    tree_make(&tree);
    struct toll_tracker *t = make();
    struct toll_output out = {.size = sizeof out, .destination = tree_path(&tree, path, "x.json")};
    assert_int_equal(toll_tracker_add_output(t, &out, NULL), 0);
    char *argv[] = {strdupa("sh"), strdupa("-c"), strdupa("sleep 0.05; exit 7"), NULL};
    assert_int_equal(toll_tracker_launch(t, argv, NULL, NULL), 0);
    pid_t pid = toll_tracker_pid(t);
    assert_true(pid > 0);
    assert_true(toll_tracker_contains(t, pid));
    assert_false(toll_tracker_contains(t, 1));
    assert_false(toll_tracker_contains(t, getpid()));
    assert_int_equal(toll_tracker_add_output(t, &out, NULL), -EINVAL);
    assert_int_equal(toll_tracker_launch(t, argv, NULL, NULL), -EINVAL);
    struct pollfd fd = {.fd = toll_tracker_fd(t), .events = POLLIN};
    while (toll_tracker_step(t) > 0)
        poll(&fd, 1, 1000);
    struct toll_end end = {.size = sizeof end};
    assert_int_equal(toll_tracker_finish(t, &end), 0);
    assert_true(end.ended && !end.signaled);
    assert_int_equal(end.status, 7);
    assert_int_equal(toll_tracker_finish(t, &end), -EINVAL);
    assert_int_equal(toll_tracker_step(t), -EINVAL);
    toll_tracker_free(t);
    char *text = tree_read(&tree, "x.json");
    assert_non_null(strstr(text, "\"code\": 7"));
    free(text);
    tree_remove(&tree);
    assert_int_equal(tree_open_fds(), before);
}

/* Given up half-way: the command goes on, nothing leaks. */
static void test_api_freed_while_it_runs(void **state)
{
    unsigned before = tree_open_fds();
    struct toll_tracker *t = make();
    char *argv[] = {strdupa("sleep"), strdupa("60"), NULL};
    assert_int_equal(toll_tracker_launch(t, argv, NULL, NULL), 0);
    assert_int_equal(toll_tracker_step(t), 1);
    pid_t pid = toll_tracker_pid(t);
    struct toll_end end = {.size = sizeof end};
    assert_int_equal(toll_tracker_finish(t, &end), 0);
    assert_false(end.ended);
    toll_tracker_free(t);
    assert_int_equal(kill(pid, SIGKILL), 0);
    assert_int_equal(tree_open_fds(), before);
}

/* The limit of open files is the program's, not ours. */
static void test_api_attach_leaves_the_limit(void **state)
{
    struct rlimit before, lower, after;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    lower = (struct rlimit){.rlim_cur = before.rlim_max / 2, .rlim_max = before.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &lower), 0);
    struct toll_options o = {.size = sizeof o, .system = true};
    struct toll_tracker *t = NULL;
    assert_int_equal(toll_tracker_new(&t, &o, NULL), 0);
    assert_int_equal(toll_tracker_attach(t, NULL), 0);
    toll_tracker_free(t);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &after), 0);
    assert_int_equal(after.rlim_cur, lower.rlim_cur);
    setrlimit(RLIMIT_NOFILE, &before);
}

/* ---- results -------------------------------------------------------------------------------- */

static struct toll_tracker *attach(bool system, size_t targets)
{
    struct toll_tracker *t = NULL;
    struct toll_options o = {.size = sizeof o, .system = system, .interval_ns = 2 * NS_PER_MS};
    assert_int_equal(toll_tracker_new(&t, &o, NULL), 0);
    struct toll_target target = {.size = sizeof target, .id = getppid(), .name = "above"};
    for (size_t i = 0; i < targets; i++, target.name = "again")
        assert_int_equal(toll_tracker_add_target(t, &target, NULL), 0);
    assert_int_equal(toll_tracker_attach(t, NULL), 0);
    for (unsigned i = 0; i < 5; i++) {
        usleep(4000);
        assert_int_equal(toll_tracker_step(t), 1);
    }
    return t;
}

static int ask(struct toll_tracker *t, const char *name, struct toll_figure *f)
{
    *f = (struct toll_figure){.size = sizeof *f};
    return toll_tracker_figure(t, name, f);
}

static void test_results_figures(void **state)
{
    struct toll_figure f;
    struct toll_tracker *t = attach(true, 2);
    assert_int_equal(ask(t, "target_cpu_seconds", &f), 0);
    assert_true(f.total >= 0 && isnan(f.last) && f.quality > TOLL_QUALITY_UNKNOWN && *f.from);
    assert_int_equal(ask(t, "target.again.memory_rss_bytes", &f), 0);
    assert_true(f.last > 0 && isnan(f.total) && f.max >= f.min && f.mean > 0);
    assert_int_equal(ask(t, "system_memory_used_bytes", &f), 0);
    assert_true(f.last > 0);
    assert_string_equal(f.quality_word, "sampled");
    assert_int_equal(f.quality, TOLL_QUALITY_SAMPLED);
    assert_int_equal(ask(t, "self_cpu_seconds", &f), 0);
    assert_true(f.total > 0);
    assert_int_equal(ask(t, "target_network_sent_bytes", &f), 0); /* was not asked for */
    assert_string_equal(f.quality_word, "unknown");
    assert_true(isnan(f.total));
    assert_int_equal(ask(t, "target_no_such_thing", &f), -ENOENT);
    assert_int_equal(ask(t, "", &f), -ENOENT);
    assert_int_equal(toll_tracker_figure(t, NULL, &f), -EINVAL);
    f.size = 0;
    assert_int_equal(toll_tracker_figure(t, "target_cpu_seconds", &f), -EINVAL);
    toll_tracker_finish(t, NULL);
    assert_int_equal(ask(t, "target_cpu_seconds", &f), 0);
    toll_tracker_free(t);
}

/* A program that was built against a smaller struct. */
static void test_results_a_smaller_struct(void **state)
{
    struct toll_figure f;
    struct toll_tracker *t = attach(false, 1);
    memset(&f, 0xAA, sizeof f);
    f.size = offsetof(struct toll_figure, min);
    assert_int_equal(toll_tracker_figure(t, "target_memory_rss_bytes", &f), 0);
    assert_int_equal(f.size, offsetof(struct toll_figure, min));
    assert_true(f.last > 0);
    unsigned char after[sizeof(double)];
    memcpy(after, &f.min, sizeof after);
    assert_int_equal(after[0], 0xAA);
    toll_tracker_free(t);
}

static void test_results_reports(void **state)
{
    char *text = NULL;
    struct toll_error e;
    struct toll_tracker *t = attach(false, 1);
    assert_int_equal(toll_tracker_report(t, "json", 0, &text, &e), 0);
    assert_non_null(strstr(text, "\"schema\": \"toll.summary/1\""));
    free(text);
    assert_int_equal(toll_tracker_report(t, "text", 0, &text, &e), 0);
    assert_non_null(strstr(text, "measured for"));
    free(text);
    assert_int_equal(toll_tracker_report(t, "csv", 0, &text, &e), -EINVAL);
    assert_non_null(strstr(e.message, "csv"));
    assert_int_equal(toll_tracker_report(t, "bread", 0, &text, &e), -EINVAL);
    assert_int_equal(toll_tracker_report(t, NULL, 0, &text, &e), -EINVAL);
    assert_int_equal(toll_tracker_finish(t, NULL), 0);
    assert_int_equal(toll_tracker_report(t, "text", 0, &text, &e), 0);
    free(text);
    toll_tracker_free(t);
}

/* Two processes of much memory: their page tables are read only after half a second. */
static void put_large_job(const struct tree *tree)
{
    tree_write(tree, "script",
               "start 1731000000\nhost box\nkernel 6.1\ncpus 2\ncommand job\ntracker 9\nmain 10\n"
               "tick 0.001 t0\ntick 0.002 t0\ntick 1.000 t0\ntick 2.000 t0\ntick 3.000 t0\n");
    struct tree below;
    snprintf(below.path, sizeof below.path, "%.40s/t0", tree->path);
    for (int pid = 10; pid <= 11; pid++) {
        proc_stat(&below, &(struct proc_facts){.pid = pid,
                                               .parent = pid - 1,
                                               .user = 5,
                                               .virtual_bytes = 1 << 30,
                                               .rss_pages = 100000});
        proc_io(&below, pid, "io", 100, 10);
        proc_children(&below, pid, pid, pid == 10 ? "11 " : "");
        proc_write(&below, pid, "smaps_rollup",
                   "00400000-7ff 0 [rollup]\nRss: 400000 kB\nPss: 300000 kB\n"
                   "Private_Clean: 0 kB\nPrivate_Dirty: 200000 kB\n");
    }
}

static char *replay_and_report(const char *directory, bool asks_between)
{
    struct toll_tracker *t = NULL;
    struct toll_options o = {.size = sizeof o};
    struct toll_figure f;
    char *text = NULL;
    assert_int_equal(toll_tracker_new(&t, &o, NULL), 0);
    assert_int_equal(toll_tracker_replay(t, directory, NULL), 0);
    while (toll_tracker_step(t) > 0) {
        if (!asks_between)
            continue;
        assert_int_equal(ask(t, "target_memory_distinct_bytes", &f), 0);
        assert_int_equal(toll_tracker_report(t, "text", 0, &text, NULL), 0);
        free(text);
    }
    assert_int_equal(toll_tracker_finish(t, NULL), 0);
    assert_int_equal(toll_tracker_report(t, "json", 0, &text, NULL), 0);
    toll_tracker_free(t);
    return text;
}

/* Whether or not a program asks meanwhile, the summary is the same to the byte. */
static void test_results_asking_changes_nothing(void **state)
{
    struct tree tree;
    tree_make(&tree);
    put_large_job(&tree);
    char *alone = replay_and_report(tree.path, false);
    char *asked = replay_and_report(tree.path, true);
    assert_string_equal(alone, asked);
    const char *once = strstr(alone, "\"memory_distinct_bytes\"");
    assert_non_null(once);
    const char *median = strstr(once, "\"p50\"");
    assert_true(median && median < strchr(once, '}'));
    free(alone);
    free(asked);
    tree_remove(&tree);
}

/* A program that goes on when measuring could not begin. */
static void test_results_no_tracker(void **state)
{
    struct toll_figure f;
    struct toll_frame *frame;
    struct toll_error e;
    char *text;
    assert_int_equal(ask(NULL, "target_cpu_seconds", &f), -EINVAL);
    assert_int_equal(toll_tracker_report(NULL, "json", 0, &text, &e), -EINVAL);
    assert_string_equal(e.message, "tracker is NULL");
    assert_int_equal(toll_tracker_frame(NULL, &frame), -EINVAL);
    assert_int_equal(toll_tracker_next_frame(NULL, 0, &frame), -EINVAL);
    assert_int_equal(toll_tracker_wait(NULL, 0), -EINVAL);
    assert_int_equal(toll_tracker_add_target(NULL, NULL, &e), -EINVAL);
    assert_int_equal(toll_tracker_start(NULL, &e), -EINVAL);
    assert_int_equal(toll_tracker_step(NULL), -EINVAL);
    assert_int_equal(toll_tracker_finish(NULL, NULL), -EINVAL);
    assert_int_equal(toll_tracker_fd(NULL), -EINVAL);
    assert_int_equal(toll_tracker_pid(NULL), 0);
    assert_false(toll_tracker_contains(NULL, 1));
    toll_tracker_hurry(NULL);
    toll_tracker_free(NULL);
}

/* ---- new calls ------------------------------------------------------------------------------ */

static void test_api_versions_and_words(void **state)
{
    unsigned major, minor, patch;
    assert_int_equal(sscanf(TOLL_VERSION, "%u.%u.%u", &major, &minor, &patch), 3);
    assert_int_equal(TOLL_VERSION_NUMBER, major * 10000 + minor * 100 + patch);
    assert_int_equal(toll_version_number(), TOLL_VERSION_NUMBER);
    assert_string_equal(toll_quality_word(TOLL_QUALITY_EXACT), "exact");
    assert_null(toll_quality_word((enum toll_quality)17));
    static struct toll_options o = TOLL_INIT(toll_options);
    assert_int_equal(o.size, sizeof o);
    int id = toll_metric_find("process", "cpu_seconds");
    assert_string_equal(toll_metric_at((size_t)id)->name, "cpu_seconds");
    assert_int_equal(toll_metric_find("target", "cpu_seconds"), id);
    assert_int_equal(toll_metric_find("process", "cpu_second"), -ENOENT);
    assert_int_equal(toll_metric_find("disk", "cpu_seconds"), -ENOENT);
    assert_int_equal(toll_metric_find(NULL, "cpu_seconds"), -EINVAL);
}

static void test_api_refused_launch(void **state)
{
    unsigned before = tree_open_fds();
    struct toll_tracker *t = make();
    char *wrong[] = {strdupa("/no/such/command"), NULL}, *right[] = {strdupa("true"), NULL};
    for (unsigned i = 0; i < 3; i++)
        assert_int_equal(toll_tracker_launch(t, wrong, NULL, NULL), -ENOENT);
    assert_int_equal(toll_tracker_launch(t, NULL, NULL, NULL), -EINVAL);
    assert_int_equal(toll_tracker_step(t), -EINVAL);
    assert_int_equal(toll_tracker_launch(t, right, NULL, NULL), 0);
    while (toll_tracker_step(t) == TOLL_RUNNING)
        usleep(1000);
    struct toll_end end = TOLL_INIT(toll_end);
    assert_int_equal(toll_tracker_finish(t, &end), 0);
    assert_true(end.ended && end.status == 0 && end.elapsed_ns > 0);
    char *json;
    assert_int_equal(toll_tracker_report(t, "json", 0, &json, NULL), 0);
    assert_non_null(strstr(json, "\"name\": \"true\""));
    assert_null(strstr(json, "such"));
    free(json);
    toll_tracker_free(t);
    assert_int_equal(tree_open_fds(), before);
}

/* Several targets, of which one is not there yet. */
static void test_api_refused_attach(void **state)
{
    unsigned before = tree_open_fds();
    struct toll_tracker *t = make();
    struct toll_target late = {
        .size = sizeof late, .kind = TOLL_TARGET_MATCH, .text = "sleep 98765[.]4"};
    struct toll_target parent = {.size = sizeof parent, .id = getppid()};
    struct toll_error e;
    assert_int_equal(toll_tracker_add_target(t, &late, NULL), 0);
    assert_int_equal(toll_tracker_attach(t, &e), -ESRCH);
    assert_int_equal(toll_tracker_add_target(t, &parent, NULL), 0);
    assert_int_equal(toll_tracker_attach(t, &e), -ESRCH);
    pid_t child = fork();
    if (child == 0) {
        execlp("sleep", "sleep", "98765.4", (char *)NULL);
        _exit(127);
    }
    int r = -ESRCH;
    for (unsigned i = 0; i < 1000 && r == -ESRCH; i++, usleep(1000))
        r = toll_tracker_attach(t, &e);
    assert_int_equal(r, 0);
    assert_int_equal(toll_tracker_step(t), TOLL_RUNNING);
    assert_int_equal(toll_tracker_attach(t, &e), -EINVAL);
    assert_int_equal(toll_tracker_finish(t, NULL), 0);
    toll_tracker_free(t);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    assert_int_equal(tree_open_fds(), before);
}

static void test_api_run_command(void **state)
{
    struct toll_summary s = TOLL_INIT(toll_summary);
    struct toll_error e;
    char *argv[] = {strdupa("sh"), strdupa("-c"),
                    strdupa("i=0; while [ $i -lt 20000 ]; do i=$((i+1)); done; sleep 0.2; exit 7"),
                    NULL};
    assert_int_equal(toll_run_command(argv, NULL, &s, &e), 0);
    assert_int_equal(s.exit_status, 7);
    assert_true(s.cpu_seconds > 0 && s.wall_seconds > 0 && s.memory_peak_bytes > 0);
    assert_true(s.cpu_quality >= TOLL_QUALITY_EXACT_IF_REAPED);
    assert_true(s.processes_started >= 1);
    argv[2] = strdupa("kill -9 $$");
    assert_int_equal(toll_run_command(argv, NULL, &s, &e), 0);
    assert_int_equal(s.exit_status, 128 + 9);
    argv[0] = strdupa("/no/such/command");
    assert_int_equal(toll_run_command(argv, NULL, &s, &e), -ENOENT);
    assert_non_null(strstr(e.message, "/no/such/command"));
    assert_int_equal(toll_run_command(argv, NULL, NULL, &e), -EINVAL);
    struct toll_summary no_size = {0};
    assert_int_equal(toll_run_command(argv, NULL, &no_size, &e), -EINVAL);
}

static void test_api_measure_self(void **state)
{
    struct toll_tracker *t = NULL;
    struct toll_phase phase = TOLL_INIT(toll_phase);
    struct toll_gauge gauge = TOLL_INIT(toll_gauge);
    struct toll_figure f = TOLL_INIT(toll_figure);
    struct toll_energy energy = TOLL_INIT(toll_energy);
    struct toll_summary s = TOLL_INIT(toll_summary);
    assert_int_equal(toll_measure_self(NULL, NULL, NULL), -EINVAL);
    assert_int_equal(toll_measure_self(&t, NULL, NULL), 0);
    assert_int_equal(toll_tracker_wait(t, 0), TOLL_RUNNING);
    assert_int_equal(toll_tracker_phase(t, 0, &phase), -ENOENT);
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(toll_mark_phase_begin(t, "work"), TOLL_MARK_ACCEPTED);
        for (volatile unsigned k = 0; k < 20000000; k++)
            ;
        assert_int_equal(toll_mark_gauge(t, "level", i * 2), TOLL_MARK_ACCEPTED);
        assert_int_equal(toll_mark_phase_end(t, "work"), TOLL_MARK_ACCEPTED);
    }
    assert_int_equal(toll_tracker_finish(t, NULL), 0);
    assert_int_equal(toll_tracker_phase(t, 0, &phase), 0);
    assert_string_equal(phase.name, "work");
    assert_true(phase.count == 2 && phase.total_ns >= phase.max_ns && phase.max_ns > 0);
    assert_int_equal(toll_tracker_phase(t, 1, &phase), -ENOENT);
    assert_int_equal(toll_tracker_phase_figure(t, "work", "cpu_seconds", &f), 0);
    assert_true(f.quality == TOLL_QUALITY_UNKNOWN ? isnan(f.total) : f.total >= 0);
    assert_int_equal(f.metric, toll_metric_find("process", "cpu_seconds"));
    assert_int_equal(toll_tracker_phase_figure(t, "play", "cpu_seconds", &f), -ENOENT);
    assert_int_equal(toll_tracker_phase_figure(t, "work", "cpu_second", &f), -ENOENT);
    assert_int_equal(toll_tracker_phase_figure(t, NULL, "cpu_seconds", &f), -EINVAL);
    assert_int_equal(toll_tracker_gauge(t, 0, &gauge), 0);
    assert_string_equal(gauge.name, "level");
    assert_true(gauge.count == 2 && gauge.last == 2 && gauge.min == 0 && gauge.mean == 1);
    assert_int_equal(toll_tracker_gauge(t, 1, &gauge), -ENOENT);
    assert_int_equal(toll_tracker_energy(t, &energy), 0);
    assert_true(energy.quality_word != NULL);
    assert_int_equal(toll_tracker_summary(t, &s), 0);
    assert_true(s.cpu_seconds > 0 && s.exit_status == -1);
    toll_tracker_free(t);
}

/* ---- layout choice -------------------------------------------------------------------------- */

static void test_layout_choice_options(void **state)
{
    struct layout_choice c;
    struct toll_error e = {0};
    assert_int_equal(layout_choice_parse(&c, "process-metrics,samples=5,prefix=a b=/", &e), 0);
    assert_string_equal(c.layout->facts.name, "process-metrics");
    assert_string_equal(layout_choice_value(&c, "prefix"), "a b=/");
    assert_string_equal(layout_choice_value(&c, "samples"), "5");
    assert_string_equal(layout_choice_value(&c, "max_cpu_count"), "");
    assert_string_equal(layout_choice_value(&c, "nothing"), "");
    int samples = layout_option_number(c.layout, "samples", 7);
    assert_float_equal(c.options[samples].number, 5, 0);
    int memory = layout_option_number(c.layout, "max_memory_megabytes", 20);
    assert_true(isnan(c.options[memory].number));
    layout_choice_done(&c);
    assert_int_equal(layout_choice_parse(&c, "process-metrics,max_memory_megabytes=1.5", &e), 0);
    assert_float_equal(c.options[memory].number, 1572864, 0);
    layout_choice_done(&c);
}

static void test_layout_choice_sentences(void **state)
{
    static const struct {
        const char *text, *sentence;
    } wrong[] = {
        {"", "unknown layout '' (expected one of: resource-tracker, gpu-tracker, spdl"},
        {"parrot", "unknown layout 'parrot' (expected one of: resource-tracker"},
        {"spdl,x=1", "layout spdl: unknown option 'x=1' (expected columns="},
        {"spdl,", "layout spdl: unknown option ''"},
        {"resource-tracker,columns",
         "layout resource-tracker: unknown option 'columns' (expected columns="},
        {"resource-tracker,columns=v9",
         "layout: invalid columns 'v9' (expected v1, 0.4, v2, combined-0.4, combined "
         "or host-proc"},
        {"process-metrics,samples=0", "layout: invalid samples '0' (expected a number above 0"},
        {"process-metrics,samples=2x", "expected a number above 0"},
        {"process-metrics,max_cpu_count=", "expected a number above 0"},
        {"process-metrics,max_cpu_count=0", "expected a number above 0"},
        {"process-metrics,max_memory_megabytes=-1", "expected a number from 0)"},
        {"process-metrics,sample=2", "layout process-metrics: unknown option 'sample=2' (expected "
                                     "prefix=, samples=, max_memory_megabytes="},
    };
    for (size_t i = 0; i < ARRAY_LEN(wrong); i++) {
        struct layout_choice c;
        struct toll_error e = {0};
        assert_int_equal(layout_choice_parse(&c, wrong[i].text, &e), -EINVAL);
        if (!strstr(e.message, wrong[i].sentence))
            assert_string_equal(e.message, wrong[i].sentence);
    }
}

static void test_layout_choice_tables(void **state)
{
    struct layout_choice c;
    struct toll_error e = {0};
    assert_int_equal(layout_choice_parse(&c, "resource-tracker", &e), 0);
    assert_int_equal(layout_choice_table(&c, "csv", SUBJECT_TARGET)->count, 12);
    assert_int_equal(layout_choice_table(&c, "csv", SUBJECT_MACHINE)->count, 21);
    assert_null(layout_choice_table(&c, "jsonl", SUBJECT_ANY));
    assert_int_equal(layout_choice_check_format(&c, "csv", &e), 0);
    assert_int_equal(layout_choice_check_format(&c, "jsonl", &e), -EINVAL);
    assert_string_equal(e.message,
                        "layout resource-tracker: unsupported format 'jsonl' (expected csv)");
    layout_choice_done(&c);
    assert_int_equal(layout_choice_parse(&c, "resource-tracker,columns=combined", &e), 0);
    assert_ptr_equal(layout_choice_table(&c, "csv", SUBJECT_TARGET),
                     layout_choice_table(&c, "csv", SUBJECT_MACHINE));
    layout_choice_done(&c);
    assert_int_equal(layout_choice_parse(&c, "spdl", &e), 0);
    assert_null(layout_choice_table(&c, "jsonl", SUBJECT_MACHINE));
    layout_choice_done(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_api_tables),
        cmocka_unit_test(test_api_numbers_as_text),
        cmocka_unit_test(test_api_packed_frames),
        cmocka_unit_test(test_api_settings_are_checked),
        cmocka_unit_test(test_api_outputs_are_checked),
        cmocka_unit_test(test_api_a_broken_pipe),
        cmocka_unit_test(test_api_nothing_but_defaults),
        cmocka_unit_test(test_api_a_fork_has_no_tracker),
        cmocka_unit_test(test_api_smaller_structs),
        cmocka_unit_test(test_api_out_of_turn),
        cmocka_unit_test(test_api_a_command_that_cannot_be_run),
        cmocka_unit_test(test_api_a_whole_run),
        cmocka_unit_test(test_api_attach_leaves_the_limit),
        cmocka_unit_test(test_api_freed_while_it_runs),
        cmocka_unit_test(test_results_figures),
        cmocka_unit_test(test_results_a_smaller_struct),
        cmocka_unit_test(test_results_reports),
        cmocka_unit_test(test_results_asking_changes_nothing),
        cmocka_unit_test(test_api_versions_and_words),
        cmocka_unit_test(test_api_refused_launch),
        cmocka_unit_test(test_api_refused_attach),
        cmocka_unit_test(test_api_run_command),
        cmocka_unit_test(test_api_measure_self),
        cmocka_unit_test(test_results_no_tracker),
        cmocka_unit_test(test_layout_choice_options),
        cmocka_unit_test(test_layout_choice_sentences),
        cmocka_unit_test(test_layout_choice_tables),
    };
    return RUN("engine/api", tests);
}
