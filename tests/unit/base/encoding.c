/* SPDX-License-Identifier: MIT */
#include "base/text/encoding.h"
#include "unit.h"

#include <errno.h>

/* ---- protobuf ------------------------------------------------------------------------------- */

static void protobuf_expect(struct buf *b, const char *bytes, size_t length)
{
    assert_false(buf_failed(b));
    assert_int_equal(b->length, length);
    assert_memory_equal(b->data, bytes, length);
    buf_clear(b);
}

static void test_protobuf_fields(void **state)
{
    struct buf b = {0};
    protobuf_varint(&b, 1, 150);
    protobuf_expect(&b, "\x08\x96\x01", 3);
    protobuf_varint(&b, 16, 0);
    protobuf_expect(&b, "\x80\x01\x00", 3);
    protobuf_varint(&b, 1, UINT64_MAX);
    protobuf_expect(&b, "\x08\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01", 11);
    protobuf_string(&b, 2, "testing");
    protobuf_expect(&b, "\x12\x07testing", 9);
    protobuf_double(&b, 1, 1.0);
    protobuf_expect(&b, "\x09\0\0\0\0\0\0\xf0\x3f", 9);
    protobuf_fixed64(&b, 1, 1);
    protobuf_expect(&b, "\x09\1\0\0\0\0\0\0\0", 9);
    buf_done(&b);
}

static void test_protobuf_messages_within_messages(void **state)
{
    struct buf b = {0};
    size_t outer = protobuf_begin(&b, 3);
    size_t inner = protobuf_begin(&b, 1);
    protobuf_varint(&b, 1, 150);
    protobuf_end(&b, inner);
    protobuf_end(&b, outer);
    protobuf_expect(&b, "\x1a\x05\x0a\x03\x08\x96\x01", 7);
    size_t empty = protobuf_begin(&b, 1);
    protobuf_end(&b, empty);
    protobuf_expect(&b, "\x0a\x00", 2);
    size_t large = protobuf_begin(&b, 1); /* its length has two bytes */
    for (unsigned i = 0; i < 200; i++)
        buf_putc(&b, 'x');
    protobuf_end(&b, large);
    assert_int_equal(b.length, 203);
    assert_memory_equal(b.data, "\x0a\xc8\x01xxx", 6);
    buf_done(&b);
}

/* ---- snappy --------------------------------------------------------------------------------- */

/* Reads a block back as any other implementation does: literals, and copies with two bytes of
 * distance, which may reach into what they write. */
static size_t uncompress(const unsigned char *at, size_t length, char *ret)
{
    const unsigned char *end = at + length;
    size_t whole = 0, got = 0;
    for (unsigned shift = 0;; shift += 7) {
        whole |= (size_t)(*at & 0x7F) << shift;
        if (!(*at++ & 0x80))
            break;
    }
    while (at < end) {
        size_t part = (size_t)(*at >> 2) + 1;
        assert_true((*at & 3) == 0 || (*at & 3) == 2);
        if ((*at++ & 3) == 2) {
            size_t distance = (size_t)at[0] + ((size_t)at[1] << 8);
            at += 2;
            assert_true(distance > 0 && distance <= got);
            for (size_t i = 0; i < part; i++, got++)
                ret[got] = ret[got - distance];
            continue;
        }
        if (part > 60) {
            unsigned bytes = (unsigned)part - 60;
            assert_true(bytes <= 2);
            part = (size_t)at[0] + (bytes == 2 ? (size_t)at[1] << 8 : 0) + 1;
            at += bytes;
        }
        memcpy(ret + got, at, part);
        got += part;
        at += part;
    }
    assert_int_equal(got, whole);
    return got;
}

/* Of that many bytes, the k-th. */
static char same(size_t k)
{
    return 'a';
}

static char periodic(size_t k)
{
    return (char)(k * 7);
}

static char random_bytes(size_t k)
{
    uint64_t x = (k + 1) * UINT64_C(0x9E3779B97F4A7C15);
    x ^= x >> 31;
    return (char)(x * UINT64_C(0xBF58476D1CE4E5B9) >> 56);
}

