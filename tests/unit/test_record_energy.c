/* SPDX-License-Identifier: MIT */
#include "record/write.h"
#include "unit.h"

static void expect(const struct summary *s, const char *text)
{
    struct buf b = {0};
    struct json_out j;
    json_begin(&j, &b, 0);
    json_object(&j);
    record_json_energy(&j, s);
    json_object_end(&j);
    assert_string_equal(b.data, text);
    buf_done(&b);
}

static void test_energy(void **state)
{
    struct instance gpu, package;
    struct series of_gpu[32] = {0}, of_package[2] = {0};
    struct instance_summary instances[] = {{&gpu, of_gpu}, {&package, of_package}};
    struct summary s = {.instances = instances, .instance_count = 0};
    expect(&s, "{}");
    instance_init(&gpu, ENTITY_GPU);
    instance_init(&package, ENTITY_RAPL);
    memcpy(package.entity.name, "package-0", 10);
    s.instance_count = 2;
    expect(&s, "{\"run_joules\":{\"gpu\":null,\"processor\":null,\"total\":null,"
               "\"quality\":\"unknown\"}}");
    series_put(&of_gpu[gpu_energy_joules - gpu_first], metric_of(gpu_energy_joules),
               (union value){.u = 1234567}, NS_PER_SECOND);
    expect(&s, "{\"run_joules\":{\"gpu\":1.234567,\"processor\":null,\"total\":null,"
               "\"quality\":\"exact\"}}");
    series_put(&of_package[0], metric_of(rapl_energy_joules), (union value){.u = 2000000},
               NS_PER_SECOND);
    expect(&s, "{\"run_joules\":{\"gpu\":1.234567,\"processor\":2,\"total\":3.234567,"
               "\"quality\":\"exact\"}}");
    of_gpu[gpu_energy_joules - gpu_first].coverage = COVERED_PARTLY;
    expect(&s, "{\"run_joules\":{\"gpu\":1.234567,\"processor\":2,\"total\":3.234567,"
               "\"quality\":\"lower bound\"}}");
    of_gpu[gpu_energy_joules - gpu_first].last.u = 0; /* at least nothing */
    expect(&s, "{\"run_joules\":{\"gpu\":null,\"processor\":2,\"total\":null,"
               "\"quality\":\"unknown\"}}");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_energy),
    };
    return RUN("record_energy", tests);
}
