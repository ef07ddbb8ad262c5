/* SPDX-License-Identifier: MIT */
#include "source/gpu/nvml.h"

#include "fake_nvml.h"

static void test_stride(void **state)
{
    for (size_t stride = 16; stride <= 32; stride += 8)
        for (unsigned count = 1; count < 100; count++) {
            assert_int_equal(nvml_processes_stride(stride * count, count), stride);
            /* The last bytes of the last entry look like the pattern. */
            assert_int_equal(nvml_processes_stride(stride * count - 7, count), stride);
        }
    assert_int_equal(nvml_processes_stride(0, 0), 0);
    assert_int_equal(nvml_processes_stride(0, 3), 0);
    assert_int_equal(nvml_processes_stride(8, 1), 0);
    assert_int_equal(nvml_processes_stride(40, 1), 0);
    assert_int_equal(nvml_processes_stride(4096, 1), 0);
}

struct ready {
    struct fake_nvml fake;
    struct nvml_api api;
    nvml_handle *handle;
    struct nvml_processes processes;
    struct nvml_shares shares;
    struct gpu_pids pids;
};

static void ready_make(struct ready *r, const char *variant, const char *facts)
{
    *r = (struct ready){0};
    fake_nvml_make(&r->fake, variant, facts);
    assert_int_equal(nvml_api_find(&r->api, r->fake.library, &r->fake.trouble), 0);
    assert_int_equal(r->api.handle(0, &r->handle), NVML_OK);
    gpu_pids_init(&r->pids, &r->fake.root);
}

static int ready_read(struct ready *r, uint64_t now_ns)
{
    gpu_frame_clear(&r->fake.frame);
    assert_non_null(gpu_frame_add_device(&r->fake.frame));
    return nvml_processes_read(&r->processes, &r->api, r->handle, &r->shares, &r->pids,
                               &r->fake.frame, 0, now_ns);
}

static void ready_remove(struct ready *r)
{
    nvml_processes_done(&r->processes);
    nvml_shares_done(&r->shares);
    gpu_pids_done(&r->pids);
    fake_nvml_remove(&r->fake);
}

static void check_layout(unsigned stride, const char *variant)
{
    struct ready r;
    char facts[4096];
    int length = snprintf(facts, sizeof facts, "gpus 1\nstride %u\n", stride);
    for (unsigned i = 1; i <= 40; i++)
        length += snprintf(facts + length, sizeof facts - (size_t)length, "0.compute %u %u\n", i,
                           i * 1000);
    ready_make(&r, variant, facts);
    assert_int_not_equal(ready_read(&r, NS_PER_SECOND), NVML_LOST);
    assert_int_equal(r.fake.frame.process_count, 40);
    for (unsigned i = 1; i <= 40; i++) {
        struct gpu_process *p = gpu_frame_process(&r.fake.frame, 0, (pid_t)i);
        assert_true(p->has_memory);
        assert_int_equal(p->memory_bytes, i * 1000);
    }
    assert_int_equal(row_u64(&r.fake.frame.devices[0].row, gpu_processes_count), 40);
    assert_true(r.fake.frame.devices[0].tells & GPU_TELLS_MEMORY);
    ready_remove(&r);
}

static void test_layouts(void **state)
{
    check_layout(16, "nvml");
    check_layout(24, "nvml");
    check_layout(32, "nvml");
    check_layout(16, "nvml-old");
}