static char words(size_t k)
{
    static const char text[] = "__name__toll_target_cpu_seconds_total instance box run train ";
    return k % 97 < sizeof text - 1 ? text[k % 97] : random_bytes(k);
}

static void test_snappy_what_is_compressed_is_read_back(void **state)
{
    static const size_t sizes[] = {0,   1,   3,   4,     5,     59,    60,    61,
                                   127, 256, 257, 65535, 65536, 65537, 300000};
    char (*const kinds[])(size_t) = {same, periodic, random_bytes, words};
    for (size_t kind = 0; kind < ARRAY_LEN(kinds); kind++)
        for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
            struct buf b = {0};
            char *data = malloc(sizes[i] + 1), *back = malloc(sizes[i] + 1);
            for (size_t k = 0; k < sizes[i]; k++)
                data[k] = kinds[kind](k);
            snappy_compress(&b, data, sizes[i]);
            assert_int_equal(uncompress((unsigned char *)b.data, b.length, back), sizes[i]);
            assert_memory_equal(data, back, sizes[i]);
            assert_true(b.length <= sizes[i] + sizes[i] / 100 + 10); /* never much larger … */
            if (sizes[i] >= 65536 && kinds[kind] != random_bytes)
                assert_true(b.length < sizes[i] / 2); /* … and mostly smaller */
            buf_done(&b);
            free(data);
            free(back);
        }
}

/* ---- pickle --------------------------------------------------------------------------------- */

static void round_trip(const char *json, const char *expected)
{
    struct buf pickle = {0}, back = {0};
    assert_int_equal(pickle_from_json(&pickle, json, strlen(json)), 0);
    assert_true(pickle_is_one(pickle.data, pickle.length));
    assert_int_equal(pickle_to_json(&back, pickle.data, pickle.length, NULL), 0);
    assert_string_equal(back.data, expected);
    /* Cut anywhere it is none. */
    for (size_t cut = 0; cut < pickle.length; cut++) {
        char *part = exact_copy(pickle.data, cut);
        buf_clear(&back);
        assert_true(pickle_to_json(&back, part, cut, NULL) < 0);
        free(part);
    }
    buf_done(&pickle);
    buf_done(&back);
}

static void test_pickle_round_trip(void **state)
{
    round_trip("{}", "{}");
    round_trip(" [ ] ", "[]");
    round_trip("{\"a\": [1, 2.0, -3, 0.1, 1e300], \"b\": {\"c\": null}, \"d\": true}",
               "{\"a\":[1,2.0,-3,0.1,1e+300],\"b\":{\"c\":null},\"d\":true}");
    round_trip("[{}, [], \"\", false, \"\\u00e9\\n\"]", "[{},[],\"\",false,\"é\\n\"]");
    round_trip("9223372036854775807", "9223372036854775807");
}

/* What Python's pickle.dumps({"a": 1.5}, protocol=3) gives, without what it remembers. */
static void test_pickle_bytes(void **state)
{
    static const char expected[] = "\x80\x03}(X\x01\0\0\0aG\x3f\xf8\0\0\0\0\0\0u.";
    struct buf b = {0};
    assert_int_equal(pickle_from_json(&b, "{\"a\": 1.5}", 10), 0);
    assert_int_equal(b.length, sizeof expected - 1);
    assert_memory_equal(b.data, expected, b.length);
    buf_done(&b);
}

/* The JSON of a pickle, or what is wrong with it. */
static void pickle_expect(const char *bytes, size_t length, int code, const char *said)
{
    struct buf json = {0};
    struct toll_error e = {0};
    char *copy = exact_copy(bytes, length);
    assert_int_equal(pickle_to_json(&json, copy, length, &e), code);
    assert_string_equal(code ? e.message : json.data, said);
    free(copy);
    buf_done(&json);
}

#define EXPECT(bytes, code, said) pickle_expect(bytes, sizeof bytes - 1, code, said)
#define DAMAGED                   "damaged pickle, or one that holds more than data"
#define NO_DATA(name)             "unsupported object " name " in the pickle"

