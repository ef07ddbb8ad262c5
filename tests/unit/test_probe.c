/* SPDX-License-Identifier: MIT */
#include "base/clock.h"
#include "base/util.h"
#include "toll.h"
#include "tree.h"

#include <math.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

static const struct toll_options alone = {
    .size = sizeof alone,
    .no_children = true,
    .processes = TOLL_PROCESSES_NONE,
    .memory = TOLL_MEMORY_RSS,
};

static struct toll_frame *snapshot(const struct toll_target *target, const struct toll_options *o)
{
    struct toll_frame *f = NULL;
    struct toll_error e = {0};
    int r = toll_snapshot(&f, target, o, &e);
    assert_string_equal(e.message, "");
    assert_int_equal(r, 0);
    return f;
}

/* By calls and by files: the same figures. What only grows is asked for before and after. */
static void test_the_same_both_ways(void **state)
{
    struct toll_target self = {.size = sizeof self};
    struct toll_options with_pss = alone;
    with_pss.memory = TOLL_MEMORY_PSS;
    struct toll_frame *before = snapshot(&self, &alone);
    struct toll_frame *files = snapshot(&self, &with_pss);
    struct toll_frame *after = snapshot(&self, &alone);
    static const char *const counters[] = {"target_cpu_seconds", "target_faults_minor",
                                           "target_io_read_calls", "target_io_read_bytes"};
    for (size_t i = 0; i < ARRAY_LEN(counters); i++) {
        double least = toll_frame_get(before, counters[i]);
        double told = toll_frame_get(files, counters[i]);
        /* The calls know microseconds. */
        assert_true(told + 1e-6 >= least && told <= toll_frame_get(after, counters[i]) + 1e-6);
    }
    assert_true(toll_frame_get(before, "target_threads") ==
                toll_frame_get(files, "target_threads"));
    assert_true(toll_frame_get(before, "target_memory_rss_bytes") > 0);
    assert_true(toll_frame_get(files, "target_memory_pss_bytes") > 0);
    assert_true(isnan(toll_frame_get(before, "target_memory_pss_bytes")));
    assert_true(isnan(toll_frame_get(before, "target_wall_seconds")));
    toll_frame_free(before);
    toll_frame_free(files);
    toll_frame_free(after);
}

/* Reading it takes longer than a tracker spends on it in one tick: a look reads it all the same. */
static void test_a_large_tree(void **state)
{
    enum { CHILDREN = 40, BYTES = 64 << 20 };
    char *block = mmap(NULL, BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    assert_true(block != MAP_FAILED);
    madvise(block, BYTES, MADV_NOHUGEPAGE); /* single pages take their time */
    memset(block, 1, BYTES);
    pid_t children[CHILDREN];
    for (unsigned i = 0; i < CHILDREN; i++) {
        children[i] = fork();
        if (children[i] == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL); /* a test that fails leaves nobody behind */
            pause();
            _exit(0);
        }
        assert_true(children[i] > 0);
    }
    struct toll_target self = {.size = sizeof self};
    struct toll_options o = {.size = sizeof o, .memory = TOLL_MEMORY_PSS};
    struct toll_frame *f = snapshot(&self, &o);
    assert_true(toll_frame_get(f, "target_processes") == CHILDREN + 1);
    assert_true(toll_frame_get(f, "target_memory_pss_bytes") >= BYTES);
    toll_frame_free(f);
    for (unsigned i = 0; i < CHILDREN; i++) {
        kill(children[i], SIGKILL);
        waitpid(children[i], NULL, 0);
    }
    munmap(block, BYTES);
}

static void test_a_tree(void **state)
{
    pid_t child = fork();
    if (child == 0) {
        pause();
        _exit(0);
    }
    struct toll_target self = {.size = sizeof self};
    struct toll_options o = {.size = sizeof o};
    struct toll_frame *f = snapshot(&self, &o);
    assert_true(toll_frame_get(f, "target_processes") == 2);
    assert_true(toll_frame_get(f, "descendants_processes") == 1);
    bool met = false;
    for (size_t i = 0; i < f->row_count; i++)
        met |= toll_frame_row(f, i)->pid == child && toll_frame_row(f, i)->parent == getpid();
    assert_true(met);
    toll_frame_free(f);
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
}

static void test_the_machine(void **state)
{
    struct toll_frame *f = snapshot(NULL, NULL);
    assert_true(toll_frame_get(f, "system_uptime_seconds") > 0);
    assert_true(toll_frame_get(f, "system_memory_used_bytes") > 0);
    assert_true(isnan(toll_frame_get(f, "target_cpu_seconds")));
    toll_frame_free(f);
}

static void test_again_and_again(void **state)
{
    pid_t child = fork();
    if (child == 0) {
        uint64_t until = clock_mono(NULL) + 60 * NS_PER_SECOND;
        while (clock_mono(NULL) < until)
            ;
        _exit(0);
    }
    struct toll_target target = {.size = sizeof target, .id = child};
    struct toll_probe *p = NULL;
    struct toll_frame *f;
    unsigned fds = tree_open_fds();
    assert_int_equal(toll_probe_new(&p, &target, &alone, NULL), 0);
    double before = -1;
    for (unsigned i = 0; i < 5; i++) {
        assert_int_equal(toll_probe_read(p, &f), 0);
        double cpu = toll_frame_get(f, "target_cpu_seconds");
        assert_true(cpu >= before);
        before = cpu;
        toll_frame_free(f);
    }
    kill(child, SIGKILL);
    waitpid(child, NULL, 0);
    assert_int_equal(toll_probe_read(p, &f), -ESRCH);
    toll_probe_free(p);
    toll_probe_free(NULL);
    assert_int_equal(tree_open_fds(), fds);
}

static void test_what_is_refused(void **state)
{
    struct toll_frame *f;
    struct toll_error e;
    struct toll_target nobody = {.size = sizeof nobody, .id = 0x7FFFFFFF};
    struct toll_target no_size = {.id = 1};
    struct toll_options odd = {.size = sizeof odd, .metrics = "no_such_*"};
    struct toll_options no_options = {0};
    assert_int_equal(toll_snapshot(&f, &nobody, NULL, &e), -ESRCH);
    assert_non_null(strstr(e.message, "no process"));
    assert_int_equal(toll_snapshot(&f, &no_size, NULL, &e), -EINVAL);
    assert_int_equal(toll_snapshot(&f, NULL, &odd, &e), -EINVAL);
    assert_non_null(strstr(e.message, "no_such_"));
    assert_int_equal(toll_snapshot(&f, NULL, &no_options, &e), -EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_the_same_both_ways), cmocka_unit_test(test_a_tree),
        cmocka_unit_test(test_a_large_tree),       cmocka_unit_test(test_the_machine),
        cmocka_unit_test(test_again_and_again),    cmocka_unit_test(test_what_is_refused),
    };
    return RUN("probe", tests);
}
