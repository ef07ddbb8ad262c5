/* SPDX-License-Identifier: MIT */
#include "source/gpu/nvml.h"
#include "fake_nvml.h"
#include "source/gpu/vendor.h"

/* ---- nvml ----------------------------------------------------------------------------------- */

static void test_nvml_numbers_of_gpus(void **state)
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

static void test_nvml_errors_of_the_beginning(void **state)
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
static void test_nvml_one_without_an_answer(void **state)
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

static void test_nvml_lost_in_the_middle(void **state)
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

static void test_nvml_divided(void **state)
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

static void test_nvml_no_library(void **state)
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

/* ---- nvml api ------------------------------------------------------------------------------- */

static void test_nvml_api_new_driver(void **state)
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

static void test_nvml_api_old_driver(void **state)
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

static void test_nvml_api_stub(void **state)
{
    struct fake_nvml f;
    struct nvml_api api;
    fake_nvml_make(&f, "nvml-stub", "");
    assert_int_equal(nvml_api_find(&api, f.library, &f.trouble), -ENOSYS);
    assert_non_null(strstr(f.trouble.sentence, "libnvidia-ml.so.1"));
    fake_nvml_remove(&f);
}

/* ---- nvml device ---------------------------------------------------------------------------- */

#define ALL_FIGURES                                                                                \
    "gpus 1\nutilization 63\nmemory_controller 21\nmemory_total 42949672960\n"                     \
    "memory_used 1073741824\nmemory_reserved 524288000\npower 250500\n"                            \
    "power_limit 400000\nenergy 123456789\n"                                                       \
    "temperature 71\nclock_sm 1410\nclock_memory 1215\nencoder 5\ndecoder 7\nthrottle 4\n"

struct nvml_device_ready {
    struct fake_nvml fake;
    struct nvml_api api;
    struct nvml_device device;
    struct gpu_device read;
};

static void nvml_device_ready_make(struct nvml_device_ready *r, const char *variant,
                                   const char *facts)
{
    *r = (struct nvml_device_ready){0};
    fake_nvml_make(&r->fake, variant, facts);
    assert_int_equal(nvml_api_find(&r->api, r->fake.library, &r->fake.trouble), 0);
    assert_int_equal(r->api.handle(0, &r->device.handle), NVML_OK);
    nvml_device_describe(&r->device, &r->api, NULL, 0, 0);
}

static int nvml_device_ready_read(struct nvml_device_ready *r)
{
    row_init(&r->read.row, ENTITY_GPU);
    int result = nvml_device_read_energy(&r->device, &r->api, &r->read);
    return result == NVML_LOST ? result : nvml_device_read(&r->device, &r->api, &r->read, NULL);
}

static double double_of(const struct nvml_device_ready *r, enum metric_id id)
{
    assert_true(row_has(&r->read.row, id));
    return row_value(&r->read.row, id).d;
}

static void test_nvml_device_every_figure(void **state)
{
    struct nvml_device_ready r;
    nvml_device_ready_make(&r, "nvml", ALL_FIGURES);
    assert_string_equal(r.device.facts.uuid, "GPU-fake-0");
    assert_string_equal(r.device.facts.name, "Fake GPU 0");
    assert_string_equal(r.device.facts.pci, "0000:3b:00.0");
    assert_string_equal(r.device.facts.vendor, "nvidia");
    assert_string_equal(r.device.facts.instance, "");
    assert_int_equal(nvml_device_ready_read(&r), NVML_OK);
    assert_true(double_of(&r, gpu_utilization_ratio) == 0.63);
    assert_true(double_of(&r, gpu_memory_controller_ratio) == 0.21);
    assert_true(double_of(&r, gpu_power_watts) == 250.5);
    assert_true(double_of(&r, gpu_power_limit_watts) == 400);
    assert_true(double_of(&r, gpu_temperature_celsius) == 71);
    assert_true(double_of(&r, gpu_encoder_ratio) == 0.05);
    assert_true(double_of(&r, gpu_decoder_ratio) == 0.07);
    assert_int_equal(row_u64(&r.read.row, gpu_memory_total_bytes), 42949672960);
    assert_int_equal(row_u64(&r.read.row, gpu_memory_used_bytes), 1073741824);
    assert_int_equal(row_u64(&r.read.row, gpu_memory_reserved_bytes), 524288000);
    assert_int_equal(row_u64(&r.read.row, gpu_energy_joules), 123456789000); /* millionths */
    assert_int_equal(row_u64(&r.read.row, gpu_clock_sm_hertz), 1410000000);
    assert_int_equal(row_u64(&r.read.row, gpu_clock_memory_hertz), 1215000000);
    assert_int_equal(row_u64(&r.read.row, gpu_throttled_count), 1);
    fake_nvml_remove(&r.fake);
}

