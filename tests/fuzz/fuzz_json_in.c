/* SPDX-License-Identifier: MIT */
#include "base/text/json.h"

#include "fuzz.h"

/* What is read is written again, and read as the same. */
static void copy(struct json_in *in, struct json_out *out)
{
    struct scan text;
    struct json_number n;
    bool yes;
    double number;
    switch (json_in_next(in)) {
    case JSON_OBJECT:
        json_object(out);
        for (json_in_object(in); json_in_key(in, &text);) {
            struct buf key = {0};
            buf_add(&key, text.at ? text.at : "", (size_t)(text.end - text.at));
            json_key(out, key.data);
            buf_done(&key);
            copy(in, out);
        }
        json_object_end(out);
        break;
    case JSON_ARRAY:
        json_array(out);
        for (json_in_array(in); json_in_item(in);)
            copy(in, out);
        json_array_end(out);
        break;
    case JSON_STRING:
        if (json_in_string(in, &text))
            json_string_n(out, text.at ? text.at : "", (size_t)(text.end - text.at));
        break;
    case JSON_NUMBER:
        if (json_in_number(in, &n) && json_number_double(&n, &number))
            json_number(out, number);
        else
            json_u64(out, 0);
        break;
    case JSON_BOOL:
        if (json_in_bool(in, &yes))
            json_bool(out, yes);
        break;
    default:
        if (!json_in_null(in))
            json_in_fail(in);
        json_null(out);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct json_in j = {0};
    struct json_out out;
    struct buf once = {0};
    json_in_begin(&j, (const char *)data, size);
    json_in_skip(&j);
    bool good = json_in_end(&j);
    json_in_begin(&j, (const char *)data, size);
    json_begin(&out, &once, 0);
    copy(&j, &out);
    CHECK(json_in_end(&j) == good);
    if (good) {
        json_in_begin(&j, once.data, once.length);
        json_in_skip(&j);
        CHECK(json_in_end(&j));
    }
    json_in_done(&j);
    buf_done(&once);
    return 0;
}
