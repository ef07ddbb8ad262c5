/* SPDX-License-Identifier: MIT */
#include "record/write.h"
#include "unit.h"

static void expect(const struct limits *l, const char *text)
{
    struct buf b = {0};
    struct json_out j;
    json_begin(&j, &b, 0);
    json_object(&j);
    record_json_limits(&j, l);
    json_object_end(&j);
    assert_string_equal(b.data, text);
    buf_done(&b);
}

/* What is not known is left out; that there is none is known. */
static void test_limits(void **state)
{
    struct limits l = {0};
    expect(&l, "{\"limits\":{}}");
    l.of[LIMIT_CPUS] = (struct limit){.known = true, .cores = 1.5, .by = "cpu quota"};
    l.of[LIMIT_CPUS].cgroup = strdupa("/box \"1\"");
    l.of[LIMIT_TASKS] = (struct limit){.known = true, .unlimited = true};
    l.of[LIMIT_OPEN_FILES] = (struct limit){.known = true, .value = 0, .by = "resource limit"};
    l.of[LIMIT_LOCKED_BYTES] = (struct limit){
        .known = true, .value = UINT64_MAX - 1, .by = "resource limit"};
    expect(&l, "{\"limits\":{"
               "\"cpus\":{\"value\":1.5,\"unlimited\":false,\"by\":\"cpu quota\","
               "\"cgroup\":\"/box \\\"1\\\"\"},"
               "\"tasks\":{\"value\":null,\"unlimited\":true,\"by\":\"\"},"
               "\"open_files\":{\"value\":0,\"unlimited\":false,\"by\":\"resource limit\"},"
               "\"locked_memory_bytes\":{\"value\":18446744073709551614,\"unlimited\":false,"
               "\"by\":\"resource limit\"}}}");
}

/* Reached only with a proof; what was used may be a lower bound. */
static void test_use(void **state)
{
    struct limits l = {0};
    l.of[LIMIT_MEMORY_BYTES] = (struct limit){.known = true,
                                              .value = 64,
                                              .by = "memory limit",
                                              .has_used = true,
                                              .used = 64,
                                              .whose = "cgroup",
                                              .reached = "OOM killer"};
    l.of[LIMIT_TASKS] = (struct limit){.known = true,
                                       .value = 4,
                                       .by = "task limit",
                                       .has_used = true,
                                       .used_is_least = true,
                                       .used = 3,
                                       .whose = "cgroup",
                                       .reached = "counted by the kernel",
                                       .reached_times = 2};
    expect(&l, "{\"limits\":{"
               "\"memory_bytes\":{\"value\":64,\"unlimited\":false,\"by\":\"memory limit\","
               "\"used\":64,\"used_at_least\":false,\"used_by\":\"cgroup\","
               "\"reached\":\"OOM killer\"},"
               "\"tasks\":{\"value\":4,\"unlimited\":false,\"by\":\"task limit\",\"used\":3,"
               "\"used_at_least\":true,\"used_by\":\"cgroup\","
               "\"reached\":\"counted by the kernel\",\"reached_count\":2}}}");
}

/* Every kind has a name of its own. */
static void test_every_limit(void **state)
{
    struct limits l = {0};
    for (unsigned i = 0; i < LIMITS; i++)
        l.of[i] = (struct limit){.known = true, .unlimited = true, .by = "x"};
    struct buf b = {0};
    struct json_out j;
    json_begin(&j, &b, 0);
    json_object(&j);
    record_json_limits(&j, &l);
    json_object_end(&j);
    unsigned count = 0;
    for (const char *at = b.data; (at = strstr(at, "\":{\"value\":null")); at++)
        count++;
    assert_int_equal(count, LIMITS);
    assert_null(strstr(b.data, "\"\""));
    buf_done(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_use),
        cmocka_unit_test(test_every_limit),
    };
    return RUN("record_limits", tests);
}
