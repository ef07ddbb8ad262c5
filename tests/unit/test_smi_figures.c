/* SPDX-License-Identifier: MIT */
#include "source/gpu/smi.h"

#include "base/util.h"
#include "figures.h"

static const struct smi_figure table[] = {
    {"utilization.gpu|gfx_util", gpu_utilization_ratio, 0.01},
    {"memory.used", gpu_memory_used_bytes, 1048576},
    {"power", gpu_power_watts, 1},
    {"nobody.has.it", gpu_temperature_celsius, 1},
};

static void put(struct row *row, const char *heading_line, const char *line)
{
    struct smi_cells heading, cells;
    row_init(row, ENTITY_GPU);
    smi_cells_of_csv(scan_string(heading_line), &heading);
    smi_cells_of_csv(scan_string(line), &cells);
    smi_figures_put(row, &heading, &cells, table, ARRAY_LEN(table));
}

static void test_values(void **state)
{
    struct row row;
    put(&row, "power, memory.used [MiB], gfx_util", "61.25, 3, 100");
    assert_number(&row, gpu_utilization_ratio, 1);
    assert_value(&row, gpu_memory_used_bytes, 3 << 20);
    assert_number(&row, gpu_power_watts, 61.25);
    assert_unknown(&row, gpu_temperature_celsius);
}

static void test_unknown(void **state)
{
    struct row row;
    put(&row, "power, memory.used, gfx_util", "[N/A], 99999999999999999, 101");
    assert_int_equal(row.present, 0);
    put(&row, "power, memory.used, gfx_util", "5"); /* cut short */
    assert_number(&row, gpu_power_watts, 5);
    assert_unknown(&row, gpu_utilization_ratio);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_unknown),
    };
    return RUN("smi_figures", tests);
}
