/* SPDX-License-Identifier: MIT */
#include "source/bpf/task_ends.h"

#include "source/bpf/btf.h"
#include "source/bpf/program.h"

#include <linux/btf.h>
#include <sys/mman.h>

/* ==== Where things are in the kernel ========================================================== */

/* Members that are read, by the struct they begin in. A name with a dot leads into a struct. */
enum field {
    TASK_PID, TASK_TGID, TASK_START, TASK_EXIT_CODE, TASK_SIGNAL, TASK_PARENT, TASK_LEADER, TASK_MM,
    TASK_COMM, TASK_CPU, TASK_USER, TASK_SYSTEM, TASK_MINOR, TASK_MAJOR, TASK_VOLUNTARY,
    TASK_INVOLUNTARY, TASK_RCHAR, TASK_WCHAR, TASK_SYSCR, TASK_SYSCW, TASK_READ, TASK_WRITTEN,
    TASK_CANCELLED, SIGNAL_FLAGS, SIGNAL_GROUP_CODE, SIGNAL_LIVE, MM_HIGHEST, MM_COUNTERS,
    MM_ARG_START, MM_ARG_END, FIELDS,
};

enum kernel_struct { STRUCT_TASK, STRUCT_SIGNAL, STRUCT_MM, STRUCT_COUNTER, STRUCTS };

static const struct {
    enum kernel_struct of;
    const char *outer, *inner; /* inner NULL: the member itself */
    unsigned bytes;            /* 0: any */
} fields[FIELDS] = {
    [TASK_PID] = {STRUCT_TASK, "pid", NULL, 4},
    [TASK_TGID] = {STRUCT_TASK, "tgid", NULL, 4},
    [TASK_START] = {STRUCT_TASK, "start_boottime", NULL, 8},
    [TASK_EXIT_CODE] = {STRUCT_TASK, "exit_code", NULL, 4},
    [TASK_SIGNAL] = {STRUCT_TASK, "signal", NULL, 8},
    [TASK_PARENT] = {STRUCT_TASK, "real_parent", NULL, 8},
    [TASK_LEADER] = {STRUCT_TASK, "group_leader", NULL, 8},
    [TASK_MM] = {STRUCT_TASK, "mm", NULL, 8},
    [TASK_COMM] = {STRUCT_TASK, "comm", NULL, 0},
    [TASK_CPU] = {STRUCT_TASK, "se", "sum_exec_runtime", 8},
    [TASK_USER] = {STRUCT_TASK, "utime", NULL, 8},
    [TASK_SYSTEM] = {STRUCT_TASK, "stime", NULL, 8},
    [TASK_MINOR] = {STRUCT_TASK, "min_flt", NULL, 8},
    [TASK_MAJOR] = {STRUCT_TASK, "maj_flt", NULL, 8},
    [TASK_VOLUNTARY] = {STRUCT_TASK, "nvcsw", NULL, 8},
    [TASK_INVOLUNTARY] = {STRUCT_TASK, "nivcsw", NULL, 8},
    [TASK_RCHAR] = {STRUCT_TASK, "ioac", "rchar", 8},
    [TASK_WCHAR] = {STRUCT_TASK, "ioac", "wchar", 8},
    [TASK_SYSCR] = {STRUCT_TASK, "ioac", "syscr", 8},
    [TASK_SYSCW] = {STRUCT_TASK, "ioac", "syscw", 8},
    [TASK_READ] = {STRUCT_TASK, "ioac", "read_bytes", 8},
    [TASK_WRITTEN] = {STRUCT_TASK, "ioac", "write_bytes", 8},
    [TASK_CANCELLED] = {STRUCT_TASK, "ioac", "cancelled_write_bytes", 8},
    [SIGNAL_FLAGS] = {STRUCT_SIGNAL, "flags", NULL, 4},
    [SIGNAL_GROUP_CODE] = {STRUCT_SIGNAL, "group_exit_code", NULL, 4},
    [SIGNAL_LIVE] = {STRUCT_SIGNAL, "live", "counter", 4},
    [MM_HIGHEST] = {STRUCT_MM, "hiwater_rss", NULL, 8},
    [MM_COUNTERS] = {STRUCT_MM, "rss_stat", NULL, 0},
    [MM_ARG_START] = {STRUCT_MM, "arg_start", NULL, 8},
    [MM_ARG_END] = {STRUCT_MM, "arg_end", NULL, 8},
};

