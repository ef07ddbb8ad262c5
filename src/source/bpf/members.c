/* SPDX-License-Identifier: MIT */
#include "source/bpf/members.h"

#include "source/bpf/program.h"

#include <linux/btf.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

enum { TASKS_AT_MOST = 8192 };

/* Shared with the kernel. */
struct member_table {
    uint64_t count; /* it may be more than the tasks there is room for */
    struct member_task tasks[TASKS_AT_MOST];
};

struct bpf_members {
    int link;
    struct member_table *table;
};

/* ---- Where things are in the kernel ---------------------------------------------------------- */

struct member_layout {
    uint32_t pid, tgid, on_cpu, cpu, signal, ended, mm, counters;
    uint32_t counter_bytes, counter_count;
    uint32_t iterator_bytes;
    uint32_t begin, next, end, attach; /* functions */
    uint32_t cgroup;                   /* in the argument of the program */
};

static int members_layout(struct member_layout *l)
{
    enum { TASK, SIGNAL, MM, COUNTER, ITERATOR, ARGUMENT, BEGIN, NEXT, END, ATTACH, WANTED };
    struct btf_wanted w[WANTED] = {
        [TASK] = {"task_struct", BTF_KIND_STRUCT, 0},
        [SIGNAL] = {"signal_struct", BTF_KIND_STRUCT, 0},
        [MM] = {"mm_struct", BTF_KIND_STRUCT, 0},
        [COUNTER] = {"percpu_counter", BTF_KIND_STRUCT, 0},
        [ITERATOR] = {"bpf_iter_css_task", BTF_KIND_STRUCT, 0},
        [ARGUMENT] = {"bpf_iter__cgroup", BTF_KIND_STRUCT, 0},
        [BEGIN] = {"bpf_iter_css_task_new", BTF_KIND_FUNC, 0},
        [NEXT] = {"bpf_iter_css_task_next", BTF_KIND_FUNC, 0},
        [END] = {"bpf_iter_css_task_destroy", BTF_KIND_FUNC, 0},
        [ATTACH] = {"bpf_iter_cgroup", BTF_KIND_FUNC, 0},
    };
    struct btf b;
    int r = btf_open(&b, w, WANTED);
    if (r < 0)
        return r;
    uint32_t entity = 0, at = 0;
    bool is_known = w[BEGIN].id && w[NEXT].id && w[END].id && w[ATTACH].id;
    is_known = is_known && btf_member(&b, w[TASK].id, "pid", &l->pid, NULL) &&
               btf_member(&b, w[TASK].id, "tgid", &l->tgid, NULL) &&
               btf_member(&b, w[TASK].id, "on_cpu", &l->on_cpu, NULL) &&
               btf_member(&b, w[TASK].id, "se", &l->cpu, &entity) &&
               btf_member(&b, entity, "sum_exec_runtime", &at, NULL) &&
               btf_member(&b, w[TASK].id, "signal", &l->signal, NULL) &&
               btf_member(&b, w[SIGNAL].id, "sum_sched_runtime", &l->ended, NULL) &&
               btf_member(&b, w[TASK].id, "mm", &l->mm, NULL) &&
               btf_member(&b, w[MM].id, "rss_stat", &l->counters, &entity) &&
               btf_size(&b, entity) == btf_size(&b, w[COUNTER].id) &&
               btf_member(&b, w[COUNTER].id, "count", &l->counter_count, NULL) &&
               btf_member(&b, w[ARGUMENT].id, "cgroup", &l->cgroup, NULL);
    l->cpu += at;
    l->counter_bytes = btf_size(&b, w[COUNTER].id);
    l->iterator_bytes = btf_size(&b, w[ITERATOR].id);
    l->begin = w[BEGIN].id;
    l->next = w[NEXT].id;
    l->end = w[END].id;
    l->attach = w[ATTACH].id;
    btf_close(&b);
    return is_known && l->iterator_bytes && l->iterator_bytes <= 128 ? 0 : -EOPNOTSUPP;
}

