/* SPDX-License-Identifier: MIT */
#include "source/proc/own.h"

#include "base/clock.h"
#include "base/io/file.h"
#include "base/syscalls.h"
#include "source/pid_files.h"
#include "source/proc/reader.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>

/* ==== Self ==================================================================================== */

void self_collect(const struct sysroot *root, uint64_t cpu_ns, struct row *row, bool with_memory)
{
    if (!root->live)
        return;
    row_put_u64(row, self_cpu_seconds, cpu_ns);
    if (!with_memory)
        return;
    char text[128];
    struct statm st;
    ssize_t n = file_read_at(root->proc, "self/statm", text, sizeof text);
    if (n > 0 && parse_statm(scan_text(text, (size_t)n), &st) == 0)
        row_put_u64(row, self_memory_rss_bytes, st.rss_pages * (uint64_t)sysconf(_SC_PAGESIZE));
}

/* ==== Own thread ============================================================================== */

static int open_io(pid_t thread)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%d/io", (int)thread);
    return open(path, O_RDONLY | O_CLOEXEC);
}

void own_thread_begin(struct own_thread *o, unsigned threads)
{
    *o = (struct own_thread){
        .pid = getpid(), .thread = (pid_t)syscall(SYS_gettid), .threads = threads};
    o->io = open_io(o->thread);
}

void own_thread_add(struct own_thread *o, pid_t thread)
{
    o->threads++;
    if (o->other_count < OWN_THREADS_AT_MOST) {
        o->others[o->other_count].thread = thread;
        o->others[o->other_count++].io = open_io(thread);
    }
}

void own_thread_done(struct own_thread *o)
{
    if (!o->pid)
        return;
    close_p(&o->io);
    for (size_t i = 0; i < o->other_count; i++)
        close_p(&o->others[i].io);
}

static void own_thread_take_out(struct row *row, enum metric_id id, uint64_t used)
{
    if (row_has(row, id))
        row_put_u64(row, id, left_u64(row_u64(row, id), used));
}

void own_thread_leave_out(const struct own_thread *o, struct row *row)
{
    struct rusage used;
    if (getrusage(RUSAGE_THREAD, &used) < 0)
        return;
    uint64_t others_ns = 0;
    for (size_t i = 0; i < o->other_count; i++)
        others_ns += clock_cpu_of_thread(o->others[i].thread);
    own_thread_take_out(row, process_cpu_seconds,
                        clock_of_timeval(used.ru_utime) + clock_of_timeval(used.ru_stime) +
                            others_ns);
    own_thread_take_out(row, process_cpu_user_seconds, clock_of_timeval(used.ru_utime));
    own_thread_take_out(row, process_cpu_system_seconds, clock_of_timeval(used.ru_stime));
    own_thread_take_out(row, process_faults_minor_count, (uint64_t)used.ru_minflt);
    own_thread_take_out(row, process_faults_major_count, (uint64_t)used.ru_majflt);
    own_thread_take_out(row, process_threads_count, o->threads);
}

static bool own_thread_read_io(int fd, struct pid_io *ret)
{
    char text[512];
    ssize_t n = fd < 0 ? -1 : file_reread(fd, text, sizeof text);
    return n > 0 && parse_pid_io(scan_text(text, (size_t)n), ret) == 0;
}

static void take_out_io(struct row *row, const struct pid_io *io)
{
    struct row used;
    row_init(&used, ENTITY_PROCESS);
    process_put_io(&used, io);
    FOR_EACH_BIT(id, used.present)
    own_thread_take_out(row, (enum metric_id)id, row_u64(&used, (enum metric_id)id));
}

void own_thread_leave_out_io(const struct own_thread *o, struct row *row, uint64_t bytes_read)
{
    struct pid_io io, other;
    if (!own_thread_read_io(o->io, &io))
        return;
    /* The reading of the program's file came after what it said. */
    io.read_bytes = left_u64(io.read_bytes, bytes_read);
    io.read_calls = left_u64(io.read_calls, 1);
    unsigned wakes = atomic_load(&o->wakes);
    io.written_bytes += wakes;
    io.write_calls += wakes;
    take_out_io(row, &io);
    for (size_t i = 0; i < o->other_count; i++)
        if (own_thread_read_io(o->others[i].io, &other))
            take_out_io(row, &other);
}