struct kernel_layout {
    uint32_t at[FIELDS];
    bool has_io;
    bool has_processes; /* the tracepoint of a process's end has what is needed, and its memory */
    uint32_t counter_bytes, counter_count_at; /* of rss_stat */
    uint32_t switch_type, exit_type;          /* the tracepoints */
};

static bool layout_find(const struct btf *b, const uint32_t structs[STRUCTS], enum field f,
                        uint32_t *ret)
{
    uint32_t type, inner = 0;
    uint32_t *offset = ret;
    if (!btf_member(b, structs[fields[f].of], fields[f].outer, offset, &type))
        return false;
    if (fields[f].inner && !btf_member(b, type, fields[f].inner, &inner, &type))
        return false;
    *offset += inner;
    return !fields[f].bytes || btf_size(b, type) == fields[f].bytes;
}

static int layout_read(struct kernel_layout *l)
{
    enum { SWITCH = STRUCTS, EXIT, WANTED };
    struct btf_wanted wanted[WANTED] = {
        [STRUCT_TASK] = {"task_struct", BTF_KIND_STRUCT, 0},
        [STRUCT_SIGNAL] = {"signal_struct", BTF_KIND_STRUCT, 0},
        [STRUCT_MM] = {"mm_struct", BTF_KIND_STRUCT, 0},
        [STRUCT_COUNTER] = {"percpu_counter", BTF_KIND_STRUCT, 0},
        [SWITCH] = {"btf_trace_sched_switch", BTF_KIND_TYPEDEF, 0},
        [EXIT] = {"btf_trace_sched_process_exit", BTF_KIND_TYPEDEF, 0},
    };
    struct btf b;
    int r = btf_open(&b, wanted, WANTED);
    if (r < 0)
        return r;
    uint32_t structs[STRUCTS], type, at;
    for (unsigned i = 0; i < STRUCTS; i++)
        structs[i] = wanted[i].id;
    *l = (struct kernel_layout){.switch_type = wanted[SWITCH].id, .exit_type = wanted[EXIT].id,
                                .has_io = true, .has_processes = true};
    bool is_known = true;
    for (unsigned i = 0; i < FIELDS; i++) {
        bool found = layout_find(&b, structs, i, &l->at[i]);
        if (i >= TASK_RCHAR && i <= TASK_CANCELLED)
            l->has_io &= found; /* a matter of the kernel's configuration */
        else if (i >= MM_HIGHEST)
            l->has_processes &= found;
        else
            is_known &= found;
    }
    /* preempt, previous task, next task, state of the previous one: since Linux 5.18. */
    is_known &= btf_trace_parameter(&b, l->switch_type, 1, &type) &&
                btf_points_to(&b, type, structs[STRUCT_TASK]) &&
                btf_trace_parameter(&b, l->switch_type, 3, &type) && btf_size(&b, type) == 4;
    /* The task, whether its process ends with it: since Linux 6.16, before the memory is gone. */
    l->has_processes &= btf_trace_parameter(&b, l->exit_type, 1, &type) &&
                        btf_size(&b, type) == 1 &&
                        btf_member(&b, structs[STRUCT_MM], "rss_stat", &at, &type) &&
                        btf_size(&b, type) == btf_size(&b, structs[STRUCT_COUNTER]) &&
                        btf_member(&b, structs[STRUCT_COUNTER], "count", &l->counter_count_at,
                                   NULL);
    l->counter_bytes = btf_size(&b, structs[STRUCT_COUNTER]);
    btf_close(&b);
    return is_known ? 0 : -EOPNOTSUPP;
}

/* ==== The programs ============================================================================ */

enum label { FULL, OUT, NO_MEMORY, HIGHEST_IS_MORE, FITS, HAS_ROOM };

/* The state of a task that is dead, and flags of helpers. */
enum { DEAD = 0x80, COMM_BYTES = 16 };

/* A record of a thread ends where the arguments of a process begin. */
enum { THREAD_BYTES = offsetof(struct task_end, arguments), RING_BYTES = 1 << 20 };

/* Members of rss_stat: pages of files, anonymous ones, and those of shared memory. */
static const unsigned resident_counters[] = {0, 1, 3};

/* Jumps to OUT unless the current task is in the cgroup or below, and has it in register 6. In both
 * tracepoints the task that ends is the current one. */
