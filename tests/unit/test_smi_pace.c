/* SPDX-License-Identifier: MIT */
#include "source/gpu/smi_command.h"

#include "base/util.h"
#include "figures.h"

static void test_rests(void **state)
{
    struct smi_pace p = {.next_ns = 0};
    assert_true(smi_pace_is_due(&p, 5 * NS_PER_SECOND));
    smi_pace_took(&p, 5 * NS_PER_SECOND, 5 * NS_PER_SECOND + NS_PER_MS); /* quick: once a second */
    assert_false(smi_pace_is_due(&p, 6 * NS_PER_SECOND - 1));
    assert_true(smi_pace_is_due(&p, 6 * NS_PER_SECOND));
    smi_pace_took(&p, 6 * NS_PER_SECOND, 7 * NS_PER_SECOND);
    assert_false(smi_pace_is_due(&p, 11 * NS_PER_SECOND - 1));
    assert_true(smi_pace_is_due(&p, 11 * NS_PER_SECOND));
    smi_pace_took(&p, 11 * NS_PER_SECOND, 16 * NS_PER_SECOND); /* slow: not for ever */
    assert_true(smi_pace_is_due(&p, 26 * NS_PER_SECOND));
    smi_pace_done(&p);
}

static void test_copy(void **state)
{
    struct smi_pace p = {.next_ns = 0};
    struct gpu_frame f = {.device_count = 0};
    row_put_double(&gpu_frame_add_device(&p.kept)->row, gpu_utilization_ratio, 0.5);
    gpu_frame_process(&p.kept, 0, 77)->memory_bytes = 9;
    gpu_frame_add_device(&f); /* another vendor's */
    smi_pace_copy(&p, &f);
    assert_int_equal(f.device_count, 2);
    assert_number(&f.devices[1].row, gpu_utilization_ratio, 0.5);
    assert_int_equal(f.process_count, 1);
    assert_int_equal(f.processes[0].device, 1);
    assert_int_equal(f.processes[0].memory_bytes, 9);
    gpu_frame_done(&f);
    smi_pace_done(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_rests), cmocka_unit_test(test_copy)};
    return RUN("smi_pace", tests);
}
