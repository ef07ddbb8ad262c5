/* SPDX-License-Identifier: MIT */
#include "source/machine/space.h"

#include "fake_statvfs.h"
#include "tree.h"

#include <sys/socket.h>

static void request(int fd, uint64_t serial, const char *path)
{
    struct space_request r = {.serial = serial};
    snprintf(r.path, sizeof r.path, "%s", path);
    size_t size = offsetof(struct space_request, path) + strlen(path) + 1;
    assert_int_equal(send(fd, &r, size, 0), size);
}

static struct space_answer answer(int fd)
{
    struct space_answer a;
    assert_int_equal(recv(fd, &a, sizeof a, 0), sizeof a);
    return a;
}

static void test_answers(void **state)
{
    int fd;
    pid_t pid = space_helper_start(fake_statvfs, &fd);
    assert_true(pid > 0);
    request(fd, 7, "/x");
    request(fd, 8, "/denied");
    struct space_answer a = answer(fd);
    assert_int_equal(a.serial, 7);
    assert_int_equal(a.error, 0);
    assert_int_equal(a.space.block_bytes, 4096);
    assert_int_equal(a.space.blocks, 1000);
    assert_int_equal(a.space.files_free, 20);
    a = answer(fd);
    assert_int_equal(a.serial, 8);
    assert_int_equal(a.error, -EACCES);
    /* A program that waits for all its children does not wait for this one. */
    assert_int_equal(wait(NULL), -1);
    assert_int_equal(errno, ECHILD);
    close(fd);
    reap_helper(pid); /* it ends by itself */
}

static void test_what_it_is(void **state)
{
    int fd, pipe_ends[2];
    assert_int_equal(pipe(pipe_ends), 0);
    sigset_t before, after;
    pthread_sigmask(SIG_SETMASK, NULL, &before);
    pid_t pid = space_helper_start(fake_statvfs, &fd);
    pthread_sigmask(SIG_SETMASK, NULL, &after);
    for (int signal = 1; signal < NSIG; signal++)
        assert_int_equal(sigismember(&before, signal), sigismember(&after, signal));
    request(fd, 1, "/x"); /* it is ready when it has answered */
    answer(fd);
    char path[64], text[64];
    snprintf(path, sizeof path, "/proc/%d/comm", pid);
    int comm = open(path, O_RDONLY);
    ssize_t n = read(comm, text, sizeof text);
    close(comm);
    assert_int_equal(n, strlen("toll-statvfs\n"));
    assert_memory_equal(text, "toll-statvfs\n", (size_t)n);
    /* It keeps no pipe open. */
    char nothing;
    close(pipe_ends[1]);
    assert_int_equal(read(pipe_ends[0], &nothing, 1), 0);
    close(pipe_ends[0]);
    unsigned count = 0;
    snprintf(path, sizeof path, "/proc/%d/fd", pid);
    DIR *dir = opendir(path);
    for (const struct dirent *d; (d = readdir(dir));)
        count += d->d_name[0] != '.';
    closedir(dir);
    assert_int_equal(count, 1);
    /* Ctrl-C is for the job. */
    kill(pid, SIGINT);
    kill(pid, SIGTERM);
    request(fd, 2, "/x");
    assert_int_equal(answer(fd).serial, 2);
    close(fd);
    reap_helper(pid);
}

static void test_it_ends_with_its_parent(void **state)
{
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    pid_t parent = fork();
    if (parent == 0) {
        int fd;
        pid_t pid = space_helper_start(fake_statvfs, &fd);
        request(fd, 1, "/x");
        answer(fd);
        request(fd, 2, "/hang");
        if (write(ends[1], &pid, sizeof pid) != (ssize_t)sizeof pid)
            _exit(1);
        _exit(0);
    }
    pid_t pid;
    close(ends[1]);
    assert_int_equal(read(ends[0], &pid, sizeof pid), sizeof pid);
    close(ends[0]);
    reap_helper(parent);
    bool is_gone = false;
    for (unsigned i = 0; i < 5000 && !is_gone; i++) {
        char path[64], text[512] = "";
        snprintf(path, sizeof path, "/proc/%d/stat", pid);
        int fd = open(path, O_RDONLY);
        is_gone = fd < 0 || read(fd, text, sizeof text - 1) <= 0 || strstr(text, ") Z ");
        if (fd >= 0)
            close(fd);
        usleep(1000);
    }
    assert_true(is_gone);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_answers),
        cmocka_unit_test(test_what_it_is),
        cmocka_unit_test(test_it_ends_with_its_parent),
    };
    return RUN("space_helper", tests);
}