/* Of the protocols 4 and 5, with what they remember. */
static void test_pickle_values(void **state)
{
    EXPECT("\x80\x03}.", 0, "{}");
    EXPECT("\x80\x04).", 0, "[]");
    EXPECT("\x80\x04\x95\x05\0\0\0\0\0\0\0K\xff.", 0, "255");
    EXPECT("\x80\x04M\xff\xff.", 0, "65535");
    EXPECT("\x80\x04J\xff\xff\xff\xff.", 0, "-1");
    EXPECT("\x80\x04\x8a\0.", 0, "0");
    EXPECT("\x80\x04\x8a\x02\0\xff.", 0, "-256");
    EXPECT("\x80\x04G\x7f\xf8\0\0\0\0\0\0.", 0, "null"); /* NaN */
    EXPECT("\x80\x04\x8c\x01"
           "a\x94h\0\x86.",
           0, "[\"a\",\"a\"]");
    EXPECT("\x80\x04K\1K\2K\3\x87.", 0, "[1,2,3]");
    EXPECT("\x80\x04}\x8c\x01"
           "a\x88s.",
           0, "{\"a\":true}");
    EXPECT("\x80\x04]Na.", 0, "[null]");
    EXPECT("\x80\x04}K\x07Ns.", 0, "{\"7\":null}");
    /* A data class of gpu_tracker, and a Tracker with nothing but what it found. */
    EXPECT("\x80\x03"
           "cgpu_tracker.tracker\nComputeTime\n)\x81}(X\4\0\0\0unitX\5\0\0\0hoursub.",
           0, "{\"unit\":\"hours\"}");
    EXPECT(
        "\x80\x03"
        "cgpu_tracker.tracker\nTracker\n)\x81}(X\1\0\0\0ecos\nsystem\nX\16\0\0\0resource_usage}ub.",
        0, "{}");
}

/* Nothing of it is run; what is no data is named. */
static void test_pickle_programs(void **state)
{
    EXPECT("\x80\x03"
           "cos\nsystem\n.",
           -EOPNOTSUPP, NO_DATA("os.system"));
    EXPECT("\x80\x03"
           "cos\nsystem\nX\4\0\0\0exit\x85R.",
           -EOPNOTSUPP, NO_DATA("os.system"));
    EXPECT("\x80\x04\x8c\x08"
           "builtins\x8c\x04"
           "eval\x93\x8c\x01"
           "1\x85R.",
           -EOPNOTSUPP, NO_DATA("builtins.eval"));
    EXPECT("\x80\x04]cos\nsystem\n)Ra.", -EOPNOTSUPP, NO_DATA("os.system"));
    EXPECT("\x80\x03"
           "cgpu_trackers\nX\n)\x81}b.",
           -EOPNOTSUPP, NO_DATA("gpu_trackers.X"));
}

