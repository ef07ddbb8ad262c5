/* SPDX-License-Identifier: MIT */
#include "collect/gpu_vendor.h"

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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_devices),
        cmocka_unit_test(test_processes_stand_once),
    };
    return RUN("gpu_frame", tests);
}
