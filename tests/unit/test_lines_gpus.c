/* SPDX-License-Identifier: MIT */
#include "sink/lines.h"

#include "unit.h"

static void test_lines(void **state)
{
    struct instance first, second, disk;
    struct instance *instances[] = {&first, &disk, &second};
    struct frame f = {.machine = instances, .machine_count = 3};
    struct sink s = {0};
    assert_int_equal(selection_parse(&s.selection, NULL, NULL), 0);
    instance_init(&first, ENTITY_GPU);
    instance_init(&second, ENTITY_GPU);
    instance_init(&disk, ENTITY_DISK);
    memcpy(first.entity.name, "nvidia0", 8);
    memcpy(second.entity.name, "nvidia1", 8);
    row_put_double(&first.row, gpu_utilization_ratio, 0.63);
    row_put_u64(&first.row, gpu_memory_used_bytes, UINT64_C(1) << 30);
    row_put_u64(&first.row, gpu_energy_joules, 5); /* has no heading */
    row_put_double(&first.row, gpu_memory_controller_ratio, 1);
    row_put_double(&first.row, gpu_power_watts, 1250.5);
    row_put_double(&first.row, gpu_temperature_celsius, 71);
    row_put_u64(&first.row, gpu_clock_sm_hertz, 1410000000);
    row_put_u64(&first.row, gpu_processes_count, 12);
    assert_int_equal(lines_gpus(&s, &f), 1); /* of the other nothing is known */
    buf_putc(&s.text, '\0');
    assert_string_equal(s.text.data,
                        "         nvidia0  busy 63%  memctl 100%  mem 1.0G  1251W  71°C  "
                        "1.4GHz  procs 12\n");
    assert_true(strlen(s.text.data) - strlen("\n") - 1 <= 80); /* ° has two bytes */
    buf_done(&s.text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),
    };
    return RUN("lines_gpus", tests);
}
