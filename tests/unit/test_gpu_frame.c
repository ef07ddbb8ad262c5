/* SPDX-License-Identifier: MIT */
#include "source/gpu/vendor.h"

#include "unit.h"

static void test_devices(void **state)
{
    struct gpu_frame f = {0};
    for (unsigned i = 0; i < 20; i++) {
        struct gpu_device *d = gpu_frame_add_device(&f);
        assert_non_null(d);
        assert_int_equal(d->row.present, 0);
        assert_string_equal(d->facts.vendor, "");
        assert_int_equal(d->tells, 0);
        d->facts.index = i;
        row_put_double(&d->row, gpu_utilization_ratio, 0.5);
    }
    assert_int_equal(f.device_count, 20);
    assert_int_equal(f.devices[19].facts.index, 19);
    gpu_frame_clear(&f);
    assert_int_equal(f.device_count, 0);
    assert_int_equal(gpu_frame_add_device(&f)->row.present, 0); /* nothing of before is left */
    gpu_frame_done(&f);
    assert_null(f.devices);
}

static void test_processes_stand_once(void **state)
{
    struct gpu_frame f = {0};
    gpu_frame_process(&f, 0, 10)->memory_bytes = 5;
    gpu_frame_process(&f, 1, 10)->memory_bytes = 6;
    gpu_frame_process(&f, 0, 11);
    assert_int_equal(gpu_frame_process(&f, 0, 10)->memory_bytes, 5);
    assert_int_equal(gpu_frame_process(&f, 1, 10)->memory_bytes, 6);
    assert_int_equal(f.process_count, 3);
    assert_int_equal(gpu_frame_count(&f, 0), 2);
    assert_int_equal(gpu_frame_count(&f, 1), 1);
    assert_int_equal(gpu_frame_count(&f, 2), 0);
    assert_false(gpu_frame_process(&f, 0, 11)->has_memory);
    gpu_frame_done(&f);
}

/* Parts stand side by side, each in its place. */
static void test_joined(void **state)
{
    struct gpu_frame f = {0}, one = {0}, two = {0};
    for (unsigned i = 0; i < 2; i++) {
        gpu_frame_add_device(&one)->facts.index = i;
        gpu_frame_add_device(&two)->facts.index = 10 + i;
    }
    gpu_frame_process(&one, 1, 5)->memory_bytes = 50;
    gpu_frame_process(&two, 1, 5)->memory_bytes = 60;
    for (unsigned round = 0; round < 2; round++) {
        f.process_count = 0;
        gpu_frame_join(&f, &one, 0, 2);
        gpu_frame_join(&f, &two, 2, 2);
        assert_int_equal(f.device_count, 4);
        assert_int_equal(f.process_count, 2);
        assert_int_equal(f.devices[3].facts.index, 11);
        assert_int_equal(f.processes[1].device, 3);
        assert_int_equal(f.processes[1].memory_bytes, 60);
    }
    f.process_count = 0;
    gpu_frame_join(&f, &two, 4, 1); /* what has no place is left out */
    assert_int_equal(f.device_count, 5);
    assert_int_equal(f.process_count, 0);
    gpu_frame_join(&f, &one, 9, 2); /* nor has what would leave a gap */
    assert_int_equal(f.device_count, 5);
    gpu_frame_done(&f);
    gpu_frame_done(&one);
    gpu_frame_done(&two);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_devices),
        cmocka_unit_test(test_processes_stand_once),
        cmocka_unit_test(test_joined),
    };
    return RUN("gpu_frame", tests);
}
