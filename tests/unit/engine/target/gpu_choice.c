/* SPDX-License-Identifier: MIT */
#include "engine/target/gpu_instances.h"
#include "unit.h"

#include <stdio.h>

static struct gpu_device devices[4];

enum { DEVICES = 4 };

static void fill(struct gpu_device *d, const char *vendor, unsigned index, const char *instance,
                 const char *uuid)
{
    *d = (struct gpu_device){.facts = {.vendor = vendor, .index = index}};
    memcpy(d->facts.instance, instance, strlen(instance) + 1);
    memcpy(d->facts.uuid, uuid, strlen(uuid) + 1);
}

static int setup(void **state)
{
    static const char *const variables[] = {"CUDA_VISIBLE_DEVICES", "NVIDIA_VISIBLE_DEVICES",
                                            "ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES",
                                            "ZE_AFFINITY_MASK",     "SLURM_JOB_GPUS"};
    for (size_t i = 0; i < ARRAY_LEN(variables); i++)
        unsetenv(variables[i]);
    fill(&devices[0], "nvidia", 0, "", "GPU-aaaa-1111");
    fill(&devices[1], "nvidia", 0, "1", "MIG-bbbb-2222");
    fill(&devices[2], "nvidia", 1, "", "GPU-cccc-3333");
    fill(&devices[3], "amd", 0, "", "1234567890abcdef");
    return 0;
}

/* Those that are meant, as bits. */
static unsigned meant(const char *text)
{
    struct gpu_choice c;
    unsigned bits = 0;
    assert_int_equal(gpu_choice_parse(&c, text, NULL), 0);
    for (unsigned i = 0; i < DEVICES; i++)
        bits |= (unsigned)gpu_choice_has(&c, devices, DEVICES, &devices[i].facts) << i;
    gpu_choice_done(&c);
    return bits;
}

static void test_words(void **state)
{
    assert_int_equal(meant(NULL), 15);
    assert_int_equal(meant("visible"), 15);
    assert_int_equal(meant("all"), 15);
    assert_int_equal(meant("none"), 0);
}

static void test_names(void **state)
{
    assert_int_equal(meant("0"), 1 | 2 | 8); /* with its instance, and of each vendor */
    assert_int_equal(meant("0:1"), 2);
    assert_int_equal(meant("nvidia0"), 1);
    assert_int_equal(meant("amd0,nvidia1"), 4 | 8);
    assert_int_equal(meant("GPU-aaaa-1111"), 1);
    assert_int_equal(meant("GPU-cccc"), 4); /* cut short, as CUDA allows it */
    assert_int_equal(meant("MIG-bbbb-2222, 1"), 2 | 4);
    assert_int_equal(meant("1234567890abcdef"), 8);
    assert_int_equal(meant("7"), 0);
}

static void test_environment(void **state)
{
    setenv("CUDA_VISIBLE_DEVICES", "1", 1);
    assert_int_equal(meant(NULL), 4 | 8); /* says nothing of AMD */
    assert_int_equal(meant("all"), 15);
    setenv("CUDA_VISIBLE_DEVICES", "MIG-bbbb-2222", 1);
    assert_int_equal(meant(NULL), 2 | 8);
    static const char *const nothing[] = {"", "-1", "NoDevFiles", "none", "void"};
    for (size_t i = 0; i < ARRAY_LEN(nothing); i++) {
        setenv("CUDA_VISIBLE_DEVICES", nothing[i], 1);
        assert_int_equal(meant(NULL), 8);
    }
    unsetenv("CUDA_VISIBLE_DEVICES");
    setenv("NVIDIA_VISIBLE_DEVICES", "5,6", 1); /* as they are counted outside */
    assert_int_equal(meant(NULL), 15);
    setenv("NVIDIA_VISIBLE_DEVICES", "all", 1);
    assert_int_equal(meant(NULL), 15);
    unsetenv("NVIDIA_VISIBLE_DEVICES");
    setenv("SLURM_JOB_GPUS", "1", 1);
    setenv("ROCR_VISIBLE_DEVICES", "0", 1);
    assert_int_equal(meant(NULL), 4 | 8);
}

