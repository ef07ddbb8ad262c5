/* SPDX-License-Identifier: MIT */
#include "base/thread.h"
#include "base/util.h"

#include "tree.h"

#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>

struct ends {
    int kept, other;
    pid_t from;
    int result;
    bool kept_is_there, other_is_there, wrote;
    int made;
};

static void *part(void *arg)
{
    struct ends *e = arg;
    e->result = own_files_only(&e->kept, 1, e->from);
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
    struct ends e = {.kept = ends[1], .other = ends[0], .from = getpid()};
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

/* What the calls return instead of being made; -1: they are made. Of close_range, only when it is
 * asked to unshare. */
struct answers {
    int close_range, unshare, kcmp;
};

static bool answer_instead(const struct answers *a)
{
    enum { UNSHARE_FLAG = 2, NUMBER = offsetof(struct seccomp_data, nr) };
    const unsigned flags = offsetof(struct seccomp_data, args) + 2 * sizeof(uint64_t);
    struct sock_filter filter[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, NUMBER),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_unshare, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_kcmp, 3, 0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_close_range, 3, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)a->unshare),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)a->kcmp),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, flags),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, UNSHARE_FLAG, 1, 0),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (unsigned)a->close_range),
    };
    if (a->unshare < 0)
        filter[5].k = SECCOMP_RET_ALLOW;
    if (a->kcmp < 0)
        filter[6].k = SECCOMP_RET_ALLOW;
    if (a->close_range < 0)
        filter[10].k = SECCOMP_RET_ALLOW;
    struct sock_fprog program = {.len = ARRAY_LEN(filter), .filter = filter};
    return prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0 &&
           prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0;
}

enum { SEPARATE, SHARED, BROKEN, NOT_TRIED };

static int part_with(const struct answers *a)
{
    int ends[2], other = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (!answer_instead(a) || pipe2(ends, O_CLOEXEC | O_NONBLOCK) < 0)
        return NOT_TRIED;
    unsigned before = tree_open_fds();
    struct ends e = {.kept = ends[1], .other = other, .from = getpid()};
    pthread_t thread;
    if (pthread_create(&thread, NULL, part, &e) != 0)
        return NOT_TRIED;
    pthread_join(thread, NULL);
    if (fcntl(other, F_GETFD) < 0)
        return BROKEN; /* the program has lost a descriptor */
    if (e.result == 0)
        return !e.other_is_there && tree_open_fds() == before ? SEPARATE : BROKEN;
    return e.other_is_there && tree_open_fds() == before + 1 ? SHARED : BROKEN; /* with e.made */
}

/* valgrind's close_range returns 0 and shares the table as before. */
static void test_a_call_that_claims_to_unshare(void **state)
{
    static const struct {
        struct answers answers;
        int expected;
    } cases[] = {
        {{0, EPERM, -1}, SHARED},         {{0, 0, -1}, SHARED},
        {{EPERM, 0, -1}, SHARED},         {{0, -1, -1}, SEPARATE},
        {{0, 0, EPERM}, SHARED},          {{0, EPERM, ENOSYS}, SHARED},
        {{-1, EPERM, EPERM}, SEPARATE},   {{ENOSYS, -1, ENOSYS}, SEPARATE},
        {{ENOSYS, EPERM, EPERM}, SHARED},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        pid_t child = fork();
        if (child == 0)
            _exit(part_with(&cases[i].answers));
        int status;
        assert_int_equal(waitpid(child, &status, 0), child);
        assert_true(WIFEXITED(status));
        if (WEXITSTATUS(status) != NOT_TRIED)
            assert_int_equal(WEXITSTATUS(status), cases[i].expected);
    }
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
        cmocka_unit_test(test_a_call_that_claims_to_unshare),
        cmocka_unit_test(test_a_file_that_is_known),
    };
    return RUN("own_files", tests);
}
