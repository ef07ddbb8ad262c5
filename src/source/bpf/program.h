/* SPDX-License-Identifier: MIT
 * Small programs for the kernel, written as instructions and loaded through bpf(2): no compiler, no
 * library, no file. A program is a sequence of the calls below, in the order in which it runs;
 * jumps go forward to labels, unless they say otherwise. Registers are numbered as in the kernel: 0
 * is a result, 1 to 5 are arguments that a call destroys, 6 to 9 are kept, 10 is the end of the
 * stack. */
#pragma once

#include "base/util.h"

#include <linux/bpf.h>
#include <sys/types.h>

enum { BPF_CODE_AT_MOST = 320, BPF_LABELS_AT_MOST = 32, BPF_STACK = BPF_REG_10 };

struct bpf_code {
    struct bpf_insn at[BPF_CODE_AT_MOST];
    unsigned count;
    bool failed;                                 /* too long, or a jump that leads nowhere */
    unsigned char jumps_to[BPF_CODE_AT_MOST];    /* the label, from 1; 0: not a jump */
    unsigned short label_at[BPF_LABELS_AT_MOST]; /* from 1; 0: not placed yet */
};

/* size: BPF_B, BPF_H, BPF_W or BPF_DW. operation: BPF_ADD, BPF_AND…; condition: BPF_JEQ… */
void code_load(struct bpf_code *c, unsigned size, unsigned to, unsigned from, int offset);
void code_store(struct bpf_code *c, unsigned size, unsigned to, int offset, unsigned from);
void code_store_number(struct bpf_code *c, unsigned size, unsigned to, int offset, int number);
void code_set(struct bpf_code *c, unsigned to, unsigned from);
void code_set_number(struct bpf_code *c, unsigned to, int number);
void code_compute(struct bpf_code *c, unsigned operation, unsigned to, unsigned from);
void code_compute_number(struct bpf_code *c, unsigned operation, unsigned to, int number);
void code_jump(struct bpf_code *c, unsigned label);
void code_jump_if(struct bpf_code *c, unsigned condition, unsigned a, unsigned b, unsigned label);
void code_jump_if_number(struct bpf_code *c, unsigned condition, unsigned a, int number,
                         unsigned label);
void code_label(struct bpf_code *c, unsigned label);
/* To a label that was placed before; the kernel accepts that in a loop over an iterator. */
void code_jump_back(struct bpf_code *c, unsigned label);
void code_call(struct bpf_code *c, int helper);
/* A function of the kernel, by its number in the kernel's types. */
void code_call_kernel(struct bpf_code *c, uint32_t function);
void code_exit(struct bpf_code *c);

/* A 64-bit number. */
void code_set_long(struct bpf_code *c, unsigned to, uint64_t number);

/* The address of a map, for helpers, and of a byte in the one value of an array. */
void code_set_map(struct bpf_code *c, unsigned to, int map);
void code_set_map_value(struct bpf_code *c, unsigned to, int map, unsigned offset);

/* Adds a register to a 64-bit number in memory, whatever other CPUs do to it meanwhile. */
void code_add_to_memory(struct bpf_code *c, unsigned at, int offset, unsigned from);
/* The same; the register has what was there before (Linux 5.12). */
void code_exchange_add(struct bpf_code *c, unsigned at, int offset, unsigned number);

/* ---- bpf(2) ---------------------------------------------------------------------------------- */

/* An array of one value, which can be mapped. The descriptor, or -errno. */
int bpf_array_make(size_t value_bytes);

/* A ring of that many bytes, a power of two. The descriptor, or -errno. */
int bpf_ring_make(size_t bytes);

/* An array with that cgroup, a descriptor of its directory, for bpf_current_task_under_cgroup;
 * empty with -1. The descriptor, or -errno. */
int bpf_cgroup_array_make(int cgroup);
/* A table from 64-bit keys to values, whose memory grows with the entries. The descriptor, or
 * -errno. */
int bpf_hash_make(size_t value_bytes, unsigned entries_at_most);
/* Copies all values into an array with that much room (Linux 5.6). How many, or -errno; -ENOSPC
 * when there are more. */
ssize_t bpf_hash_values(int hash, void *values, size_t room);

/* What loading needs beside the instructions. */
struct bpf_program_kind {
    enum bpf_prog_type type;
    enum bpf_attach_type attach_type;
    uint32_t attach_btf_id; /* 0: none */
    uint32_t flags;         /* BPF_F_… */
    const char *licence;
    const char *name; /* at most 15 characters, as lists of programs show it */
};

/* Jumps are resolved, the program is loaded. The descriptor, or -errno. */
int bpf_program_load(struct bpf_code *c, const struct bpf_program_kind *kind);

/* A program of the type RAW_TRACEPOINT runs at that tracepoint from now on, as below. */
int bpf_tracepoint_attach(int program, const char *tracepoint);

/* A program of the type TRACING that is run by reading from descriptors, for that cgroup and all
 * below it. The descriptor of the link, or -errno. */
int bpf_cgroup_iterator_make(int program, int cgroup);
/* One pass of it, to be read to the end and closed. The descriptor, or -errno. */
int bpf_iterator_begin(int link);

/* The program runs from now on, until the descriptor of the link is closed, also by the death of
 * this process. target: a directory of a cgroup, or 0. The descriptor, or -errno. */
int bpf_link_make(int program, int target, enum bpf_attach_type attach_type);

/* ==== Kernel types ============================================================================ */

/* The types of the running kernel (BTF, /sys/kernel/btf/vmlinux): where the members of its structs
 * are, for programs that read them. Numbers of types are those of the kernel. */

struct btf {
    const char *data; /* owned */
    size_t size;
    bool is_mapped;
    const char *types, *types_end;
    const char *names; /* strings, each terminated */
    size_t names_size;
    uint32_t *at; /* owned: where each type is below `types`; 0 is void */
    uint32_t count;
};

/* A type that is searched for by name. */
struct btf_wanted {
    const char *name;
    unsigned kind; /* BTF_KIND_STRUCT, BTF_KIND_TYPEDEF… of linux/btf.h */
    uint32_t id;   /* found; 0: there is none */
};

/* Reads all types and finds those. 0, -ENOENT when the kernel has none, -EBADMSG, -errno. */
int btf_open(struct btf *b, struct btf_wanted *wanted, size_t count);

void btf_close(struct btf *b);

/* The offset in bytes of a member, also of one in anonymous structs and unions, and its type, which
 * may be NULL. False: there is no such member, or it is a bit field. */
bool btf_member(const struct btf *b, uint32_t type, const char *name, uint32_t *ret_offset,
                uint32_t *ret_type);

/* The size in bytes of a struct, union, integer or pointer; 0: unknown. Of an array the size of one
 * element. */
uint32_t btf_size(const struct btf *b, uint32_t type);

/* The type of a parameter of the function that a typedef of a tracepoint points to, from 0, without
 * the first, which is the same for all. False: there is no such parameter. */
bool btf_trace_parameter(const struct btf *b, uint32_t type, unsigned number, uint32_t *ret);

/* Whether it is a pointer to that struct. */
bool btf_points_to(const struct btf *b, uint32_t type, uint32_t to);