/* ---- The program ----------------------------------------------------------------------------- */

enum label { OUT, TASK_NEXT, DONE, HAS_ROOM, NO_MEMORY };

/* Pages of files, anonymous ones, and those of shared memory. */
static const unsigned resident_counters[] = {0, 1, 3};

#define RECORD(member) (offsetof(struct member_table, tasks) + offsetof(struct member_task, member))

/* Registers: 6 the cgroup, 7 the task, 8 the record, less where the first one begins. */
static void members_write_program(struct bpf_code *c, const struct member_layout *l, int table)
{
    int iterator = -(int)((l->iterator_bytes + 7) & ~7U);
    code_load(c, BPF_DW, BPF_REG_6, BPF_REG_1, (int)l->cgroup);
    code_jump_if_number(c, BPF_JEQ, BPF_REG_6, 0, OUT); /* the call after the last cgroup */
    code_set(c, BPF_REG_1, BPF_STACK);
    code_compute_number(c, BPF_ADD, BPF_REG_1, iterator);
    code_set(c, BPF_REG_2, BPF_REG_6);
    code_set_number(c, BPF_REG_3, 0); /* threads, too */
    code_call_kernel(c, l->begin);

    code_label(c, TASK_NEXT);
    code_set(c, BPF_REG_1, BPF_STACK);
    code_compute_number(c, BPF_ADD, BPF_REG_1, iterator);
    code_call_kernel(c, l->next);
    code_jump_if_number(c, BPF_JEQ, BPF_REG_0, 0, DONE);
    code_set(c, BPF_REG_7, BPF_REG_0);
    code_set_map_value(c, BPF_REG_8, table, 0);
    code_load(c, BPF_DW, BPF_REG_2, BPF_REG_8, 0);
    code_set(c, BPF_REG_1, BPF_REG_2);
    code_compute_number(c, BPF_ADD, BPF_REG_1, 1);
    code_store(c, BPF_DW, BPF_REG_8, 0, BPF_REG_1);
    code_jump_if_number(c, BPF_JLT, BPF_REG_2, TASKS_AT_MOST, HAS_ROOM);
    code_jump_back(c, TASK_NEXT);
    code_label(c, HAS_ROOM);
    code_compute_number(c, BPF_MUL, BPF_REG_2, sizeof(struct member_task));
    code_compute(c, BPF_ADD, BPF_REG_8, BPF_REG_2);

    code_load(c, BPF_W, BPF_REG_1, BPF_REG_7, (int)l->tgid);
    code_load(c, BPF_W, BPF_REG_2, BPF_REG_7, (int)l->pid);
    code_store(c, BPF_W, BPF_REG_8, RECORD(pid), BPF_REG_1);
    code_store(c, BPF_W, BPF_REG_8, RECORD(thread), BPF_REG_2);
    code_load(c, BPF_W, BPF_REG_3, BPF_REG_7, (int)l->on_cpu);
    code_store(c, BPF_DW, BPF_REG_8, RECORD(is_on_cpu), BPF_REG_3);
    code_load(c, BPF_DW, BPF_REG_3, BPF_REG_7, (int)l->cpu);
    code_store(c, BPF_DW, BPF_REG_8, RECORD(cpu_ns), BPF_REG_3);
    code_set_number(c, BPF_REG_3, 0);
    code_set_number(c, BPF_REG_5, 0);
    code_jump_if(c, BPF_JNE, BPF_REG_1, BPF_REG_2, NO_MEMORY);
    code_load(c, BPF_DW, BPF_REG_4, BPF_REG_7, (int)l->signal);
    code_load(c, BPF_DW, BPF_REG_5, BPF_REG_4, (int)l->ended);
    code_load(c, BPF_DW, BPF_REG_4, BPF_REG_7, (int)l->mm);
    code_jump_if_number(c, BPF_JEQ, BPF_REG_4, 0, NO_MEMORY);
    for (size_t i = 0; i < ARRAY_LEN(resident_counters); i++) {
        code_load(c, BPF_DW, BPF_REG_1, BPF_REG_4,
                  (int)(l->counters + resident_counters[i] * l->counter_bytes + l->counter_count));
        code_compute(c, BPF_ADD, BPF_REG_3, BPF_REG_1);
    }
    code_label(c, NO_MEMORY);
    code_store(c, BPF_DW, BPF_REG_8, RECORD(ended_ns), BPF_REG_5);
    code_store(c, BPF_DW, BPF_REG_8, RECORD(rss_pages), BPF_REG_3);
    code_jump_back(c, TASK_NEXT);

    code_label(c, DONE);
    code_set(c, BPF_REG_1, BPF_STACK);
    code_compute_number(c, BPF_ADD, BPF_REG_1, iterator);
    code_call_kernel(c, l->end);
    code_label(c, OUT);
    code_set_number(c, BPF_REG_0, 0);
    code_exit(c);
}

