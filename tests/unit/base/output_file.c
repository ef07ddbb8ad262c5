/* SPDX-License-Identifier: MIT */
#include "base/io/output_file.h"
#include "base/io/file.h"
#include "scratch.h"
#include "unit.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/syscall.h>

/* ---- output file ---------------------------------------------------------------------------- */

static struct toll_error e;

enum { ANOTHER = 65534 };

static mode_t mode_of(const char *path)
{
    struct stat st;
    assert_int_equal(stat(path, &st), 0);
    return st.st_mode & 07777;
}

static bool is_link(const char *path)
{
    struct stat st;
    return lstat(path, &st) == 0 && S_ISLNK(st.st_mode);
}

static size_t count_files(void)
{
    DIR *dir = opendir(scratch);
    size_t count = 0;
    while (dir && readdir(dir))
        count++;
    closedir(dir);
    return count - 2;
}

static int append(const char *path, const char *text, bool *ret_made)
{
    int fd = output_file_open(path, ret_made, &e);
    if (fd < 0)
        return fd;
    int r = file_write_all(fd, text, strlen(text), NULL);
    close(fd);
    return r;
}

static int replace(const char *path, const char *text, unsigned flags)
{
    struct replacement r;
    int result = replacement_open(&r, path, flags, &e);
    if (result < 0)
        return result;
    result = file_write_all(r.fd, text, strlen(text), NULL);
    if (result == 0)
        result = replacement_commit(&r);
    replacement_close(&r);
    return result;
}

static void test_output_file_append(void **state)
{
    bool made;
    const char *path = scratch_path("a.csv");
    mode_t before = umask(027);
    assert_int_equal(append(path, "one", &made), 0);
    umask(before);
    assert_true(made);
    assert_int_equal(mode_of(path), 0640);
    assert_int_equal(append(path, " two", &made), 0);
    assert_false(made);
    assert_file_is(path, "one two");
    assert_int_equal(append("/dev/null", "x", &made), 0);
    char itself[64]; /* where /dev/stdout leads */
    int fd = open(path, O_WRONLY | O_APPEND | O_CLOEXEC);
    snprintf(itself, sizeof itself, "/proc/self/fd/%d", fd);
    assert_int_equal(append(itself, "!", &made), 0);
    assert_int_equal(replace(itself, "in place", 0), 0);
    close(fd);
    assert_file_is(path, "in place");
    assert_int_equal(append(scratch_path("no/x"), "", NULL), -ENOENT);
    assert_int_equal(append(scratch_path("a.csv/x"), "", NULL), -ENOTDIR);
    assert_int_equal(append(scratch, "", NULL), -EISDIR);
    assert_int_equal(append("", "", NULL), -ENOENT);
    assert_int_equal(append(scratch_path("new/"), "", NULL), -ENOENT);
}

static void test_output_file_own_links_are_followed(void **state)
{
    CLEANUP_FREE char *file = strdup(scratch_path("file"));
    CLEANUP_FREE char *first = strdup(scratch_path("first"));
    CLEANUP_FREE char *second = strdup(scratch_path("second"));
    assert_int_equal(symlink("second", first), 0); /* relative, to a link, to what is not there */
    assert_int_equal(symlink(file, second), 0);
    assert_int_equal(append(first, "1", NULL), 0);
    assert_int_equal(append(first, "2", NULL), 0);
    assert_file_is(file, "12");
    assert_int_equal(replace(first, "3", 0), 0);
    assert_true(is_link(first) && is_link(second) && !is_link(file));
    assert_file_is(file, "3");
    assert_int_equal(symlink("loop", scratch_path("loop")), 0);
    assert_int_equal(append(scratch_path("loop"), "", NULL), -ELOOP);
    const char *up = scratch_path("up");
    assert_int_equal(symlink("..//./", up), 0); /* a directory on the way */
    char path[256];
    snprintf(path, sizeof path, "%s/%s/file", up, strrchr(scratch, '/') + 1);
    assert_int_equal(append(path, "4", NULL), 0);
    assert_file_is(file, "34");
}

