/* SPDX-License-Identifier: MIT */
#include "source/gpu/nvml.h"

#include "fake_nvml.h"

#define ALL_FIGURES                                                                                \
    "gpus 1\nutilization 63\nmemory_controller 21\nmemory_total 42949672960\n"                     \
    "memory_used 1073741824\nmemory_reserved 524288000\npower 250500\n"                            \
    "power_limit 400000\nenergy 123456789\n"                                                       \
    "temperature 71\nclock_sm 1410\nclock_memory 1215\nencoder 5\ndecoder 7\nthrottle 4\n"

struct ready {
    struct fake_nvml fake;
    struct nvml_api api;
    struct nvml_device device;
    struct gpu_device read;
};

static void ready_make(struct ready *r, const char *variant, const char *facts)
{
    *r = (struct ready){0};
    fake_nvml_make(&r->fake, variant, facts);
    assert_int_equal(nvml_api_find(&r->api, r->fake.library, &r->fake.trouble), 0);
    assert_int_equal(r->api.handle(0, &r->device.handle), NVML_OK);
    nvml_device_describe(&r->device, &r->api, NULL, 0, 0);
}

static int ready_read(struct ready *r)
{
    row_init(&r->read.row, ENTITY_GPU);
    int result = nvml_device_read_energy(&r->device, &r->api, &r->read);
    return result == NVML_LOST ? result : nvml_device_read(&r->device, &r->api, &r->read, NULL);
}

static double double_of(const struct ready *r, enum metric_id id)
{
    assert_true(row_has(&r->read.row, id));
    return row_value(&r->read.row, id).d;
}

static void test_every_figure(void **state)
{
    struct ready r;
    ready_make(&r, "nvml", ALL_FIGURES);
    assert_string_equal(r.device.facts.uuid, "GPU-fake-0");
    assert_string_equal(r.device.facts.name, "Fake GPU 0");
    assert_string_equal(r.device.facts.pci, "0000:3b:00.0");
    assert_string_equal(r.device.facts.vendor, "nvidia");
    assert_string_equal(r.device.facts.instance, "");
    assert_int_equal(ready_read(&r), NVML_OK);
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

static void test_old_driver(void **state)
{
    struct ready r;
    ready_make(&r, "nvml-old", ALL_FIGURES);
    assert_int_equal(ready_read(&r), NVML_OK);
    assert_true(double_of(&r, gpu_utilization_ratio) == 0.63);
    assert_int_equal(row_u64(&r.read.row, gpu_memory_used_bytes), 1073741824 + 524288000);
    assert_false(row_has(&r.read.row, gpu_memory_reserved_bytes));
    assert_false(row_has(&r.read.row, gpu_energy_joules));
    assert_false(row_has(&r.read.row, gpu_power_watts));
    assert_string_equal(r.device.facts.pci, "");
    fake_nvml_remove(&r.fake);
}

/* Each function fails in each way: that figure is not known, the others are. */
static void test_every_error_of_every_function(void **state)
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
    struct ready r;
    ready_make(&r, "nvml", ALL_FIGURES);
    for (size_t i = 0; i < ARRAY_LEN(figures); i++)
        for (size_t k = 0; k < ARRAY_LEN(codes); k++) {
            char facts[1024];
            snprintf(facts, sizeof facts, "%serror.%s %d\n", ALL_FIGURES, figures[i].key, codes[k]);
            fake_nvml_say(&r.fake, facts);
            assert_int_equal(ready_read(&r), codes[k] == NVML_LOST ? NVML_LOST : NVML_OK);
            assert_false(row_has(&r.read.row, figures[i].id));
            if (codes[k] != NVML_LOST)
                for (size_t other = 0; other < ARRAY_LEN(figures); other++)
                    assert_int_equal(row_has(&r.read.row, figures[other].id), other != i);
        }
    fake_nvml_remove(&r.fake);
}

static void test_why_clocks_are_held_down(void **state)
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
    struct ready r;
    ready_make(&r, "nvml", "gpus 1\n");
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        char facts[64];
        snprintf(facts, sizeof facts, "gpus 1\nthrottle %u\n", cases[i].reasons);
        fake_nvml_say(&r.fake, facts);
        assert_int_equal(ready_read(&r), NVML_OK);
        assert_int_equal(row_u64(&r.read.row, gpu_throttled_count), cases[i].any);
        assert_int_equal(row_u64(&r.read.row, gpu_throttled_power_count), cases[i].power);
        assert_int_equal(row_u64(&r.read.row, gpu_throttled_heat_count), cases[i].heat);
    }
    fake_nvml_remove(&r.fake);
}

/* What is of the whole board is not said of a part of it once more. */
static void test_instance(void **state)
{
    struct ready r;
    ready_make(&r, "nvml", ALL_FIGURES);
    r.device.is_instance = true;
    assert_int_equal(ready_read(&r), NVML_OK);
    assert_int_equal(row_u64(&r.read.row, gpu_memory_used_bytes), 1073741824);
    assert_false(row_has(&r.read.row, gpu_energy_joules));
    assert_false(row_has(&r.read.row, gpu_power_watts));
    assert_false(row_has(&r.read.row, gpu_temperature_celsius));
    assert_false(row_has(&r.read.row, gpu_throttled_count));
    fake_nvml_remove(&r.fake);
}

static void test_second_way_to_memory(void **state)
{
    struct ready r;
    ready_make(&r, "nvml", ALL_FIGURES "error.memory_v2 25\n");
    assert_int_equal(ready_read(&r), NVML_OK);
    assert_int_equal(row_u64(&r.read.row, gpu_memory_used_bytes), 1073741824 + 524288000);
    fake_nvml_remove(&r.fake);
}

static void test_not_available_is_no_number(void **state)
{
    struct ready r;
    ready_make(&r, "nvml",
               "gpus 1\nutilization 4294967295\nmemory_total 100\n"
               "memory_used 18446744073709551615\npower 4294967295\n"
               "energy 18446744073709551615\ntemperature 4294967295\n"
               "clock_sm 4294967295\nencoder 101\nthrottle 3\n");
    assert_int_equal(ready_read(&r), NVML_OK);
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

static void test_lose(void **state)
{
    struct gpu_device d = {.tells = GPU_TELLS_MEMORY};
    row_init(&d.row, ENTITY_GPU);
    row_put_double(&d.row, gpu_power_watts, 5);
    nvml_device_lose(&d);
    assert_int_equal(d.row.present, 0);
    assert_int_equal(d.tells, 0);
    assert_true(d.is_lost);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_every_figure),
        cmocka_unit_test(test_old_driver),
        cmocka_unit_test(test_every_error_of_every_function),
        cmocka_unit_test(test_why_clocks_are_held_down),
        cmocka_unit_test(test_instance),
        cmocka_unit_test(test_second_way_to_memory),
        cmocka_unit_test(test_not_available_is_no_number),
        cmocka_unit_test(test_lose),
    };
    return RUN("nvml_device", tests);
}