/* A driver that leaves the end of the last entry alone: more entries tell more. */
static void test_longer_list_tells_more(void **state)
{
    struct ready r;
    ready_make(&r, "nvml", "gpus 1\nstride 24\nwritten 16\n0.compute 7 700\n");
    assert_int_equal(ready_read(&r, NS_PER_SECOND), NVML_OK);
    assert_int_equal(gpu_frame_process(&r.fake.frame, 0, 7)->memory_bytes, 700);
    fake_nvml_say(&r.fake, "gpus 1\nstride 24\nwritten 16\n0.compute 7 700\n0.compute 8 800\n"
                           "0.compute 9 900\n");
    assert_int_equal(ready_read(&r, NS_PER_SECOND), NVML_OK);
    assert_int_equal(r.fake.frame.process_count, 3);
    assert_int_equal(gpu_frame_process(&r.fake.frame, 0, 9)->memory_bytes, 900);
    fake_nvml_say(&r.fake, "gpus 1\nstride 24\nwritten 16\n0.compute 7 701\n");
    assert_int_equal(ready_read(&r, NS_PER_SECOND), NVML_OK);
    assert_int_equal(gpu_frame_process(&r.fake.frame, 0, 7)->memory_bytes, 701);
    ready_remove(&r);
}

/* The library has the newest function, the driver has not. */
static void test_function_of_the_library_alone(void **state)
{
    struct ready r;
    ready_make(&r, "nvml",
               "gpus 1\nstride 24\nerror.list_v3 13\nerror.list_v2 25\n"
               "0.compute 7 700\n");
    assert_int_equal(ready_read(&r, NS_PER_SECOND), NVML_OK);
    assert_int_equal(r.fake.frame.process_count, 1);
    assert_int_equal(r.fake.frame.processes[0].memory_bytes, 700);
    assert_int_equal(r.shares.ways[NVML_COMPUTE].stride, 16);
    ready_remove(&r);
}

static void test_in_two_lists_once(void **state)
{
    struct ready r;
    ready_make(&r, "nvml",
               "gpus 1\n0.compute 7 700\n0.graphics 7 700\n0.graphics 8 80\n"
               "0.mps 9 90\n0.compute 10 none\n");
    assert_int_equal(ready_read(&r, NS_PER_SECOND), NVML_OK);
    assert_int_equal(r.fake.frame.process_count, 4);
    assert_int_equal(gpu_frame_process(&r.fake.frame, 0, 7)->memory_bytes, 700);
    assert_int_equal(gpu_frame_process(&r.fake.frame, 0, 9)->memory_bytes, 90);
    assert_false(gpu_frame_process(&r.fake.frame, 0, 10)->has_memory); /* never 2^64-1 */
    assert_int_equal(row_u64(&r.fake.frame.devices[0].row, gpu_processes_count), 4);
    ready_remove(&r);
}

static void test_nobody(void **state)
{
    struct ready r;
    ready_make(&r, "nvml", "gpus 1\n");
    assert_int_equal(ready_read(&r, NS_PER_SECOND), NVML_OK);
    assert_int_equal(r.fake.frame.process_count, 0);
    assert_true(row_has(&r.fake.frame.devices[0].row, gpu_processes_count));
    assert_int_equal(r.fake.frame.devices[0].tells, GPU_TELLS_MEMORY | GPU_TELLS_SHARE);
    ready_remove(&r);
}

static void test_errors(void **state)
{
    static const int codes[] = {1, 2, 3, 4, 6, 9, 12, 13, 17, 18, 25, 27, 999};
    for (size_t i = 0; i < ARRAY_LEN(codes); i++) {
        struct ready r;
        char facts[128];
        snprintf(facts, sizeof facts,
                 "gpus 1\nerror.compute %d\nerror.sample %d\n0.graphics 5 50\n", codes[i],
                 codes[i]);
        ready_make(&r, "nvml", facts);
        assert_int_not_equal(ready_read(&r, NS_PER_SECOND), NVML_LOST);
        struct gpu_device *d = &r.fake.frame.devices[0];
        assert_false(d->tells & GPU_TELLS_MEMORY);
        assert_false(row_has(&d->row, gpu_processes_count));
        assert_int_equal(!!(d->tells & GPU_TELLS_SHARE), codes[i] == NVML_NOT_FOUND);
        ready_remove(&r);
    }
    struct ready r;
    ready_make(&r, "nvml", "gpus 1\nerror.sample 15\n");
    assert_int_equal(ready_read(&r, NS_PER_SECOND), NVML_LOST);
    fake_nvml_say(&r.fake, "gpus 1\nerror.graphics 15\n");
    assert_int_equal(ready_read(&r, NS_PER_SECOND), NVML_LOST);
    ready_remove(&r);
}

