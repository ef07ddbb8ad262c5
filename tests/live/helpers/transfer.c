/* SPDX-License-Identifier: MIT
 * transfer KIND BYTES: moves as many bytes from the file "from" (or memory) by one way the kernel
 * has, and prints what /proc/self/io makes of it: read and written by calls, read from and written
 * to storage. Exits with 77 where the kernel refuses that way. */
#include <errno.h>
#include <fcntl.h>
#include <linux/io_uring.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

enum { CHUNK = 64 * 1024, REFUSED = 77 };

static _Alignas(4096) char chunk[CHUNK];
static int from, to, null, ends[2], copies[2], sockets[2];

static void must(long r, const char *what)
{
    if (r >= 0)
        return;
    fprintf(stderr, "%s: %s\n", what, strerror(errno));
    exit(errno == ENOSYS || errno == EPERM || errno == EINVAL || errno == EOPNOTSUPP ? REFUSED : 1);
}

static void read_io(uint64_t ret[4])
{
    static const char *const keys[] = {"rchar: ", "wchar: ", "\nread_bytes: ", "\nwrite_bytes: "};
    char text[512];
    int fd = open("/proc/self/io", O_RDONLY);
    ssize_t n = read(fd, text, sizeof text - 1);
    must(n, "/proc/self/io");
    text[n] = '\0';
    close(fd);
    for (int i = 0; i < 4; i++) {
        const char *at = strstr(text, keys[i]);
        ret[i] = at ? strtoull(at + strlen(keys[i]), NULL, 10) : 0;
    }
}

/* One operation of a ring, waited for. */
struct ring {
    int fd;
    char *submit, *complete;
    struct io_uring_sqe *entries;
    struct io_uring_params p;
};

static void ring_open(struct ring *r)
{
    memset(r, 0, sizeof *r);
    r->fd = (int)syscall(SYS_io_uring_setup, 4, &r->p);
    must(r->fd, "io_uring_setup");
    size_t s = r->p.sq_off.array + r->p.sq_entries * sizeof(unsigned);
    size_t c = r->p.cq_off.cqes + r->p.cq_entries * sizeof(struct io_uring_cqe);
    r->submit = mmap(NULL, s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, r->fd,
                     IORING_OFF_SQ_RING);
    r->complete = mmap(NULL, c, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, r->fd,
                       IORING_OFF_CQ_RING);
    r->entries = mmap(NULL, r->p.sq_entries * sizeof *r->entries, PROT_READ | PROT_WRITE,
                      MAP_SHARED | MAP_POPULATE, r->fd, IORING_OFF_SQES);
    if (r->submit == MAP_FAILED || r->complete == MAP_FAILED || r->entries == MAP_FAILED)
        must(-1, "mmap of a ring");
}

static void ring_do(struct ring *r, int op, int fd, uint64_t offset)
{
    unsigned *tail = (unsigned *)(r->submit + r->p.sq_off.tail);
    unsigned mask = *(unsigned *)(r->submit + r->p.sq_off.ring_mask), index = *tail & mask;
    struct io_uring_sqe *e = &r->entries[index];
    memset(e, 0, sizeof *e);
    e->opcode = (unsigned char)op;
    e->fd = fd;
    e->addr = (uint64_t)(uintptr_t)chunk;
    e->len = CHUNK;
    e->off = offset;
    ((unsigned *)(r->submit + r->p.sq_off.array))[index] = index;
    atomic_store((_Atomic unsigned *)tail, *tail + 1);
    must(syscall(SYS_io_uring_enter, r->fd, 1, 1, IORING_ENTER_GETEVENTS, NULL, 0),
         "io_uring_enter");
    unsigned *head = (unsigned *)(r->complete + r->p.cq_off.head);
    struct io_uring_cqe *c = (struct io_uring_cqe *)(r->complete + r->p.cq_off.cqes) +
                             (*head & *(unsigned *)(r->complete + r->p.cq_off.ring_mask));
    if (c->res != CHUNK) {
        errno = c->res < 0 ? -c->res : EIO;
        must(-1, "io_uring");
    }
    atomic_store((_Atomic unsigned *)head, *head + 1);
}

static void drain(int fd)
{
    for (size_t left = CHUNK; left;) {
        ssize_t n = splice(fd, NULL, null, NULL, left, 0);
        must(n, "splice to /dev/null");
        left -= (size_t)n;
    }
}

