/* SPDX-License-Identifier: MIT */
#include "source/cgroup/disks.h"

#include "base/util.h"
#include "unit.h"

static void test_version_2(void **state)
{
    struct scan s = scan_string(
        "8:16 rbytes=1459200 wbytes=314773504 rios=192 wios=353 dbytes=0 dios=0\n"
        "8:0 \n"
        "\n"
        "7:1 7:0 254:0 rbytes=4096 wbytes=1 rios=2 wios=3 cost.usage=11\n"
        "9:9 rbytes=1");
    struct cgroup_io io;
    assert_int_equal(parse_cgroup_io(&s, &io), 1);
    assert_true(io.has_values && io.major == 8 && io.minor == 16);
    assert_int_equal(io.read_bytes, 1459200);
    assert_int_equal(io.written_bytes, 314773504);
    assert_int_equal(io.reads, 192);
    assert_int_equal(io.writes, 353);
    assert_int_equal(parse_cgroup_io(&s, &io), 1);
    assert_true(!io.has_values && io.major == 8 && io.minor == 0);
    assert_int_equal(parse_cgroup_io(&s, &io), 1);
    assert_true(io.has_values && io.major == 254 && io.minor == 0 && io.writes == 3);
    assert_int_equal(parse_cgroup_io(&s, &io), 0); /* the last line was cut */
}

static void test_version_2_garbage(void **state)
{
    static const char *const texts[] = {
        "x\n",
        "8\n",
        "8:\n",
        "8: 0\n",
        "8:0x\n",
        "8:0 rbytes=1\n",
        "8:0 rbytes=x wbytes=1 rios=1 wios=1\n",
        "8:0 rbytes= wbytes=1 rios=1 wios=1\n",
        "8:0 rbytes=1x wbytes=1 rios=1 wios=1\n",
        "8:0 rbytes=99999999999999999999 wbytes=1 rios=1 wios=1\n",
        "99999999999:0 rbytes=1 wbytes=1 rios=1 wios=1\n",
    };
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct scan s = scan_string(texts[i]);
        struct cgroup_io io;
        memset(&io, UNTOUCHED, sizeof io);
        assert_int_equal(parse_cgroup_io(&s, &io), -EBADMSG);
        assert_true(is_untouched(&io, sizeof io));
    }
}

static void test_version_1(void **state)
{
    struct scan s = scan_string("8:0 Read 1459200\n8:0 Write 77\n8:0 Sync 0\n8:0 Async 5\n"
                                "8:0 Discard 0\n8:0 Total 1459277\n8:16 Read 1\nTotal 1459278\n"
                                "8:16 Write 1");
    struct cgroup_blkio b;
    assert_int_equal(parse_cgroup_blkio(&s, &b), 1);
    assert_true(b.major == 8 && b.minor == 0 && !b.is_write && b.value == 1459200);
    assert_int_equal(parse_cgroup_blkio(&s, &b), 1);
    assert_true(b.is_write && b.value == 77);
    assert_int_equal(parse_cgroup_blkio(&s, &b), 1);
    assert_true(b.minor == 16 && b.value == 1);
    assert_int_equal(parse_cgroup_blkio(&s, &b), 0);
}

static void test_version_1_garbage(void **state)
{
    static const char *const texts[] = {"Read 5\n", "8:0 Read \n", "8:0 Read x\n",
                                        "8:0 Write 99999999999999999999\n", "8:0 Read 1 2\n"};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct scan s = scan_string(texts[i]);
        struct cgroup_blkio b;
        assert_int_equal(parse_cgroup_blkio(&s, &b), -EBADMSG);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_version_2),
        cmocka_unit_test(test_version_2_garbage),
        cmocka_unit_test(test_version_1),
        cmocka_unit_test(test_version_1_garbage),
    };
    return RUN("cgroup_io", tests);
}
