/* SPDX-License-Identifier: MIT */
#include "base/util.h"
#include "engine/launch.h"
#include "engine/outputs.h"
#include "engine/settings.h"
#include "engine/step.h"
#include "engine/target/targets.h"
#include "engine/tracker.h"
#include "proc_tree.h"
#include "sample.h"
#include "tree.h"
#include "unit.h"

#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* ---- attach --------------------------------------------------------------------------------- */

/* Attaching, on recorded machines. */

#define HEAD "start 1731000000\nhost box\nkernel 6.1\ncpus 8\n"

static void put_process(const struct tree *tree, const char *sample, const struct proc_facts *f,
                        const char *children)
{
    struct tree below;
    snprintf(below.path, sizeof below.path, "%.40s/%.10s", tree->path, sample);
    tree_write(&below, "proc/uptime", "100.00 1.00\n");
    proc_stat(&below, f);
    proc_io(&below, f->pid, "io", 100 * f->user, 10 * f->user);
    proc_children(&below, f->pid, f->pid, children);
}

static struct toll_tracker *open_run(const struct tree *tree, const char *script, bool since_start,
                                     struct toll_error *e, int *ret)
{
    struct toll_tracker *t = NULL;
    struct toll_options o = {.size = sizeof o, .since_start = since_start};
    tree_write(tree, "script", script);
    assert_int_equal(toll_tracker_new(&t, &o, NULL), 0);
    *ret = toll_tracker_replay(t, tree->path, e);
    return t;
}

static void test_attach_counts_from_then_on(void **state)
{
    struct tree tree;
    tree_make(&tree);
    put_process(&tree, "t0", &(struct proc_facts){.pid = 10, .parent = 1, .user = 50}, "11 ");
    put_process(&tree, "t0", &(struct proc_facts){.pid = 11, .parent = 10, .user = 20}, "");
    put_process(&tree, "t1", &(struct proc_facts){.pid = 10, .parent = 1, .user = 53}, "11 12 ");
    put_process(&tree, "t1", &(struct proc_facts){.pid = 11, .parent = 10, .user = 24}, "");
    put_process(&tree, "t1",
                &(struct proc_facts){.pid = 12, .parent = 10, .user = 5, .start = 10010}, "");
    for (int since_start = 0; since_start < 2; since_start++) {
        int r;
        struct toll_tracker *t = open_run(&tree, HEAD "target process 10\nattach t0\ntick 0.5 t1\n",
                                          since_start, NULL, &r);
        assert_int_equal(r, 0);
        assert_int_equal(toll_tracker_step(t), 1);
        const struct row *all = &t->tracked.whole->parts[PART_COMBINED];
        /* The third was born since. */
        uint64_t ticks = since_start ? 53 + 24 + 5 : 3 + 4 + 5;
        assert_value(all, process_cpu_seconds, ticks * 10 * NS_PER_MS);
        assert_value(all, process_io_read_bytes, ticks * 100);
        assert_value(all, process_processes_count, 3);
        toll_tracker_free(t);
    }
    tree_remove(&tree);
}

static void test_attach_nobody_there(void **state)
{
    static const struct {
        const char *target, *words;
    } cases[] = {
        {"process 99", "no process 99"}, {"group 99", "group 99"},
        {"session 99", "session 99"},    {"match nothing", "'nothing'"},
        {"process 10", "already ended"},
    };
    struct tree tree;
    tree_make(&tree);
    put_process(&tree, "t0", &(struct proc_facts){.pid = 10, .parent = 1, .state = 'Z'}, "");
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char script[256];
        struct toll_error e = {0};
        int r;
        snprintf(script, sizeof script, HEAD "target %s\nattach t0\ntick 0.5 t0\n",
                 cases[i].target);
        struct toll_tracker *t = open_run(&tree, script, false, &e, &r);
        assert_int_equal(r, -ESRCH);
        if (!strstr(e.message, cases[i].words))
            fail_msg("%s: %s", cases[i].target, e.message);
        toll_tracker_free(t);
    }
    tree_remove(&tree);
}

