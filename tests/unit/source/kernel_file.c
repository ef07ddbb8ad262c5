/* SPDX-License-Identifier: MIT */
#include "source/kernel_file.h"
#include "base/util.h"
#include "machine_tree.h"
#include "tree.h"
#include "unit.h"

/* ---- kernel file ---------------------------------------------------------------------------- */

static int open_tree(struct tree *t)
{
    tree_make(t);
    int dir = open(t->path, O_RDONLY | O_DIRECTORY);
    assert_true(dir >= 0);
    return dir;
}

static void test_kernel_file_a_kept_file_is_read_again(void **state)
{
    struct tree t;
    int dir = open_tree(&t);
    struct kernel_file f = KERNEL_FILE_NONE;
    struct scan text;
    tree_write(&t, "stat", "one\n");
    unsigned fds = tree_open_fds();
    assert_int_equal(kernel_file_read(&f, dir, "stat", true, &text), 0);
    assert_int_equal(tree_open_fds(), fds + 1);
    tree_write(&t, "stat", "three\n");
    assert_int_equal(kernel_file_read(&f, dir, "stat", true, &text), 0);
    assert_int_equal(text.end - text.at, 6);
    assert_memory_equal(text.at, "three\n", 6);
    kernel_file_done(&f);
    assert_int_equal(tree_open_fds(), fds);
    close(dir);
    tree_remove(&t);
}

static void test_kernel_file_nothing_is_kept_of_a_recorded_tree(void **state)
{
    struct tree t;
    int dir = open_tree(&t);
    struct kernel_file f = KERNEL_FILE_NONE;
    struct scan text;
    tree_write(&t, "stat", "one\n");
    unsigned fds = tree_open_fds();
    assert_int_equal(kernel_file_read(&f, dir, "stat", false, &text), 0);
    assert_int_equal(tree_open_fds(), fds);
    tree_unlink(&t, "stat");
    assert_int_equal(kernel_file_read(&f, dir, "stat", false, &text), -ENOENT);
    kernel_file_done(&f);
    kernel_file_done(&f);
    close(dir);
    tree_remove(&t);
}

static void test_kernel_file_long_text(void **state)
{
    enum { LENGTH = 200000 };
    struct tree t;
    int dir = open_tree(&t);
    struct kernel_file f = KERNEL_FILE_NONE;
    struct scan text;
    char *written = malloc(LENGTH + 1);
    assert_non_null(written);
    for (size_t i = 0; i < LENGTH; i++)
        written[i] = (char)('a' + i % 23);
    written[LENGTH] = '\0';
    tree_write(&t, "stat", written);
    assert_int_equal(kernel_file_read(&f, dir, "stat", true, &text), 0);
    assert_int_equal(text.end - text.at, LENGTH);
    assert_memory_equal(text.at, written, LENGTH);
    const char *room = f.text.data;
    assert_int_equal(kernel_file_read(&f, dir, "stat", true, &text), 0);
    assert_ptr_equal(f.text.data, room); /* it fits from now on */
    kernel_file_done(&f);
    free(written);
    close(dir);
    tree_remove(&t);
}

static void test_kernel_file_a_file_that_cannot_be_read(void **state)
{
    struct tree t;
    int dir = open_tree(&t);
    struct kernel_file f = KERNEL_FILE_NONE;
    struct scan text;
    tree_write(&t, "directory/file", "");
    unsigned fds = tree_open_fds();
    assert_int_equal(kernel_file_read(&f, dir, "directory", true, &text), -EISDIR);
    assert_int_equal(tree_open_fds(), fds);
    assert_int_equal(kernel_file_read(&f, dir, "directory/file", true, &text), 0);
    assert_true(scan_done(&text));
    kernel_file_done(&f);
    close(dir);
    tree_remove(&t);
}

/* ---- number file ---------------------------------------------------------------------------- */

static void test_number_file_recorded(void **state)
{
    struct machine m;
    struct number_file f;
    int64_t value = 5;
    machine_make(&m);
    assert_int_equal(number_file_init(&f, "class/x", "n"), 0);
    assert_int_equal(number_file_read(&f, &m.root, &value), -ENOENT);
    tree_write(&m.tree, "sys/class/x/n", "-4500\n");
    assert_int_equal(number_file_read(&f, &m.root, &value), 0);
    assert_int_equal(value, -4500);
    assert_int_equal(f.fd, -1);
    number_file_done(&f);
    machine_remove(&m);
}