/* Those of one vendor that are left, as bits; a variable and its value each, NULL at the end. */
static unsigned left_of(const char *vendor, unsigned count, const char *const *variables)
{
    struct gpu_device some[8];
    struct gpu_choice c;
    unsigned bits = 0;
    setup(NULL);
    for (; *variables; variables += 2)
        setenv(variables[0], variables[1], 1);
    for (unsigned i = 0; i < count; i++) {
        char uuid[32];
        snprintf(uuid, sizeof uuid, "%s%u%u", strcmp(vendor, "nvidia") == 0 ? "GPU-" : "", i, i);
        fill(&some[i], vendor, i, "", uuid);
    }
    assert_int_equal(gpu_choice_parse(&c, NULL, NULL), 0);
    for (unsigned i = 0; i < count; i++)
        bits |= (unsigned)gpu_choice_has(&c, some, count, &some[i].facts) << i;
    gpu_choice_done(&c);
    setup(NULL);
    return bits;
}

#define LEFT(vendor, count, ...) left_of(vendor, count, (const char *const[]){__VA_ARGS__, NULL})

/* A container that shows some of the machine's GPUs numbers them anew. */
static void test_lists_of_the_machine(void **state)
{
    assert_int_equal(LEFT("nvidia", 2, "NVIDIA_VISIBLE_DEVICES", "1,2"), 3);
    assert_int_equal(LEFT("nvidia", 3, "NVIDIA_VISIBLE_DEVICES", "1,2"), 6);
    assert_int_equal(LEFT("nvidia", 2, "SLURM_JOB_GPUS", "1,2"), 3);
    assert_int_equal(LEFT("nvidia", 3, "SLURM_JOB_GPUS", "1,2"), 6);
    assert_int_equal(LEFT("amd", 2, "SLURM_JOB_GPUS", "1,2"), 3);
    assert_int_equal(LEFT("nvidia", 1, "NVIDIA_VISIBLE_DEVICES", "GPU-00,GPU-77"), 1);
    assert_int_equal(LEFT("nvidia", 2, "NVIDIA_VISIBLE_DEVICES", "GPU-11"), 2);
    /* Written by container runtimes that hand GPUs in by CDI. */
    assert_int_equal(LEFT("nvidia", 2, "NVIDIA_VISIBLE_DEVICES", "void"), 3);
    assert_int_equal(LEFT("nvidia", 2, "NVIDIA_VISIBLE_DEVICES", ""), 3);
    assert_int_equal(LEFT("nvidia", 2, "NVIDIA_VISIBLE_DEVICES", "none"), 0);
    assert_int_equal(LEFT("nvidia", 2, "NVIDIA_VISIBLE_DEVICES", "void", "SLURM_JOB_GPUS", "1"), 2);
    assert_int_equal(
        LEFT("nvidia", 2, "NVIDIA_VISIBLE_DEVICES", "void", "CUDA_VISIBLE_DEVICES", "1"), 2);
}

/* CUDA reads up to the first entry that names no device. */
static void test_cuda(void **state)
{
    assert_int_equal(LEFT("nvidia", 3, "CUDA_VISIBLE_DEVICES", "2,7,0"), 4);
    assert_int_equal(LEFT("nvidia", 3, "CUDA_VISIBLE_DEVICES", "7,0"), 0);
    assert_int_equal(LEFT("nvidia", 3, "CUDA_VISIBLE_DEVICES", "0,-1,1"), 1);
    assert_int_equal(LEFT("nvidia", 3, "CUDA_VISIBLE_DEVICES", "1,x,2"), 2);
    assert_int_equal(LEFT("nvidia", 3, "CUDA_VISIBLE_DEVICES", "GPU-22,GPU-9,0"), 4);
}

