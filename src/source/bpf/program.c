/* SPDX-License-Identifier: MIT */
#include "source/bpf/program.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ==== Instructions ============================================================================ */

static void code_add(struct bpf_code *c, unsigned code, unsigned to, unsigned from, int offset,
                     int number)
{
    if (c->count == BPF_CODE_AT_MOST) {
        c->failed = true;
        return;
    }
    c->at[c->count++] = (struct bpf_insn){
        .code = (unsigned char)code,
        .dst_reg = to & 15,
        .src_reg = from & 15,
        .off = (short)offset,
        .imm = number,
    };
}

void code_load(struct bpf_code *c, unsigned size, unsigned to, unsigned from, int offset)
{
    code_add(c, BPF_LDX | BPF_MEM | size, to, from, offset, 0);
}

void code_store(struct bpf_code *c, unsigned size, unsigned to, int offset, unsigned from)
{
    code_add(c, BPF_STX | BPF_MEM | size, to, from, offset, 0);
}

void code_store_number(struct bpf_code *c, unsigned size, unsigned to, int offset, int number)
{
    code_add(c, BPF_ST | BPF_MEM | size, to, 0, offset, number);
}

void code_set(struct bpf_code *c, unsigned to, unsigned from)
{
    code_add(c, BPF_ALU64 | BPF_MOV | BPF_X, to, from, 0, 0);
}

void code_set_number(struct bpf_code *c, unsigned to, int number)
{
    code_add(c, BPF_ALU64 | BPF_MOV | BPF_K, to, 0, 0, number);
}

void code_compute(struct bpf_code *c, unsigned operation, unsigned to, unsigned from)
{
    code_add(c, BPF_ALU64 | operation | BPF_X, to, from, 0, 0);
}

void code_compute_number(struct bpf_code *c, unsigned operation, unsigned to, int number)
{
    code_add(c, BPF_ALU64 | operation | BPF_K, to, 0, 0, number);
}

/* The jump that is added next leads to this label. */
static void code_note_jump(struct bpf_code *c, unsigned label)
{
    if (label >= BPF_LABELS_AT_MOST || c->label_at[label])
        c->failed = true; /* the kernel accepts no loops of this kind */
    else if (c->count < BPF_CODE_AT_MOST)
        c->jumps_to[c->count] = (unsigned char)(label + 1);
}

void code_jump(struct bpf_code *c, unsigned label)
{
    code_note_jump(c, label);
    code_add(c, BPF_JMP | BPF_JA, 0, 0, 0, 0);
}

void code_jump_if(struct bpf_code *c, unsigned condition, unsigned a, unsigned b, unsigned label)
{
    code_note_jump(c, label);
    code_add(c, BPF_JMP | condition | BPF_X, a, b, 0, 0);
}

void code_jump_if_number(struct bpf_code *c, unsigned condition, unsigned a, int number,
                         unsigned label)
{
    code_note_jump(c, label);
    code_add(c, BPF_JMP | condition | BPF_K, a, 0, 0, number);
}

void code_label(struct bpf_code *c, unsigned label)
{
    if (label >= BPF_LABELS_AT_MOST || c->label_at[label])
        c->failed = true;
    else
        c->label_at[label] = (unsigned short)(c->count + 1);
}

void code_jump_back(struct bpf_code *c, unsigned label)
{
    if (label >= BPF_LABELS_AT_MOST || !c->label_at[label])
        c->failed = true;
    else if (c->count < BPF_CODE_AT_MOST)
        c->jumps_to[c->count] = (unsigned char)(label + 1);
    code_add(c, BPF_JMP | BPF_JA, 0, 0, 0, 0);
}

void code_call_kernel(struct bpf_code *c, uint32_t function)
{
    enum { PSEUDO_KFUNC_CALL = 2 }; /* which older headers do not have */
    code_add(c, BPF_JMP | BPF_CALL, 0, PSEUDO_KFUNC_CALL, 0, (int)function);
}

void code_call(struct bpf_code *c, int helper)
{
    code_add(c, BPF_JMP | BPF_CALL, 0, 0, 0, helper);
}

void code_exit(struct bpf_code *c)
{
    code_add(c, BPF_JMP | BPF_EXIT, 0, 0, 0, 0);
}