static void test_number_file_kept(void **state)
{
    struct machine m;
    struct number_file f;
    int64_t value;
    machine_make(&m);
    m.root.live = true;
    assert_int_equal(number_file_init(&f, "class/x", "n"), 0);
    tree_write(&m.tree, "sys/class/x/n", "1\n");
    assert_int_equal(number_file_read(&f, &m.root, &value), 0);
    int fd = f.fd;
    assert_true(fd >= 0);
    tree_write(&m.tree, "sys/class/x/n", "22\n");
    assert_int_equal(number_file_read(&f, &m.root, &value), 0);
    assert_int_equal(value, 22);
    assert_int_equal(f.fd, fd);
    number_file_done(&f);
    assert_int_equal(f.fd, -1);
    machine_remove(&m);
}

static void test_number_file_garbage(void **state)
{
    static const char *const texts[] = {
        "", "\n", "12", "1x\n", "x\n", "1\n2\n", "99999999999999999999\n", "1.5\n"};
    struct machine m;
    struct number_file f;
    int64_t value = 5;
    machine_make(&m);
    assert_int_equal(number_file_init(&f, "class/x", "n"), 0);
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        tree_write(&m.tree, "sys/class/x/n", texts[i]);
        assert_int_equal(number_file_read(&f, &m.root, &value), -EBADMSG);
    }
    assert_int_equal(value, 5);
    /* A directory opens and cannot be read, as a sensor that is asleep. */
    assert_int_equal(number_file_init(&f, "class", "x"), 0);
    assert_int_equal(number_file_read(&f, &m.root, &value), -EISDIR);
    char longest[200];
    memset(longest, 'a', sizeof longest - 1);
    longest[sizeof longest - 1] = '\0';
    assert_int_equal(number_file_init(&f, "class", longest), -ENAMETOOLONG);
    machine_remove(&m);
}

static void test_number_file_words(void **state)
{
    struct machine m;
    char word[8];
    machine_make(&m);
    assert_int_equal(number_file_read_word(&m.root, "a", "b", word, sizeof word), -ENOENT);
    tree_write(&m.tree, "sys/a/b", "  Core 0 \n");
    assert_int_equal(number_file_read_word(&m.root, "a", "b", word, sizeof word), 0);
    assert_string_equal(word, "Core 0");
    tree_write(&m.tree, "sys/a/b", "Package id 0");
    assert_int_equal(number_file_read_word(&m.root, "a", "b", word, sizeof word), 0);
    assert_string_equal(word, "Package");
    tree_write(&m.tree, "sys/a/b", " \n");
    assert_int_equal(number_file_read_word(&m.root, "a", "b", word, sizeof word), -ENODATA);
    tree_write(&m.tree, "sys/a/b", "");
    assert_int_equal(number_file_read_word(&m.root, "a", "b", word, sizeof word), -ENODATA);
    tree_write(&m.tree, "sys/a/b", "\033[31m\n");
    assert_int_equal(number_file_read_word(&m.root, "a", "b", word, sizeof word), -EBADMSG);
    machine_remove(&m);
}

/* ---- keyed ---------------------------------------------------------------------------------- */

static const struct keyed keyed_keys[] = {{"Pss:", keyed_kib}, {"Threads:", scan_u64}};

static int read_keys(const char *text, uint64_t values[2])
{
    char *copy = exact_copy(text, strlen(text));
    int seen = keyed_read(scan_text(copy, strlen(text)), keyed_keys, ARRAY_LEN(keyed_keys), values);
    free(copy);
    return seen;
}

static void test_keyed_kib(void **state)
{
    uint64_t bytes = 0;
    struct scan s = scan_string("\t  1628 kB\n");
    assert_true(keyed_kib(&s, &bytes));
    assert_int_equal(bytes, 1628 * 1024);
    assert_int_equal(*s.at, '\n');

    static const char *const bad[] = {
        "", "1", "1 k", "1 MB", "1kB", "x kB", "18014398509481984 kB", "18446744073709551616 kB"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        s = scan_string(bad[i]);
        assert_false(keyed_kib(&s, &bytes));
        assert_ptr_equal(s.at, bad[i]);
    }
    assert_int_equal(bytes, 1628 * 1024);
}

