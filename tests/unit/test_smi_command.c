/* SPDX-License-Identifier: MIT */
#include "source/gpu/smi_command.h"

#include "base/clock.h"
#include "base/util.h"
#include "source/gpu/helper.h"
#include "tree.h"

#include <signal.h>
#include <sys/wait.h>

struct fixture {
    struct tree tree;
    struct gpu_helpers helpers;
    struct smi_command command;
    char path[512];
};

/* A command that is this script. */
static void make(struct fixture *x, const char *script)
{
    tree_make(&x->tree);
    tree_write(&x->tree, "tool", script);
    tree_path(&x->tree, x->path, "tool");
    assert_int_equal(chmod(x->path, 0700), 0);
    gpu_helpers_init(&x->helpers);
    assert_int_equal(smi_command_open(&x->command, x->path, &x->helpers), 0);
}

static void remove_all(struct fixture *x)
{
    smi_command_close(&x->command);
    smi_command_close(&x->command);
    gpu_helpers_done(&x->helpers);
    assert_int_equal(waitpid(-1, NULL, WNOHANG | __WALL), -1); /* nobody is left */
    assert_int_equal(errno, ECHILD);
    tree_remove(&x->tree);
}

static int run(struct fixture *x, const char *argument, unsigned deadline_ms, struct scan *text)
{
    const char *const arguments[] = {argument, NULL};
    return smi_command_run(&x->command, arguments, deadline_ms, text);
}

static void assert_text(struct scan text, const char *expected)
{
    assert_int_equal(text.end - text.at, strlen(expected));
    assert_memory_equal(text.at, expected, strlen(expected));
}

enum { LONG_MS = 20000 };

static void test_prints(void **state)
{
    struct fixture x;
    struct scan text;
    make(&x, "#!/bin/sh\necho \"one $1\"; echo noise >&2; cat; exit ${#1}\n");
    unsigned fds = tree_open_fds();
    assert_int_equal(run(&x, "abc", LONG_MS, &text), 3);
    assert_text(text, "one abc\n");
    assert_int_equal(run(&x, "", LONG_MS, &text), 0);
    assert_text(text, "one \n");
    assert_int_equal(tree_open_fds(), fds);
    remove_all(&x);
}

/* The program around us has no child that it could meet, and no signal is pending. */
static void test_nobody_notices(void **state)
{
    struct fixture x;
    struct scan text;
    sigset_t chld, before;
    sigemptyset(&chld);
    sigaddset(&chld, SIGCHLD);
    assert_int_equal(sigprocmask(SIG_BLOCK, &chld, &before), 0);
    make(&x, "#!/bin/sh\necho yes\n");
    assert_int_equal(run(&x, "", LONG_MS, &text), 0);
    assert_int_equal(wait(NULL), -1);
    assert_int_equal(errno, ECHILD);
    remove_all(&x);
    sigset_t pending;
    assert_int_equal(sigpending(&pending), 0);
    assert_false(sigismember(&pending, SIGCHLD));
    assert_int_equal(sigprocmask(SIG_SETMASK, &before, NULL), 0);
}

static void test_late(void **state)
{
    struct fixture x;
    struct scan text;
    make(&x, "#!/bin/sh\n[ \"$1\" = hang ] && { sleep 100 & sleep 100; }\necho late\n");
    uint64_t began_ns = clock_mono(NULL);
    assert_int_equal(run(&x, "hang", 100, &text), -ETIME);
    assert_true(clock_mono(NULL) - began_ns < 50 * NS_PER_SECOND);
    /* The next one is not disturbed. */
    assert_int_equal(run(&x, "", LONG_MS, &text), 0);
    assert_text(text, "late\n");
    remove_all(&x);
}

static void test_closes_its_output_and_stays(void **state)
{
    struct fixture x;
    struct scan text;
    make(&x, "#!/bin/sh\necho gone; exec >&-; sleep 100\n");
    assert_int_equal(run(&x, "", 200, &text), -ETIME);
    remove_all(&x);
}

static void test_more_than_fits(void **state)
{
    struct fixture x;
    struct scan text;
    make(&x, "#!/bin/sh\nhead -c 300000 /dev/zero\n");
    assert_int_equal(run(&x, "", LONG_MS, &text), 0);
    assert_int_equal(text.end - text.at, SMI_TEXT_BYTES);
    remove_all(&x);
}

static void test_ends_badly(void **state)
{
    struct fixture x;
    struct scan text;
    make(&x, "#!/bin/sh\nkill -9 $$\n");
    assert_int_equal(run(&x, "", LONG_MS, &text), 128 + SIGKILL);
    assert_int_equal(chmod(x.path, 0600), 0);
    assert_int_equal(run(&x, "", LONG_MS, &text), -ENOENT);
    char huge[5000];
    memset(huge, 'x', sizeof huge - 1);
    huge[sizeof huge - 1] = '\0';
    assert_int_equal(run(&x, huge, LONG_MS, &text), -ENAMETOOLONG);
    kill(x.command.helper, SIGKILL);
    assert_int_equal(run(&x, "", LONG_MS, &text), -EPIPE);
    remove_all(&x);
}

/* It was killed, not left alone. */
static void test_late_one_is_dead(void **state)
{
    struct fixture x;
    struct scan text;
    make(&x, "#!/bin/sh\necho $$ >\"$1\"; exec sleep 100\n");
    char pid_path[512];
    tree_path(&x.tree, pid_path, "pid");
    assert_int_equal(run(&x, pid_path, 300, &text), -ETIME);
    if (!tree_has(&x.tree, "pid")) { /* it was too slow even for that */
        remove_all(&x);
        return;
    }
    char *pid_text = tree_read(&x.tree, "pid");
    struct scan s = scan_string(pid_text);
    uint64_t pid = 0;
    if (scan_u64(&s, &pid))
        assert_int_equal(kill((pid_t)pid, 0), -1);
    free(pid_text);
    remove_all(&x);
}

static void test_find(void **state)
{
    struct tree t;
    char path[SMI_PATH_BYTES], list[256], expected[512];
    tree_make(&t);
    tree_write(&t, "a/tool/inside", "");
    tree_write(&t, "b/tool", "#!/bin/sh\n");
    snprintf(list, sizeof list, "relative::%s/none:%s/a:%s/b", t.path, t.path, t.path);
    char *before = strdup(getenv("PATH"));
    assert_int_equal(setenv("PATH", list, 1), 0);
    assert_int_equal(smi_command_find("tool", path), -ENOENT); /* a directory; not executable */
    tree_path(&t, expected, "b/tool");
    assert_int_equal(chmod(expected, 0700), 0);
    assert_int_equal(smi_command_find("tool", path), 0);
    assert_string_equal(path, expected);
    assert_int_equal(setenv("PATH", before, 1), 0);
    free(before);
    tree_remove(&t);
}

static void test_without_helpers(void **state)
{
    struct smi_command c;
    assert_int_equal(smi_command_open(&c, "/bin/true", NULL), -EINVAL);
    smi_command_close(&c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_prints),
        cmocka_unit_test(test_nobody_notices),
        cmocka_unit_test(test_late),
        cmocka_unit_test(test_closes_its_output_and_stays),
        cmocka_unit_test(test_more_than_fits),
        cmocka_unit_test(test_ends_badly),
        cmocka_unit_test(test_late_one_is_dead),
        cmocka_unit_test(test_find),
        cmocka_unit_test(test_without_helpers),
    };
    return RUN("smi_command", tests);
}
