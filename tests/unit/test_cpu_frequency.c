/* SPDX-License-Identifier: MIT */
#include "source/machine/cpu.h"

#include "tree.h"

#define CPU3 "sys/devices/system/cpu/cpu3/cpufreq/scaling_cur_freq"

static void open_tree(struct tree *t, struct sysroot *root)
{
    tree_make(t);
    tree_write(t, "proc/version", "Linux\n");
    tree_write(t, CPU3, "2400000\n");
    assert_int_equal(sysroot_open(root, t->path, NULL), 0);
}

static void test_hertz(void **state)
{
    struct tree t;
    struct sysroot root;
    struct cpu_frequency f = CPU_FREQUENCY_NONE;
    uint64_t hertz;
    open_tree(&t, &root);
    unsigned fds = tree_open_fds();
    assert_int_equal(cpu_frequency_read(&f, &root, 3, false, &hertz), 0);
    assert_true(hertz == UINT64_C(2400000000));
    assert_int_equal(tree_open_fds(), fds);
    assert_int_equal(cpu_frequency_read(&f, &root, 3, true, &hertz), 0);
    assert_int_equal(tree_open_fds(), fds + 1);
    tree_write(&t, CPU3, "800000\n");
    assert_int_equal(cpu_frequency_read(&f, &root, 3, true, &hertz), 0);
    assert_true(hertz == 800000000);
    cpu_frequency_done(&f);
    assert_int_equal(tree_open_fds(), fds);
    sysroot_close(&root);
    tree_remove(&t);
}

static void test_unknown(void **state)
{
    static const char *const texts[] = {"", "\n", "<unknown>\n", "24", "18446744073709551615\n"};
    struct tree t;
    struct sysroot root;
    struct cpu_frequency f = CPU_FREQUENCY_NONE;
    uint64_t hertz = 7;
    open_tree(&t, &root);
    assert_int_equal(cpu_frequency_read(&f, &root, 4, true, &hertz), -ENOENT);
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        tree_write(&t, CPU3, texts[i]);
        assert_int_equal(cpu_frequency_read(&f, &root, 3, false, &hertz), -EBADMSG);
    }
    close(root.sys);
    root.sys = -1;
    assert_int_equal(cpu_frequency_read(&f, &root, 3, false, &hertz), -ENOENT);
    assert_int_equal(hertz, 7);
    sysroot_close(&root);
    tree_remove(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hertz),
        cmocka_unit_test(test_unknown),
    };
    return RUN("cpu_frequency", tests);
}