static void test_keyed_whole_keys_in_any_order(void **state)
{
    uint64_t values[2];
    assert_int_equal(read_keys("Pss_Dirty: 9 kB\nThreads:\t3\n\nPss: 1 kB\n", values), 3);
    assert_int_equal(values[0], 1024);
    assert_int_equal(values[1], 3);
}

static void test_keyed_missing(void **state)
{
    uint64_t values[2];
    assert_int_equal(read_keys("", values), 0);
    assert_int_equal(read_keys("\n\n", values), 0);
    assert_int_equal(read_keys("Threads: 3\n", values), 2);
    assert_int_equal(read_keys(" Threads: 3\n", values), 0);
    assert_int_equal(read_keys("Threads", values), 0);
}

static void test_keyed_last_line_without_newline(void **state)
{
    uint64_t values[2];
    assert_int_equal(read_keys("Pss: 1 kB\nThreads: 3", values), 1);
}

static void test_keyed_stops_when_it_has_all(void **state)
{
    uint64_t values[2];
    assert_int_equal(read_keys("Pss: 1 kB\nThreads: 3\nPss: x\n", values), 3);
}

static void test_keyed_bad_value(void **state)
{
    uint64_t values[2];
    assert_int_equal(read_keys("Pss: 1\n", values), -EBADMSG);
    assert_int_equal(read_keys("Threads:\n", values), -EBADMSG);
    assert_int_equal(read_keys("Threads: 1 \n", values), -EBADMSG);
}

/* ---- cgroup flat ---------------------------------------------------------------------------- */

static const char *const cgroup_flat_keys[] = {"usage_usec", "nr_periods", "anon"};

static int cgroup_flat_parse(const char *text, uint64_t values[3])
{
    char *copy = exact_copy(text, strlen(text));
    memset(values, UNTOUCHED, 3 * sizeof *values);
    int r = parse_cgroup_flat(scan_text(copy, strlen(text)), cgroup_flat_keys, 3, values);
    free(copy);
    return r;
}

static void test_cgroup_flat_good(void **state)
{
    uint64_t v[3];
    assert_int_equal(
        cgroup_flat_parse("usage_usec 1836400\nuser_usec 1170128\nnr_periods 7\nnr_throttled 0\n",
                          v),
        3);
    assert_int_equal(v[0], 1836400);
    assert_int_equal(v[1], 7);
    assert_true(is_untouched(&v[2], sizeof v[2]));
}

static void test_cgroup_flat_names_that_only_begin_alike(void **state)
{
    uint64_t v[3];
    assert_int_equal(cgroup_flat_parse("anon_thp 5\nanon 9\n\nanonymous x\n", v), 4);
    assert_int_equal(v[2], 9);
}

static void test_cgroup_flat_cut_and_empty(void **state)
{
    uint64_t v[3];
    assert_int_equal(cgroup_flat_parse("", v), 0);
    assert_int_equal(cgroup_flat_parse("usage_usec 18", v), 0);
    assert_int_equal(cgroup_flat_parse("anon 1\nusage_usec 18", v), 4);
}

static void test_cgroup_flat_garbage(void **state)
{
    static const char *const texts[] = {
        "anon \n",
        "anon x\n",
        "anon -1\n",
        "anon 1 2\n",
        "anon 99999999999999999999\n",
        "usage_usec 1\nanon none\n",
    };
    uint64_t v[3];
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        assert_int_equal(cgroup_flat_parse(texts[i], v), -EBADMSG);
        assert_true(is_untouched(v, sizeof v));
    }
    assert_int_equal(cgroup_flat_parse("anon\nwhatever\n", v), 0);
    assert_int_equal(cgroup_flat_parse("anon 18446744073709551615\n", v), 4);
    assert_true(v[2] == UINT64_MAX);
}

/* ---- comma list ----------------------------------------------------------------------------- */

static void test_comma_list_has(void **state)
{
    struct scan list = scan_string("rw,cpu,cpuacct");
    assert_true(comma_list_has(list, "rw"));
    assert_true(comma_list_has(list, "cpu"));
    assert_true(comma_list_has(list, "cpuacct"));
    assert_false(comma_list_has(list, "cpuset"));
    assert_false(comma_list_has(list, "acct"));
    assert_false(comma_list_has(scan_string(""), "cpu"));
    assert_false(comma_list_has(scan_string("cpuacct"), "cpu"));
}