static void ends_write_membership(struct bpf_code *c, int cgroups)
{
    code_set_map(c, BPF_REG_1, cgroups);
    code_set_number(c, BPF_REG_2, 0);
    code_call(c, BPF_FUNC_current_task_under_cgroup);
    code_jump_if_number(c, BPF_JNE, BPF_REG_0, 1, OUT);
    code_call(c, BPF_FUNC_get_current_task_btf);
    code_set(c, BPF_REG_6, BPF_REG_0);
}

/* Register 6 is the task, 7 the record, 9 its signals. What is in the task itself is loaded. What a
 * pointer leads to is read by a call, since the kernel searches all its types by name for each
 * pointer that is followed by a load, which makes loading the program three times as slow. */
static void ends_copy(struct bpf_code *c, unsigned size, uint32_t offset, size_t to)
{
    code_load(c, size, BPF_REG_1, BPF_REG_6, (int)offset);
    code_store(c, size, BPF_REG_7, (int)to, BPF_REG_1);
}

static void ends_read_kernel(struct bpf_code *c, unsigned to, int to_offset, int bytes,
                             unsigned from, uint32_t offset)
{
    code_set(c, BPF_REG_1, to);
    code_compute_number(c, BPF_ADD, BPF_REG_1, to_offset);
    code_set_number(c, BPF_REG_2, bytes);
    code_set(c, BPF_REG_3, from);
    code_compute_number(c, BPF_ADD, BPF_REG_3, (int)offset);
    code_call(c, BPF_FUNC_probe_read_kernel);
}

/* A number or a pointer of 8 bytes into a register, by way of the stack. */
static void ends_read_long(struct bpf_code *c, unsigned to, unsigned from, uint32_t offset)
{
    enum { SLOT = -8 };
    code_store_number(c, BPF_DW, BPF_STACK, SLOT, 0);
    ends_read_kernel(c, BPF_STACK, SLOT, 8, from, offset);
    code_load(c, BPF_DW, to, BPF_STACK, SLOT);
}

#define RECORD(member) offsetof(struct task_end, member)

static void ends_count(struct bpf_code *c, int totals, size_t offset, unsigned from)
{
    code_set_map_value(c, BPF_REG_2, totals, (unsigned)offset);
    code_add_to_memory(c, BPF_REG_2, 0, from);
}

/* Room for a record in register 7, with what both kinds have. */
static void ends_write_begin(struct bpf_code *c, int ring, const struct kernel_layout *l, int kind)
{
    int bytes = kind == TASK_END_THREAD ? (int)THREAD_BYTES : (int)sizeof(struct task_end);
    code_set_map(c, BPF_REG_1, ring);
    code_set_number(c, BPF_REG_2, bytes);
    code_set_number(c, BPF_REG_3, 0);
    code_call(c, BPF_FUNC_ringbuf_reserve);
    code_jump_if_number(c, BPF_JEQ, BPF_REG_0, 0, FULL);
    code_set(c, BPF_REG_7, BPF_REG_0);
    code_set_number(c, BPF_REG_1, 0);
    for (int at = 0; at < bytes; at += 8)
        code_store(c, BPF_DW, BPF_REG_7, at, BPF_REG_1);
    code_store_number(c, BPF_W, BPF_REG_7, RECORD(kind), kind);
    code_call(c, BPF_FUNC_ktime_get_ns);
    code_store(c, BPF_DW, BPF_REG_7, RECORD(end_ns), BPF_REG_0);
    ends_read_long(c, BPF_REG_9, BPF_REG_6, l->at[TASK_SIGNAL]);
    code_store(c, BPF_DW, BPF_REG_7, RECORD(signals), BPF_REG_9);
    ends_copy(c, BPF_W, l->at[TASK_TGID], RECORD(pid));
    ends_copy(c, BPF_W, l->at[TASK_PID], RECORD(thread));
    ends_read_kernel(c, BPF_REG_7, RECORD(signal_flags), 4, BPF_REG_9, l->at[SIGNAL_FLAGS]);
    ends_read_kernel(c, BPF_REG_7, RECORD(group_exit_code), 4, BPF_REG_9,
                     l->at[SIGNAL_GROUP_CODE]);
    ends_read_kernel(c, BPF_REG_7, RECORD(live), 4, BPF_REG_9, l->at[SIGNAL_LIVE]);
    ends_read_long(c, BPF_REG_8, BPF_REG_6, l->at[TASK_PARENT]);
    ends_read_kernel(c, BPF_REG_7, RECORD(parent), 4, BPF_REG_8, l->at[TASK_TGID]);
}