static void test_rocm(void **state)
{
    assert_int_equal(LEFT("amd", 4, "ROCR_VISIBLE_DEVICES", "3,1"), 2 | 8);
    assert_int_equal(LEFT("amd", 4, "ROCR_VISIBLE_DEVICES", "3,9,1"), 8);
    assert_int_equal(LEFT("amd", 4, "ROCR_VISIBLE_DEVICES", "GPU-22"), 4);
    assert_int_equal(LEFT("amd", 4, "HIP_VISIBLE_DEVICES", "2"), 4);
    assert_int_equal(LEFT("amd", 4, "HIP_VISIBLE_DEVICES", ""), 0);
    /* HIP counts what ROCr leaves, in its order. */
    assert_int_equal(LEFT("amd", 4, "ROCR_VISIBLE_DEVICES", "3,1", "HIP_VISIBLE_DEVICES", "0"), 8);
    assert_int_equal(LEFT("amd", 4, "ROCR_VISIBLE_DEVICES", "3,1", "HIP_VISIBLE_DEVICES", "2"), 0);
    assert_int_equal(LEFT("nvidia", 4, "ROCR_VISIBLE_DEVICES", "1"), 15);
}

static void test_level_zero(void **state)
{
    assert_int_equal(LEFT("intel", 3, "ZE_AFFINITY_MASK", "1"), 2);
    assert_int_equal(LEFT("intel", 3, "ZE_AFFINITY_MASK", "0.1,2.0"), 1 | 4);
    assert_int_equal(LEFT("intel", 3, "ZE_AFFINITY_MASK", ""), 7);
    assert_int_equal(LEFT("intel", 1, "ZE_AFFINITY_MASK", "1"), 1); /* counts tiles */
    assert_int_equal(LEFT("amd", 2, "ZE_AFFINITY_MASK", "1"), 3);
}

static void test_legacy_names(void **state)
{
    static const char legacy[] = "MIG-GPU-aaaa-1111/7/0";
    memcpy(devices[1].facts.legacy, legacy, sizeof legacy);
    setenv("CUDA_VISIBLE_DEVICES", legacy, 1);
    assert_int_equal(meant(NULL), 2 | 8);
    assert_int_equal(meant("MIG-GPU-aaaa-1111/7/0"), 2);
    setenv("CUDA_VISIBLE_DEVICES", "MIG-GPU-aaaa-1111/8/0", 1);
    assert_int_equal(meant(NULL), 8);
}

static void test_asked(void **state)
{
    struct gpu_choice c;
    assert_int_equal(gpu_choice_parse(&c, NULL, NULL), 0);
    assert_false(c.is_asked);
    gpu_choice_done(&c);
    assert_int_equal(gpu_choice_parse(&c, "visible", NULL), 0);
    assert_true(c.is_asked);
    gpu_choice_done(&c);
    assert_int_equal(c.kind, GPUS_NONE);
    gpu_choice_done(&c);
}

static void test_refused(void **state)
{
    static const char *const bad[] = {"", ",", "some", "0;1", "-", "every one", "\x1b[1m0"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct gpu_choice c;
        struct toll_error e = {0};
        memset(&c, UNTOUCHED, sizeof c);
        assert_int_equal(gpu_choice_parse(&c, bad[i], &e), -EINVAL);
        assert_true(is_untouched(&c, sizeof c));
        assert_non_null(strstr(e.message, "'all', 'none', 'visible'"));
    }
}

static void test_check(void **state)
{
    struct gpu_choice c;
    struct toll_error e = {0};
    assert_int_equal(gpu_choice_parse(&c, "0,GPU-dddd", NULL), 0);
    assert_int_equal(gpu_choice_check(&c, devices, DEVICES, &e), -EINVAL);
    assert_string_equal(e.message, "gpus: no GPU 'GPU-dddd'; available: nvidia0 (GPU-aaaa-1111), "
                                   "nvidia0:1 (MIG-bbbb-2222), nvidia1 (GPU-cccc-3333), "
                                   "amd0 (1234567890abcdef)");
    assert_int_equal(gpu_choice_check(&c, devices, 0, &e), -EINVAL);
    assert_non_null(strstr(e.message, "available: none"));
    gpu_choice_done(&c);
    assert_int_equal(gpu_choice_parse(&c, "0,GPU-aaaa", NULL), 0);
    assert_int_equal(gpu_choice_check(&c, devices, DEVICES, &e), 0);
    gpu_choice_done(&c);
    assert_int_equal(gpu_choice_parse(&c, "all", NULL), 0);
    assert_int_equal(gpu_choice_check(&c, devices, 0, &e), 0);
    gpu_choice_done(&c);
}