static void test_comma_list_next(void **state)
{
    struct scan list = scan_string("a,,b"), word;
    assert_true(comma_list_next(&list, &word) && word.end - word.at == 1 && *word.at == 'a');
    assert_true(comma_list_next(&list, &word) && scan_done(&word));
    assert_true(comma_list_next(&list, &word) && word.end - word.at == 1 && *word.at == 'b');
    assert_false(comma_list_next(&list, &word));
}

/* ---- cpu list ------------------------------------------------------------------------------- */

static unsigned cpu_list_test_count(const char *text)
{
    struct cpu_list l;
    assert_int_equal(parse_cpu_list(scan_string(text), &l), 0);
    return cpu_list_count(&l);
}

static void test_cpu_list_good(void **state)
{
    assert_int_equal(cpu_list_test_count("0\n"), 1);
    assert_int_equal(cpu_list_test_count("0-3,8\n"), 5);
    assert_int_equal(cpu_list_test_count("\t0-127"), 128); /* as behind Cpus_allowed_list: */
    assert_int_equal(cpu_list_test_count("0,2-3,62-65,8191\n"), 8);
    assert_int_equal(cpu_list_test_count("0-8191\n"), 8192);
}

static void test_cpu_list_keep(void **state)
{
    struct cpu_list a, b;
    assert_int_equal(parse_cpu_list(scan_string("0-3\n"), &a), 0);
    assert_int_equal(parse_cpu_list(scan_string("2-127\n"), &b), 0);
    cpu_list_keep(&a, &b);
    assert_int_equal(cpu_list_count(&a), 2);
}

static void test_cpu_list_garbage(void **state)
{
    static const char *const texts[] = {
        "x\n",      "0-\n",  "-1\n",    "3-1\n",    "0,\n",   ",0\n",   "0,,1\n",
        "0 1\n",    "1,0\n", "0-3,2\n", "0-8192\n", "0- 3\n", "0, 1\n", "99999999999999999999\n",
        "0-3:1/2\n"};
    struct cpu_list l;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        memset(&l, UNTOUCHED, sizeof l);
        assert_int_equal(parse_cpu_list(scan_string(texts[i]), &l), -EBADMSG);
        assert_true(is_untouched(&l, sizeof l));
    }
    assert_int_equal(parse_cpu_list(scan_string("\n"), &l), -ENODATA);
    assert_int_equal(parse_cpu_list(scan_string(""), &l), -ENODATA);
}

/* ---- pressure ------------------------------------------------------------------------------- */

#define SOME "some avg10=31.72 avg60=10.26 avg300=7.68 total=1634313557\n"
#define FULL "full avg10=0.00 avg60=0.00 avg300=0.00 total=42\n"

/* Cut behind its first line it looks like that of an older kernel. */
static bool pressure_same(const struct pressure *whole, const struct pressure *cut)
{
    return whole->some_ns == cut->some_ns && (!cut->has_full || whole->full_ns == cut->full_ns);
}

PARSER_HARNESS(pressure, parse_pressure, struct pressure, pressure_same)

static void test_pressure_good(void **state)
{
    struct pressure p;
    assert_int_equal(pressure_parse(SOME FULL, &p), 0);
    assert_true(p.has_full);
    assert_int_equal(p.some_ns, UINT64_C(1634313557000));
    assert_int_equal(p.full_ns, 42000);
}

/* Before Linux 5.13 the CPU has no line of "full". */
static void test_pressure_old_kernel(void **state)
{
    struct pressure p;
    assert_int_equal(pressure_parse(SOME, &p), 0);
    assert_false(p.has_full);
    assert_int_equal(p.full_ns, 0);
}

static void test_pressure_new_kernel(void **state)
{
    struct pressure p;
    assert_int_equal(pressure_parse("irq total=x\nsome avg10=0.00 new=1 total=5\n", &p), 0);
    assert_int_equal(p.some_ns, 5000);
    assert_false(p.has_full);
    assert_int_equal(pressure_parse(SOME FULL "more total=1\n", &p), 0);
    assert_true(p.has_full);
}

static void test_pressure_cut_short(void **state)
{
    pressure_check_cuts(SOME FULL, -ENODATA);
}

