/* SPDX-License-Identifier: MIT
 * The calls of toll.h, as a program makes them. */
#include "base/util.h"
#include "toll.h"
#include "tree.h"

#include <poll.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/wait.h>

static struct toll_tracker *make(void)
{
    struct toll_tracker *t = NULL;
    struct toll_options o = {.size = sizeof o};
    assert_int_equal(toll_tracker_new(&t, &o, NULL), 0);
    return t;
}

static void test_tables(void **state)
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

static void test_settings_are_checked(void **state)
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

static void test_outputs_are_checked(void **state)
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
static void test_a_broken_pipe(void **state)
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
static void test_nothing_but_defaults(void **state)
{
    struct toll_tracker *t = NULL;
    assert_int_equal(toll_tracker_new(&t, NULL, NULL), 0);
    assert_int_equal(toll_tracker_add_target(t, NULL, NULL), 0); /* this process */
    assert_int_equal(toll_tracker_start(t, NULL), 0);
    assert_int_equal(toll_tracker_fd(t), -1);
    assert_false(toll_tracker_contains(t, getpid()));
    struct toll_end no_size = {0};
    assert_int_equal(toll_tracker_finish(t, &no_size), -EINVAL);
    assert_int_equal(toll_tracker_finish(t, NULL), 0);
    toll_tracker_free(t);
}

static void test_a_fork_has_no_tracker(void **state)
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
static void test_smaller_structs(void **state)
{
    struct toll_tracker *t = NULL;
    struct toll_options o = {.size = sizeof o.size, .interval_ns = 1};
    assert_int_equal(toll_tracker_new(&t, &o, NULL), 0); /* the bad interval is not looked at */
    toll_tracker_free(t);
    toll_tracker_free(NULL);
}

static void test_out_of_turn(void **state)
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

static void test_a_command_that_cannot_be_run(void **state)
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
static void test_a_whole_run(void **state)
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
static void test_freed_while_it_runs(void **state)
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
static void test_attach_leaves_the_limit(void **state)
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tables),
        cmocka_unit_test(test_settings_are_checked),
        cmocka_unit_test(test_outputs_are_checked),
        cmocka_unit_test(test_a_broken_pipe),
        cmocka_unit_test(test_nothing_but_defaults),
        cmocka_unit_test(test_a_fork_has_no_tracker),
        cmocka_unit_test(test_smaller_structs),
        cmocka_unit_test(test_out_of_turn),
        cmocka_unit_test(test_a_command_that_cannot_be_run),
        cmocka_unit_test(test_a_whole_run),
        cmocka_unit_test(test_attach_leaves_the_limit),
        cmocka_unit_test(test_freed_while_it_runs),
    };
    return RUN("api", tests);
}