/* ---- launch --------------------------------------------------------------------------------- */

static char *const *launch_words(const char *a, const char *b, const char *c)
{
    static char storage[3][256];
    static char *argv[4];
    const char *given[] = {a, b, c};
    memset(argv, 0, sizeof argv);
    for (int i = 0; i < 3 && given[i]; i++) {
        snprintf(storage[i], sizeof storage[i], "%s", given[i]);
        argv[i] = storage[i];
    }
    return argv;
}

static int status_of(struct launched *l)
{
    int status;
    assert_int_equal(waitpid(l->pid, &status, 0), l->pid);
    if (l->pidfd >= 0)
        close(l->pidfd);
    return status;
}

static void test_launch_runs(void **state)
{
    struct launched l;
    struct toll_error e = {0};
    struct toll_launch options = {.size = sizeof options, .exec_errno = 0};
    unsigned before = tree_open_fds();
    assert_int_equal(launch(&l, launch_words("sh", "-c", "exit 7"), NULL, &options, NULL, &e), 0);
    assert_true(l.pid > 0 && l.pidfd >= 0);
    assert_true(fcntl(l.pidfd, F_GETFD) & FD_CLOEXEC);
    assert_int_equal(WEXITSTATUS(status_of(&l)), 7);
    int subreaper = 0;
    prctl(PR_GET_CHILD_SUBREAPER, &subreaper);
    assert_int_equal(subreaper, 1);
    assert_int_equal(launch(&l, launch_words("true", NULL, NULL), NULL, NULL, NULL, NULL), 0);
    assert_int_equal(status_of(&l), 0);
    assert_int_equal(tree_open_fds(), before);
}

/* Said before it returns, with the reason; nothing is left to wait for. */
static void test_launch_not_executable(void **state)
{
    struct tree tree;
    char path[512];
    tree_make(&tree);
    tree_write(&tree, "text", "#!/no/such/interpreter\n");
    tree_write(&tree, "dir/file", "");
    unsigned before = tree_open_fds();
    const struct {
        const char *command;
        int error;
    } cases[] = {
        {"/no/such/command", ENOENT},
        {"no-such-command-in-the-path", ENOENT},
        {tree_path(&tree, path, "text"), EACCES},
        {"/", EACCES},
        {"/etc/passwd/x", ENOTDIR},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct launched l = {.pid = -5};
        struct toll_error e = {0};
        struct toll_launch options = {.size = sizeof options};
        assert_int_equal(
            launch(&l, launch_words(cases[i].command, NULL, NULL), NULL, &options, NULL, &e),
            -cases[i].error);
        assert_int_equal(options.exec_errno, cases[i].error);
        assert_non_null(strstr(e.message, cases[i].command));
        assert_int_equal(l.pid, -5);
        assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
        assert_int_equal(errno, ECHILD);
    }
    assert_int_equal(tree_open_fds(), before);
    tree_remove(&tree);
}

static pid_t bystander;

/* As another thread of the program may, in the middle of a launch: the child keeps all descriptors
 * and executes nothing. */
static void fork_another(void)
{
    if (bystander)
        return;
    bystander = (pid_t)syscall(SYS_clone, (long)SIGCHLD, 0L, 0L, 0L, 0L);
    if (bystander == 0)
        for (;;)
            pause();
}

static void test_launch_another_fork_meanwhile(void **state)
{
    struct launched l;
    alarm(60); /* it would hang */
    bystander = 0;
    assert_int_equal(pthread_atfork(fork_another, NULL, NULL), 0);
    assert_int_equal(launch(&l, launch_words("sh", "-c", "exit 7"), NULL, NULL, NULL, NULL), 0);
    assert_int_equal(WEXITSTATUS(status_of(&l)), 7);
    struct toll_launch options = {.size = sizeof options};
    assert_int_equal(
        launch(&l, launch_words("/no/such/command", NULL, NULL), NULL, &options, NULL, NULL),
        -ENOENT);
    assert_true(bystander > 0 && kill(bystander, SIGKILL) == 0);
    assert_int_equal(waitpid(bystander, NULL, 0), bystander);
    alarm(0);
}

