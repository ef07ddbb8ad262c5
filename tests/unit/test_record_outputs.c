/* SPDX-License-Identifier: MIT */
#include "record/write.h"

#include "sample.h"

static void test_members(void **state)
{
    struct output_summary o = {.name = "x http://h",
                               .format = "x",
                               .samples = 9,
                               .delivered = 5,
                               .kept = 1,
                               .dropped = 3,
                               .retries = 2,
                               .way = OUTPUT_SCRAPED,
                               .bytes = 70,
                               .scrapes = 4,
                               .why = "away"};
    struct summary s = {.outputs = &o, .output_count = 1};
    struct buf b = {0};
    struct json_out j;
    json_begin(&j, &b, 0);
    json_object(&j);
    record_json_outputs(&j, &s);
    json_object_end(&j);
    assert_string_equal(b.data, "{\"outputs\":[{\"name\":\"x http://h\",\"format\":\"x\","
                                "\"way\":\"scraped\",\"samples\":9,\"delivered\":5,\"kept\":1,"
                                "\"dropped\":3,\"retries\":2,\"bytes\":null,\"scrapes\":4,"
                                "\"complete\":false,\"failure\":\"away\"}]}");
    buf_clear(&b);
    o = (struct output_summary){.name = "y", .format = "csv", .bytes = 70, .has_bytes = true};
    json_begin(&j, &b, 0);
    json_object(&j);
    record_json_outputs(&j, &s);
    json_object_end(&j);
    assert_string_equal(b.data,
                        "{\"outputs\":[{\"name\":\"y\",\"format\":\"csv\",\"way\":\"file\","
                        "\"samples\":0,\"delivered\":0,\"kept\":0,\"dropped\":0,\"retries\":0,"
                        "\"bytes\":70,\"complete\":false,\"failure\":null}]}");
    buf_clear(&b);
    s.output_count = 0; /* nothing was sent anywhere */
    json_begin(&j, &b, 0);
    json_object(&j);
    record_json_outputs(&j, &s);
    json_object_end(&j);
    assert_string_equal(b.data, "{}");
    buf_done(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_members),
    };
    return RUN("record_outputs", tests);
}