static void test_pickle_bad(void **state)
{
    static const struct {
        const char *bytes;
        size_t length;
    } bad[] = {
#define BAD(text) {text, sizeof text - 1}
        BAD("\x80\x03}(N.u."),           /* the end within a dictionary */
        BAD("\x80\x03}(NNu."),           /* a key that is no text */
        BAD("\x80\x03}(X\x01\0\0\0au."), /* a key without a value */
        BAD("\x80\x03](u."),             /* the wrong end */
        BAD("\x80\x03NN."),
        BAD("\x80\x03N.N"),
        BAD("\x80\x03."),
        BAD("\x80\x03X\xff\xff\xff\xff."),
        BAD("\x80\x04\x8d\xff\xff\xff\xff\xff\xff\xff\xff."),
        BAD("\x80\x03t."), /* no mark */
        BAD("\x80\x03\x87."),
        BAD("\x80\x03(a."),
        BAD("\x80\x03h\0."),                /* nothing is remembered */
        BAD("\x80\x03Nr\xff\xff\xff\xff."), /* … under that number */
        BAD("\x80\x03]\x94h\0a."),          /* a list in itself */
        BAD("\x80\x03X\x02\0\0\0a\0."),     /* a zero */
        BAD("\x80\x04"
            "C\1x."),                                  /* bytes alone */
        BAD("\x80\x03}(X\x01\0\0\0aNX\x01\0\0\0aNu."), /* a name twice */
        BAD("\x80\x03"
            "cpandas.core.frame\nDataFrame\n)\x81}b."),
        BAD("\x80\x03"
            "cpandas.core.series\nSeries\n)\x81}b."),
        BAD("\x80\x03"
            "cnumpy.core.multiarray\nscalar\n)R."),
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        pickle_expect(bad[i].bytes, bad[i].length, -EBADMSG, DAMAGED);
    struct buf b = {0};
    assert_int_equal(pickle_to_json(&b, "{}", 2, NULL), -EBADMSG);
    assert_int_equal(pickle_from_json(&b, "{\"a\"", 4), -EBADMSG);
    char deep[200];
    memset(deep, '[', sizeof deep);
    assert_int_equal(pickle_from_json(&b, deep, sizeof deep), -EBADMSG);
    buf_done(&b);
}

/* Each list holds the one before it many times: what it comes to is limited. */
static void test_pickle_much_of_little(void **state)
{
    struct buf pickle = {0}, json = {0};
    buf_add(&pickle, "\x80\x04]\x94", 4);
    for (char level = 0; level < 20; level++) {
        buf_puts(&pickle, "](");
        for (int i = 0; i < 60; i++) {
            buf_putc(&pickle, 'h');
            buf_putc(&pickle, level);
        }
        buf_add(&pickle, "e\x94", 2);
    }
    for (int i = 0; i < 20; i++)
        buf_puts(&pickle, "\x86"); /* all into one */
    buf_putc(&pickle, '.');
    assert_int_equal(pickle_to_json(&json, pickle.data, pickle.length, NULL), -EBADMSG);
    buf_done(&pickle);
    buf_done(&json);
}

/* What numpy writes of an array: protocol 4, and numpy 2 with protocol 5. */
static void test_pickle_arrays(void **state)
{
#define DTYPE(type, order)                                                                         \
    "cnumpy\ndtype\nX\2\0\0\0" type "\x89\x88\x87R(K\3X\1\0\0\0" order "NNNJ\xff\xff\xff\xffJ\xff" \
    "\xff\xff\xffK\0tb"
    EXPECT("\x80\x04"
           "cnumpy.core.multiarray\n_reconstruct\ncnumpy\nndarray\nK\0\x85"
           "C\1b\x87R(K\1K\2\x85" DTYPE("i2", "<") "\x89"
                                                   "C\4\1\0\xff\xfftb.",
           0, "[1,-1]");
    EXPECT("\x80\x05"
           "cnumpy._core.numeric\n_frombuffer\n(\x96\4\0\0\0\0\0\0\0\0\1\0\2" DTYPE(
               "u2", ">") "K\2\x85X\1\0\0\0CtR.",
           0, "[1,2]");
    EXPECT("\x80\x04"
           "cnumpy._core.multiarray\nscalar\n" DTYPE("f8", "<") "C\x08\0\0\0\0\0\0\xf8?\x86R.",
           0, "1.5");
    EXPECT("\x80\x04"
           "cnumpy.core.multiarray\nscalar\n" DTYPE("b1", "|") "C\1\1\x86R.",
           0, "true");
    /* Not as many bytes as it says. */
    EXPECT("\x80\x05"
           "cnumpy._core.numeric\n_frombuffer\n(C\3\0\1\0" DTYPE("u2", ">") "K\2\x85X\1\0\0\0CtR.",
           -EOPNOTSUPP, NO_DATA("numpy._core.numeric._frombuffer"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_protobuf_fields),
        cmocka_unit_test(test_protobuf_messages_within_messages),
        cmocka_unit_test(test_snappy_what_is_compressed_is_read_back),
        cmocka_unit_test(test_pickle_round_trip),
        cmocka_unit_test(test_pickle_bytes),
        cmocka_unit_test(test_pickle_values),
        cmocka_unit_test(test_pickle_programs),
        cmocka_unit_test(test_pickle_bad),
        cmocka_unit_test(test_pickle_much_of_little),
        cmocka_unit_test(test_pickle_arrays),
    };
    return RUN("base/encoding", tests);
}
