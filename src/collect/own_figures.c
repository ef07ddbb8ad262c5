/* SPDX-License-Identifier: MIT */
#include "collect/own_figures.h"

#include "base/clock.h"
#include "base/file.h"
#include "collect/process_files.h"
#include "parse/pid_io.h"
#include "parse/statm.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>

static void open_own(struct known_file *f, const char *path, int flags)
{
    known_file_set(f, open(path, O_RDONLY | O_CLOEXEC | flags));
}

/* With standard descriptors at least, a directory that does not count has the size 0. */
static bool counts(int dir)
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
    o->counts_files = counts(o->files.fd);
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

/* The kernel's counters of the whole process; they have the threads that ended, too. */
static void read_usage(const struct own_figures *o, struct row *row)
{
    (void)o;
    struct rusage used;
    if (getrusage(RUSAGE_SELF, &used) < 0)
        return;
    uint64_t user = clock_of_timeval(used.ru_utime), system = clock_of_timeval(used.ru_stime);
    row_put_u64(row, process_cpu_seconds, user + system);
    row_put_u64(row, process_cpu_user_seconds, user);
    row_put_u64(row, process_cpu_system_seconds, system);
    row_put_u64(row, process_memory_peak_bytes, (uint64_t)used.ru_maxrss * 1024);
    row_put_u64(row, process_faults_minor_count, (uint64_t)used.ru_minflt);
    row_put_u64(row, process_faults_major_count, (uint64_t)used.ru_majflt);
    row_put_u64(row, process_switches_voluntary_count, (uint64_t)used.ru_nvcsw);
    row_put_u64(row, process_switches_involuntary_count, (uint64_t)used.ru_nivcsw);
}

static void read_memory(const struct own_figures *o, struct row *row)
{
    char text[128];
    struct statm st;
    ssize_t n = file_reread(o->statm.fd, text, sizeof text);
    if (n <= 0 || parse_statm(scan_text(text, (size_t)n), &st) < 0)
        return;
    row_put_u64(row, process_memory_rss_bytes, st.rss_pages * o->page_bytes);
    row_put_u64(row, process_memory_virtual_bytes, st.virtual_pages * o->page_bytes);
    row_put_u64(row, process_memory_shared_bytes, st.shared_pages * o->page_bytes);
}

static void read_io(const struct own_figures *o, struct row *row)
{
    char text[512];
    struct pid_io io;
    ssize_t n = file_reread(o->io.fd, text, sizeof text);
    if (n > 0 && parse_pid_io(scan_text(text, (size_t)n), &io) == 0)
        process_put_io(row, &io);
}

/* A directory of directories has a link from each of them, and two of its own. */
static void read_threads(const struct own_figures *o, struct row *row)
{
    if (o->tasks_stat.st_nlink > 2)
        row_put_u64(row, process_threads_count, o->tasks_stat.st_nlink - 2);
}

static void read_files(const struct own_figures *o, struct row *row)
{
    if (o->counts_files)
        row_put_u64(row, process_open_files_count, (uint64_t)o->files_stat.st_size);
}

/* Both are asked for their status at each look, which also tells whether they are still ours. */
static bool ask_directory(const struct known_file *f, struct stat *ret)
{
    *ret = (struct stat){0};
    return f->fd < 0 || (fstat(f->fd, ret) == 0 && known_file_is(f, ret));
}

static bool ask_directories(struct own_figures *o)
{
    bool tasks = ask_directory(&o->tasks, &o->tasks_stat);
    bool files = ask_directory(&o->files, &o->files_stat);
    return tasks && files;
}

#define M PROCESS_BIT

static const struct {
    uint64_t gives;
    void (*read)(const struct own_figures *o, struct row *row);
} sources[] = {
    {M(cpu_seconds) | M(cpu_user_seconds) | M(cpu_system_seconds) | M(memory_peak_bytes) |
         M(faults_minor_count) | M(faults_major_count) | M(switches_voluntary_count) |
         M(switches_involuntary_count),
     read_usage},
    {M(memory_rss_bytes) | M(memory_virtual_bytes) | M(memory_shared_bytes), read_memory},
    {M(storage_read_bytes) | M(storage_written_bytes) | M(storage_cancelled_bytes) |
         M(io_read_bytes) | M(io_written_bytes) | M(io_read_calls_count) | M(io_write_calls_count),
     read_io},
    {M(threads_count), read_threads},
    {M(open_files_count), read_files},
};

bool own_figures_give(uint64_t wanted)
{
    for (size_t i = 0; i < ARRAY_LEN(sources); i++)
        wanted &= ~sources[i].gives;
    return !wanted;
}

int own_figures_read(struct own_figures *o, uint64_t wanted, struct row *row)
{
    if (!is_owner(o))
        return -ESRCH;
    if (!ask_directories(o)) {
        close_all(o);
        open_all(o);
        ask_directories(o);
    }
    row_init(row, ENTITY_PROCESS);
    for (size_t i = 0; i < ARRAY_LEN(sources); i++)
        if (sources[i].gives & wanted)
            sources[i].read(o, row);
    return 0;
}