/* ---- Reading --------------------------------------------------------------------------------- */

/* The descriptor of the program, or -errno. */
static int members_load(int table)
{
    struct member_layout l = {0};
    struct bpf_code code = {0};
    int r = members_layout(&l);
    if (r < 0)
        return r;
    members_write_program(&code, &l, table);
    const struct bpf_program_kind kind = {.type = BPF_PROG_TYPE_TRACING,
                                          .attach_type = BPF_TRACE_ITER,
                                          .attach_btf_id = l.attach,
                                          .flags = BPF_F_SLEEPABLE,
                                          .licence = "Dual MIT/GPL",
                                          .name = "toll_members"};
    return bpf_program_load(&code, &kind);
}

int bpf_members_check(void)
{
    CLEANUP_CLOSE int table = bpf_array_make(sizeof(struct member_table));
    CLEANUP_CLOSE int program = table < 0 ? -1 : members_load(table);
    return table < 0 ? table : program < 0 ? program : 0;
}

static int members_open(struct bpf_members *m, int cgroup)
{
    CLEANUP_CLOSE int table = bpf_array_make(sizeof *m->table);
    if (table < 0)
        return table;
    void *at = mmap(NULL, sizeof *m->table, PROT_READ | PROT_WRITE, MAP_SHARED, table, 0);
    if (at == MAP_FAILED)
        return -errno;
    m->table = at;
    CLEANUP_CLOSE int program = members_load(table);
    return program < 0 ? program : bpf_cgroup_iterator_make(program, cgroup);
}

int bpf_members_open(struct bpf_members **ret, int cgroup)
{
    struct bpf_members *m = calloc(1, sizeof *m);
    if (!m)
        return -ENOMEM;
    int r = m->link = members_open(m, cgroup);
    if (r < 0) {
        bpf_members_close(m);
        return r;
    }
    *ret = m;
    return 0;
}

void bpf_members_close(struct bpf_members *m)
{
    if (!m)
        return;
    if (m->link >= 0)
        close(m->link);
    if (m->table)
        munmap(m->table, sizeof *m->table);
    free(m);
}

ssize_t bpf_members_read(struct bpf_members *m, const struct member_task **ret)
{
    char none[64]; /* the program writes nothing into the file itself */
    CLEANUP_CLOSE int pass = bpf_iterator_begin(m->link);
    if (pass < 0)
        return pass;
    __atomic_store_n(&m->table->count, 0, __ATOMIC_RELAXED);
    ssize_t n;
    while ((n = read(pass, none, sizeof none)) > 0)
        ;
    if (n < 0)
        return -errno;
    uint64_t count = __atomic_load_n(&m->table->count, __ATOMIC_ACQUIRE);
    *ret = m->table->tasks;
    return count > TASKS_AT_MOST ? -ENOBUFS : (ssize_t)count;
}
