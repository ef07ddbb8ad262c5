/* SPDX-License-Identifier: MIT */
#include "source/proc/own.h"

#include "base/clock.h"
#include "base/io/file.h"
#include "base/process.h"
#include "source/pid_files.h"
#include "source/proc/reader.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
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

static int own_thread_open_io(pid_t thread)
{
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%d/io", (int)thread);
    return open(path, O_RDONLY | O_CLOEXEC);
}

void own_thread_begin(struct own_thread *o, unsigned threads)
{
    *o = (struct own_thread){
        .pid = getpid(), .thread = (pid_t)syscall(SYS_gettid), .threads = threads};
    o->io = own_thread_open_io(o->thread);
}

void own_thread_add(struct own_thread *o, pid_t thread)
{
    o->threads++;
    if (o->other_count < OWN_THREADS_AT_MOST) {
        o->others[o->other_count].thread = thread;
        o->others[o->other_count++].io = own_thread_open_io(thread);
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

static void own_thread_subtract(struct row *row, enum metric_id id, uint64_t used)
{
    if (row_has(row, id))
        row_put_u64(row, id, left_u64(row_u64(row, id), used));
}

void own_thread_leave_out(const struct own_thread *o, struct row *row)
{
    struct rusage used;
    if (getrusage(RUSAGE_THREAD, &used) < 0)
        return;
    uint64_t user_ns = clock_of_timeval(used.ru_utime), system_ns = clock_of_timeval(used.ru_stime);
    uint64_t cpu_ns = user_ns + system_ns;
    for (size_t i = 0; i < o->other_count; i++)
        cpu_ns += clock_cpu_of_thread(o->others[i].thread);
    own_thread_subtract(row, process_cpu_seconds, cpu_ns);
    own_thread_subtract(row, process_cpu_user_seconds, user_ns);
    own_thread_subtract(row, process_cpu_system_seconds, system_ns);
    own_thread_subtract(row, process_faults_minor_count, (uint64_t)used.ru_minflt);
    own_thread_subtract(row, process_faults_major_count, (uint64_t)used.ru_majflt);
    own_thread_subtract(row, process_threads_count, o->threads);
}

static bool own_thread_read_io(int fd, struct pid_io *ret)
{
    char text[512];
    ssize_t n = fd < 0 ? -1 : file_reread(fd, text, sizeof text);
    return n > 0 && parse_pid_io(scan_text(text, (size_t)n), ret) == 0;
}

static void own_thread_subtract_io(struct row *row, const struct pid_io *io)
{
    struct row used;
    row_init(&used, ENTITY_PROCESS);
    process_put_io(&used, io);
    FOR_EACH_BIT(id, used.present)
    own_thread_subtract(row, (enum metric_id)id, row_u64(&used, (enum metric_id)id));
}

void own_thread_leave_out_io(const struct own_thread *o, struct row *row, uint64_t bytes_read)
{
    struct pid_io io;
    if (!own_thread_read_io(o->io, &io))
        return;
    /* The program's own file was read before this thread's: that reading is not in it. */
    io.read_bytes = left_u64(io.read_bytes, bytes_read);
    io.read_calls = left_u64(io.read_calls, 1);
    unsigned wakes = atomic_load(&o->wakes);
    io.written_bytes += wakes;
    io.write_calls += wakes;
    own_thread_subtract_io(row, &io);
    for (size_t i = 0; i < o->other_count; i++)
        if (own_thread_read_io(o->others[i].io, &io))
            own_thread_subtract_io(row, &io);
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

bool own_thread_has_reaped(struct own_thread *o)
{
    struct rusage now;
    if (getrusage(RUSAGE_CHILDREN, &now) < 0 || memcmp(&now, &o->children, sizeof now) == 0)
        return false;
    o->children = now;
    return true;
}

/* ==== Own figures ============================================================================= */

static bool own_figures_is_owner(const struct own_figures *o)
{
    return o->is_owner ? *o->is_owner : o->pid == getpid();
}

/* The directories are opened first and last: a program that closes a range of descriptors with one
 * of the other files in it closes one of them too, which own_figures_ask_directories notices. */
static void own_figures_open_files(struct own_figures *o)
{
    known_file_set(&o->tasks, open("/proc/self/task", O_RDONLY | O_CLOEXEC | O_DIRECTORY));
    known_file_set(&o->statm, open("/proc/self/statm", O_RDONLY | O_CLOEXEC));
    known_file_set(&o->io, open("/proc/self/io", O_RDONLY | O_CLOEXEC));
    known_file_set(&o->files, open("/proc/self/fd", O_RDONLY | O_CLOEXEC | O_DIRECTORY));
    /* This directory is never empty: a kernel that does not count its entries gives the size 0. */
    struct stat st;
    o->counts_files = o->files.fd >= 0 && fstat(o->files.fd, &st) == 0 && st.st_size > 0;
}

static void own_figures_close_files(struct own_figures *o)
{
    known_file_close(&o->statm);
    known_file_close(&o->io);
    known_file_close(&o->tasks);
    known_file_close(&o->files);
}

void own_figures_open(struct own_figures *o)
{
    *o = (struct own_figures){.pid = getpid(), .page_bytes = (uint64_t)sysconf(_SC_PAGESIZE)};
    own_figures_open_files(o);
    /* A page that is zero in a fork (Linux 4.14): to load from it is cheaper than to ask for the
     * pid. */
    bool *page = mmap(NULL, o->page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
                      0);
    if (page == MAP_FAILED)
        return;
    if (madvise(page, o->page_bytes, MADV_WIPEONFORK) < 0) {
        munmap(page, o->page_bytes);
        return;
    }
    *page = true;
    o->is_owner = page;
}

void own_figures_close(struct own_figures *o)
{
    if (own_figures_is_owner(o))
        own_figures_close_files(o);
    if (o->is_owner)
        munmap((void *)(uintptr_t)o->is_owner, o->page_bytes);
    o->is_owner = NULL;
}

#define M PROCESS_BIT

#define FROM_USAGE                                                                                 \
    (M(cpu_seconds) | M(cpu_user_seconds) | M(cpu_system_seconds) | M(memory_peak_bytes) |         \
     M(faults_minor_count) | M(faults_major_count) | M(switches_voluntary_count) |                 \
     M(switches_involuntary_count))
#define FROM_STATM       (M(memory_rss_bytes) | M(memory_virtual_bytes) | M(memory_shared_bytes))
#define FROM_DIRECTORIES (M(threads_count) | M(open_files_count))

bool own_figures_give(uint64_t wanted)
{
    return !(wanted & ~(FROM_USAGE | FROM_STATM | PROCESS_IO_BITS | FROM_DIRECTORIES));
}

/* The status of both directories, which also shows whether the descriptors are still ours; zeros
 * for one that could not be opened. */
static bool own_figures_ask_directories(const struct own_figures *o, struct stat ret[2])
{
    const struct known_file *const directories[] = {&o->tasks, &o->files};
    bool are_ours = true;
    for (unsigned i = 0; i < ARRAY_LEN(directories); i++) {
        const struct known_file *f = directories[i];
        if (f->fd >= 0 && kernel_fstat(f->fd, &ret[i]) == 0 && known_file_is(f, &ret[i]))
            continue;
        ret[i] = (struct stat){0};
        are_ours &= f->fd < 0;
    }
    return are_ours;
}

/* The kernel's counters of the whole process, with those of the threads that ended. */
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

/* All calls of the kernel come first, one directly after the other, and are inlined here
 * (base/process.h says why); their answers are parsed afterwards. */
__attribute__((flatten)) int own_figures_read(struct own_figures *o, uint64_t wanted,
                                              struct row *row)
{
    struct stat directories[2];
    struct rusage usage;
    char statm_text[128], io_text[512];
    ssize_t statm_length = 0, io_length = 0;
    if (!own_figures_is_owner(o))
        return -ESRCH;
    if (!own_figures_ask_directories(o, directories)) {
        own_figures_close_files(o);
        own_figures_open_files(o);
        own_figures_ask_directories(o, directories);
    }
    bool has_usage = wanted & FROM_USAGE && kernel_getrusage(RUSAGE_SELF, &usage) == 0;
    if (wanted & FROM_STATM)
        statm_length = kernel_pread(o->statm.fd, statm_text, sizeof statm_text, 0);
    if (wanted & PROCESS_IO_BITS)
        io_length = kernel_pread(o->io.fd, io_text, sizeof io_text, 0);

    struct statm st;
    struct pid_io io;
    row_init(row, ENTITY_PROCESS);
    if (has_usage)
        own_figures_put_usage(row, &usage);
    if (statm_length > 0 && parse_statm(scan_text(statm_text, (size_t)statm_length), &st) == 0) {
        row_put_u64(row, process_memory_rss_bytes, st.rss_pages * o->page_bytes);
        row_put_u64(row, process_memory_virtual_bytes, st.virtual_pages * o->page_bytes);
        row_put_u64(row, process_memory_shared_bytes, st.shared_pages * o->page_bytes);
    }
    if (io_length > 0 && parse_pid_io(scan_text(io_text, (size_t)io_length), &io) == 0)
        process_put_io(row, &io);
    /* A directory has a link from each directory in it, and two of its own. */
    if (wanted & M(threads_count) && directories[0].st_nlink > 2)
        row_put_u64(row, process_threads_count, directories[0].st_nlink - 2);
    if (wanted & M(open_files_count) && o->counts_files) {
        uint64_t ours = (uint64_t)((o->statm.fd >= 0) + (o->io.fd >= 0) + (o->tasks.fd >= 0) +
                                   (o->files.fd >= 0));
        row_put_u64(row, process_open_files_count,
                    left_u64((uint64_t)directories[1].st_size, ours));
    }
    return 0;
}