static void test_output_file_pipes(void **state)
{
    const char *path = scratch_path("pipe");
    assert_int_equal(mkfifo(path, 0600), 0);
    assert_int_equal(append(path, "x", NULL), -ENXIO);
    assert_string_equal(strrchr(e.message, ':'), ": no process reads from it");
    assert_int_equal(replace(path, "x", 0), -ENXIO);
    assert_int_equal(output_file_check(path, &e), -EINVAL);
    assert_int_equal(output_file_open_existing(path, &e), -EBADMSG);
    int reader = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    char got[8] = "";
    assert_int_equal(append(path, "one", NULL), 0);
    assert_int_equal(read(reader, got, sizeof got), 3);
    assert_int_equal(replace(path, "two", 0), 0); /* a pipe stays one */
    assert_int_equal(read(reader, got, sizeof got), 3);
    assert_memory_equal(got, "two", 3);
    close(reader);
}

static void test_output_file_replacing(void **state)
{
    struct replacement r;
    const char *path = scratch_path("r.json");
    mode_t before = umask(027);
    assert_int_equal(replacement_open(&r, path, 0, &e), 0);
    assert_int_equal(file_write_all(r.fd, "new", 3, NULL), 0);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(replacement_commit(&r), 0);
    replacement_close(&r);
    umask(before);
    assert_file_is(path, "new");
    assert_int_equal(mode_of(path), 0640);

    assert_int_equal(chmod(path, 0604), 0);
    assert_int_equal(replacement_open(&r, path, 0, &e), 0);
    assert_int_equal(file_write_all(r.fd, "lost", 4, NULL), 0);
    replacement_close(&r);
    replacement_close(&r);
    assert_file_is(path, "new");
    assert_int_equal(count_files(), 1);
    assert_int_equal(replace(path, "newer", 0), 0);
    assert_file_is(path, "newer");
    assert_int_equal(mode_of(path), 0604);
    assert_int_equal(count_files(), 1);

    before = umask(077);
    assert_int_equal(replace(path, "for all", REPLACEMENT_FOR_ALL), 0);
    umask(before);
    assert_int_equal(mode_of(path), 0644);
    assert_int_equal(replace(path, "x", REPLACEMENT_IS_NEW), -EEXIST);
    assert_file_is(path, "for all");
    assert_int_equal(replace("/dev/null", "x", 0), 0);
    assert_int_equal(replace(scratch, "x", 0), -EISDIR);
    assert_int_equal(count_files(), 1);
}

/* Another program makes the file between the two. */
static void test_output_file_new_file_that_came_meanwhile(void **state)
{
    struct replacement r;
    assert_int_equal(replacement_open(&r, scratch_path("n"), REPLACEMENT_IS_NEW, &e), 0);
    scratch_write("n", "theirs");
    assert_int_equal(replacement_commit(&r), -EEXIST);
    replacement_close(&r);
    assert_file_is(scratch_path("n"), "theirs");
    assert_int_equal(count_files(), 1);
}

static void test_output_file_named(void **state)
{
    char name[NAME_MAX + 1];
    memset(name, 'n', sizeof name - 1);
    name[NAME_MAX] = '\0';
    struct replacement r;
    char path[512];
    snprintf(path, sizeof path, "%s/%s", scratch, name);
    assert_int_equal(replacement_open(&r, path, REPLACEMENT_NAMED, &e), 0);
    assert_int_equal(mode_of(r.path) & 077, 044);
    assert_string_not_equal(r.path, path);
    assert_int_equal(replacement_commit(&r), 0);
    assert_int_equal(access(path, F_OK), 0);
    replacement_close(&r);
    char *beside = output_file_make_beside(scratch_path("db"), ".csv", &e);
    assert_non_null(beside);
    assert_true(ends_with(beside, ".csv"));
    assert_int_equal(access(beside, F_OK), 0);
    free(beside);
    assert_null(output_file_make_beside("/nowhere/db", ".csv", &e));
    assert_int_equal(e.code, -ENOENT);
}

static void test_output_file_a_directory_that_takes_no_file(void **state)
{
    if (geteuid() == 0)
        skip(); /* root may make files anywhere */
    const char *path = scratch_write("x", "old and long");
    assert_int_equal(chmod(scratch, 0500), 0);
    int plain = replace(path, "new", 0), in_place = replace(path, "new", REPLACEMENT_IN_PLACE);
    assert_int_equal(chmod(scratch, 0700), 0);
    assert_int_equal(plain, -EACCES);
    assert_int_equal(in_place, 0);
    assert_file_is(path, "new");
}