static double share_of(struct ready *r, pid_t pid)
{
    struct gpu_process *p = gpu_frame_process(&r->fake.frame, 0, pid);
    assert_true(p->has_share);
    return p->share;
}

#define LISTED "gpus 1\n0.compute 7 1\n0.compute 8 1\n"

/* What the driver remembers from before is not what is now. */
static void test_history(void **state)
{
    struct ready r;
    ready_make(&r, "nvml", LISTED "0.sample 7 90 1000000\n");
    assert_int_equal(ready_read(&r, 10 * NS_PER_SECOND), NVML_OK);
    /* Of those that are listed; all others have none. */
    assert_true(r.fake.frame.devices[0].tells & GPU_TELLS_SHARE);
    assert_false(gpu_frame_process(&r.fake.frame, 0, 7)->has_share);
    assert_int_equal(ready_read(&r, 10 * NS_PER_SECOND + 200 * NS_PER_MS), NVML_OK);
    assert_false(gpu_frame_process(&r.fake.frame, 0, 7)->has_share); /* still nothing new */
    fake_nvml_say(&r.fake, LISTED "0.sample 7 90 1000000\n0.sample 7 20 1400000\n");
    assert_int_equal(ready_read(&r, 10 * NS_PER_SECOND + 400 * NS_PER_MS), NVML_OK);
    assert_true(share_of(&r, 7) == 0.20);
    assert_true(share_of(&r, 8) == 0);
    ready_remove(&r);
    /* Nothing new for a second: nobody works. */
    ready_make(&r, "nvml", LISTED "0.sample 7 90 1000000\n");
    assert_int_equal(ready_read(&r, 10 * NS_PER_SECOND), NVML_OK);
    assert_int_equal(ready_read(&r, 12 * NS_PER_SECOND), NVML_OK);
    assert_true(share_of(&r, 7) == 0);
    ready_remove(&r);
}

static void test_shares(void **state)
{
    struct ready r;
    ready_make(&r, "nvml", LISTED);
    assert_int_equal(ready_read(&r, 9 * NS_PER_SECOND), NVML_OK);
    assert_true(share_of(&r, 7) == 0);
    fake_nvml_say(&r.fake, LISTED "0.sample 7 10 1000000\n0.sample 7 30 1500000\n"
                                  "0.sample 9 50 1500000\n0.sample 8 200 1500000\n");
    assert_int_equal(ready_read(&r, 10 * NS_PER_SECOND), NVML_OK);
    assert_true(share_of(&r, 7) == 0.30); /* the newest */
    assert_true(share_of(&r, 8) == 0);    /* nonsense is not taken */
    assert_int_equal(r.fake.frame.process_count, 2);
    /* Nothing new: what was told holds for a second. */
    assert_int_equal(ready_read(&r, 10 * NS_PER_SECOND + 500 * NS_PER_MS), NVML_OK);
    assert_true(share_of(&r, 7) == 0.30);
    assert_int_equal(ready_read(&r, 12 * NS_PER_SECOND), NVML_OK);
    assert_true(share_of(&r, 7) == 0);
    fake_nvml_say(&r.fake, LISTED "0.sample 8 100 9000000\n0.sample 7 10 7000000\n");
    assert_int_equal(ready_read(&r, 13 * NS_PER_SECOND), NVML_OK);
    assert_true(share_of(&r, 8) == 1);
    assert_true(share_of(&r, 7) == 0); /* too old a sample beside the other */
    ready_remove(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_stride),
        cmocka_unit_test(test_layouts),
        cmocka_unit_test(test_longer_list_tells_more),
        cmocka_unit_test(test_function_of_the_library_alone),
        cmocka_unit_test(test_in_two_lists_once),
        cmocka_unit_test(test_nobody),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_history),
        cmocka_unit_test(test_shares),
    };
    return RUN("nvml_processes", tests);
}
