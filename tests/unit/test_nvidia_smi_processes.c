/* SPDX-License-Identifier: MIT */
#include "source/gpu/smi.h"

#include "fake_smi.h"

struct fixture {
    struct tree tree;
    struct sysroot root;
    struct gpu_helpers helpers;
    struct gpu_pids pids;
    struct smi_command command;
    struct gpu_frame frame;
};

/* A command that says this of processes that compute, and this when it is asked for pmon. */
static void make(struct fixture *x, const char *apps, const char *pmon)
{
    char path[512];
    *x = (struct fixture){.root = SYSROOT_NONE};
    tree_make(&x->tree);
    tree_write(&x->tree, "proc/version", "Linux\n");
    tree_write(&x->tree, "apps", apps);
    tree_write(&x->tree, "pmon", pmon);
    tree_write(&x->tree, "tool",
               "#!/bin/sh\nhere=${0%/*}\n[ $1 = pmon ] && exec cat $here/pmon\n"
               "[ -s $here/apps ] && exec cat $here/apps\nexit 2\n");
    assert_int_equal(chmod(tree_path(&x->tree, path, "tool"), 0700), 0);
    assert_int_equal(sysroot_open(&x->root, x->tree.path, NULL), 0);
    gpu_helpers_init(&x->helpers);
    gpu_pids_init(&x->pids, &x->root);
    assert_int_equal(smi_command_open(&x->command, path, &x->helpers), 0);
    for (unsigned i = 0; i < 2; i++) {
        struct gpu_device *d = gpu_frame_add_device(&x->frame);
        d->facts.index = i;
        snprintf(d->facts.uuid, sizeof d->facts.uuid, "GPU-%u", i);
    }
    nvidia_smi_processes_read(&x->command, &x->pids, &x->frame);
}

static void remove_all(struct fixture *x)
{
    smi_command_close(&x->command);
    gpu_frame_done(&x->frame);
    gpu_pids_done(&x->pids);
    gpu_helpers_done(&x->helpers);
    sysroot_close(&x->root);
    tree_remove(&x->tree);
}

/* In both lists, and in pmon twice: counted once for each device. */
static void test_once(void **state)
{
    struct fixture x;
    make(&x, "GPU-0, 50, 100\nGPU-1, 50, 7\nGPU-9, 50, 7\nGPU-0, 60, [N/A]\n",
         "# gpu pid type sm mem fb command\n# Idx # C/G % % MB name\n"
         "0 50 C 10 - 100 a\n0 50 G 30 - 120 a\n0 60 C - - - b\n1 50 C 200 - 7 a\n");
    assert_int_equal(x.frame.process_count, 3);
    struct gpu_process *p = gpu_frame_process(&x.frame, 0, 50);
    assert_int_equal(p->memory_bytes, 120 << 20);
    assert_float_equal(p->share, 0.3, 1e-9);
    p = gpu_frame_process(&x.frame, 0, 60);
    assert_false(p->has_memory || p->has_share);
    p = gpu_frame_process(&x.frame, 1, 50);
    assert_int_equal(p->memory_bytes, 7 << 20);
    assert_false(p->has_share); /* 200 percent cannot be */
    remove_all(&x);
}

/* Of a GPU that is not in pmon, who uses it is not known to the last. */
static void test_pmon_is_silent(void **state)
{
    struct fixture x;
    make(&x, "GPU-1, 50, 7\n", "# gpu pid type sm mem command\n0 - - - - -\n");
    assert_int_equal(x.frame.devices[0].tells, GPU_TELLS_MEMORY | GPU_TELLS_SHARE);
    assert_value(&x.frame.devices[0].row, gpu_processes_count, 0);
    assert_int_equal(x.frame.devices[1].tells, 0);
    assert_unknown(&x.frame.devices[1].row, gpu_processes_count);
    assert_int_equal(x.frame.process_count, 1);
    remove_all(&x);
}

/* Without a heading nothing is taken by its place. */
static void test_no_heading(void **state)
{
    struct fixture x;
    make(&x, "", "0 50 C 10 - 100 a\n# Idx # C/G % % MB name\n0 50 C 10 - 100 a\n");
    assert_int_equal(x.frame.process_count, 0);
    assert_int_equal(x.frame.devices[0].tells, 0);
    remove_all(&x);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_once),
        cmocka_unit_test(test_pmon_is_silent),
        cmocka_unit_test(test_no_heading),
    };
    return RUN("nvidia_smi_processes", tests);
}