/* Start, exit code and name of a task. */
static void ends_write_identity(struct bpf_code *c, const struct kernel_layout *l, unsigned task)
{
    ends_read_kernel(c, BPF_REG_7, RECORD(start_ns), 8, task, l->at[TASK_START]);
    ends_read_kernel(c, BPF_REG_7, RECORD(exit_code), 4, task, l->at[TASK_EXIT_CODE]);
    ends_read_kernel(c, BPF_REG_7, RECORD(name), COMM_BYTES, task, l->at[TASK_COMM]);
}

/* The reader is woken when the ring is half full; until then it comes with its samples. */
static void ends_write_end(struct bpf_code *c, int totals, int ring)
{
    code_set_map(c, BPF_REG_1, ring);
    code_set_number(c, BPF_REG_2, BPF_RB_AVAIL_DATA);
    code_call(c, BPF_FUNC_ringbuf_query);
    code_set_number(c, BPF_REG_2, BPF_RB_NO_WAKEUP);
    code_jump_if_number(c, BPF_JLT, BPF_REG_0, RING_BYTES / 2, HAS_ROOM);
    code_set_number(c, BPF_REG_2, BPF_RB_FORCE_WAKEUP);
    code_label(c, HAS_ROOM);
    code_set(c, BPF_REG_1, BPF_REG_7);
    code_call(c, BPF_FUNC_ringbuf_submit);
    code_jump(c, OUT);
    code_label(c, FULL);
    code_set_number(c, BPF_REG_1, 1);
    ends_count(c, totals, offsetof(struct task_totals, lost), BPF_REG_1);
    code_label(c, OUT);
    code_set_number(c, BPF_REG_0, 0);
    code_exit(c);
}

/* sched_switch: the task before is the current one still, and everything it used is counted. */
static void ends_write_switch(struct bpf_code *c, const struct kernel_layout *l, int cgroups,
                              int totals, int ring)
{
    static const struct {
        enum field from;
        size_t to;
    } copied[] = {
        {TASK_CPU, RECORD(cpu_ns)},
        {TASK_USER, RECORD(user_ticks_ns)},
        {TASK_SYSTEM, RECORD(system_ticks_ns)},
        {TASK_MINOR, RECORD(faults_minor)},
        {TASK_MAJOR, RECORD(faults_major)},
        {TASK_VOLUNTARY, RECORD(switches_voluntary)},
        {TASK_INVOLUNTARY, RECORD(switches_involuntary)},
        {TASK_RCHAR, RECORD(io_read_bytes)},
        {TASK_WCHAR, RECORD(io_written_bytes)},
        {TASK_SYSCR, RECORD(io_read_calls)},
        {TASK_SYSCW, RECORD(io_write_calls)},
        {TASK_READ, RECORD(storage_read_bytes)},
        {TASK_WRITTEN, RECORD(storage_written_bytes)},
        {TASK_CANCELLED, RECORD(storage_cancelled_bytes)},
    };
    code_load(c, BPF_DW, BPF_REG_2, BPF_REG_1, 3 * 8);
    code_jump_if_number(c, BPF_JNE, BPF_REG_2, DEAD, OUT);
    ends_write_membership(c, cgroups);
    code_load(c, BPF_DW, BPF_REG_1, BPF_REG_6, (int)l->at[TASK_CPU]);
    ends_count(c, totals, offsetof(struct task_totals, cpu_ns), BPF_REG_1);
    code_set_number(c, BPF_REG_1, 1);
    ends_count(c, totals, offsetof(struct task_totals, tasks), BPF_REG_1);
    ends_write_begin(c, ring, l, TASK_END_THREAD);
    for (size_t i = 0; i < ARRAY_LEN(copied); i++)
        if (l->has_io || copied[i].from < TASK_RCHAR)
            ends_copy(c, BPF_DW, l->at[copied[i].from], copied[i].to);
    ends_write_identity(c, l, BPF_REG_6);
    ends_write_end(c, totals, ring);
}