void own_thread_children(struct inherited *inherited)
{
    struct rusage theirs;
    if (getrusage(RUSAGE_CHILDREN, &theirs) < 0)
        return;
    uint64_t user = clock_of_timeval(theirs.ru_utime), system = clock_of_timeval(theirs.ru_stime);
    inherited_put(inherited, process_cpu_user_seconds, user);
    inherited_put(inherited, process_cpu_system_seconds, system);
    inherited_put(inherited, process_cpu_seconds, user + system);
}

/* ==== Own figures ============================================================================= */

static void open_own(struct known_file *f, const char *path, int flags)
{
    known_file_set(f, open(path, O_RDONLY | O_CLOEXEC | flags));
}

/* With standard descriptors at least, a directory that does not count has the size 0. */
static bool own_figures_counts(int dir)
{
    struct stat st;
    return dir >= 0 && fstat(dir, &st) == 0 && st.st_size > 0;
}

/* In the order of their numbers the directories are the first and the last: whoever closes a range
 * with one of the others in it closes one of them. */
static void open_all(struct own_figures *o)
{
    open_own(&o->tasks, "/proc/self/task", O_DIRECTORY);
    open_own(&o->statm, "/proc/self/statm", 0);
    open_own(&o->io, "/proc/self/io", 0);
    open_own(&o->files, "/proc/self/fd", O_DIRECTORY);
    o->counts_files = own_figures_counts(o->files.fd);
}

/* A load is cheaper than asking for the pid; since Linux 4.14. */
static const bool *map_ownership(size_t bytes)
{
    bool *page = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return NULL;
    if (madvise(page, bytes, MADV_WIPEONFORK) < 0) {
        munmap(page, bytes);
        return NULL;
    }
    *page = true;
    return page;
}

static bool is_owner(const struct own_figures *o)
{
    return o->is_owner ? *o->is_owner : o->pid == getpid();
}

void own_figures_open(struct own_figures *o)
{
    *o = (struct own_figures){.pid = getpid(), .page_bytes = (uint64_t)sysconf(_SC_PAGESIZE)};
    o->is_owner = map_ownership(o->page_bytes);
    open_all(o);
}

static void close_all(struct own_figures *o)
{
    known_file_close(&o->statm);
    known_file_close(&o->io);
    known_file_close(&o->tasks);
    known_file_close(&o->files);
}

void own_figures_close(struct own_figures *o)
{
    if (is_owner(o))
        close_all(o);
    if (o->is_owner)
        munmap((void *)(uintptr_t)o->is_owner, o->page_bytes);
    o->is_owner = NULL;
}

#define M PROCESS_BIT

#define FROM_USAGE                                                                                 \
    (M(cpu_seconds) | M(cpu_user_seconds) | M(cpu_system_seconds) | M(memory_peak_bytes) |         \
     M(faults_minor_count) | M(faults_major_count) | M(switches_voluntary_count) |                 \
     M(switches_involuntary_count))
#define FROM_STATM (M(memory_rss_bytes) | M(memory_virtual_bytes) | M(memory_shared_bytes))
#define FROM_IO                                                                                    \
    (M(storage_read_bytes) | M(storage_written_bytes) | M(storage_cancelled_bytes) |               \
     M(io_read_bytes) | M(io_written_bytes) | M(io_read_calls_count) | M(io_write_calls_count))
#define FROM_DIRECTORIES (M(threads_count) | M(open_files_count))

bool own_figures_give(uint64_t wanted)
{
    return !(wanted & ~(FROM_USAGE | FROM_STATM | FROM_IO | FROM_DIRECTORIES));
}

/* What the kernel says, as it says it; lengths are -errno where it says nothing. */
struct answers {
    struct stat tasks, files;
    struct rusage usage;
    bool has_usage;
    ssize_t statm_length, io_length;
    char statm[128], io[512];
};