/* One instruction in two places. */
static void code_set_wide(struct bpf_code *c, unsigned to, unsigned kind, uint32_t low,
                          uint32_t high)
{
    code_add(c, BPF_LD | BPF_DW | BPF_IMM, to, kind, 0, (int)low);
    code_add(c, 0, 0, 0, 0, (int)high);
}

void code_set_long(struct bpf_code *c, unsigned to, uint64_t number)
{
    code_set_wide(c, to, 0, (uint32_t)number, (uint32_t)(number >> 32));
}

void code_set_map(struct bpf_code *c, unsigned to, int map)
{
    code_set_wide(c, to, BPF_PSEUDO_MAP_FD, (uint32_t)map, 0);
}

void code_set_map_value(struct bpf_code *c, unsigned to, int map, unsigned offset)
{
    code_set_wide(c, to, BPF_PSEUDO_MAP_VALUE, (uint32_t)map, offset);
}

void code_add_to_memory(struct bpf_code *c, unsigned at, int offset, unsigned from)
{
    /* The same number as BPF_ATOMIC with BPF_ADD, which older headers do not have. */
    code_add(c, BPF_STX | BPF_XADD | BPF_DW, at, from, offset, BPF_ADD);
}

void code_exchange_add(struct bpf_code *c, unsigned at, int offset, unsigned number)
{
    enum { FETCH = 1 }; /* which older headers do not have */
    code_add(c, BPF_STX | BPF_XADD | BPF_DW, at, number, offset, BPF_ADD | FETCH);
}

static int code_resolve(struct bpf_code *c)
{
    for (unsigned i = 0; i < c->count && !c->failed; i++) {
        if (!c->jumps_to[i])
            continue;
        unsigned at = c->label_at[c->jumps_to[i] - 1];
        if (!at)
            c->failed = true;
        else
            c->at[i].off = (short)(at - 1 - i - 1);
    }
    return c->failed ? -EINVAL : 0;
}

/* ==== bpf(2) ================================================================================== */

static int bpf_call(enum bpf_cmd command, union bpf_attr *attr, size_t size)
{
    long r = syscall(SYS_bpf, command, attr, size);
    return r < 0 ? -errno : (int)r;
}

/* The kernel takes the bytes that it does not know as an error unless they are zero. */
#define BPF_ATTR_EMPTY(attr) \
    union bpf_attr attr; \
    memset(&(attr), 0, sizeof(attr))

int bpf_array_make(size_t value_bytes)
{
    BPF_ATTR_EMPTY(attr);
    attr.map_type = BPF_MAP_TYPE_ARRAY;
    attr.key_size = sizeof(uint32_t);
    attr.value_size = (uint32_t)value_bytes;
    attr.max_entries = 1;
    attr.map_flags = BPF_F_MMAPABLE;
    snprintf(attr.map_name, sizeof attr.map_name, "toll");
    return bpf_call(BPF_MAP_CREATE, &attr, sizeof attr);
}

int bpf_ring_make(size_t bytes)
{
    BPF_ATTR_EMPTY(attr);
    attr.map_type = BPF_MAP_TYPE_RINGBUF;
    attr.max_entries = (uint32_t)bytes;
    snprintf(attr.map_name, sizeof attr.map_name, "toll");
    return bpf_call(BPF_MAP_CREATE, &attr, sizeof attr);
}

int bpf_cgroup_array_make(int cgroup)
{
    BPF_ATTR_EMPTY(attr);
    attr.map_type = BPF_MAP_TYPE_CGROUP_ARRAY;
    attr.key_size = attr.value_size = sizeof(uint32_t);
    attr.max_entries = 1;
    snprintf(attr.map_name, sizeof attr.map_name, "toll");
    int map = bpf_call(BPF_MAP_CREATE, &attr, sizeof attr);
    if (map < 0 || cgroup < 0)
        return map;
    BPF_ATTR_EMPTY(put);
    uint32_t key = 0, value = (uint32_t)cgroup;
    put.map_fd = (uint32_t)map;
    put.key = (uint64_t)(uintptr_t)&key;
    put.value = (uint64_t)(uintptr_t)&value;
    int r = bpf_call(BPF_MAP_UPDATE_ELEM, &put, sizeof put);
    if (r < 0)
        close(map);
    return r < 0 ? r : map;
}