/* The beginning of the arguments of the memory in register 8, unless it was swapped out. */
static void ends_write_arguments(struct bpf_code *c, const struct kernel_layout *l)
{
    ends_read_long(c, BPF_REG_9, BPF_REG_8, l->at[MM_ARG_START]);
    ends_read_long(c, BPF_REG_2, BPF_REG_8, l->at[MM_ARG_END]);
    code_compute(c, BPF_SUB, BPF_REG_2, BPF_REG_9);
    code_jump_if_number(c, BPF_JLE, BPF_REG_2, TASK_ARGUMENTS_BYTES, FITS);
    code_set_number(c, BPF_REG_2, TASK_ARGUMENTS_BYTES);
    code_label(c, FITS);
    code_store(c, BPF_W, BPF_REG_7, RECORD(arguments_bytes), BPF_REG_2);
    code_set(c, BPF_REG_1, BPF_REG_7);
    code_compute_number(c, BPF_ADD, BPF_REG_1, RECORD(arguments));
    code_set(c, BPF_REG_3, BPF_REG_9);
    code_call(c, BPF_FUNC_probe_read_user);
}

/* sched_process_exit with the last thread of a process: how it ends is settled, and its memory is
 * there. The highest mark is brought up to date only when memory shrinks, so what it has now may be
 * more. */
static void ends_write_exit(struct bpf_code *c, const struct kernel_layout *l, int cgroups,
                            int totals, int ring)
{
    code_load(c, BPF_DW, BPF_REG_2, BPF_REG_1, 1 * 8);
    code_compute_number(c, BPF_AND, BPF_REG_2, 0xff);
    code_jump_if_number(c, BPF_JEQ, BPF_REG_2, 0, OUT);
    ends_write_membership(c, cgroups);
    code_set_number(c, BPF_REG_1, 1);
    ends_count(c, totals, offsetof(struct task_totals, processes), BPF_REG_1);
    ends_write_begin(c, ring, l, TASK_END_PROCESS);
    ends_read_long(c, BPF_REG_8, BPF_REG_6, l->at[TASK_MM]);
    code_jump_if_number(c, BPF_JEQ, BPF_REG_8, 0, NO_MEMORY);
    code_set_number(c, BPF_REG_9, 0);
    for (size_t i = 0; i < ARRAY_LEN(resident_counters); i++) {
        ends_read_long(c, BPF_REG_1, BPF_REG_8,
                       l->at[MM_COUNTERS] + resident_counters[i] * l->counter_bytes +
                           l->counter_count_at);
        code_compute(c, BPF_ADD, BPF_REG_9, BPF_REG_1);
    }
    ends_read_long(c, BPF_REG_1, BPF_REG_8, l->at[MM_HIGHEST]);
    code_jump_if(c, BPF_JSGT, BPF_REG_1, BPF_REG_9, HIGHEST_IS_MORE);
    code_set(c, BPF_REG_1, BPF_REG_9);
    code_label(c, HIGHEST_IS_MORE);
    code_store(c, BPF_DW, BPF_REG_7, RECORD(peak_pages), BPF_REG_1);
    ends_write_arguments(c, l);
    code_label(c, NO_MEMORY);
    ends_read_long(c, BPF_REG_8, BPF_REG_6, l->at[TASK_LEADER]);
    ends_write_identity(c, l, BPF_REG_8);
    ends_write_end(c, totals, ring);
}

/* ==== Reading ================================================================================= */

enum { RECORD_HEADER_BYTES = 8 };

struct task_ends {
    int links[2]; /* owned; -1: closed */
    int ring;     /* owned */
    bool has_processes;
    const struct task_totals *totals;    /* shared with the kernel */
    uint64_t *consumer;                  /* one page that is ours to write */
    const uint64_t *producer;            /* one page, followed by the records, twice in a row */
    const char *records;
};

static size_t ends_page_bytes(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

/* Not as the type TRACING: for that the kernel searches all its types for a name, which takes longer
 * than everything else here. */
static int ends_load(struct bpf_code *c, const char *tracepoint, const char *name)
{
    const struct bpf_program_kind kind = {
        .type = BPF_PROG_TYPE_RAW_TRACEPOINT, .licence = "Dual MIT/GPL", .name = name};
    CLEANUP_CLOSE int program = bpf_program_load(c, &kind);
    return program < 0 ? program : bpf_tracepoint_attach(program, tracepoint);
}

static int ends_map(struct task_ends *t, int totals)
{
    size_t page = ends_page_bytes();
    void *at = mmap(NULL, page, PROT_READ, MAP_SHARED, totals, 0);
    if (at == MAP_FAILED)
        return -errno;
    t->totals = at;
    at = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, t->ring, 0);
    if (at == MAP_FAILED)
        return -errno;
    t->consumer = at;
    at = mmap(NULL, page + 2 * RING_BYTES, PROT_READ, MAP_SHARED, t->ring, (off_t)page);
    if (at == MAP_FAILED)
        return -errno;
    t->producer = at;
    t->records = (const char *)at + page;
    return 0;
}