static void test_launch_no_command(void **state)
{
    struct launched l;
    struct toll_error e = {0};
    assert_int_equal(launch(&l, NULL, NULL, NULL, NULL, &e), -EINVAL);
    assert_int_equal(launch(&l, launch_words(NULL, NULL, NULL), NULL, NULL, NULL, &e), -EINVAL);
    assert_int_equal(launch(&l, launch_words("", NULL, NULL), NULL, NULL, NULL, &e), -EINVAL);
    assert_true(*e.message);
}

/* The command has the signals of the caller's caller, not those of the tracker. */
static void test_launch_signals_of_the_command(void **state)
{
    sigset_t all, none, old;
    sigfillset(&all);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &all, &old);
    struct launched l;
    struct toll_launch options = {.size = sizeof options, .signal_mask = &none};
    assert_int_equal(
        launch(&l, launch_words("sh", "-c", "kill -TERM $$; exit 1"), NULL, &options, NULL, NULL),
        0);
    int status = status_of(&l);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    options.ignore_sigchld = true;
    /* Bit 16 of SigIgn: the fifth digit from the right is odd. */
    assert_int_equal(
        launch(&l, launch_words("grep", "-qe^SigIgn:.*[13579bdf]....$", "/proc/self/status"), NULL,
               &options, NULL, NULL),
        0);
    status = status_of(&l);
    sigprocmask(SIG_SETMASK, &old, NULL);
    assert_int_equal(status, 0);
}

/* ---- asked ---------------------------------------------------------------------------------- */

static struct toll_tracker *make(void)
{
    struct toll_tracker *t = NULL;
    struct toll_options o = {.size = sizeof o};
    assert_int_equal(toll_tracker_new(&t, &o, NULL), 0);
    return t;
}

/* The sentence that one target alone is refused with, "" when it is taken. */
static const char *refusal(enum toll_target_kind kind, pid_t id, const char *text)
{
    static struct toll_error e;
    e = (struct toll_error){0};
    struct toll_tracker *t = make();
    struct toll_target asked = {.size = sizeof asked, .kind = kind, .id = id, .text = text};
    int r = toll_tracker_add_target(t, &asked, &e);
    assert_true((r < 0) == (e.message[0] != '\0'));
    toll_tracker_free(t);
    return e.message;
}

static void test_asked_what_is_taken(void **state)
{
    assert_string_equal(refusal(TOLL_TARGET_PROCESS, 1, NULL), "");
    assert_string_equal(refusal(TOLL_TARGET_PROCESS, 0, NULL), ""); /* this process */
    assert_string_equal(refusal(TOLL_TARGET_GROUP, 77, NULL), "");
    assert_string_equal(refusal(TOLL_TARGET_SESSION, 77, NULL), "");
    assert_string_equal(refusal(TOLL_TARGET_USER, 0, "root"), "");
    assert_string_equal(refusal(TOLL_TARGET_USER, 0, "65534"), "");
    assert_string_equal(refusal(TOLL_TARGET_USER, 0, "4294967294"), "");
    assert_string_equal(refusal(TOLL_TARGET_MATCH, 0, "a|b+"), "");
}