int bpf_hash_make(size_t value_bytes, unsigned entries_at_most)
{
    BPF_ATTR_EMPTY(attr);
    attr.map_type = BPF_MAP_TYPE_HASH;
    attr.key_size = sizeof(uint64_t);
    attr.value_size = (uint32_t)value_bytes;
    attr.max_entries = entries_at_most;
    attr.map_flags = BPF_F_NO_PREALLOC;
    snprintf(attr.map_name, sizeof attr.map_name, "toll");
    return bpf_call(BPF_MAP_CREATE, &attr, sizeof attr);
}

ssize_t bpf_hash_values(int hash, void *values, size_t room)
{
    uint32_t next = 0;
    CLEANUP_FREE uint64_t *keys = calloc(room, sizeof *keys);
    if (!keys)
        return -ENOMEM;
    BPF_ATTR_EMPTY(attr);
    attr.batch.out_batch = (uint64_t)(uintptr_t)&next;
    attr.batch.keys = (uint64_t)(uintptr_t)keys;
    attr.batch.values = (uint64_t)(uintptr_t)values;
    attr.batch.count = (uint32_t)room;
    attr.batch.map_fd = (uint32_t)hash;
    int r = bpf_call(BPF_MAP_LOOKUP_BATCH, &attr, sizeof attr);
    if (r < 0 && r != -ENOENT) /* which says that there are no more */
        return r;
    return r == 0 ? -ENOSPC : (ssize_t)attr.batch.count;
}

int bpf_program_load(struct bpf_code *c, const struct bpf_program_kind *kind)
{
    int r = code_resolve(c);
    if (r < 0)
        return r;
    BPF_ATTR_EMPTY(attr);
    attr.prog_type = kind->type;
    attr.expected_attach_type = kind->attach_type;
    attr.attach_btf_id = kind->attach_btf_id;
    attr.prog_flags = kind->flags;
    attr.insns = (uint64_t)(uintptr_t)c->at;
    attr.insn_cnt = c->count;
    attr.license = (uint64_t)(uintptr_t)kind->licence;
    snprintf(attr.prog_name, sizeof attr.prog_name, "%s", kind->name);
    return bpf_call(BPF_PROG_LOAD, &attr, sizeof attr);
}

int bpf_tracepoint_attach(int program, const char *tracepoint)
{
    BPF_ATTR_EMPTY(attr);
    attr.raw_tracepoint.name = (uint64_t)(uintptr_t)tracepoint;
    attr.raw_tracepoint.prog_fd = (uint32_t)program;
    return bpf_call(BPF_RAW_TRACEPOINT_OPEN, &attr, sizeof attr);
}

int bpf_link_make(int program, int target, enum bpf_attach_type attach_type)
{
    BPF_ATTR_EMPTY(attr);
    attr.link_create.prog_fd = (uint32_t)program;
    attr.link_create.target_fd = (uint32_t)target;
    attr.link_create.attach_type = attach_type;
    return bpf_call(BPF_LINK_CREATE, &attr, sizeof attr);
}

int bpf_cgroup_iterator_make(int program, int cgroup)
{
    enum { PARENTS_FIRST = 2 };
    const struct { /* as the kernel has it since Linux 6.1 */
        uint32_t order;
        uint32_t descriptor;
        uint64_t number;
    } of_cgroup = {.order = PARENTS_FIRST, .descriptor = (uint32_t)cgroup};
    BPF_ATTR_EMPTY(attr);
    attr.link_create.prog_fd = (uint32_t)program;
    attr.link_create.attach_type = BPF_TRACE_ITER;
    attr.link_create.iter_info = (uint64_t)(uintptr_t)&of_cgroup;
    attr.link_create.iter_info_len = sizeof of_cgroup;
    return bpf_call(BPF_LINK_CREATE, &attr, sizeof attr);
}

int bpf_iterator_begin(int link)
{
    BPF_ATTR_EMPTY(attr);
    attr.iter_create.link_fd = (uint32_t)link;
    return bpf_call(BPF_ITER_CREATE, &attr, sizeof attr);
}