static void test_nvml_device_old_driver(void **state)
{
    struct nvml_device_ready r;
    nvml_device_ready_make(&r, "nvml-old", ALL_FIGURES);
    assert_int_equal(nvml_device_ready_read(&r), NVML_OK);
    assert_true(double_of(&r, gpu_utilization_ratio) == 0.63);
    assert_int_equal(row_u64(&r.read.row, gpu_memory_used_bytes), 1073741824 + 524288000);
    assert_false(row_has(&r.read.row, gpu_memory_reserved_bytes));
    assert_false(row_has(&r.read.row, gpu_energy_joules));
    assert_false(row_has(&r.read.row, gpu_power_watts));
    assert_string_equal(r.device.facts.pci, "");
    fake_nvml_remove(&r.fake);
}

/* Each function fails in each way: that figure is not known, the others are. */
static void test_nvml_device_every_error_of_every_function(void **state)
{
    static const struct {
        const char *key;
        enum metric_id id;
    } figures[] = {
        {"utilization", gpu_utilization_ratio},
        {"memory_total", gpu_memory_used_bytes},
        {"power", gpu_power_watts},
        {"energy", gpu_energy_joules},
        {"temperature", gpu_temperature_celsius},
        {"clock_sm", gpu_clock_sm_hertz},
        {"clock_memory", gpu_clock_memory_hertz},
        {"encoder", gpu_encoder_ratio},
        {"decoder", gpu_decoder_ratio},
        {"throttle", gpu_throttled_count},
    };
    static const int codes[] = {1, 2, 3, 4, 6, 7, 9, 12, 13, 15, 17, 18, 25, 27, 999};
    struct nvml_device_ready r;
    nvml_device_ready_make(&r, "nvml", ALL_FIGURES);
    for (size_t i = 0; i < ARRAY_LEN(figures); i++)
        for (size_t k = 0; k < ARRAY_LEN(codes); k++) {
            char facts[1024];
            snprintf(facts, sizeof facts, "%serror.%s %d\n", ALL_FIGURES, figures[i].key, codes[k]);
            fake_nvml_say(&r.fake, facts);
            assert_int_equal(nvml_device_ready_read(&r),
                             codes[k] == NVML_LOST ? NVML_LOST : NVML_OK);
            assert_false(row_has(&r.read.row, figures[i].id));
            if (codes[k] != NVML_LOST)
                for (size_t other = 0; other < ARRAY_LEN(figures); other++)
                    assert_int_equal(row_has(&r.read.row, figures[other].id), other != i);
        }
    fake_nvml_remove(&r.fake);
}

static void test_nvml_device_why_clocks_are_held_down(void **state)
{
    static const struct {
        unsigned reasons;
        bool any, power, heat;
    } cases[] = {
        {0x00, false, false, false},  {0x01, false, false, false}, {0x02, false, false, false},
        {0x04, true, true, false},    {0x08, true, false, false},  {0x10, false, false, false},
        {0x20, true, false, true},    {0x40, true, false, true},   {0x80, true, true, false},
        {0x100, false, false, false}, {0x44, true, true, true},
    };
    struct nvml_device_ready r;
    nvml_device_ready_make(&r, "nvml", "gpus 1\n");
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char facts[64];
        snprintf(facts, sizeof facts, "gpus 1\nthrottle %u\n", cases[i].reasons);
        fake_nvml_say(&r.fake, facts);
        assert_int_equal(nvml_device_ready_read(&r), NVML_OK);
        assert_int_equal(row_u64(&r.read.row, gpu_throttled_count), cases[i].any);
        assert_int_equal(row_u64(&r.read.row, gpu_throttled_power_count), cases[i].power);
        assert_int_equal(row_u64(&r.read.row, gpu_throttled_heat_count), cases[i].heat);
    }
    fake_nvml_remove(&r.fake);
}