/* The kernel's counters of the whole process; they have the threads that ended, too. */
static void own_figures_put_usage(struct row *row, const struct rusage *used)
{
    uint64_t user = clock_of_timeval(used->ru_utime), system = clock_of_timeval(used->ru_stime);
    row_put_u64(row, process_cpu_seconds, user + system);
    row_put_u64(row, process_cpu_user_seconds, user);
    row_put_u64(row, process_cpu_system_seconds, system);
    row_put_u64(row, process_memory_peak_bytes, (uint64_t)used->ru_maxrss * 1024);
    row_put_u64(row, process_faults_minor_count, (uint64_t)used->ru_minflt);
    row_put_u64(row, process_faults_major_count, (uint64_t)used->ru_majflt);
    row_put_u64(row, process_switches_voluntary_count, (uint64_t)used->ru_nvcsw);
    row_put_u64(row, process_switches_involuntary_count, (uint64_t)used->ru_nivcsw);
}

static void own_figures_put_memory(struct row *row, const struct answers *a, uint64_t page_bytes)
{
    struct statm st;
    if (a->statm_length <= 0 || parse_statm(scan_text(a->statm, (size_t)a->statm_length), &st) < 0)
        return;
    row_put_u64(row, process_memory_rss_bytes, st.rss_pages * page_bytes);
    row_put_u64(row, process_memory_virtual_bytes, st.virtual_pages * page_bytes);
    row_put_u64(row, process_memory_shared_bytes, st.shared_pages * page_bytes);
}

static void put_io(struct row *row, const struct answers *a)
{
    struct pid_io io;
    if (a->io_length > 0 && parse_pid_io(scan_text(a->io, (size_t)a->io_length), &io) == 0)
        process_put_io(row, &io);
}

/* A directory of directories has a link from each of them, and two of its own. */
static void put_threads(struct row *row, const struct stat *tasks)
{
    if (tasks->st_nlink > 2)
        row_put_u64(row, process_threads_count, tasks->st_nlink - 2);
}

/* Both are asked for their status at each look, which also tells whether they are still ours. */
static bool ask_directory(const struct known_file *f, struct stat *ret)
{
    if (f->fd >= 0 && kernel_fstat(f->fd, ret) == 0 && known_file_is(f, ret))
        return true;
    *ret = (struct stat){0};
    return f->fd < 0;
}

static bool ask_directories(const struct own_figures *o, struct answers *a)
{
    bool tasks = ask_directory(&o->tasks, &a->tasks);
    bool files = ask_directory(&o->files, &a->files);
    return tasks && files;
}

static __attribute__((noinline)) void own_figures_open_again(struct own_figures *o,
                                                             struct answers *a)
{
    close_all(o);
    open_all(o);
    ask_directories(o, a);
}

/* One call behind the other; what they say is parsed afterwards. */
static inline void own_figures_ask(struct own_figures *o, uint64_t wanted, struct answers *a)
{
    if (!ask_directories(o, a))
        own_figures_open_again(o, a);
    a->has_usage = wanted & FROM_USAGE && kernel_getrusage(RUSAGE_SELF, &a->usage) == 0;
    a->statm_length = a->io_length = 0;
    if (wanted & FROM_STATM)
        a->statm_length = kernel_pread(o->statm.fd, a->statm, sizeof a->statm, 0);
    if (wanted & FROM_IO)
        a->io_length = kernel_pread(o->io.fd, a->io, sizeof a->io, 0);
}

/* Descriptors that the program would not have without us. */
static uint64_t own_figures_kept(const struct own_figures *o)
{
    return (uint64_t)((o->statm.fd >= 0) + (o->io.fd >= 0) + (o->tasks.fd >= 0) +
                      (o->files.fd >= 0));
}

/* What calls the kernel is a part of this function: see base/kernel_call.h. */
__attribute__((flatten)) int own_figures_read(struct own_figures *o, uint64_t wanted,
                                              struct row *row)
{
    struct answers a;
    if (!is_owner(o))
        return -ESRCH;
    own_figures_ask(o, wanted, &a);
    row_init(row, ENTITY_PROCESS);
    if (a.has_usage)
        own_figures_put_usage(row, &a.usage);
    own_figures_put_memory(row, &a, o->page_bytes);
    put_io(row, &a);
    if (wanted & M(threads_count))
        put_threads(row, &a.tasks);
    if (wanted & M(open_files_count) && o->counts_files)
        row_put_u64(row, process_open_files_count,
                    left_u64((uint64_t)a.files.st_size, own_figures_kept(o)));
    return 0;
}
