/* SPDX-License-Identifier: MIT */
#include "engine/launch.h"

#include "base/util.h"
#include "tree.h"

#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static char *const *words(const char *a, const char *b, const char *c)
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

static void test_runs(void **state)
{
    struct launched l;
    struct toll_error e = {0};
    struct toll_launch options = {.size = sizeof options, .exec_errno = 0};
    unsigned before = tree_open_fds();
    assert_int_equal(launch(&l, words("sh", "-c", "exit 7"), NULL, &options, NULL, &e), 0);
    assert_true(l.pid > 0 && l.pidfd >= 0);
    assert_true(fcntl(l.pidfd, F_GETFD) & FD_CLOEXEC);
    assert_int_equal(WEXITSTATUS(status_of(&l)), 7);
    int subreaper = 0;
    prctl(PR_GET_CHILD_SUBREAPER, &subreaper);
    assert_int_equal(subreaper, 1);
    assert_int_equal(launch(&l, words("true", NULL, NULL), NULL, NULL, NULL, NULL), 0);
    assert_int_equal(status_of(&l), 0);
    assert_int_equal(tree_open_fds(), before);
}

/* Said before it returns, with the reason; nothing is left to wait for. */
static void test_not_executable(void **state)
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
        assert_int_equal(launch(&l, words(cases[i].command, NULL, NULL), NULL, &options, NULL, &e),
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

static void test_another_fork_meanwhile(void **state)
{
    struct launched l;
    alarm(60); /* it would hang */
    bystander = 0;
    assert_int_equal(pthread_atfork(fork_another, NULL, NULL), 0);
    assert_int_equal(launch(&l, words("sh", "-c", "exit 7"), NULL, NULL, NULL, NULL), 0);
    assert_int_equal(WEXITSTATUS(status_of(&l)), 7);
    struct toll_launch options = {.size = sizeof options};
    assert_int_equal(launch(&l, words("/no/such/command", NULL, NULL), NULL, &options, NULL, NULL),
                     -ENOENT);
    assert_true(bystander > 0 && kill(bystander, SIGKILL) == 0);
    assert_int_equal(waitpid(bystander, NULL, 0), bystander);
    alarm(0);
}

static void test_no_command(void **state)
{
    struct launched l;
    struct toll_error e = {0};
    assert_int_equal(launch(&l, NULL, NULL, NULL, NULL, &e), -EINVAL);
    assert_int_equal(launch(&l, words(NULL, NULL, NULL), NULL, NULL, NULL, &e), -EINVAL);
    assert_int_equal(launch(&l, words("", NULL, NULL), NULL, NULL, NULL, &e), -EINVAL);
    assert_true(*e.message);
}

/* The command has the signals of the caller's caller, not those of the tracker. */
static void test_signals_of_the_command(void **state)
{
    sigset_t all, none, old;
    sigfillset(&all);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &all, &old);
    struct launched l;
    struct toll_launch options = {.size = sizeof options, .signal_mask = &none};
    assert_int_equal(
        launch(&l, words("sh", "-c", "kill -TERM $$; exit 1"), NULL, &options, NULL, NULL), 0);
    int status = status_of(&l);
    assert_true(WIFSIGNALED(status) && WTERMSIG(status) == SIGTERM);
    options.ignore_sigchld = true;
    /* Bit 16 of SigIgn: the fifth digit from the right is odd. */
    assert_int_equal(launch(&l, words("grep", "-qe^SigIgn:.*[13579bdf]....$", "/proc/self/status"),
                            NULL, &options, NULL, NULL),
                     0);
    status = status_of(&l);
    sigprocmask(SIG_SETMASK, &old, NULL);
    assert_int_equal(status, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_runs),
        cmocka_unit_test(test_not_executable),
        cmocka_unit_test(test_another_fork_meanwhile),
        cmocka_unit_test(test_no_command),
        cmocka_unit_test(test_signals_of_the_command),
    };
    return RUN("launch", tests);
}