/* What is of the whole board is not said of a part of it once more. */
static void test_nvml_device_instance(void **state)
{
    struct nvml_device_ready r;
    nvml_device_ready_make(&r, "nvml", ALL_FIGURES);
    r.device.is_instance = true;
    assert_int_equal(nvml_device_ready_read(&r), NVML_OK);
    assert_int_equal(row_u64(&r.read.row, gpu_memory_used_bytes), 1073741824);
    assert_false(row_has(&r.read.row, gpu_energy_joules));
    assert_false(row_has(&r.read.row, gpu_power_watts));
    assert_false(row_has(&r.read.row, gpu_temperature_celsius));
    assert_false(row_has(&r.read.row, gpu_throttled_count));
    fake_nvml_remove(&r.fake);
}

static void test_nvml_device_second_way_to_memory(void **state)
{
    struct nvml_device_ready r;
    nvml_device_ready_make(&r, "nvml", ALL_FIGURES "error.memory_v2 25\n");
    assert_int_equal(nvml_device_ready_read(&r), NVML_OK);
    assert_int_equal(row_u64(&r.read.row, gpu_memory_used_bytes), 1073741824 + 524288000);
    fake_nvml_remove(&r.fake);
}

static void test_nvml_device_not_available_is_no_number(void **state)
{
    struct nvml_device_ready r;
    nvml_device_ready_make(&r, "nvml",
                           "gpus 1\nutilization 4294967295\nmemory_total 100\n"
                           "memory_used 18446744073709551615\npower 4294967295\n"
                           "energy 18446744073709551615\ntemperature 4294967295\n"
                           "clock_sm 4294967295\nencoder 101\nthrottle 3\n");
    assert_int_equal(nvml_device_ready_read(&r), NVML_OK);
    assert_int_equal(row_u64(&r.read.row, gpu_throttled_count), 0); /* idle, and set by somebody */
    row_unknown(&r.read.row, gpu_throttled_count);
    row_unknown(&r.read.row, gpu_throttled_power_count);
    row_unknown(&r.read.row, gpu_throttled_heat_count);
    row_unknown(&r.read.row, gpu_memory_total_bytes);
    row_unknown(&r.read.row, gpu_memory_reserved_bytes);
    row_unknown(&r.read.row, gpu_memory_controller_ratio);
    assert_int_equal(r.read.row.present, 0);
    fake_nvml_remove(&r.fake);
}

static void test_nvml_device_lose(void **state)
{
    struct gpu_device d = {.lists = GPU_LISTS_MEMORY};
    row_init(&d.row, ENTITY_GPU);
    row_put_double(&d.row, gpu_power_watts, 5);
    nvml_device_lose(&d);
    assert_int_equal(d.row.present, 0);
    assert_int_equal(d.lists, 0);
    assert_true(d.is_lost);
}

/* ---- nvml processes ------------------------------------------------------------------------- */

static void test_nvml_processes_stride(void **state)
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

struct nvml_processes_ready {
    struct fake_nvml fake;
    struct nvml_api api;
    nvml_handle *handle;
    struct nvml_processes processes;
    struct nvml_shares shares;
    struct gpu_pids pids;
};

static void nvml_processes_ready_make(struct nvml_processes_ready *r, const char *variant,
                                      const char *facts)
{
    *r = (struct nvml_processes_ready){0};
    fake_nvml_make(&r->fake, variant, facts);
    assert_int_equal(nvml_api_find(&r->api, r->fake.library, &r->fake.trouble), 0);
    assert_int_equal(r->api.handle(0, &r->handle), NVML_OK);
    gpu_pids_init(&r->pids, &r->fake.root);
}

static int nvml_processes_ready_read(struct nvml_processes_ready *r, uint64_t now_ns)
{
    gpu_frame_clear(&r->fake.frame);
    assert_non_null(gpu_frame_add_device(&r->fake.frame));
    return nvml_processes_read(&r->processes, &r->api, r->handle, &r->shares, &r->pids,
                               &r->fake.frame, 0, now_ns);
}