static void test_pressure_garbage(void **state)
{
    static const char *const texts[] = {
        "\n",
        "nonsense",
        FULL,
        "some avg10=0.00 avg60=0.00 avg300=0.00\n",
        "some avg10=0.00 avg60=0.00 avg300=0.00 total=x\n",
        "some\n",
        "some \n",
        "some total=\n",
        "some total= 5\n",
        "some total=5 6\n",
        "some total=99999999999999999999\n",
        "some total=1\nfull total=-1\n",
        SOME "full avg10=0.00 avg60=0.00 avg300=0.00\n",
        "some avg10=0.00 avg60=0.00 avg300=0.00 total=18446744073709552\n",
    };
    struct pressure p;
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        assert_int_equal(pressure_parse(texts[i], &p), -EBADMSG);
    assert_int_equal(pressure_parse("some avg10=0 avg60=0 avg300=0 total=18446744073709551\n", &p),
                     0);
}

/* ---- mountinfo ------------------------------------------------------------------------------ */

static const char root_line[] = "27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard";

static const char bind_line[] = "36 35 98:0 /mnt1 /mnt/with\\040blank rw,noatime master:1 shared:4 "
                                "- ext3 /dev/root rw,errors=continue";

static bool same_slice(struct scan a, struct scan b)
{
    return a.end - a.at == b.end - b.at;
}

/* The texts are windows on copies, so their lengths are compared. */
static bool mountinfo_same(const struct mountinfo *a, const struct mountinfo *b)
{
    return a->id == b->id && a->parent == b->parent && a->device == b->device &&
           same_slice(a->root, b->root) && same_slice(a->point, b->point) &&
           same_slice(a->options, b->options) && same_slice(a->optional, b->optional) &&
           same_slice(a->type, b->type) && same_slice(a->source, b->source);
}

PARSER_HARNESS(mountinfo, parse_mountinfo, struct mountinfo, mountinfo_same)

static void assert_slice(struct scan s, const char *expected)
{
    assert_int_equal(s.end - s.at, strlen(expected));
    assert_memory_equal(s.at, expected, strlen(expected));
}

static void test_mountinfo_good(void **state)
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

static void test_mountinfo_optional_fields(void **state)
{
    struct mountinfo m;
    assert_int_equal(parse_mountinfo(scan_string(bind_line), &m), 0);
    assert_slice(m.root, "/mnt1");
    assert_slice(m.point, "/mnt/with\\040blank");
    assert_slice(m.optional, "master:1 shared:4");
    assert_slice(m.type, "ext3");
    assert_slice(m.super_options, "rw,errors=continue");
}

static void test_mountinfo_empty_source(void **state)
{
    struct mountinfo m;
    assert_int_equal(parse_mountinfo(scan_string("1 2 0:5 / /x rw - tmpfs  rw"), &m), 0);
    assert_slice(m.source, "");
    assert_slice(m.super_options, "rw");
}

static void test_mountinfo_cgroup_controllers(void **state)
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

static void test_mountinfo_cut_short(void **state)
{
    mountinfo_check_cuts(root_line, -EBADMSG);
    mountinfo_check_cuts(bind_line, -EBADMSG);
}

static void test_mountinfo_garbage(void **state)
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
        assert_int_equal(mountinfo_parse(lines[i], &m), -EBADMSG);
}

static void test_mountinfo_text(void **state)
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

static void test_mountinfo_decode(void **state)
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

static void test_mountinfo_decode_limits(void **state)
{
    char buf[4];
    assert_int_equal(mountinfo_decode(scan_string(""), buf, sizeof buf), 0);
    assert_int_equal(mountinfo_decode(scan_string("abc"), buf, sizeof buf), 3);
    assert_int_equal(mountinfo_decode(scan_string("abcd"), buf, sizeof buf), -ENAMETOOLONG);
    assert_int_equal(mountinfo_decode(scan_string(""), buf, 0), -ENAMETOOLONG);
    assert_int_equal(mountinfo_decode(scan_string("a\\000"), buf, sizeof buf), -EBADMSG);
    assert_int_equal(mountinfo_decode(scan_text("a\0b", 3), buf, sizeof buf), -EBADMSG);
}

/* ---- fd cache ------------------------------------------------------------------------------- */

static int some_fd(void)
{
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    return fd;
}

/* As process_read_kept does it. */
static bool keep(struct fd_cache *c, struct kept_fds *k, enum kept_file file, bool changed)
{
    if (k->fds[file] >= 0 || !fd_cache_admits(c, k, changed))
        return false;
    fd_cache_keep(c, k, file, some_fd());
    return true;
}