/* ---- Others may write to the directory ------------------------------------------------------- */

static const char *plant(const char *path)
{
    assert_int_equal(lchown(path, ANOTHER, ANOTHER), 0);
    return path;
}

static void refuse_for(const char *path, int code, const char *reason)
{
    assert_int_equal(append(path, "x", NULL), code);
    assert_int_equal(replace(path, "x", 0), code);
    assert_int_equal(replace(path, "x", REPLACEMENT_IN_PLACE), code);
    assert_int_equal(output_file_check(path, &e), code);
    assert_non_null(strstr(e.message, reason));
}

static void refuse(const char *path)
{
    refuse_for(path, -EPERM, "file of another user");
}

static void test_output_file_what_others_planted(void **state)
{
    if (geteuid() != 0)
        skip(); /* only root can give a file away */
    static const mode_t modes[] = {01777, 0777, 01775};
    CLEANUP_FREE char *victim = strdup(scratch_write("victim", "precious"));
    for (size_t i = 0; i < ARRAY_LEN(modes); i++) {
        char shared[128], path[256];
        snprintf(shared, sizeof shared, "%s/shared-%zu", scratch, i);
        assert_int_equal(mkdir(shared, 0700), 0);
        assert_int_equal(chmod(shared, modes[i]), 0);
        bool is_sticky = modes[i] & S_ISVTX;

        snprintf(path, sizeof path, "%s/link", shared);
        assert_int_equal(symlink(victim, path), 0);
        refuse(plant(path));
        assert_file_is(victim, "precious");
        assert_int_equal(lchown(path, 0, 0), 0);
        assert_int_equal(append(path, "", NULL), 0); /* our own */
        unlink(path);

        snprintf(path, sizeof path, "%s/dangling", shared);
        assert_int_equal(symlink(scratch_path("would-be-made"), path), 0);
        refuse(plant(path));
        assert_int_equal(access(scratch_path("would-be-made"), F_OK), -1);
        unlink(path);

        snprintf(path, sizeof path, "%s/way", shared); /* a link on the way to the file */
        assert_int_equal(symlink(scratch, path), 0);
        plant(path);
        snprintf(path, sizeof path, "%s/way/victim", shared);
        refuse(path);
        assert_file_is(victim, "precious");
        snprintf(path, sizeof path, "%s/way", shared);
        unlink(path);

        snprintf(path, sizeof path, "%s/pipe", shared);
        assert_int_equal(mkfifo(path, 0666), 0);
        plant(path);
        assert_int_equal(append(path, "x", NULL), -ENXIO);
        int reader = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
        assert_int_equal(append(path, "x", NULL), -EPERM);
        assert_int_equal(replace(path, "x", 0), -EPERM);
        close(reader);
        unlink(path);

        snprintf(path, sizeof path, "%s/file", shared);
        int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0666);
        close(fd);
        plant(path);
        if (is_sticky)
            refuse(path);
        else
            assert_int_equal(append(path, "x", NULL), 0);
        unlink(path);

        snprintf(path, sizeof path, "%s/second-name", shared);
        assert_int_equal(link(victim, path), 0);
        refuse_for(path, -EMLINK, "several hard links");
        assert_file_is(victim, "precious");
        unlink(path);
        rmdir(shared);
    }
}

static void test_output_file_owner_is_kept(void **state)
{
    if (geteuid() != 0)
        skip();
    struct stat st;
    const char *path = scratch_write("theirs", "old");
    assert_int_equal(chown(path, ANOTHER, ANOTHER), 0);
    assert_int_equal(chmod(path, 0640), 0);
    assert_int_equal(replace(path, "new", 0), 0);
    assert_int_equal(stat(path, &st), 0);
    assert_int_equal(st.st_uid, ANOTHER);
    assert_int_equal(st.st_gid, ANOTHER);
    assert_int_equal(st.st_mode & 07777, 0640);
    assert_file_is(path, "new");
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, scratch_make, scratch_remove)

/* ---- stream --------------------------------------------------------------------------------- */

enum { MANY = 1 << 20 };

static char stream_text[MANY];

