/* SPDX-License-Identifier: MIT */
#include "source/bpf/task_ends.h"

#include "source/bpf/program.h"

#include <linux/btf.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

/* ==== Where things are in the kernel ========================================================== */

/* Members that are read, by the struct they begin in. A name with a dot leads into a struct. */
enum field {
    TASK_PID,
    TASK_TGID,
    TASK_START,
    TASK_EXIT_CODE,
    TASK_SIGNAL,
    TASK_PARENT,
    TASK_LEADER,
    TASK_MM,
    TASK_COMM,
    TASK_CPU,
    TASK_USER,
    TASK_SYSTEM,
    TASK_MINOR,
    TASK_MAJOR,
    TASK_VOLUNTARY,
    TASK_INVOLUNTARY,
    TASK_RCHAR,
    TASK_WCHAR,
    TASK_SYSCR,
    TASK_SYSCW,
    TASK_READ,
    TASK_WRITTEN,
    TASK_CANCELLED,
    TASK_FLAGS,
    SIGNAL_FLAGS,
    SIGNAL_GROUP_CODE,
    MM_HIGHEST,
    MM_COUNTERS,
    MM_ARG_START,
    MM_ARG_END,
    SOCK_FAMILY,
    FIELDS,
};

enum kernel_struct { STRUCT_TASK, STRUCT_SIGNAL, STRUCT_MM, STRUCT_COUNTER, STRUCT_SOCK, STRUCTS };

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
    [TASK_FLAGS] = {STRUCT_TASK, "flags", NULL, 4},
    [SIGNAL_FLAGS] = {STRUCT_SIGNAL, "flags", NULL, 4},
    [SIGNAL_GROUP_CODE] = {STRUCT_SIGNAL, "group_exit_code", NULL, 4},
    [MM_HIGHEST] = {STRUCT_MM, "hiwater_rss", NULL, 8},
    [MM_COUNTERS] = {STRUCT_MM, "rss_stat", NULL, 0},
    [MM_ARG_START] = {STRUCT_MM, "arg_start", NULL, 8},
    [MM_ARG_END] = {STRUCT_MM, "arg_end", NULL, 8},
    [SOCK_FAMILY] = {STRUCT_SOCK, "__sk_common", "skc_family", 2},
};

/* The programs, each at a tracepoint; the first two are needed, the others if they can be had. */
enum program { SWITCH, FORK, EXIT, SEND, RECEIVE, PROGRAMS };

static const struct {
    const char *tracepoint, *type, *name;
} programs[PROGRAMS] = {
    [SWITCH] = {"sched_switch", "btf_trace_sched_switch", "toll_dead"},
    [FORK] = {"task_newtask", "btf_trace_task_newtask", "toll_born"},
    [EXIT] = {"sched_process_exit", "btf_trace_sched_process_exit", "toll_exit"},
    [SEND] = {"sock_send_length", "btf_trace_sock_send_length", "toll_send"},
    [RECEIVE] = {"sock_recv_length", "btf_trace_sock_recv_length", "toll_receive"},
};

