/* SPDX-License-Identifier: MIT */
#include "sink/mlflow/client.h"

#include "unit.h"

static const char run[] =
    "{\n \"run\": {\"info\": {\"run_uuid\": \"ab\", \"run_name\": \"\\\"run_id\\\": \\\"no\\\"\",\n"
    "  \"run_id\" : \"ab12\", \"artifact_uri\": \"s3:\\/\\/b\", \"time\": 5},\n"
    "  \"data\": {\"tags\": [{\"key\": \"experiment_id\", \"value\": \"x\"}]}}}";

static bool find(const char *name, char *ret, size_t capacity)
{
    return mlflow_answer_text(run, sizeof run - 1, name, ret, capacity);
}

static void test_members(void **state)
{
    char text[16];
    assert_true(find("run_id", text, sizeof text));
    assert_string_equal(text, "ab12");
    assert_true(find("artifact_uri", text, sizeof text));
    assert_string_equal(text, "s3://b");
    assert_false(find("artifact_uri", text, 6));
    assert_false(find("experiment_id", text, sizeof text)); /* a value, not a member */
    assert_false(find("time", text, sizeof text));          /* no text */
    assert_false(find("nothing", text, sizeof text));
    for (size_t cut = 0; cut < sizeof run - 1; cut++)
        mlflow_answer_text(run, cut, "artifact_uri", text, sizeof text);
}

static void test_errors(void **state)
{
    static const char body[] = "{\"error_code\":\"RESOURCE_ALREADY_EXISTS\",\"message\":\"x\"}";
    assert_true(mlflow_answer_is(body, sizeof body - 1, "RESOURCE_ALREADY_EXISTS"));
    assert_false(mlflow_answer_is(body, sizeof body - 1, "RESOURCE_DOES_NOT_EXIST"));
    assert_false(mlflow_answer_is("<html>", 6, "RESOURCE_DOES_NOT_EXIST"));
    assert_false(mlflow_answer_is("", 0, ""));
    char text[16];
    assert_true(mlflow_answer_text("{\"a\":\"\\u0041\"}", 14, "a", text, sizeof text));
    assert_string_equal(text, "A");
    assert_false(mlflow_answer_text("{\"a\":\"\\u00e4\"}", 14, "a", text, sizeof text));
    assert_true(mlflow_answer_text("[{\"a\":1},{\"a\":\"x\",", 19, "a", text, sizeof text));
    assert_false(mlflow_answer_text("{\"a\":\"\"}", 8, "a", text, sizeof text));
    assert_false(mlflow_answer_text("{\"a\":\"x\\", 8, "a", text, sizeof text));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_members),
        cmocka_unit_test(test_errors),
    };
    return RUN("mlflow_answer", tests);
}