/* A sentence has room for so much: UUIDs are cut short, which may be done, before GPUs are left
 * out. */
static void test_many(void **state)
{
    enum { MANY = 40 };
    struct gpu_device many[MANY];
    struct gpu_choice c;
    struct toll_error e = {0};
    memset(many, 0, sizeof many);
    for (unsigned i = 0; i < MANY; i++) {
        struct gpu_facts *f = &many[i].facts;
        f->vendor = "nvidia";
        f->index = i;
        snprintf(f->uuid, sizeof f->uuid, "GPU-%08x-aaaa-bbbb-cccc-0123456789ab", i);
    }
    assert_int_equal(gpu_choice_parse(&c, "GPU-none", NULL), 0);
    assert_int_equal(gpu_choice_check(&c, many, 2, &e), -EINVAL);
    assert_non_null(strstr(e.message, "nvidia1 (GPU-00000001-aaaa-bbbb-cccc-0123456789ab)"));
    assert_int_equal(gpu_choice_check(&c, many, 14, &e), -EINVAL);
    assert_non_null(strstr(e.message, "nvidia13 (GPU-0000000d)"));
    assert_int_equal(gpu_choice_check(&c, many, MANY, &e), -EINVAL);
    assert_non_null(strstr(e.message, " more"));
    assert_true(strlen(e.message) < sizeof e.message - 1);
    gpu_choice_done(&c);
}

/* As ROCm writes the unique id, and lists that neither would read to their end. */
static void test_other_spellings(void **state)
{
    assert_int_equal(meant("GPU-1234567890abcdef"), 8);
    setenv("ROCR_VISIBLE_DEVICES", "GPU-1234567890abcdef", 1);
    setenv("CUDA_VISIBLE_DEVICES", "1,-1,0", 1);
    assert_int_equal(meant(NULL), 4 | 8);
    setenv("ROCR_VISIBLE_DEVICES", "GPU-ffff,0", 1);
    assert_int_equal(meant(NULL), 4);
}

static bool awaits(const char *text, size_t count)
{
    struct gpu_choice c;
    assert_int_equal(gpu_choice_parse(&c, text, NULL), 0);
    bool result = gpu_choice_awaits(&c, devices, count);
    gpu_choice_done(&c);
    return result;
}

/* Whether one may come yet that is meant. */
static void test_awaits(void **state)
{
    assert_true(awaits("all", DEVICES));
    assert_true(awaits(NULL, DEVICES));
    assert_false(awaits("none", 0));
    assert_false(awaits("amd0,GPU-aaaa", DEVICES));
    assert_false(awaits("1234567890abcdef", DEVICES));
    assert_true(awaits("amd0,GPU-aaaa", DEVICES - 1)); /* the one is not there yet */
    assert_true(awaits("0", DEVICES));                 /* another vendor's too */
    assert_true(awaits("0:1", DEVICES));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_many, setup),
        cmocka_unit_test_setup(test_other_spellings, setup),
        cmocka_unit_test_setup(test_words, setup),
        cmocka_unit_test_setup(test_names, setup),
        cmocka_unit_test_setup(test_environment, setup),
        cmocka_unit_test_setup(test_lists_of_the_machine, setup),
        cmocka_unit_test_setup(test_cuda, setup),
        cmocka_unit_test_setup(test_rocm, setup),
        cmocka_unit_test_setup(test_level_zero, setup),
        cmocka_unit_test_setup(test_legacy_names, setup),
        cmocka_unit_test_setup(test_asked, setup),
        cmocka_unit_test_setup(test_refused, setup),
        cmocka_unit_test_setup(test_check, setup),
        cmocka_unit_test_setup(test_awaits, setup),
    };
    return RUN("engine/target/gpu_choice", tests);
}