/* The list is whole in both directions, the counts are true, every descriptor is open. */
static void check_cache(const struct fd_cache *c)
{
    unsigned used = 0;
    const struct kept_fds *newer = NULL;
    for (const struct kept_fds *k = c->newest; k; newer = k, k = k->older) {
        unsigned count = 0;
        assert_ptr_equal(k->newer, newer);
        for (unsigned i = 0; i < KEPT_FILES; i++) {
            count += k->fds[i] >= 0;
            if (k->fds[i] >= 0)
                assert_true(fcntl(k->fds[i], F_GETFD) >= 0);
        }
        assert_int_equal(count, k->count);
        assert_true(count > 0);
        used += count;
    }
    assert_ptr_equal(c->oldest, newer);
    assert_int_equal(used, c->used);
    assert_true(c->used <= c->limit);
}

static void test_fd_cache_limit_zero_keeps_none(void **state)
{
    struct fd_cache c;
    struct kept_fds k;
    fd_cache_init(&c, 0);
    kept_fds_init(&k);
    assert_false(fd_cache_admits(&c, &k, false));
    assert_false(fd_cache_admits(&c, &k, true));
    fd_cache_touch(&c, &k);
    fd_cache_drop(&c, &k);
    fd_cache_shrink(&c);
    assert_int_equal(c.limit, 0);
    check_cache(&c);
}

static void test_fd_cache_least_recently_changed_loses_first(void **state)
{
    struct fd_cache c;
    struct kept_fds k[4];
    fd_cache_init(&c, 3);
    for (unsigned i = 0; i < 4; i++)
        kept_fds_init(&k[i]);
    for (unsigned i = 0; i < 3; i++)
        assert_true(keep(&c, &k[i], KEPT_STAT, true));
    fd_cache_touch(&c, &k[0]); /* now 1 is the oldest */
    check_cache(&c);
    assert_false(keep(&c, &k[3], KEPT_STAT, false)); /* it did not change: only free room */
    assert_true(keep(&c, &k[3], KEPT_STAT, true));
    assert_int_equal(k[1].count, 0);
    assert_int_equal(k[1].fds[KEPT_STAT], -1);
    assert_int_equal(k[0].count + k[2].count + k[3].count, 3);
    check_cache(&c);
    assert_true(keep(&c, &k[3], KEPT_IO, true));
    assert_int_equal(k[2].count, 0);
    for (unsigned i = 0; i < 4; i++)
        fd_cache_drop(&c, &k[i]);
    check_cache(&c);
    assert_int_equal(c.used, 0);
}

/* One process alone does not push its own descriptors out. */
static void test_fd_cache_not_at_its_own_cost(void **state)
{
    struct fd_cache c;
    struct kept_fds k;
    fd_cache_init(&c, 2);
    kept_fds_init(&k);
    assert_true(keep(&c, &k, KEPT_STAT, true));
    assert_true(keep(&c, &k, KEPT_IO, true));
    assert_false(keep(&c, &k, KEPT_STATUS, true));
    assert_int_equal(k.count, 2);
    fd_cache_drop(&c, &k);
    fd_cache_drop(&c, &k);
    assert_int_equal(c.used, 0);
}

static void test_fd_cache_shrink(void **state)
{
    struct fd_cache c;
    struct kept_fds k[8];
    fd_cache_init(&c, 100);
    for (unsigned i = 0; i < 8; i++) {
        kept_fds_init(&k[i]);
        keep(&c, &k[i], KEPT_STAT, true);
        keep(&c, &k[i], KEPT_IO, true);
    }
    fd_cache_shrink(&c);
    assert_int_equal(c.limit, 8);
    assert_int_equal(c.used, 8);
    for (unsigned i = 0; i < 8; i++)
        assert_int_equal(k[i].count, i < 4 ? 0 : 2);
    check_cache(&c);
    while (c.used)
        fd_cache_shrink(&c);
    check_cache(&c);
    assert_null(c.oldest);
}

enum { MANY = 40 };

/* A plain model: when each process changed last. */
struct model {
    struct kept_fds k[MANY];
    uint64_t changed_at[MANY]; /* 0: keeps nothing */
    uint64_t now;
};

