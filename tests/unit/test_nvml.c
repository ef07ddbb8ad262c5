/* SPDX-License-Identifier: MIT */
#include "source/gpu/vendor.h"

#include "fake_nvml.h"

static void test_numbers_of_gpus(void **state)
{
    static const unsigned counts[] = {1, 8};
    for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
        struct fake_nvml f;
        char facts[64];
        snprintf(facts, sizeof facts, "gpus %u\nutilization 10\n", counts[i]);
        fake_nvml_make(&f, "nvml", facts);
        assert_int_equal(fake_nvml_open(&f), 0);
        for (unsigned round = 0; round < 3; round++) {
            fake_nvml_read(&f, NULL, 0);
            assert_int_equal(f.frame.device_count, counts[i]);
            for (unsigned d = 0; d < counts[i]; d++)
                assert_int_equal(f.frame.devices[d].facts.index, d);
        }
        assert_string_equal(f.trouble.sentence, "");
        fake_nvml_remove(&f);
    }
    struct fake_nvml f;
    fake_nvml_make(&f, "nvml", "gpus 0\n");
    assert_int_equal(fake_nvml_open(&f), -ENODEV);
    assert_string_equal(f.trouble.sentence, "");
    fake_nvml_remove(&f);
}

static void test_errors_of_the_beginning(void **state)
{
    static const int codes[] = {1, 2, 3, 4, 6, 7, 9, 12, 13, 15, 17, 18, 25, 27, 999};
    static const char *const calls[] = {"init", "count", "handle"};
    for (size_t i = 0; i < ARRAY_LEN(codes); i++)
        for (size_t call = 0; call < ARRAY_LEN(calls); call++) {
            struct fake_nvml f;
            char facts[64], code[32];
            snprintf(facts, sizeof facts, "gpus 1\nerror.%s %d\n", calls[call], codes[i]);
            snprintf(code, sizeof code, "error %d,", codes[i]);
            fake_nvml_make(&f, "nvml", facts);
            bool needs_no_word = call == 0 && codes[i] == 9; /* there is no driver */
            assert_int_equal(fake_nvml_open(&f), needs_no_word ? -ENODEV : -EIO);
            assert_non_null(strstr(f.trouble.sentence, code));
            fake_nvml_remove(&f);
        }
}

/* One of several does not answer: the others are there, and a sentence says so. */
static void test_one_without_an_answer(void **state)
{
    struct fake_nvml f;
    fake_nvml_make(&f, "nvml", "gpus 3\n1.error.handle 15\n");
    assert_int_equal(fake_nvml_open(&f), 0);
    assert_non_null(strstr(f.trouble.sentence, "GPU 1"));
    fake_nvml_read(&f, NULL, 0);
    assert_int_equal(f.frame.device_count, 2);
    assert_int_equal(f.frame.devices[1].facts.index, 2);
    fake_nvml_remove(&f);
}

static void test_lost_in_the_middle(void **state)
{
    struct fake_nvml f;
    fake_nvml_make(&f, "nvml", "gpus 2\nutilization 50\npower 1000\n1.compute 5 500\n");
    assert_int_equal(fake_nvml_open(&f), 0);
    fake_nvml_read(&f, NULL, 0);
    assert_false(f.frame.devices[1].is_lost);
    fake_nvml_say(&f, "gpus 2\nutilization 50\npower 1000\n1.compute 5 500\n1.error.power 15\n");
    fake_nvml_read(&f, NULL, 0);
    assert_int_equal(f.frame.device_count, 2);
    assert_false(f.frame.devices[0].is_lost);
    assert_true(row_has(&f.frame.devices[0].row, gpu_utilization_ratio));
    assert_true(f.frame.devices[1].is_lost);
    assert_int_equal(f.frame.devices[1].row.present, 0);
    fake_nvml_remove(&f);
}

static void test_divided(void **state)
{
    struct fake_nvml f;
    fake_nvml_make(&f, "nvml",
                   "gpus 2\n0.mig 2\n0.utilization 0\n0:0.memory_total 20\n0:0.memory_used 5\n"
                   "0:1.memory_total 20\n0:1.memory_used 7\n0.memory_total 40\n0.memory_used 12\n"
                   "0:1.compute 9 7\n0.compute 9 7\n1.utilization 30\n");
    assert_int_equal(fake_nvml_open(&f), 0);
    fake_nvml_read(&f, NULL, 0);
    assert_int_equal(f.frame.device_count, 4);
    const struct gpu_device *whole = &f.frame.devices[0], *second = &f.frame.devices[2];
    assert_false(row_has(&whole->row, gpu_utilization_ratio)); /* and not 0 */
    assert_int_equal(row_u64(&whole->row, gpu_memory_used_bytes), 12);
    assert_string_equal(whole->facts.instance, "");
    assert_string_equal(second->facts.instance, "1");
    assert_string_equal(second->facts.uuid, "MIG-fake-0:1");
    assert_string_equal(second->facts.pci, "0000:3b:00.0");
    assert_int_equal(second->facts.index, 0);
    assert_int_equal(row_u64(&second->row, gpu_memory_used_bytes), 7);
    assert_int_equal(f.frame.process_count, 1); /* not once more of the whole */
    assert_int_equal(f.frame.processes[0].device, 2);
    assert_true(row_has(&f.frame.devices[3].row, gpu_utilization_ratio));
    fake_nvml_remove(&f);
}

static void test_no_library(void **state)
{
    void *nvml;
    struct tree tree;
    struct sysroot root;
    struct gpu_trouble trouble = {""};
    struct gpu_context context = {.root = &root};
    tree_make(&tree);
    tree_write(&tree, "proc/version", "Linux\n");
    assert_int_equal(sysroot_open(&root, tree.path, NULL), 0);
    if (dlopen("libnvidia-ml.so.1", RTLD_NOW))
        skip();
    assert_false(gpu_vendor_nvml.is_likely(&root));
    assert_int_equal(gpu_vendor_nvml.open(&nvml, &context, &trouble), -ENODEV);
    tree_write(&tree, "proc/driver/nvidia/version", "NVRM version: …\n");
    assert_true(gpu_vendor_nvml.is_likely(&root));
    assert_int_equal(gpu_vendor_nvml.open(&nvml, &context, &trouble), -ELIBACC);
    assert_non_null(strstr(trouble.sentence, "libnvidia-ml.so.1"));
    sysroot_close(&root);
    tree_remove(&tree);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_library),
        cmocka_unit_test(test_numbers_of_gpus),
        cmocka_unit_test(test_errors_of_the_beginning),
        cmocka_unit_test(test_one_without_an_answer),
        cmocka_unit_test(test_lost_in_the_middle),
        cmocka_unit_test(test_divided),
    };
    return RUN("nvml", tests);
}