struct kernel_layout {
    uint32_t at[FIELDS];
    bool has_io;
    bool has_processes; /* the tracepoint of a process's end has what is needed, and its memory */
    bool has_traffic;   /* the tracepoints of sockets */
    uint32_t counter_bytes, counter_count_at; /* of rss_stat */
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

static bool layout_passes_task(const struct btf *b, uint32_t tracepoint, unsigned parameter,
                               uint32_t task)
{
    uint32_t type;
    return btf_trace_parameter(b, tracepoint, parameter, &type) && btf_points_to(b, type, task);
}

static bool layout_passes_bytes(const struct btf *b, uint32_t tracepoint, unsigned parameter,
                                unsigned bytes)
{
    uint32_t type;
    return btf_trace_parameter(b, tracepoint, parameter, &type) && btf_size(b, type) == bytes;
}

static int layout_read(struct kernel_layout *l)
{
    struct btf_wanted wanted[STRUCTS + PROGRAMS] = {
        [STRUCT_TASK] = {"task_struct", BTF_KIND_STRUCT, 0},
        [STRUCT_SIGNAL] = {"signal_struct", BTF_KIND_STRUCT, 0},
        [STRUCT_MM] = {"mm_struct", BTF_KIND_STRUCT, 0},
        [STRUCT_COUNTER] = {"percpu_counter", BTF_KIND_STRUCT, 0},
        [STRUCT_SOCK] = {"sock", BTF_KIND_STRUCT, 0},
    };
    for (unsigned p = 0; p < PROGRAMS; p++)
        wanted[STRUCTS + p] = (struct btf_wanted){programs[p].type, BTF_KIND_TYPEDEF, 0};
    struct btf b;
    int r = btf_open(&b, wanted, STRUCTS + PROGRAMS);
    if (r < 0)
        return r;
    uint32_t structs[STRUCTS], points[PROGRAMS], type, at;
    for (unsigned i = 0; i < STRUCTS; i++)
        structs[i] = wanted[i].id;
    for (unsigned p = 0; p < PROGRAMS; p++)
        points[p] = wanted[STRUCTS + p].id;
    *l = (struct kernel_layout){.has_io = true, .has_processes = true, .has_traffic = true};
    bool is_known = true;
    for (unsigned i = 0; i < FIELDS; i++) {
        bool found = layout_find(&b, structs, i, &l->at[i]);
        if (i >= TASK_RCHAR && i <= TASK_CANCELLED)
            l->has_io &= found; /* a matter of the kernel's configuration */
        else if (i >= MM_HIGHEST && i <= MM_ARG_END)
            l->has_processes &= found;
        else if (i == SOCK_FAMILY)
            l->has_traffic &= found;
        else
            is_known &= found;
    }
    /* preempt, previous task, next task, state of the previous one: since Linux 5.18. */
    is_known &= layout_passes_task(&b, points[SWITCH], 1, structs[STRUCT_TASK]) &&
                layout_passes_bytes(&b, points[SWITCH], 3, 4) &&
                layout_passes_task(&b, points[FORK], 0, structs[STRUCT_TASK]);
    /* The task, whether its process ends with it: since Linux 6.16, before the memory is gone. */
    l->has_processes &= layout_passes_bytes(&b, points[EXIT], 1, 1) &&
                        btf_member(&b, structs[STRUCT_MM], "rss_stat", &at, &type) &&
                        btf_size(&b, type) == btf_size(&b, structs[STRUCT_COUNTER]) &&
                        btf_member(&b, structs[STRUCT_COUNTER], "count", &l->counter_count_at,
                                   NULL);
    /* The socket, the length or an error, flags. */
    l->has_traffic &= layout_passes_bytes(&b, points[SEND], 2, 4) &&
                      layout_passes_bytes(&b, points[RECEIVE], 2, 4);
    l->counter_bytes = btf_size(&b, structs[STRUCT_COUNTER]);
    btf_close(&b);
    return is_known ? 0 : -EOPNOTSUPP;
}

/* ==== The programs ============================================================================ */

enum label {
    FULL,
    OUT,
    NO_MEMORY,
    HIGHEST_IS_MORE,
    FITS,
    HAS_ROOM,
    FOUND,
    COUNTED,
    IS_NETWORK,
};

/* The state of a task that is dead, and flags of helpers. */
enum { DEAD = 0x80, COMM_BYTES = 16 };

/* A record of a thread ends where the arguments of a process begin. */
enum { THREAD_BYTES = offsetof(struct task_end, arguments), RING_BYTES = 2 << 20 };

/* Of a process that has, or had, more than one thread, or used a socket; by the address of its
 * signals. It goes with the last thread. */
struct process_count {
    uint64_t others;  /* threads that have not ended, less one */
    uint64_t further; /* threads that there ever were, less one */
    struct process_traffic traffic;
};

enum { PROCESSES_AT_MOST = 32768 };

/* Descriptors of the maps that the programs share. */
enum end_map { MAP_CGROUPS, MAP_TOTALS, MAP_RING, MAP_PROCESSES, MAPS };

/* On the stack: what was read, the key of a process, what the record of its last thread has, a new
 * entry. */
enum {
    SLOT_AT = -8,
    KEY_AT = -16,
    THREADS_AT = -24,
    SENT_AT = -32,
    RECEIVED_AT = -40,
    ENTRY_AT = RECEIVED_AT - (int)sizeof(struct process_count),
};

/* Members of rss_stat: pages of files, anonymous ones, and those of shared memory. */
static const unsigned resident_counters[] = {0, 1, 3};

/* Jumps to OUT unless the current task is in the cgroup or below, and has it in register 6. That is
 * the one that ends, that becomes a parent, or that uses a socket. */
static void ends_write_membership(struct bpf_code *c, const int maps[MAPS])
{
    code_set_map(c, BPF_REG_1, maps[MAP_CGROUPS]);
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
    code_store_number(c, BPF_DW, BPF_STACK, SLOT_AT, 0);
    ends_read_kernel(c, BPF_STACK, SLOT_AT, 8, from, offset);
    code_load(c, BPF_DW, to, BPF_STACK, SLOT_AT);
}

#define RECORD(member) offsetof(struct task_end, member)

static void ends_count(struct bpf_code *c, const int maps[MAPS], size_t offset, unsigned from)
{
    code_set_map_value(c, BPF_REG_2, maps[MAP_TOTALS], (unsigned)offset);
    code_add_to_memory(c, BPF_REG_2, 0, from);
}

static void ends_count_one(struct bpf_code *c, const int maps[MAPS], size_t offset)
{
    code_set_number(c, BPF_REG_1, 1);
    ends_count(c, maps, offset, BPF_REG_1);
}

static void ends_write_out(struct bpf_code *c)
{
    code_label(c, OUT);
    code_set_number(c, BPF_REG_0, 0);
    code_exit(c);
}

/* The key of the process of the task in register 6. */
static void ends_write_key(struct bpf_code *c, const struct kernel_layout *l)
{
    code_store_number(c, BPF_DW, BPF_STACK, KEY_AT, 0);
    ends_read_kernel(c, BPF_STACK, KEY_AT, 8, BPF_REG_6, l->at[TASK_SIGNAL]);
}

static void ends_call_with_key(struct bpf_code *c, const int maps[MAPS], int helper)
{
    code_set_map(c, BPF_REG_1, maps[MAP_PROCESSES]);
    code_set(c, BPF_REG_2, BPF_STACK);
    code_compute_number(c, BPF_ADD, BPF_REG_2, KEY_AT);
    code_call(c, helper);
}

/* Puts the entry of the process into register 0; register 6 has the task. Jumps to OUT if there is
 * no entry and no room for one. */
static void ends_write_entry(struct bpf_code *c, const struct kernel_layout *l,
                             const int maps[MAPS])
{
    ends_write_key(c, l);
    ends_call_with_key(c, maps, BPF_FUNC_map_lookup_elem);
    code_jump_if_number(c, BPF_JNE, BPF_REG_0, 0, FOUND);
    for (int at = 0; at < (int)sizeof(struct process_count); at += 8)
        code_store_number(c, BPF_DW, BPF_STACK, ENTRY_AT + at, 0);
    code_load(c, BPF_W, BPF_REG_1, BPF_REG_6, (int)l->at[TASK_TGID]);
    code_store(c, BPF_W, BPF_STACK, ENTRY_AT + (int)offsetof(struct process_count, traffic.pid),
               BPF_REG_1);
    code_set(c, BPF_REG_3, BPF_STACK);
    code_compute_number(c, BPF_ADD, BPF_REG_3, ENTRY_AT);
    code_set_number(c, BPF_REG_4, BPF_NOEXIST); /* another thread may be faster */
    ends_call_with_key(c, maps, BPF_FUNC_map_update_elem);
    ends_call_with_key(c, maps, BPF_FUNC_map_lookup_elem);
    code_jump_if_number(c, BPF_JNE, BPF_REG_0, 0, FOUND);
    ends_count_one(c, maps, offsetof(struct task_totals, uncounted));
    code_jump(c, OUT);
    code_label(c, FOUND);
}

/* task_newtask: a thread is one more of the process of its parent. Threads that the kernel makes
 * for a process (io_uring, vhost) pass here, too, and not sched_process_fork. */
static void ends_write_fork(struct bpf_code *c, const struct kernel_layout *l, const int maps[MAPS])
{
    code_load(c, BPF_DW, BPF_REG_7, BPF_REG_1, 0);
    ends_write_membership(c, maps);
    ends_count_one(c, maps, offsetof(struct task_totals, born));
    code_store_number(c, BPF_DW, BPF_STACK, SLOT_AT, 0);
    ends_read_kernel(c, BPF_STACK, SLOT_AT, 4, BPF_REG_7, l->at[TASK_TGID]);
    code_load(c, BPF_W, BPF_REG_1, BPF_STACK, SLOT_AT);
    code_load(c, BPF_W, BPF_REG_2, BPF_REG_6, (int)l->at[TASK_TGID]);
    code_jump_if(c, BPF_JNE, BPF_REG_1, BPF_REG_2, OUT);
    ends_write_entry(c, l, maps);
    code_set_number(c, BPF_REG_1, 1);
    code_add_to_memory(c, BPF_REG_0, offsetof(struct process_count, others), BPF_REG_1);
    code_add_to_memory(c, BPF_REG_0, offsetof(struct process_count, further), BPF_REG_1);
    ends_write_out(c);
}

/* sock_send_length and sock_recv_length: a socket, how many bytes or an error, flags. */
static void ends_write_traffic(struct bpf_code *c, const struct kernel_layout *l,
                               const int maps[MAPS], enum program p)
{
    enum { STAYS = MSG_PEEK | MSG_ERRQUEUE }; /* bytes that are left there, that were sent before */
    code_load(c, BPF_DW, BPF_REG_7, BPF_REG_1, 1 * 8);
    code_compute_number(c, BPF_LSH, BPF_REG_7, 32);
    code_compute_number(c, BPF_ARSH, BPF_REG_7, 32);
    code_jump_if_number(c, BPF_JSLE, BPF_REG_7, 0, OUT);
    code_load(c, BPF_DW, BPF_REG_8, BPF_REG_1, 0);
    if (p == RECEIVE) {
        code_load(c, BPF_DW, BPF_REG_2, BPF_REG_1, 2 * 8);
        code_compute_number(c, BPF_AND, BPF_REG_2, STAYS);
        code_jump_if_number(c, BPF_JNE, BPF_REG_2, 0, OUT);
    }
    ends_write_membership(c, maps);
    code_store_number(c, BPF_DW, BPF_STACK, SLOT_AT, 0);
    ends_read_kernel(c, BPF_STACK, SLOT_AT, 2, BPF_REG_8, l->at[SOCK_FAMILY]);
    code_load(c, BPF_H, BPF_REG_1, BPF_STACK, SLOT_AT);
    code_jump_if_number(c, BPF_JEQ, BPF_REG_1, AF_INET, IS_NETWORK);
    code_jump_if_number(c, BPF_JNE, BPF_REG_1, AF_INET6, OUT);
    code_label(c, IS_NETWORK);
    ends_count(c, maps,
               p == SEND ? offsetof(struct task_totals, sent_bytes)
                         : offsetof(struct task_totals, received_bytes),
               BPF_REG_7);
    ends_write_entry(c, l, maps);
    code_add_to_memory(c, BPF_REG_0,
                       p == SEND ? offsetof(struct process_count, traffic.sent_bytes)
                                 : offsetof(struct process_count, traffic.received_bytes),
                       BPF_REG_7);
    ends_write_out(c);
}

/* Room for a record in register 7, with what both kinds have. */
static void ends_write_begin(struct bpf_code *c, const struct kernel_layout *l,
                             const int maps[MAPS], int kind)
{
    int bytes = kind == TASK_END_THREAD ? (int)THREAD_BYTES : (int)sizeof(struct task_end);
    code_set_map(c, BPF_REG_1, maps[MAP_RING]);
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
    ends_read_kernel(c, BPF_REG_7, RECORD(group_exit_code), 4, BPF_REG_9, l->at[SIGNAL_GROUP_CODE]);
    ends_copy(c, BPF_W, l->at[TASK_FLAGS], RECORD(task_flags));
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

/* The reader is woken when a quarter of the ring is full, long before the rest is; until then it
 * comes with its samples. */
static void ends_write_end(struct bpf_code *c, const int maps[MAPS])
{
    code_set_map(c, BPF_REG_1, maps[MAP_RING]);
    code_set_number(c, BPF_REG_2, BPF_RB_AVAIL_DATA);
    code_call(c, BPF_FUNC_ringbuf_query);
    code_set_number(c, BPF_REG_2, BPF_RB_NO_WAKEUP);
    code_jump_if_number(c, BPF_JLT, BPF_REG_0, RING_BYTES / 4, HAS_ROOM);
    code_set_number(c, BPF_REG_2, BPF_RB_FORCE_WAKEUP);
    code_label(c, HAS_ROOM);
    code_set(c, BPF_REG_1, BPF_REG_7);
    code_call(c, BPF_FUNC_ringbuf_submit);
    code_jump(c, OUT);
    code_label(c, FULL);
    ends_count_one(c, maps, offsetof(struct task_totals, lost));
    ends_write_out(c);
}

/* On the stack, if this is the last thread of its process: how many there were, and its network
 * bytes. A process without an entry has had one thread and used no socket. */
static void ends_write_last(struct bpf_code *c, const struct kernel_layout *l, const int maps[MAPS])
{
    static const struct {
        size_t from;
        int to;
    } taken[] = {{offsetof(struct process_count, further), THREADS_AT},
                 {offsetof(struct process_count, traffic.sent_bytes), SENT_AT},
                 {offsetof(struct process_count, traffic.received_bytes), RECEIVED_AT}};
    code_store_number(c, BPF_DW, BPF_STACK, THREADS_AT, 1);
    code_store_number(c, BPF_DW, BPF_STACK, SENT_AT, 0);
    code_store_number(c, BPF_DW, BPF_STACK, RECEIVED_AT, 0);
    ends_write_key(c, l);
    ends_call_with_key(c, maps, BPF_FUNC_map_lookup_elem);
    code_jump_if_number(c, BPF_JEQ, BPF_REG_0, 0, COUNTED);
    code_store_number(c, BPF_DW, BPF_STACK, THREADS_AT, 0);
    code_set_number(c, BPF_REG_1, -1);
    code_exchange_add(c, BPF_REG_0, offsetof(struct process_count, others), BPF_REG_1);
    code_jump_if_number(c, BPF_JNE, BPF_REG_1, 0, COUNTED);
    for (size_t i = 0; i < ARRAY_LEN(taken); i++) {
        code_load(c, BPF_DW, BPF_REG_1, BPF_REG_0, (int)taken[i].from);
        if (taken[i].to == THREADS_AT)
            code_compute_number(c, BPF_ADD, BPF_REG_1, 1);
        code_store(c, BPF_DW, BPF_STACK, taken[i].to, BPF_REG_1);
    }
    ends_call_with_key(c, maps, BPF_FUNC_map_delete_elem);
    code_label(c, COUNTED);
}

/* sched_switch: the task before is the current one still, and everything it used is counted. */
static void ends_write_switch(struct bpf_code *c, const struct kernel_layout *l,
                              const int maps[MAPS])
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
    ends_write_membership(c, maps);
    code_load(c, BPF_DW, BPF_REG_1, BPF_REG_6, (int)l->at[TASK_CPU]);
    ends_count(c, maps, offsetof(struct task_totals, cpu_ns), BPF_REG_1);
    ends_count_one(c, maps, offsetof(struct task_totals, tasks));
    ends_write_last(c, l, maps);
    ends_write_begin(c, l, maps, TASK_END_THREAD);
    code_load(c, BPF_DW, BPF_REG_1, BPF_STACK, THREADS_AT);
    code_store(c, BPF_W, BPF_REG_7, RECORD(threads), BPF_REG_1);
    code_load(c, BPF_DW, BPF_REG_1, BPF_STACK, SENT_AT);
    code_store(c, BPF_DW, BPF_REG_7, RECORD(sent_bytes), BPF_REG_1);
    code_load(c, BPF_DW, BPF_REG_1, BPF_STACK, RECEIVED_AT);
    code_store(c, BPF_DW, BPF_REG_7, RECORD(received_bytes), BPF_REG_1);
    for (size_t i = 0; i < ARRAY_LEN(copied); i++)
        if (l->has_io || copied[i].from < TASK_RCHAR)
            ends_copy(c, BPF_DW, l->at[copied[i].from], copied[i].to);
    ends_write_identity(c, l, BPF_REG_6);
    ends_write_end(c, maps);
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
static void ends_write_exit(struct bpf_code *c, const struct kernel_layout *l, const int maps[MAPS])
{
    code_load(c, BPF_DW, BPF_REG_2, BPF_REG_1, 1 * 8);
    code_compute_number(c, BPF_AND, BPF_REG_2, 0xff);
    code_jump_if_number(c, BPF_JEQ, BPF_REG_2, 0, OUT);
    ends_write_membership(c, maps);
    ends_count_one(c, maps, offsetof(struct task_totals, processes));
    ends_write_begin(c, l, maps, TASK_END_PROCESS);
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
    ends_write_end(c, maps);
}

/* ==== Reading ================================================================================= */

enum { RECORD_HEADER_BYTES = 8 };

struct task_ends {
    int links[PROGRAMS]; /* owned; -1: closed */
    int ring, processes; /* owned */
    bool has_io;
    struct process_count *counts;     /* owned: as last read */
    struct process_traffic *traffic;  /* owned */
    size_t capacity;                  /* of both */
    const struct task_totals *totals; /* shared with the kernel */
    uint64_t *consumer;               /* one page that is ours to write */
    const uint64_t *producer;         /* one page, followed by the records, twice in a row */
    const char *records;
};

static size_t ends_page_bytes(void)
{
    return (size_t)sysconf(_SC_PAGESIZE);
}

/* Not as the type TRACING: for that the kernel searches all its types for a name, which takes
 * longer than everything else here. */
static int ends_load(const struct kernel_layout *l, const int maps[MAPS], enum program p)
{
    const struct bpf_program_kind kind = {
        .type = BPF_PROG_TYPE_RAW_TRACEPOINT, .licence = "Dual MIT/GPL", .name = programs[p].name};
    CLEANUP_FREE struct bpf_code *c = calloc(1, sizeof *c);
    if (!c)
        return -ENOMEM;
    switch (p) {
    case SWITCH: ends_write_switch(c, l, maps); break;
    case FORK: ends_write_fork(c, l, maps); break;
    case EXIT: ends_write_exit(c, l, maps); break;
    default: ends_write_traffic(c, l, maps, p);
    }
    return bpf_program_load(c, &kind);
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

/* The programs see processes by their numbers in the first pid namespace, which has this inode. */
static bool ends_are_pids_ours(void)
{
    struct stat st;
    return stat("/proc/self/ns/pid", &st) == 0 && st.st_ino == UINT32_C(0xEFFFFFFC);
}

static int ends_make_maps(int maps[MAPS], int cgroup)
{
    int r = maps[MAP_TOTALS] = bpf_array_make(sizeof(struct task_totals));
    if (r >= 0)
        r = maps[MAP_CGROUPS] = bpf_cgroup_array_make(cgroup);
    if (r >= 0)
        r = maps[MAP_RING] = bpf_ring_make(RING_BYTES);
    if (r >= 0)
        r = maps[MAP_PROCESSES] = bpf_hash_make(sizeof(struct process_count), PROCESSES_AT_MOST);
    return r < 0 ? r : 0;
}

static int ends_attach(struct task_ends *t, const int maps[MAPS], bool wants_traffic)
{
    struct kernel_layout l;
    int r = ends_are_pids_ours() ? layout_read(&l) : -EXDEV;
    for (unsigned p = 0; p < PROGRAMS && r == 0; p++) {
        if ((p == EXIT && !l.has_processes) || (p >= SEND && !(l.has_traffic && wants_traffic)))
            continue;
        CLEANUP_CLOSE int program = ends_load(&l, maps, p);
        t->links[p] = program < 0 ? program
                                  : bpf_tracepoint_attach(program, programs[p].tracepoint);
        if (t->links[p] < 0 && p < EXIT)
            r = t->links[p];
    }
    t->has_io = r == 0 && l.has_io;
    return r;
}

int task_ends_open(struct task_ends **ret, int cgroup, bool wants_traffic)
{
    int maps[MAPS] = {-1, -1, -1, -1};
    struct task_ends *t = malloc(sizeof *t);
    if (!t)
        return -ENOMEM;
    *t = (struct task_ends){.links = {-1, -1, -1, -1, -1}};
    int r = ends_make_maps(maps, cgroup);
    t->ring = maps[MAP_RING];
    t->processes = maps[MAP_PROCESSES];
    if (r == 0)
        r = ends_map(t, maps[MAP_TOTALS]);
    if (r == 0)
        r = ends_attach(t, maps, wants_traffic);
    close_p(&maps[MAP_TOTALS]);
    close_p(&maps[MAP_CGROUPS]);
    if (r < 0) {
        task_ends_close(t);
        return r;
    }
    *ret = t;
    return 0;
}

int task_ends_check(void)
{
    struct kernel_layout l;
    int maps[MAPS] = {-1, -1, -1, -1};
    int r = ends_are_pids_ours() ? layout_read(&l) : -EXDEV;
    if (r == 0)
        r = ends_make_maps(maps, -1);
    for (unsigned p = 0; p < EXIT && r >= 0; p++) {
        int program = r = ends_load(&l, maps, p);
        close_p(&program);
    }
    for (unsigned i = 0; i < MAPS; i++)
        close_p(&maps[i]);
    return r < 0 ? r : !l.has_processes;
}

bool task_ends_may_have_traffic(void)
{
    struct kernel_layout l;
    return layout_read(&l) == 0 && l.has_traffic;
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
    close_p(&t->processes);
    free(t->counts);
    free(t->traffic);
    free(t);
}

int task_ends_fd(const struct task_ends *t)
{
    return t->ring;
}

bool task_ends_has_processes(const struct task_ends *t)
{
    return t->links[EXIT] >= 0;
}

bool task_ends_has_io(const struct task_ends *t)
{
    return t->has_io;
}

bool task_ends_has_traffic(const struct task_ends *t)
{
    return t->links[SEND] >= 0 && t->links[RECEIVE] >= 0;
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
            break;                                          /* it is being written */
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
    struct task_totals totals;
    const uint64_t *from = (const uint64_t *)t->totals;
    uint64_t *to = (uint64_t *)&totals;
    for (size_t i = 0; i < sizeof totals / sizeof *to; i++)
        to[i] = __atomic_load_n(&from[i], __ATOMIC_RELAXED);
    return totals;
}

ssize_t task_ends_read_traffic(struct task_ends *t, const struct process_traffic **ret)
{
    enum { ROOM_AT_FIRST = 64 };
    size_t room = t->capacity ? t->capacity : ROOM_AT_FIRST;
    ssize_t n;
    while ((n = t->capacity ? bpf_hash_values(t->processes, t->counts, room) : -ENOSPC) ==
               -ENOSPC &&
           room <= 2 * PROCESSES_AT_MOST) {
        free(t->counts);
        free(t->traffic);
        room *= t->capacity ? 2 : 1;
        t->counts = calloc(room, sizeof *t->counts);
        t->traffic = calloc(room, sizeof *t->traffic);
        t->capacity = t->counts && t->traffic ? room : 0;
        if (!t->capacity)
            return -ENOMEM;
    }
    if (n < 0)
        return n;
    size_t count = 0;
    for (ssize_t i = 0; i < n; i++)
        if (t->counts[i].traffic.sent_bytes || t->counts[i].traffic.received_bytes)
            t->traffic[count++] = t->counts[i].traffic;
    *ret = t->traffic;
    return (ssize_t)count;
}

int task_end_status(const struct task_end *e)
{
    enum { GROUP_EXIT = 4 }; /* all threads end with the same code */
    return e->signal_flags & GROUP_EXIT ? e->group_exit_code : e->exit_code;
}

bool task_end_has_executed(const struct task_end *e)
{
    enum { FORKED_AND_NO_EXEC = 0x40 };
    return !(e->task_flags & FORKED_AND_NO_EXEC);
}
