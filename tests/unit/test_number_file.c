/* SPDX-License-Identifier: MIT */
#include "source/kernel_file.h"

#include "machine_tree.h"

static void test_recorded(void **state)
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

static void test_kept(void **state)
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

static void test_garbage(void **state)
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

static void test_words(void **state)
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recorded),
        cmocka_unit_test(test_kept),
        cmocka_unit_test(test_garbage),
        cmocka_unit_test(test_words),
    };
    return RUN("number_file", tests);
}