static void test_asked_what_is_refused(void **state)
{
    assert_non_null(strstr(refusal(TOLL_TARGET_PROCESS, -1, NULL), "process: invalid ID -1"));
    assert_non_null(strstr(refusal(TOLL_TARGET_GROUP, -5, NULL), "group: invalid ID -5"));
    assert_non_null(strstr(refusal(TOLL_TARGET_USER, 0, "no such user"), "user: unknown user"));
    assert_non_null(strstr(refusal(TOLL_TARGET_USER, 0, "4294967295"), "user: unknown user"));
    assert_non_null(strstr(refusal(TOLL_TARGET_MATCH, 0, ""), "match: empty regular expression"));
    assert_non_null(strstr(refusal(TOLL_TARGET_MATCH, 0, "a["), "regular expression"));
    assert_non_null(strstr(refusal(TOLL_TARGET_MATCH, 0, NULL), "text: missing"));
    assert_non_null(strstr(refusal((enum toll_target_kind)99, 1, "x"), "99"));
}

static void test_asked_names(void **state)
{
    struct toll_tracker *t = make();
    struct toll_target asked[] = {
        {.size = sizeof *asked, .kind = TOLL_TARGET_PROCESS, .id = 12},
        {.size = sizeof *asked, .kind = TOLL_TARGET_GROUP, .id = 12},
        {.size = sizeof *asked, .kind = TOLL_TARGET_GROUP, .id = 13, .name = "web"},
        {.size = sizeof *asked, .kind = TOLL_TARGET_USER, .text = "root"},
    };
    for (size_t i = 0; i < ARRAY_LEN(asked); i++)
        assert_int_equal(toll_tracker_add_target(t, &asked[i], NULL), 0);
    static const char *const names[] = {"process-12", "group-12", "web", "user-root"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        assert_string_equal(t->tracked.targets[i].name, names[i]);
    struct toll_error e = {0};
    assert_int_equal(toll_tracker_add_target(t, &asked[1], &e), -EINVAL);
    assert_non_null(strstr(e.message, "'group-12' is given twice"));
    toll_tracker_free(t);
}

static void test_asked_descriptions(void **state)
{
    struct toll_tracker *t = make();
    static char user[] = "u", match[] = "m";
    static const struct {
        struct target target;
        const char *words, *missing;
    } cases[] = {
        {{.kind = TOLL_TARGET_PROCESS, .id = 5}, "process 5 (?) and children", "no process 5"},
        {{.kind = TOLL_TARGET_GROUP, .id = 6}, "process group 6", "no process in group 6"},
        {{.kind = TOLL_TARGET_SESSION, .id = 7}, "session 7", "no process in session 7"},
        {{.kind = TOLL_TARGET_USER, .text = user}, "processes of user u", "of user 'u'"},
        {{.kind = TOLL_TARGET_MATCH, .text = match}, "match 'm' and children", "'m'"},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct buf b = {0};
        struct toll_error e = {0};
        asked_describe(&t->tracked, &cases[i].target, &b);
        assert_non_null(strstr(b.data, cases[i].words));
        buf_done(&b);
        assert_int_equal(asked_nobody(&t->tracked, &cases[i].target, &e), -ESRCH);
        assert_non_null(strstr(e.message, cases[i].missing));
    }
    toll_tracker_free(t);
}

/* ---- outputs -------------------------------------------------------------------------------- */

struct fixture {
    struct tree tree;
    struct toll_tracker *t;
    struct row rows[PARTS];
    struct entity entity;
    char told[4096];
    unsigned told_count;
};

static void listen(void *arg, const char *sentence)
{
    struct fixture *f = arg;
    f->told_count++;
    strncat(f->told, sentence, sizeof f->told - strlen(f->told) - 2);
    strcat(f->told, "\n");
}

static void begin(struct fixture *f)
{
    *f = (struct fixture){0};
    tree_make(&f->tree);
    struct toll_options o = {.size = sizeof o, .note = listen, .note_arg = f};
    assert_int_equal(toll_tracker_new(&f->t, &o, NULL), 0);
}

static void add(struct fixture *f, const char *name)
{
    char path[512];
    struct toll_output out = {.size = sizeof out, .destination = tree_path(&f->tree, path, name)};
    assert_int_equal(toll_tracker_add_output(f->t, &out, NULL), 0);
}

static void add_full(struct fixture *f, const char *format)
{
    static int full = -1;
    if (full < 0)
        full = open("/dev/full", O_WRONLY | O_CLOEXEC);
    struct toll_output out = {.size = sizeof out, .fd = full, .format = format};
    assert_int_equal(toll_tracker_add_output(f->t, &out, NULL), 0);
}

static void send_events(struct fixture *f)
{
    outputs_send_events(&f->t->outputs, &f->t->tracked.events);
}

static void end(struct fixture *f)
{
    toll_tracker_free(f->t);
    tree_remove(&f->tree);
}

static void test_outputs_a_note_is_told_once(void **state)
{
    struct fixture f;
    begin(&f);
    add(&f, "x.jsonl");
    for (int i = 0; i < 3; i++)
        tracked_note(&f.t->tracked, "something about %d", 5);
    assert_int_equal(f.told_count, 0); /* reading does not write */
    send_events(&f);
    assert_int_equal(f.told_count, 1);
    assert_int_equal(f.t->summary.note_count, 1);
    char *text = tree_read(&f.tree, "x.jsonl");
    assert_non_null(strstr(text, "something about 5"));
    free(text);
    end(&f);
}

/* A process may call itself anything. */
static void test_outputs_a_note_cannot_drive_the_terminal(void **state)
{
    struct fixture f;
    begin(&f);
    tracked_note(&f.t->tracked, "process 5 (%s)", "\033[2Jx\ny\a");
    send_events(&f);
    assert_string_equal(f.told, "process 5 (?[2Jx y?)\n");
    tracked_note(&f.t->tracked, "%02000d", 1); /* cut, not overrun */
    send_events(&f);
    assert_int_equal(f.told_count, 2);
    end(&f);
}

static void add_frame(struct fixture *f)
{
    for (unsigned part = 0; part < PARTS; part++) {
        row_init(&f->rows[part], ENTITY_PROCESS);
        f->t->frame.target[part] = (struct frame_row){&f->entity, &f->rows[part]};
    }
    for (unsigned id = 0; id < PARTS * PROCESS_METRICS; id++)
        f->t->summary.whole.provenance[id % PARTS][id / PARTS].source = "";
    row_init(&f->t->self.row, ENTITY_SELF);
    f->t->frame.self = (struct frame_row){&f->t->self.entity, &f->t->self.row};
}

/* One that fails is told of once, and disturbs no other. */
static void test_outputs_a_failing_output(void **state)
{
    struct fixture f;
    begin(&f);
    add_full(&f, "csv");
    add(&f, "x.csv");
    add_frame(&f);
    outputs_begin(&f.t->outputs, &f.t->run);
    for (int i = 0; i < 10; i++)
        outputs_frame(&f.t->outputs, &f.t->frame);
    assert_int_equal(f.told_count, 1);
    assert_non_null(strstr(f.told, "No space left on device"));
    assert_int_equal(f.t->outputs.sinks[0]->dropped, 10);
    assert_int_equal(f.t->outputs.sinks[1]->chunks, 11);
    assert_int_equal(f.t->outputs.sinks[1]->dropped, 0);
    assert_int_equal(outputs_summary(&f.t->outputs), -ENOSPC);
    assert_non_null(strstr(f.told, "10 of 10"));
    end(&f);
}

static void keep_ending(void *arg, bool has_failed, const char *sentence)
{
    struct toll_error *e = arg;
    assert_true(has_failed);
    e->code++;
    snprintf(e->message, sizeof e->message, "%s", sentence);
}

/* Who asks for it is told the end apart from all other notes. */
static void test_outputs_an_ending(void **state)
{
    struct fixture f;
    struct toll_error told = {0};
    begin(&f);
    f.t->options.ending = keep_ending;
    f.t->options.ending_arg = &told;
    add_full(&f, "csv");
    add_frame(&f);
    outputs_begin(&f.t->outputs, &f.t->run);
    outputs_frame(&f.t->outputs, &f.t->frame);
    assert_int_equal(outputs_summary(&f.t->outputs), -ENOSPC);
    assert_int_equal(told.code, 1);
    assert_non_null(strstr(told.message, "1 of 1 parts"));
    assert_int_equal(f.told_count, 1);
    end(&f);
}

/* An output whose first failure is a note is told of all the same. */
static void test_outputs_a_note_that_cannot_be_written(void **state)
{
    struct fixture f;
    begin(&f);
    add_full(&f, "jsonl");
    add_frame(&f);
    tracked_note(&f.t->tracked, "a note");
    send_events(&f);
    outputs_frame(&f.t->outputs, &f.t->frame);
    assert_int_equal(outputs_summary(&f.t->outputs), -ENOSPC);
    assert_non_null(strstr(f.told, "cannot write"));
    end(&f);
}

static void test_outputs_closing(void **state)
{
    struct fixture f;
    begin(&f);
    add(&f, "x.csv");
    add(&f, "y.json");
    outputs_close(&f.t->outputs, true);
    assert_false(tree_has(&f.tree, "x.csv"));
    assert_false(tree_has(&f.tree, "y.json"));
    assert_int_equal(f.t->outputs.count, 0);
    outputs_close(&f.t->outputs, true);
    outputs_frame(&f.t->outputs, &f.t->frame);
    end(&f);
}

/* ---- environment ---------------------------------------------------------------------------- */

static void test_environment_variables_are_replaced(void **state)
{
    struct environment e = {0};
    setenv("TOLL_TEST_X", "outer", 1);
    setenv("TOLL_TEST_XY", "similar", 1);
    assert_int_equal(environment_add(&e, "TOLL_TEST_X=inner"), 0);
    assert_int_equal(environment_add(&e, "TOLL_TEST_Z=new"), 0);
    char **all = environment_make(&e);
    assert_non_null(all);
    unsigned x = 0, xy = 0, z = 0, path = 0;
    for (char **v = all; *v; v++) {
        x += strncmp(*v, "TOLL_TEST_X=", 12) == 0;
        xy += strcmp(*v, "TOLL_TEST_XY=similar") == 0;
        z += strcmp(*v, "TOLL_TEST_Z=new") == 0;
        path += strncmp(*v, "PATH=", 5) == 0;
        assert_string_not_equal(*v, "TOLL_TEST_X=outer");
    }
    assert_int_equal(x, 1);
    assert_int_equal(xy, 1);
    assert_int_equal(z, 1);
    assert_int_equal(path, getenv("PATH") != NULL);
    assert_string_equal(getenv("TOLL_TEST_X"), "outer"); /* ours is as it was */
    free(all);
    environment_done(&e);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_attach_counts_from_then_on),
        cmocka_unit_test(test_attach_nobody_there),
        cmocka_unit_test(test_launch_runs),
        cmocka_unit_test(test_launch_not_executable),
        cmocka_unit_test(test_launch_another_fork_meanwhile),
        cmocka_unit_test(test_launch_no_command),
        cmocka_unit_test(test_launch_signals_of_the_command),
        cmocka_unit_test(test_asked_what_is_taken),
        cmocka_unit_test(test_asked_what_is_refused),
        cmocka_unit_test(test_asked_names),
        cmocka_unit_test(test_asked_descriptions),
        cmocka_unit_test(test_outputs_a_note_is_told_once),
        cmocka_unit_test(test_outputs_a_note_cannot_drive_the_terminal),
        cmocka_unit_test(test_outputs_a_failing_output),
        cmocka_unit_test(test_outputs_an_ending),
        cmocka_unit_test(test_outputs_a_note_that_cannot_be_written),
        cmocka_unit_test(test_outputs_closing),
        cmocka_unit_test(test_environment_variables_are_replaced),
    };
    return RUN("engine/begin", tests);
}