static void ready_remove(struct nvml_processes_ready *r)
{
    nvml_processes_done(&r->processes);
    nvml_shares_done(&r->shares);
    gpu_pids_done(&r->pids);
    fake_nvml_remove(&r->fake);
}

static void check_layout(unsigned stride, const char *variant)
{
    struct nvml_processes_ready r;
    char facts[4096];
    int length = snprintf(facts, sizeof facts, "gpus 1\nstride %u\n", stride);
    for (unsigned i = 1; i <= 40; i++)
        length += snprintf(facts + length, sizeof facts - (size_t)length, "0.compute %u %u\n", i,
                           i * 1000);
    nvml_processes_ready_make(&r, variant, facts);
    assert_int_not_equal(nvml_processes_ready_read(&r, NS_PER_SECOND), NVML_LOST);
    assert_int_equal(r.fake.frame.process_count, 40);
    for (unsigned i = 1; i <= 40; i++) {
        struct gpu_process *p = gpu_frame_process(&r.fake.frame, 0, (pid_t)i);
        assert_true(p->has_memory);
        assert_int_equal(p->memory_bytes, i * 1000);
    }
    assert_int_equal(row_u64(&r.fake.frame.devices[0].row, gpu_processes_count), 40);
    assert_true(r.fake.frame.devices[0].lists & GPU_LISTS_MEMORY);
    ready_remove(&r);
}

static void test_nvml_processes_layouts(void **state)
{
    check_layout(16, "nvml");
    check_layout(24, "nvml");
    check_layout(32, "nvml");
    check_layout(16, "nvml-old");
}

/* A driver that leaves the end of the last entry alone: more entries tell more. */
static void test_nvml_processes_longer_list_tells_more(void **state)
{
    struct nvml_processes_ready r;
    nvml_processes_ready_make(&r, "nvml", "gpus 1\nstride 24\nwritten 16\n0.compute 7 700\n");
    assert_int_equal(nvml_processes_ready_read(&r, NS_PER_SECOND), NVML_OK);
    assert_int_equal(gpu_frame_process(&r.fake.frame, 0, 7)->memory_bytes, 700);
    fake_nvml_say(&r.fake, "gpus 1\nstride 24\nwritten 16\n0.compute 7 700\n0.compute 8 800\n"
                           "0.compute 9 900\n");
    assert_int_equal(nvml_processes_ready_read(&r, NS_PER_SECOND), NVML_OK);
    assert_int_equal(r.fake.frame.process_count, 3);
    assert_int_equal(gpu_frame_process(&r.fake.frame, 0, 9)->memory_bytes, 900);
    fake_nvml_say(&r.fake, "gpus 1\nstride 24\nwritten 16\n0.compute 7 701\n");
    assert_int_equal(nvml_processes_ready_read(&r, NS_PER_SECOND), NVML_OK);
    assert_int_equal(gpu_frame_process(&r.fake.frame, 0, 7)->memory_bytes, 701);
    ready_remove(&r);
}

/* The library has the newest function, the driver has not. */
static void test_nvml_processes_function_of_the_library_alone(void **state)
{
    struct nvml_processes_ready r;
    nvml_processes_ready_make(&r, "nvml",
                              "gpus 1\nstride 24\nerror.list_v3 13\nerror.list_v2 25\n"
                              "0.compute 7 700\n");
    assert_int_equal(nvml_processes_ready_read(&r, NS_PER_SECOND), NVML_OK);
    assert_int_equal(r.fake.frame.process_count, 1);
    assert_int_equal(r.fake.frame.processes[0].memory_bytes, 700);
    assert_int_equal(r.shares.ways[NVML_COMPUTE].stride, 16);
    ready_remove(&r);
}