static void check_order(const struct fd_cache *c, const struct model *m)
{
    uint64_t newer = UINT64_MAX;
    for (const struct kept_fds *k = c->newest; k; k = k->older) {
        uint64_t at = m->changed_at[k - m->k];
        assert_true(at < newer);
        newer = at;
    }
}

static void run_random(uint64_t seed, unsigned limit)
{
    static struct model m;
    struct fd_cache c;
    m = (struct model){0};
    fd_cache_init(&c, limit);
    for (unsigned i = 0; i < MANY; i++)
        kept_fds_init(&m.k[i]);
    for (unsigned step = 0; step < 3000; step++) {
        unsigned i = (unsigned)random_below(&seed, MANY);
        struct kept_fds *k = &m.k[i];
        bool had = k->count;
        switch (random_below(&seed, 8)) {
        case 0: fd_cache_drop(&c, k); break;
        case 1:
        case 2:
            fd_cache_touch(&c, k);
            m.changed_at[i] = ++m.now;
            break;
        case 3:
            if (random_below(&seed, 100) == 0)
                fd_cache_shrink(&c);
            break;
        default:
            keep(&c, k, (enum kept_file)random_below(&seed, KEPT_FILES), step % 2);
            if (!had && k->count)
                m.changed_at[i] = ++m.now;
        }
        check_cache(&c);
        check_order(&c, &m);
    }
    for (unsigned i = 0; i < MANY; i++)
        fd_cache_drop(&c, &m.k[i]);
    assert_int_equal(c.used, 0);
    assert_null(c.newest);
}

static void test_fd_cache_random(void **state)
{
    unsigned before = tree_open_fds();
    for (unsigned limit = 1; limit < 200; limit += limit)
        run_random(limit, limit);
    assert_int_equal(tree_open_fds(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_kernel_file_a_kept_file_is_read_again),
        cmocka_unit_test(test_kernel_file_nothing_is_kept_of_a_recorded_tree),
        cmocka_unit_test(test_kernel_file_long_text),
        cmocka_unit_test(test_kernel_file_a_file_that_cannot_be_read),
        cmocka_unit_test(test_number_file_recorded),
        cmocka_unit_test(test_number_file_kept),
        cmocka_unit_test(test_number_file_garbage),
        cmocka_unit_test(test_number_file_words),
        cmocka_unit_test(test_keyed_kib),
        cmocka_unit_test(test_keyed_whole_keys_in_any_order),
        cmocka_unit_test(test_keyed_missing),
        cmocka_unit_test(test_keyed_last_line_without_newline),
        cmocka_unit_test(test_keyed_stops_when_it_has_all),
        cmocka_unit_test(test_keyed_bad_value),
        cmocka_unit_test(test_cgroup_flat_good),
        cmocka_unit_test(test_cgroup_flat_names_that_only_begin_alike),
        cmocka_unit_test(test_cgroup_flat_cut_and_empty),
        cmocka_unit_test(test_cgroup_flat_garbage),
        cmocka_unit_test(test_comma_list_has),
        cmocka_unit_test(test_comma_list_next),
        cmocka_unit_test(test_cpu_list_good),
        cmocka_unit_test(test_cpu_list_keep),
        cmocka_unit_test(test_cpu_list_garbage),
        cmocka_unit_test(test_pressure_good),
        cmocka_unit_test(test_pressure_old_kernel),
        cmocka_unit_test(test_pressure_new_kernel),
        cmocka_unit_test(test_pressure_cut_short),
        cmocka_unit_test(test_pressure_garbage),
        cmocka_unit_test(test_mountinfo_good),
        cmocka_unit_test(test_mountinfo_optional_fields),
        cmocka_unit_test(test_mountinfo_empty_source),
        cmocka_unit_test(test_mountinfo_cgroup_controllers),
        cmocka_unit_test(test_mountinfo_cut_short),
        cmocka_unit_test(test_mountinfo_garbage),
        cmocka_unit_test(test_mountinfo_text),
        cmocka_unit_test(test_mountinfo_decode),
        cmocka_unit_test(test_mountinfo_decode_limits),
        cmocka_unit_test(test_fd_cache_limit_zero_keeps_none),
        cmocka_unit_test(test_fd_cache_least_recently_changed_loses_first),
        cmocka_unit_test(test_fd_cache_not_at_its_own_cost),
        cmocka_unit_test(test_fd_cache_shrink),
        cmocka_unit_test(test_fd_cache_random),
    };
    return RUN("source/kernel_file", tests);
}
