/* SPDX-License-Identifier: MIT */
#include "source/kernel_file.h"

#include "unit.h"

static const char root_line[] = "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard";
static const char bind_line[] = "36 35 98:0 /mnt1 /mnt/with\\040blank rw,noatime master:1 shared:4 "
                                "- ext3 /dev/root rw,errors=continue";

static bool same_slice(struct scan a, struct scan b)
{
    return a.end - a.at == b.end - b.at;
}

/* The texts are windows on copies, so their lengths are compared. */
static bool same(const struct mountinfo *a, const struct mountinfo *b)
{
    return a->id == b->id && a->parent == b->parent && a->device == b->device &&
           same_slice(a->root, b->root) && same_slice(a->point, b->point) &&
           same_slice(a->options, b->options) && same_slice(a->optional, b->optional) &&
           same_slice(a->type, b->type) && same_slice(a->source, b->source);
}

PARSER_HARNESS(parse_mountinfo, struct mountinfo, same)

static void assert_slice(struct scan s, const char *expected)
{
    assert_int_equal(s.end - s.at, strlen(expected));
    assert_memory_equal(s.at, expected, strlen(expected));
}

static void test_good(void **state)
{
    struct mountinfo m;
    assert_int_equal(parse_mountinfo(scan_string(root_line), &m), 0);
    assert_int_equal(m.id, 27);
    assert_int_equal(m.parent, 1);
    assert_true(m.device == UINT64_C(254) << 32);
    assert_slice(m.root, "/");
    assert_slice(m.point, "/");
    assert_slice(m.options, "rw,relatime");
    assert_slice(m.optional, "");
    assert_slice(m.type, "ext4");
    assert_slice(m.source, "/dev/vda");
    assert_slice(m.super_options, "rw,discard");
}

static void test_optional_fields(void **state)
{
    struct mountinfo m;
    assert_int_equal(parse_mountinfo(scan_string(bind_line), &m), 0);
    assert_slice(m.root, "/mnt1");
    assert_slice(m.point, "/mnt/with\\040blank");
    assert_slice(m.optional, "master:1 shared:4");
    assert_slice(m.type, "ext3");
    assert_slice(m.super_options, "rw,errors=continue");
}

static void test_empty_source(void **state)
{
    struct mountinfo m;
    assert_int_equal(parse_mountinfo(scan_string("1 2 0:5 / /x rw - tmpfs  rw"), &m), 0);
    assert_slice(m.source, "");
    assert_slice(m.super_options, "rw");
}

static void test_cgroup_controllers(void **state)
{
    struct mountinfo m;
    assert_int_equal(parse_mountinfo(scan_string("33 31 0:30 / /sys/fs/cgroup/cpu,cpuacct rw "
                                                 "shared:9 - cgroup cgroup rw,cpu,cpuacct"),
                                     &m),
                     0);
    assert_slice(m.point, "/sys/fs/cgroup/cpu,cpuacct");
    assert_slice(m.type, "cgroup");
    assert_slice(m.super_options, "rw,cpu,cpuacct");
}

static void test_cut_short(void **state)
{
    check_cuts(root_line, -EBADMSG);
    check_cuts(bind_line, -EBADMSG);
}

static void test_garbage(void **state)
{
    static const char *const lines[] = {
        "\n",
        "nonsense",
        " 27 1 254:0 / / rw - ext4 /dev/vda rw",
        "27  1 254:0 / / rw - ext4 /dev/vda rw",
        "x 1 254:0 / / rw - ext4 /dev/vda rw",
        "27 1 254 / / rw - ext4 /dev/vda rw",
        "27 1 254:-1 / / rw - ext4 /dev/vda rw",
        "27 1 4294967296:0 / / rw - ext4 /dev/vda rw",
        "27 1 0:99999999999999999999 / / rw - ext4 /dev/vda rw",
        "27 1 254:0  / rw - ext4 /dev/vda rw",
        "27 1 254:0 / / rw ext4 /dev/vda rw",
        "27 1 254:0 / / rw -  /dev/vda rw",
        "27 1 254:0 / / rw - ext4 /dev/vda",
        "27 1 254:0 / / rw,relatime",
        "27 1 254:0 / / rw,relatime -",
        "27 1 254:0 / / rw - ext4",
    };
    struct mountinfo m;
    for (size_t i = 0; i < ARRAY_LEN(lines); i++)
        assert_int_equal(parse(lines[i], &m), -EBADMSG);
}

static void test_text(void **state)
{
    struct scan text = scan_string("27 1 254:0 / / rw - ext4 /dev/vda rw\n"
                                   "garbage\n"
                                   "\n"
                                   "28 27 0:5 / /tmp rw - tmpfs tmpfs rw\n"
                                   "29 27 0:6 / /cut rw - tmpfs tmpfs r");
    struct mountinfo m;
    assert_true(mountinfo_next(&text, &m));
    assert_int_equal(m.id, 27);
    assert_true(mountinfo_next(&text, &m));
    assert_int_equal(m.id, 28);
    assert_false(mountinfo_next(&text, &m));
    assert_false(mountinfo_next(&text, &m));
}

static void assert_decoded(const char *field, const char *expected)
{
    char *copy = exact_copy(field, strlen(field));
    char buf[64];
    ssize_t n = mountinfo_decode(scan_text(copy, strlen(field)), buf, sizeof buf);
    free(copy);
    assert_int_equal(n, strlen(expected));
    assert_string_equal(buf, expected);
}

static void test_decode(void **state)
{
    assert_decoded("", "");
    assert_decoded("/plain", "/plain");
    assert_decoded("/a\\040b\\011c\\012d\\134e", "/a b\tc\nd\\e");
    assert_decoded("\\134040", "\\040");
    assert_decoded("\\303\\244\\043", "ä#");
    /* What is no escape stands for itself. */
    assert_decoded("\\", "\\");
    assert_decoded("\\04", "\\04");
    assert_decoded("\\048\\400\\x", "\\048\\400\\x");
}

static void test_decode_limits(void **state)
{
    char buf[4];
    assert_int_equal(mountinfo_decode(scan_string(""), buf, sizeof buf), 0);
    assert_int_equal(mountinfo_decode(scan_string("abc"), buf, sizeof buf), 3);
    assert_int_equal(mountinfo_decode(scan_string("abcd"), buf, sizeof buf), -ENAMETOOLONG);
    assert_int_equal(mountinfo_decode(scan_string(""), buf, 0), -ENAMETOOLONG);
    assert_int_equal(mountinfo_decode(scan_string("a\\000"), buf, sizeof buf), -EBADMSG);
    assert_int_equal(mountinfo_decode(scan_text("a\0b", 3), buf, sizeof buf), -EBADMSG);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good),          cmocka_unit_test(test_optional_fields),
        cmocka_unit_test(test_empty_source),  cmocka_unit_test(test_cgroup_controllers),
        cmocka_unit_test(test_cut_short),     cmocka_unit_test(test_garbage),
        cmocka_unit_test(test_text),          cmocka_unit_test(test_decode),
        cmocka_unit_test(test_decode_limits),
    };
    return RUN("mountinfo", tests);
}