static void test_nvml_processes_in_two_lists_once(void **state)
{
    struct nvml_processes_ready r;
    nvml_processes_ready_make(&r, "nvml",
                              "gpus 1\n0.compute 7 700\n0.graphics 7 700\n0.graphics 8 80\n"
                              "0.mps 9 90\n0.compute 10 none\n");
    assert_int_equal(nvml_processes_ready_read(&r, NS_PER_SECOND), NVML_OK);
    assert_int_equal(r.fake.frame.process_count, 4);
    assert_int_equal(gpu_frame_process(&r.fake.frame, 0, 7)->memory_bytes, 700);
    assert_int_equal(gpu_frame_process(&r.fake.frame, 0, 9)->memory_bytes, 90);
    assert_false(gpu_frame_process(&r.fake.frame, 0, 10)->has_memory); /* never 2^64-1 */
    assert_int_equal(row_u64(&r.fake.frame.devices[0].row, gpu_processes_count), 4);
    ready_remove(&r);
}

static void test_nvml_processes_nobody(void **state)
{
    struct nvml_processes_ready r;
    nvml_processes_ready_make(&r, "nvml", "gpus 1\n");
    assert_int_equal(nvml_processes_ready_read(&r, NS_PER_SECOND), NVML_OK);
    assert_int_equal(r.fake.frame.process_count, 0);
    assert_true(row_has(&r.fake.frame.devices[0].row, gpu_processes_count));
    assert_int_equal(r.fake.frame.devices[0].lists, GPU_LISTS_MEMORY | GPU_LISTS_SHARE);
    ready_remove(&r);
}

static void test_nvml_processes_errors(void **state)
{
    static const int codes[] = {1, 2, 3, 4, 6, 9, 12, 13, 17, 18, 25, 27, 999};
    for (size_t i = 0; i < ARRAY_LEN(codes); i++) {
        struct nvml_processes_ready r;
        char facts[128];
        snprintf(facts, sizeof facts,
                 "gpus 1\nerror.compute %d\nerror.sample %d\n0.graphics 5 50\n", codes[i],
                 codes[i]);
        nvml_processes_ready_make(&r, "nvml", facts);
        assert_int_not_equal(nvml_processes_ready_read(&r, NS_PER_SECOND), NVML_LOST);
        struct gpu_device *d = &r.fake.frame.devices[0];
        assert_false(d->lists & GPU_LISTS_MEMORY);
        assert_false(row_has(&d->row, gpu_processes_count));
        assert_int_equal(!!(d->lists & GPU_LISTS_SHARE), codes[i] == NVML_NOT_FOUND);
        ready_remove(&r);
    }
    struct nvml_processes_ready r;
    nvml_processes_ready_make(&r, "nvml", "gpus 1\nerror.sample 15\n");
    assert_int_equal(nvml_processes_ready_read(&r, NS_PER_SECOND), NVML_LOST);
    fake_nvml_say(&r.fake, "gpus 1\nerror.graphics 15\n");
    assert_int_equal(nvml_processes_ready_read(&r, NS_PER_SECOND), NVML_LOST);
    ready_remove(&r);
}

static double share_of(struct nvml_processes_ready *r, pid_t pid)
{
    struct gpu_process *p = gpu_frame_process(&r->fake.frame, 0, pid);
    assert_true(p->has_share);
    return p->share;
}

#define LISTED "gpus 1\n0.compute 7 1\n0.compute 8 1\n"

/* What the driver remembers from before is not what is now. */
static void test_nvml_processes_history(void **state)
{
    struct nvml_processes_ready r;
    nvml_processes_ready_make(&r, "nvml", LISTED "0.sample 7 90 1000000\n");
    assert_int_equal(nvml_processes_ready_read(&r, 10 * NS_PER_SECOND), NVML_OK);
    /* Of those that are listed; all others have none. */
    assert_true(r.fake.frame.devices[0].lists & GPU_LISTS_SHARE);
    assert_false(gpu_frame_process(&r.fake.frame, 0, 7)->has_share);
    assert_int_equal(nvml_processes_ready_read(&r, 10 * NS_PER_SECOND + 200 * NS_PER_MS), NVML_OK);
    assert_false(gpu_frame_process(&r.fake.frame, 0, 7)->has_share); /* still nothing new */
    fake_nvml_say(&r.fake, LISTED "0.sample 7 90 1000000\n0.sample 7 20 1400000\n");
    assert_int_equal(nvml_processes_ready_read(&r, 10 * NS_PER_SECOND + 400 * NS_PER_MS), NVML_OK);
    assert_true(share_of(&r, 7) == 0.20);
    assert_true(share_of(&r, 8) == 0);
    ready_remove(&r);
    /* Nothing new for a second: nobody works. */
    nvml_processes_ready_make(&r, "nvml", LISTED "0.sample 7 90 1000000\n");
    assert_int_equal(nvml_processes_ready_read(&r, 10 * NS_PER_SECOND), NVML_OK);
    assert_int_equal(nvml_processes_ready_read(&r, 12 * NS_PER_SECOND), NVML_OK);
    assert_true(share_of(&r, 7) == 0);
    ready_remove(&r);
}

