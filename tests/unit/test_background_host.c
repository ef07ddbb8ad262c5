/* SPDX-License-Identifier: MIT
 * Programs that do to a tracker in the background what servers do: close everything, go elsewhere,
 * give up their rights. */
#include "self_tracker.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stdatomic.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>

/* The host closes what it does not know, goes elsewhere, and opens files of its own: they are not
 * written to, and the record is where it was meant to be. */
static void test_a_host_that_closes_everything(void **state)
{
    char here[] = "/tmp/toll-unit-XXXXXX", path[64], other[64];
    assert_non_null(mkdtemp(here));
    snprintf(path, sizeof path, "%s/summary.json", here);
    snprintf(other, sizeof other, "%s/other", here);
    assert_int_equal(chdir(here), 0);
    struct toll_tracker *t = make((struct toll_options){.interval_ns = 5 * NS_PER_MS});
    struct toll_output out = {.size = sizeof out, .destination = "summary.json"};
    assert_int_equal(toll_tracker_add_output(t, &out, NULL), 0);
    assert_int_equal(toll_tracker_start(t, NULL), 0);
    int mine[40];
    for (int fd = 3; fd < 100; fd++)
        close(fd);
    assert_int_equal(chdir("/"), 0);
    for (size_t i = 0; i < 40; i++)
        mine[i] = open(other, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    burn(50 * NS_PER_MS);
    assert_int_equal(toll_tracker_finish(t, NULL), 0);
    assert_true(total(t, "target_cpu_seconds") >= 0.05);
    toll_tracker_free(t);
    struct stat st;
    assert_int_equal(stat(other, &st), 0);
    assert_int_equal(st.st_size, 0);
    for (size_t i = 0; i < 40; i++) {
        assert_true(fcntl(mine[i], F_GETFD) >= 0);
        close(mine[i]);
    }
    assert_int_equal(stat(path, &st), 0);
    assert_true(st.st_size > 100);
    unlink(path);
    unlink(other);
    rmdir(here);
}

/* In a child, so that this process stays who it is. */
static int live_as_nobody(const char *directory)
{
    struct toll_tracker *t = make((struct toll_options){.interval_ns = 5 * NS_PER_MS});
    struct toll_output out = {.size = sizeof out, .destination = "summary.json"};
    if (chdir(directory) < 0 || toll_tracker_add_output(t, &out, NULL) < 0 ||
        toll_tracker_start(t, NULL) < 0)
        return 1;
    if (chroot(directory) < 0 || chdir("/") < 0 || setgid(65534) < 0 || setuid(65534) < 0)
        return 2;
    burn(50 * NS_PER_MS);
    struct toll_figure cpu = {.size = sizeof cpu}, read = {.size = sizeof read};
    if (toll_tracker_finish(t, NULL) < 0)
        return 3;
    if (toll_tracker_figure(t, "target_cpu_seconds", &cpu) < 0 || !(cpu.total >= 0.05))
        return 4;
    if (toll_tracker_figure(t, "target_io_read_bytes", &read) < 0 || !(read.total >= 0))
        return 5;
    toll_tracker_free(t);
    return 0;
}

/* A server that gives up its root and its rights after the start. */
static void test_a_host_that_drops_its_rights(void **state)
{
    char here[] = "/tmp/toll-unit-XXXXXX", path[64];
    if (geteuid() != 0)
        return;
    assert_non_null(mkdtemp(here));
    snprintf(path, sizeof path, "%s/summary.json", here);
    pid_t child = fork();
    if (child == 0)
        _exit(live_as_nobody(here));
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    assert_true(st.st_size > 100);
    unlink(path);
    rmdir(here);
}

/* Whoever closes everything and gives up its rights is not kept waiting for the next sample. */
static int finish_at_once(void)
{
    struct toll_tracker *t = make((struct toll_options){.interval_ns = 3600 * NS_PER_SECOND});
    if (toll_tracker_start(t, NULL) < 0)
        return 1;
    for (int fd = 3; fd < 100; fd++)
        close(fd);
    if (geteuid() == 0 && (setgid(65534) < 0 || setuid(65534) < 0))
        return 2;
    alarm(60);
    if (toll_tracker_finish(t, NULL) < 0)
        return 3;
    toll_tracker_free(t);
    return 0;
}

static void test_nobody_can_wake_it(void **state)
{
    pid_t child = fork();
    if (child == 0)
        _exit(finish_at_once());
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

static __thread char large[400 * 1024];

/* Of such a program every thread has that much on its stack. */
static void test_much_data_of_threads(void **state)
{
    large[sizeof large - 1] = 1;
    struct toll_tracker *t = start((struct toll_options){0});
    assert_int_equal(toll_tracker_finish(t, NULL), 0);
    toll_tracker_free(t);
}

/* A summary that cannot be written takes nobody else's file away. */
static int lose_the_summary(const char *directory)
{
    struct rlimit none = {0, RLIM_INFINITY};
    struct toll_tracker *t = make((struct toll_options){0});
    struct toll_output out = {.size = sizeof out, .destination = "summary.json"};
    if (chdir(directory) < 0 || toll_tracker_add_output(t, &out, NULL) < 0 ||
        toll_tracker_start(t, NULL) < 0 || chdir("elsewhere") < 0)
        return 1;
    setrlimit(RLIMIT_FSIZE, &none);
    int r = toll_tracker_finish(t, NULL);
    toll_tracker_free(t);
    return r == -EFBIG && access("summary.json", F_OK) == 0 ? 0 : 2;
}

static void test_a_file_of_the_same_name(void **state)
{
    struct tree tree;
    tree_make(&tree);
    tree_write(&tree, "elsewhere/summary.json", "not toll's\n");
    pid_t child = fork();
    if (child == 0)
        _exit(lose_the_summary(tree.path));
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    tree_remove(&tree);
}

/* Neither close_range nor unshare, as in an old kernel or a strict container. */
static int forbid_own_files(void)
{
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_unshare, 2, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_close_range, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
    };
    struct sock_fprog program = {.len = ARRAY_LEN(filter), .filter = filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
                   prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0
               ? 0
               : -errno;
}

static int live_without_own_files(void)
{
    if (forbid_own_files() < 0)
        return 0; /* nor can it be tried */
    unsigned fds = tree_open_fds();
    struct toll_tracker *t = make((struct toll_options){.interval_ns = 5 * NS_PER_MS});
    struct toll_output out = {.size = sizeof out, .destination = "/dev/null", .format = "jsonl"};
    if (toll_tracker_add_output(t, &out, NULL) < 0 || toll_tracker_start(t, NULL) < 0)
        return 1;
    burn(50 * NS_PER_MS);
    if (toll_tracker_finish(t, NULL) < 0 || !(total(t, "target_cpu_seconds") >= 0.05))
        return 2;
    toll_tracker_free(t);
    return tree_open_fds() == fds ? 0 : 3;
}

static void test_no_descriptors_of_its_own(void **state)
{
    pid_t child = fork();
    if (child == 0)
        _exit(live_without_own_files());
    int status;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

struct ended_inside {
    struct toll_tracker *t;
    atomic_int finished;
};

static void end_inside(void *arg, const struct toll_frame *frame)
{
    struct ended_inside *inside = arg;
    inside->finished = toll_tracker_finish(inside->t, NULL);
    toll_tracker_free(inside->t);
}

/* Frames come from a thread of the tracker, which cannot wait for itself. */
static void test_a_callback_that_ends_it(void **state)
{
    struct ended_inside inside = {0};
    inside.t = make((struct toll_options){.frame = end_inside, .frame_arg = &inside});
    assert_int_equal(toll_tracker_start(inside.t, NULL), 0);
    assert_int_equal(toll_tracker_finish(inside.t, NULL), 0); /* every frame was told by then */
    assert_int_equal(inside.finished, -EDEADLK);
    assert_true(total(inside.t, "self_ticks") > 0);
    toll_tracker_free(inside.t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_host_that_closes_everything),
        cmocka_unit_test(test_a_host_that_drops_its_rights),
        cmocka_unit_test(test_nobody_can_wake_it),
        cmocka_unit_test(test_much_data_of_threads),
        cmocka_unit_test(test_a_file_of_the_same_name),
        cmocka_unit_test(test_no_descriptors_of_its_own),
        cmocka_unit_test(test_a_callback_that_ends_it),
    };
    return RUN("background_host", tests);
}