int task_ends_open(struct task_ends **ret, int cgroup)
{
    struct kernel_layout layout;
    struct bpf_code *c = NULL;
    struct task_ends *t = malloc(sizeof *t);
    if (!t)
        return -ENOMEM;
    *t = (struct task_ends){.links = {-1, -1}, .ring = -1};
    CLEANUP_CLOSE int totals = bpf_array_make(sizeof *t->totals);
    CLEANUP_CLOSE int cgroups = totals < 0 ? -1 : bpf_cgroup_array_make(cgroup);
    int r = totals < 0 ? totals : cgroups;
    if (r >= 0)
        r = layout_read(&layout);
    if (r == 0)
        r = t->ring = bpf_ring_make(RING_BYTES);
    if (r >= 0)
        r = ends_map(t, totals);
    if (r == 0 && !(c = calloc(2, sizeof *c)))
        r = -ENOMEM;
    if (r == 0) {
        ends_write_switch(&c[0], &layout, cgroups, totals, t->ring);
        r = t->links[0] = ends_load(&c[0], "sched_switch", "toll_dead");
    }
    if (r >= 0 && layout.has_processes) {
        ends_write_exit(&c[1], &layout, cgroups, totals, t->ring);
        t->links[1] = ends_load(&c[1], "sched_process_exit", "toll_exit");
        t->has_processes = t->links[1] >= 0;
    }
    free(c);
    if (r < 0) {
        task_ends_close(t);
        return r;
    }
    *ret = t;
    return 0;
}

void task_ends_close(struct task_ends *t)
{
    if (!t)
        return;
    size_t page = ends_page_bytes();
    for (size_t i = 0; i < ARRAY_LEN(t->links); i++)
        close_p(&t->links[i]);
    if (t->totals)
        munmap((void *)(uintptr_t)t->totals, page);
    if (t->consumer)
        munmap(t->consumer, page);
    if (t->producer)
        munmap((void *)(uintptr_t)t->producer, page + 2 * RING_BYTES);
    close_p(&t->ring);
    free(t);
}

int task_ends_fd(const struct task_ends *t)
{
    return t->ring;
}

bool task_ends_has_processes(const struct task_ends *t)
{
    return t->has_processes;
}

void task_ends_read(struct task_ends *t, void (*take)(void *arg, const struct task_end *e),
                    void *arg)
{
    uint64_t at = *t->consumer;
    uint64_t end = __atomic_load_n(t->producer, __ATOMIC_ACQUIRE);
    while (at < end) {
        const char *record = t->records + (at & (RING_BYTES - 1));
        uint32_t length = __atomic_load_n((const uint32_t *)(uintptr_t)record, __ATOMIC_ACQUIRE);
        struct task_end e;
        if (length & BPF_RINGBUF_BUSY_BIT)
            break; /* it is being written */
        if (length == THREAD_BYTES || length == sizeof e) { /* and neither bit is set */
            memcpy(&e, record + RECORD_HEADER_BYTES, length);
            e.name[sizeof e.name - 1] = '\0';
            if (length == THREAD_BYTES)
                e.arguments_bytes = 0;
            take(arg, &e);
        }
        uint32_t bytes = (length & ~BPF_RINGBUF_DISCARD_BIT) + RECORD_HEADER_BYTES;
        at += (bytes + 7) & ~UINT32_C(7);
    }
    __atomic_store_n(t->consumer, at, __ATOMIC_RELEASE);
}

struct task_totals task_ends_totals(const struct task_ends *t)
{
    return (struct task_totals){
        .tasks = __atomic_load_n(&t->totals->tasks, __ATOMIC_RELAXED),
        .cpu_ns = __atomic_load_n(&t->totals->cpu_ns, __ATOMIC_RELAXED),
        .processes = __atomic_load_n(&t->totals->processes, __ATOMIC_RELAXED),
        .lost = __atomic_load_n(&t->totals->lost, __ATOMIC_RELAXED),
    };
}

int task_end_status(const struct task_end *e)
{
    enum { GROUP_EXIT = 4 }; /* all threads end with the same code */
    return e->signal_flags & GROUP_EXIT ? e->group_exit_code : e->exit_code;
}