static void test_nvml_processes_shares(void **state)
{
    struct nvml_processes_ready r;
    nvml_processes_ready_make(&r, "nvml", LISTED);
    assert_int_equal(nvml_processes_ready_read(&r, 9 * NS_PER_SECOND), NVML_OK);
    assert_true(share_of(&r, 7) == 0);
    fake_nvml_say(&r.fake, LISTED "0.sample 7 10 1000000\n0.sample 7 30 1500000\n"
                                  "0.sample 9 50 1500000\n0.sample 8 200 1500000\n");
    assert_int_equal(nvml_processes_ready_read(&r, 10 * NS_PER_SECOND), NVML_OK);
    assert_true(share_of(&r, 7) == 0.30); /* the newest */
    assert_true(share_of(&r, 8) == 0);    /* nonsense is not taken */
    assert_int_equal(r.fake.frame.process_count, 2);
    /* Nothing new: what was told holds for a second. */
    assert_int_equal(nvml_processes_ready_read(&r, 10 * NS_PER_SECOND + 500 * NS_PER_MS), NVML_OK);
    assert_true(share_of(&r, 7) == 0.30);
    assert_int_equal(nvml_processes_ready_read(&r, 12 * NS_PER_SECOND), NVML_OK);
    assert_true(share_of(&r, 7) == 0);
    fake_nvml_say(&r.fake, LISTED "0.sample 8 100 9000000\n0.sample 7 10 7000000\n");
    assert_int_equal(nvml_processes_ready_read(&r, 13 * NS_PER_SECOND), NVML_OK);
    assert_true(share_of(&r, 8) == 1);
    assert_true(share_of(&r, 7) == 0); /* too old a sample beside the other */
    ready_remove(&r);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nvml_no_library),
        cmocka_unit_test(test_nvml_numbers_of_gpus),
        cmocka_unit_test(test_nvml_errors_of_the_beginning),
        cmocka_unit_test(test_nvml_one_without_an_answer),
        cmocka_unit_test(test_nvml_lost_in_the_middle),
        cmocka_unit_test(test_nvml_divided),
        cmocka_unit_test(test_nvml_api_new_driver),
        cmocka_unit_test(test_nvml_api_old_driver),
        cmocka_unit_test(test_nvml_api_stub),
        cmocka_unit_test(test_nvml_device_every_figure),
        cmocka_unit_test(test_nvml_device_old_driver),
        cmocka_unit_test(test_nvml_device_every_error_of_every_function),
        cmocka_unit_test(test_nvml_device_why_clocks_are_held_down),
        cmocka_unit_test(test_nvml_device_instance),
        cmocka_unit_test(test_nvml_device_second_way_to_memory),
        cmocka_unit_test(test_nvml_device_not_available_is_no_number),
        cmocka_unit_test(test_nvml_device_lose),
        cmocka_unit_test(test_nvml_processes_stride),
        cmocka_unit_test(test_nvml_processes_layouts),
        cmocka_unit_test(test_nvml_processes_longer_list_tells_more),
        cmocka_unit_test(test_nvml_processes_function_of_the_library_alone),
        cmocka_unit_test(test_nvml_processes_in_two_lists_once),
        cmocka_unit_test(test_nvml_processes_nobody),
        cmocka_unit_test(test_nvml_processes_errors),
        cmocka_unit_test(test_nvml_processes_history),
        cmocka_unit_test(test_nvml_processes_shares),
    };
    return RUN("source/gpu/nvml", tests);
}
