/* SPDX-License-Identifier: MIT */
#include "proc_tree.h"
#include "source/proc/visit.h"

enum { MOST = 20000 };

struct met {
    pid_t pids[MOST];
    size_t count;
};

static void meet(void *arg, pid_t pid)
{
    struct met *m = arg;
    assert_true(m->count < MOST);
    m->pids[m->count++] = pid;
}

static void test_children(void **state)
{
    struct proc_reader p;
    struct process_source s;
    struct met met = {0};
    proc_open(&p);
    process_source_init(&s);
    assert_false(process_lists_children(&p.reader, 7));
    assert_int_equal(process_children(&p.reader, &s, 7, meet, &met), -ENOENT);
    proc_children(&p.tree, 7, 7, "");
    assert_true(process_lists_children(&p.reader, 7));
    assert_int_equal(process_children(&p.reader, &s, 7, meet, &met), 0);
    assert_int_equal(met.count, 0);
    proc_children(&p.tree, 7, 7, "12 345 6789 ");
    for (int i = 0; i < 3; i++) {
        met.count = 0;
        assert_int_equal(process_children(&p.reader, &s, 7, meet, &met), 0);
        assert_int_equal(met.count, 3);
        assert_int_equal(met.pids[0], 12);
        assert_int_equal(met.pids[2], 6789);
        assert_int_equal(p.reader.cache.used, 1); /* kept, once */
    }
    process_source_done(&s, &p.reader);
    proc_close(&p);
}

/* Each thread lists what it made itself. */
static void test_children_of_threads(void **state)
{
    struct proc_reader p;
    struct process_source s;
    struct met met = {0};
    proc_open(&p);
    process_source_init(&s);
    s.threads = 3;
    proc_children(&p.tree, 7, 7, "12 ");
    proc_children(&p.tree, 7, 8, "13 14 ");
    proc_children(&p.tree, 7, 9, "");
    assert_int_equal(process_children(&p.reader, &s, 7, meet, &met), 0);
    assert_int_equal(met.count, 3);
    assert_int_equal(met.pids[0] + met.pids[1] + met.pids[2], 39);
    assert_int_equal(p.reader.cache.used, 0);
    process_source_done(&s, &p.reader);
    proc_close(&p);
}

/* Longer than the buffer: a number that a piece cuts is still one number. Every width, so that
 * every place of the cut comes up. */
static void test_many_children(void **state)
{
    static struct met met;
    static char text[MOST * 8];
    struct proc_reader p;
    struct process_source s;
    proc_open(&p);
    for (int first = 1; first <= 1000000; first *= 10) {
        size_t length = 0;
        int count = first == 1 ? 15000 : 5003;
        for (int i = 0; i < count; i++)
            length += (size_t)snprintf(text + length, sizeof text - length, "%d ", first + i);
        proc_children(&p.tree, 7, 7, text);
        process_source_init(&s);
        met.count = 0;
        assert_int_equal(process_children(&p.reader, &s, 7, meet, &met), 0);
        assert_int_equal(met.count, count);
        for (int i = 0; i < count; i++)
            assert_int_equal(met.pids[i], first + i);
        process_source_done(&s, &p.reader);
    }
    proc_close(&p);
}

/* Also when the text ends with a digit, exactly at the end of the buffer or near it. */
static void test_last_child_without_blank(void **state)
{
    static struct met met;
    static char text[PROCESS_TEXT_BYTES * 2 + 32];
    struct proc_reader p;
    struct process_source s;
    proc_open(&p);
    for (size_t length = PROCESS_TEXT_BYTES - 8; length < PROCESS_TEXT_BYTES + 8; length++) {
        for (size_t i = 0; i < length; i++)
            text[i] = i % 2 ? ' ' : '5';
        memcpy(text + length - 5, " 1234", 5);
        text[length] = '\0';
        proc_children(&p.tree, 7, 7, text);
        process_source_init(&s);
        met.count = 0;
        assert_int_equal(process_children(&p.reader, &s, 7, meet, &met), 0);
        assert_int_equal(met.count, (length - 5 + 1) / 2 + 1);
        assert_int_equal(met.pids[0], 5);
        assert_int_equal(met.pids[met.count - 1], 1234);
        process_source_done(&s, &p.reader);
    }
    proc_close(&p);
}

static void test_garbage(void **state)
{
    static struct met met;
    static char text[PROCESS_TEXT_BYTES * 3];
    struct proc_reader p;
    struct process_source s;
    proc_open(&p);
    process_source_init(&s);
    proc_children(&p.tree, 7, 7, "12 x 13 ");
    met.count = 0;
    process_children(&p.reader, &s, 7, meet, &met);
    assert_int_equal(met.count, 1);
    process_source_done(&s, &p.reader);
    memset(text, 'x', sizeof text - 1);
    proc_children(&p.tree, 7, 7, text);
    assert_int_equal(process_children(&p.reader, &s, 7, meet, &met), -EBADMSG);
    assert_int_equal(met.count, 1);
    process_source_done(&s, &p.reader);
    proc_close(&p);
}

static void test_parent(void **state)
{
    struct proc_reader p;
    proc_open(&p);
    proc_stat(&p.tree, &(struct proc_facts){.pid = 7, .parent = 3});
    assert_int_equal(process_parent(&p.reader, 7), 3);
    assert_int_equal(process_parent(&p.reader, 8), -ENOENT);
    proc_write(&p.tree, 8, "stat", "8 (x");
    assert_int_equal(process_parent(&p.reader, 8), -EBADMSG);
    proc_close(&p);
}

static void test_leaving(void **state)
{
    struct proc_reader p;
    proc_open(&p);
    proc_stat(&p.tree, &(struct proc_facts){.pid = 7, .parent = 3});
    assert_false(process_is_leaving(&p.reader, 7));
    assert_true(process_is_leaving(&p.reader, 8));
    proc_write(&p.tree, 8, "stat", "8 (x");
    assert_true(process_is_leaving(&p.reader, 8));
    proc_write(&p.tree, 8, "stat",
               "8 (x) R 1 8 8 0 -1 4194308 1 0 0 0 0 0 0 0 20 0 1 0 77 0 0 0 0\n");
    assert_true(process_is_leaving(&p.reader, 8));
    proc_close(&p);
}

static void test_scan(void **state)
{
    struct proc_reader p;
    struct met met = {0};
    proc_open(&p);
    for (int pid = 1; pid <= 300; pid++)
        proc_write(&p.tree, pid, "comm", "");
    tree_write(&p.tree, "proc/sys/kernel/x", "");
    tree_write(&p.tree, "proc/12x/comm", "");
    for (int i = 0; i < 2; i++) {
        met.count = 0;
        int sum = 0;
        assert_int_equal(process_scan(&p.reader, meet, &met), 0);
        assert_int_equal(met.count, 300);
        for (size_t k = 0; k < met.count; k++)
            sum += met.pids[k];
        assert_int_equal(sum, 301 * 150);
    }
    proc_close(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_children),      cmocka_unit_test(test_children_of_threads),
        cmocka_unit_test(test_many_children), cmocka_unit_test(test_last_child_without_blank),
        cmocka_unit_test(test_garbage),       cmocka_unit_test(test_parent),
        cmocka_unit_test(test_leaving),       cmocka_unit_test(test_scan),
    };
    return RUN("process_family", tests);
}
