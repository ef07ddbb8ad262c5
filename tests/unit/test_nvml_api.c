/* SPDX-License-Identifier: MIT */
#include "source/gpu/nvml.h"

#include "fake_nvml.h"

static void test_new_driver(void **state)
{
    struct fake_nvml f;
    struct nvml_api api;
    fake_nvml_make(&f, "nvml", "gpus 3\n");
    assert_int_equal(nvml_api_find(&api, f.library, &f.trouble), 0);
    unsigned count = 0;
    assert_int_equal(api.count(&count), NVML_OK);
    assert_int_equal(count, 3);
    for (unsigned version = 0; version < NVML_LIST_VERSIONS; version++)
        assert_non_null(api.lists[NVML_COMPUTE][version]);
    assert_non_null(api.lists[NVML_MPS][0]);
    assert_null(api.lists[NVML_MPS][2]);
    assert_non_null(api.throttle); /* by its older name */
    assert_string_equal(nvml_api_words(&api, 18), "Driver/library version mismatch");
    api.error_string = NULL;
    assert_true(*nvml_api_words(&api, 18));
    fake_nvml_remove(&f);
}

static void test_old_driver(void **state)
{
    struct fake_nvml f;
    struct nvml_api api;
    fake_nvml_make(&f, "nvml-old", "gpus 1\n");
    assert_int_equal(nvml_api_find(&api, f.library, &f.trouble), 0);
    assert_non_null(api.init);
    assert_null(api.memory_v2);
    assert_null(api.energy);
    assert_null(api.lists[NVML_COMPUTE][0]);
    assert_non_null(api.lists[NVML_COMPUTE][2]);
    fake_nvml_remove(&f);
}

static void test_stub(void **state)
{
    struct fake_nvml f;
    struct nvml_api api;
    fake_nvml_make(&f, "nvml-stub", "");
    assert_int_equal(nvml_api_find(&api, f.library, &f.trouble), -ENOSYS);
    assert_non_null(strstr(f.trouble.sentence, "libnvidia-ml.so.1"));
    fake_nvml_remove(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_new_driver),
        cmocka_unit_test(test_old_driver),
        cmocka_unit_test(test_stub),
    };
    return RUN("nvml_api", tests);
}
