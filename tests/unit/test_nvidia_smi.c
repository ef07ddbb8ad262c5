/* SPDX-License-Identifier: MIT */
#include "fake_smi.h"

#define MIB UINT64_C(1048576)

static void check_devices(const struct fake_smi *x)
{
    assert_int_equal(x->frame.device_count, 2);
    const struct gpu_device *d = &x->frame.devices[0];
    assert_string_equal(d->facts.uuid, "GPU-5a1c0000-1111-2222-3333-444455556666");
    assert_string_equal(d->facts.name, "NVIDIA A100-SXM4-40GB");
    assert_string_equal(d->facts.pci, "0000:3b:00.0");
    assert_string_equal(d->facts.vendor, "nvidia");
    assert_int_equal(d->facts.index, 0);
    assert_number(&d->row, gpu_utilization_ratio, 0.37);
    assert_number(&d->row, gpu_memory_controller_ratio, 0.04);
    assert_value(&d->row, gpu_memory_total_bytes, 40960 * MIB);
    assert_value(&d->row, gpu_memory_used_bytes, 1517 * MIB);
    assert_value(&d->row, gpu_memory_reserved_bytes, 493 * MIB);
    assert_number(&d->row, gpu_power_watts, 61.25);
    assert_number(&d->row, gpu_power_limit_watts, 400);
    assert_number(&d->row, gpu_temperature_celsius, 41);
    assert_value(&d->row, gpu_clock_sm_hertz, 1410000000);
    assert_value(&d->row, gpu_clock_memory_hertz, 1215000000);
    assert_unknown(&d->row, gpu_encoder_ratio);
    d = &x->frame.devices[1];
    assert_int_equal(d->facts.index, 1);
    assert_unknown(&d->row, gpu_utilization_ratio); /* that value alone */
    assert_unknown(&d->row, gpu_memory_used_bytes);
    assert_unknown(&d->row, gpu_power_watts);
    assert_value(&d->row, gpu_memory_total_bytes, 40960 * MIB);
    assert_false(d->is_lost);
}

/* Columns of pmon that come, go and move; fields that are not known yet. */
static void test_drivers(void **state)
{
    static const char *const drivers[] = {"545", "550", "560"};
    for (size_t i = 0; i < ARRAY_LEN(drivers); i++) {
        struct fake_smi x;
        fake_smi_make(&x, "smi", drivers[i], "");
        assert_int_equal(fake_smi_open(&x, &gpu_vendor_nvidia_smi), 0);
        for (int round = 0; round < 2; round++) { /* the second time from what is kept */
            fake_smi_read(&x);
            check_devices(&x);
            assert_string_equal(x.trouble.sentence, "");
            assert_int_equal(x.frame.process_count, 1);
            const struct gpu_process *p = &x.frame.processes[0];
            assert_true(p->device == 0 && p->has_memory && p->has_share && !p->has_busy);
            assert_int_equal(p->memory_bytes, 1024 * MIB);
            assert_float_equal(p->share, 0.45, 1e-9);
            for (int d = 0; d < 2; d++)
                assert_int_equal(x.frame.devices[d].tells, GPU_TELLS_MEMORY | GPU_TELLS_SHARE);
            assert_value(&x.frame.devices[0].row, gpu_processes_count, 1);
            assert_value(&x.frame.devices[1].row, gpu_processes_count, 0);
        }
        fake_smi_remove(&x);
    }
}

static void test_not_there(void **state)
{
    struct fake_smi x;
    fake_smi_make(&x, "no-such-folder", "550", "");
    assert_int_equal(fake_smi_open(&x, &gpu_vendor_nvidia_smi), -ENODEV);
    x.context.helpers = NULL;
    assert_int_equal(fake_smi_open(&x, &gpu_vendor_nvidia_smi), -ENODEV);
    fake_smi_remove(&x);
    fake_smi_make(&x, "smi", "550", "");
    x.root.live = false; /* a recorded machine has no commands */
    assert_int_equal(fake_smi_open(&x, &gpu_vendor_nvidia_smi), -ENODEV);
    fake_smi_remove(&x);
    gpu_vendor_nvidia_smi.close(NULL);
}

static void test_no_device(void **state)
{
    struct fake_smi x;
    fake_smi_make(&x, "smi", "550", "none");
    assert_int_equal(fake_smi_open(&x, &gpu_vendor_nvidia_smi), -ENODEV);
    assert_string_equal(x.trouble.sentence, "");
    fake_smi_remove(&x);
}

static void test_mismatch(void **state)
{
    struct fake_smi x;
    fake_smi_make(&x, "smi", "550", "mismatch");
    assert_int_equal(fake_smi_open(&x, &gpu_vendor_nvidia_smi), -EIO);
    assert_string_equal(x.trouble.sentence, "nvidia-smi says: Failed to initialize NVML: "
                                            "Driver/library version mismatch");
    fake_smi_remove(&x);
}

static void test_lost(void **state)
{
    struct fake_smi x;
    fake_smi_make(&x, "smi", "550", "");
    /* The helper has the environment it was started with: a file says when it is lost. */
    struct tree t;
    char path[512], list[1100];
    tree_make(&t);
    tree_write(&t, "nvidia-smi",
               "#!/bin/sh\n[ -e \"${0%/*}/lost\" ] && export FAKE_SMI_TROUBLE=lost\n"
               "exec " FAKE_COMMANDS "/smi/nvidia-smi \"$@\"\n");
    assert_int_equal(chmod(tree_path(&t, path, "nvidia-smi"), 0700), 0);
    snprintf(list, sizeof list, "%s:/usr/bin:/bin", t.path);
    setenv("PATH", list, 1);
    assert_int_equal(fake_smi_open(&x, &gpu_vendor_nvidia_smi), 0);
    tree_write(&t, "lost", "");
    fake_smi_read(&x);
    assert_int_equal(x.frame.device_count, 2);
    assert_false(x.frame.devices[0].is_lost);
    assert_number(&x.frame.devices[0].row, gpu_utilization_ratio, 0.37);
    assert_true(x.frame.devices[1].is_lost);
    assert_unknown(&x.frame.devices[1].row, gpu_memory_total_bytes);
    fake_smi_remove(&x);
    tree_remove(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_drivers),   cmocka_unit_test(test_not_there),
        cmocka_unit_test(test_no_device), cmocka_unit_test(test_mismatch),
        cmocka_unit_test(test_lost),
    };
    return RUN("nvidia_smi", tests);
}
