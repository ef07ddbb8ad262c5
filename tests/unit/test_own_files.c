/* SPDX-License-Identifier: MIT */
#include "base/own_files.h"

#include "tree.h"

#include <fcntl.h>
#include <pthread.h>

struct ends {
    int kept, other;
    int result;
    bool kept_is_there, other_is_there, wrote;
    int made;
};

static void *part(void *arg)
{
    struct ends *e = arg;
    e->result = own_files_only(&e->kept, 1);
    e->kept_is_there = fcntl(e->kept, F_GETFD) >= 0;
    e->other_is_there = fcntl(e->other, F_GETFD) >= 0;
    e->wrote = write(e->kept, "x", 1) == 1;
    e->made = open("/dev/null", O_RDONLY | O_CLOEXEC);
    return NULL;
}

/* The thread keeps what it was told to; neither sees what the other opens and closes. */
static void test_a_table_of_its_own(void **state)
{
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    unsigned before = tree_open_fds();
    struct ends e = {.kept = ends[1], .other = ends[0]};
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, part, &e), 0);
    pthread_join(thread, NULL);
    if (e.result < 0)
        return; /* not allowed here */
    assert_true(e.kept_is_there && e.wrote && !e.other_is_there);
    assert_true(e.made > 2);
    assert_int_equal(tree_open_fds(), before);
    char byte;
    assert_int_equal(read(ends[0], &byte, 1), 1);
    close(ends[0]);
    close(ends[1]);
}

static void test_a_file_that_is_known(void **state)
{
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    struct known_file f;
    known_file_set(&f, ends[1]);
    assert_true(known_file_is_there(&f));
    close(ends[1]);
    assert_false(known_file_is_there(&f));
    int other = open("/dev/null", O_RDONLY | O_CLOEXEC); /* has its number now */
    assert_int_equal(other, ends[1]);
    assert_false(known_file_is_there(&f));
    known_file_close(&f);
    assert_true(fcntl(other, F_GETFD) >= 0); /* is not ours to close */
    known_file_set(&f, other);
    known_file_close(&f);
    assert_true(fcntl(other, F_GETFD) < 0);
    known_file_set(&f, -1);
    assert_false(known_file_is_there(&f));
    known_file_close(&f);
    close(ends[0]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_table_of_its_own),
        cmocka_unit_test(test_a_file_that_is_known),
    };
    return RUN("own_files", tests);
}