/* One chunk at the offset. */
static void move(const char *kind, off_t at, struct ring *ring, char *map, pid_t other)
{
    struct iovec own = {chunk, CHUNK}, there = {chunk, CHUNK};
    off_t source = at, target = at;
    if (strcmp(kind, "read") == 0) {
        must(pread(from, chunk, CHUNK, at), kind);
    } else if (strcmp(kind, "write") == 0) {
        must(pwrite(to, chunk, CHUNK, at), kind);
    } else if (strcmp(kind, "readv") == 0) {
        must(preadv(from, &own, 1, at), kind);
    } else if (strcmp(kind, "splice") == 0) {
        must(splice(from, &source, ends[1], NULL, CHUNK, 0), kind);
        must(splice(ends[0], NULL, to, &target, CHUNK, 0), kind);
    } else if (strcmp(kind, "vmsplice") == 0) {
        must(vmsplice(ends[1], &own, 1, 0), kind);
        drain(ends[0]);
    } else if (strcmp(kind, "tee") == 0) {
        must(vmsplice(ends[1], &own, 1, 0), kind);
        must(tee(ends[0], copies[1], CHUNK, 0), kind);
        drain(ends[0]);
        drain(copies[0]);
    } else if (strcmp(kind, "sendfile") == 0) {
        must(lseek(to, at, SEEK_SET), kind);
        must(sendfile(to, from, &source, CHUNK), kind);
    } else if (strcmp(kind, "copy_file_range") == 0) {
        must(copy_file_range(from, &source, to, &target, CHUNK, 0), kind);
    } else if (strcmp(kind, "send, recv") == 0 || strcmp(kind, "write to a socket") == 0) {
        for (int quarter = 0; quarter < 4; quarter++) { /* as much as a socket holds */
            must(*kind == 'w' ? write(sockets[0], chunk, CHUNK / 4)
                              : send(sockets[0], chunk, CHUNK / 4, 0),
                 kind);
            must(recv(sockets[1], chunk, CHUNK / 4, MSG_WAITALL), kind);
        }
    } else if (strcmp(kind, "mmap read") == 0) {
        memcpy(chunk, map + at, CHUNK);
    } else if (strcmp(kind, "mmap write") == 0) {
        memcpy(map + at, chunk, CHUNK);
    } else if (strcmp(kind, "process_vm_readv") == 0) {
        must(process_vm_readv(other, &own, 1, &there, 1, 0), kind);
    } else if (strcmp(kind, "process_vm_writev") == 0) {
        must(process_vm_writev(other, &own, 1, &there, 1, 0), kind);
    } else if (strcmp(kind, "io_uring read") == 0) {
        ring_do(ring, IORING_OP_READ, from, (uint64_t)at);
    } else if (strcmp(kind, "io_uring write") == 0) {
        ring_do(ring, IORING_OP_WRITE, to, (uint64_t)at);
    } else {
        fprintf(stderr, "there is no '%s'\n", kind);
        exit(2);
    }
}

int main(int argc, char **argv)
{
    if (argc != 3)
        return 2;
    const char *kind = argv[1];
    off_t bytes = (off_t)strtoull(argv[2], NULL, 10) / CHUNK * CHUNK;
    struct ring ring;
    char *map = NULL;
    pid_t other = 0;
    uint64_t before[4], after[4];
    must(from = open("from", O_RDWR), "from");
    must(to = open("to", O_RDWR | O_CREAT, 0666), "to");
    must(null = open("/dev/null", O_WRONLY), "/dev/null");
    must(pipe(ends), "pipe");
    must(pipe(copies), "pipe");
    must(socketpair(AF_UNIX, SOCK_STREAM, 0, sockets), "socketpair");
    if (strncmp(kind, "mmap", 4) == 0) {
        bool is_write = strcmp(kind, "mmap write") == 0;
        must(ftruncate(to, bytes), "ftruncate");
        map = mmap(NULL, (size_t)bytes, PROT_READ | (is_write ? PROT_WRITE : 0), MAP_SHARED,
                   is_write ? to : from, 0);
        if (map == MAP_FAILED)
            must(-1, "mmap");
    }
    if (strncmp(kind, "process_vm", 10) == 0 && (other = fork()) == 0)
        for (;;)
            pause();
    if (strncmp(kind, "io_uring", 8) == 0)
        ring_open(&ring);
    read_io(before);
    read_io(before); /* with what the first has read of itself */
    for (off_t at = 0; at < bytes; at += CHUNK)
        move(kind, at, &ring, map, other);
    read_io(after);
    if (other > 0) {
        kill(other, SIGKILL);
        waitpid(other, NULL, 0);
    }
    for (int i = 0; i < 4; i++)
        printf("%llu%c", (unsigned long long)(after[i] - before[i]), i < 3 ? ' ' : '\n');
    return 0;
}
