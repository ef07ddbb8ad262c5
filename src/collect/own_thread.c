/* SPDX-License-Identifier: MIT */
#include "collect/own_thread.h"

#include "base/clock.h"
#include "base/file.h"
#include "collect/process_files.h"
#include "parse/pid_io.h"

#include <fcntl.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/syscall.h>

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

static void take_out(struct row *row, enum metric_id id, uint64_t used)
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
    take_out(row, process_cpu_seconds,
             clock_of_timeval(used.ru_utime) + clock_of_timeval(used.ru_stime) + others_ns);
    take_out(row, process_cpu_user_seconds, clock_of_timeval(used.ru_utime));
    take_out(row, process_cpu_system_seconds, clock_of_timeval(used.ru_stime));
    take_out(row, process_faults_minor_count, (uint64_t)used.ru_minflt);
    take_out(row, process_faults_major_count, (uint64_t)used.ru_majflt);
    take_out(row, process_threads_count, o->threads);
}

static bool read_io(int fd, struct pid_io *ret)
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
    take_out(row, (enum metric_id)id, row_u64(&used, (enum metric_id)id));
}

void own_thread_leave_out_io(const struct own_thread *o, struct row *row, uint64_t bytes_read)
{
    struct pid_io io, other;
    if (!read_io(o->io, &io))
        return;
    /* The reading of the program's file came after what it said. */
    io.read_bytes = left_u64(io.read_bytes, bytes_read);
    io.read_calls = left_u64(io.read_calls, 1);
    unsigned wakes = atomic_load(&o->wakes);
    io.written_bytes += wakes;
    io.write_calls += wakes;
    take_out_io(row, &io);
    for (size_t i = 0; i < o->other_count; i++)
        if (read_io(o->others[i].io, &other))
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