/* A reader that takes nothing: no call waits, and the flags of the description stay as they are. */
static void check_without_reader(int fd, int reader)
{
    struct stream s;
    size_t written;
    int flags = fcntl(fd, F_GETFL);
    assert_false(flags & O_NONBLOCK);
    stream_open(&s, fd);
    assert_int_equal(stream_write(&s, stream_text, sizeof stream_text, &written), -EAGAIN);
    assert_true(written > 0 && written < sizeof stream_text);
    assert_false(stream_wait(&s, 0));
    assert_int_equal(stream_write_patiently(&s, stream_text, 1 << 16, 10), -EAGAIN);
    assert_int_equal(fcntl(fd, F_GETFL), flags);
    char got[4096];
    size_t seen = 0;
    while (seen < written) {
        ssize_t n = read(reader, got, sizeof got);
        assert_true(n > 0);
        seen += (size_t)n;
    }
    assert_int_equal(stream_write(&s, "x", 1, &written), 0);
    close(reader);
    stream_close(&s);
}

static void test_stream_pipe(void **state)
{
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    check_without_reader(ends[1], ends[0]);
    struct stream s;
    size_t written;
    stream_open(&s, ends[1]);
    assert_int_equal(stream_write(&s, "x", 1, &written), -EPIPE); /* and no signal */
    stream_close(&s);
    close(ends[1]);
}

static void test_stream_socket(void **state)
{
    int ends[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends), 0);
    check_without_reader(ends[1], ends[0]);
    close(ends[1]);
}

/* Where it cannot be opened again, as behind another user's terminal. */
static void test_stream_pipe_that_cannot_be_opened_again(void **state)
{
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    struct stream s;
    size_t written;
    stream_open(&s, ends[1]);
    assert_true(s.own >= 0);
    close_p(&s.own);
    s.way = STREAM_IN_SMALL_PARTS;
    assert_int_equal(stream_write(&s, stream_text, sizeof stream_text, &written), -EAGAIN);
    assert_true(written >= 4096 && written < sizeof stream_text);
    assert_int_equal(stream_write(&s, stream_text, 1, &written), -EAGAIN);
    close(ends[0]);
    assert_int_equal(stream_write(&s, stream_text, 1, &written), -EPIPE);
    close(ends[1]);
}

static void test_stream_terminal_that_is_stopped(void **state)
{
    int master = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
    if (master < 0 || grantpt(master) < 0 || unlockpt(master) < 0)
        skip(); /* no terminals here */
    int terminal = open(ptsname(master), O_RDWR | O_NOCTTY | O_CLOEXEC);
    assert_true(terminal >= 0);
    struct stream s;
    size_t written;
    stream_open(&s, terminal);
    assert_true(s.own >= 0);
    assert_int_equal(stream_write(&s, stream_text, sizeof stream_text, &written), -EAGAIN);
    assert_int_equal(stream_write_patiently(&s, stream_text, sizeof stream_text, 10), -EAGAIN);
    stream_close(&s);
    close(terminal);
    close(master);
}

static void test_stream_file(void **state)
{
    int fd = (int)syscall(SYS_memfd_create, "stream", 0);
    struct stream s;
    size_t written;
    stream_open(&s, fd);
    assert_int_equal(s.own, -1);
    assert_int_equal(stream_write(&s, stream_text, sizeof stream_text, &written), 0);
    assert_int_equal(written, sizeof stream_text);
    stream_close(&s);
    close(fd);
    stream_open(&s, fd);
    assert_int_equal(stream_write(&s, stream_text, 1, &written), -EBADF);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(test_output_file_append),
        TEST(test_output_file_own_links_are_followed),
        TEST(test_output_file_pipes),
        TEST(test_output_file_replacing),
        TEST(test_output_file_new_file_that_came_meanwhile),
        TEST(test_output_file_named),
        TEST(test_output_file_a_directory_that_takes_no_file),
        TEST(test_output_file_what_others_planted),
        TEST(test_output_file_owner_is_kept),
        cmocka_unit_test(test_stream_pipe),
        cmocka_unit_test(test_stream_socket),
        cmocka_unit_test(test_stream_pipe_that_cannot_be_opened_again),
        cmocka_unit_test(test_stream_terminal_that_is_stopped),
        cmocka_unit_test(test_stream_file),
    };
    return RUN("base/output_file", tests);
}
