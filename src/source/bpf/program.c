/* SPDX-License-Identifier: MIT */
#include "source/bpf/program.h"

#include "base/memory.h"

#include <fcntl.h>
#include <linux/btf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
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
#define BPF_ATTR_EMPTY(attr)                                                                       \
    union bpf_attr attr;                                                                           \
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

/* ==== Kernel types ============================================================================ */

enum { LARGEST_BYTES = 64 << 20, DEEPEST = 16, POINTER_BYTES = 8, MAGIC = 0xeB9F };

/* Kinds that older headers do not have. */
enum { KIND_DATASEC = 15, KIND_DECL_TAG = 17, KIND_TYPE_TAG = 18, KIND_ENUM64 = 19 };

static unsigned btf_kind(const struct btf_type *t)
{
    return t->info >> 24 & 0x1f;
}

static unsigned btf_vlen(const struct btf_type *t)
{
    return t->info & 0xffff;
}

/* What follows the fixed part of a type; SIZE_MAX: an unknown kind. */
static size_t btf_rest(const struct btf_type *t)
{
    switch (btf_kind(t)) {
    case BTF_KIND_INT: return sizeof(uint32_t);
    case BTF_KIND_ARRAY: return sizeof(struct btf_array);
    case BTF_KIND_STRUCT:
    case BTF_KIND_UNION: return btf_vlen(t) * sizeof(struct btf_member);
    case BTF_KIND_ENUM: return btf_vlen(t) * sizeof(struct btf_enum);
    case BTF_KIND_FUNC_PROTO: return btf_vlen(t) * sizeof(struct btf_param);
    case BTF_KIND_VAR:
    case KIND_DECL_TAG: return sizeof(uint32_t);
    case KIND_DATASEC:
    case KIND_ENUM64: return btf_vlen(t) * 3 * sizeof(uint32_t);
    case BTF_KIND_PTR:
    case BTF_KIND_FWD:
    case BTF_KIND_TYPEDEF:
    case BTF_KIND_VOLATILE:
    case BTF_KIND_CONST:
    case BTF_KIND_RESTRICT:
    case BTF_KIND_FUNC:
    case KIND_TYPE_TAG:
    case 16 /* float */: return 0;
    default: return SIZE_MAX;
    }
}

/* The type of that number, copied; false: there is none. */
static bool btf_get(const struct btf *b, uint32_t type, struct btf_type *ret)
{
    if (!type || type >= b->count)
        return false;
    memcpy(ret, b->types + b->at[type], sizeof *ret);
    return true;
}

/* What follows a type, which was checked to be there. */
static const char *btf_after(const struct btf *b, uint32_t type)
{
    return b->types + b->at[type] + sizeof(struct btf_type);
}

static const char *btf_name(const struct btf *b, uint32_t offset)
{
    return offset < b->names_size ? b->names + offset : "";
}

/* ---- Opening --------------------------------------------------------------------------------- */

static int btf_index(struct btf *b, struct btf_wanted *wanted, size_t count)
{
    struct btf_header h;
    if (b->size < sizeof h)
        return -EBADMSG;
    memcpy(&h, b->data, sizeof h);
    uint64_t types_at = (uint64_t)h.hdr_len + h.type_off,
             names_at = (uint64_t)h.hdr_len + h.str_off;
    if (h.magic != MAGIC || types_at + h.type_len > b->size || names_at + h.str_len > b->size ||
        !h.str_len || b->data[names_at + h.str_len - 1])
        return -EBADMSG;
    b->types = b->data + types_at;
    b->types_end = b->types + h.type_len;
    b->names = b->data + names_at;
    b->names_size = h.str_len;
    /* No type is smaller than its fixed part. */
    b->at = malloc((h.type_len / sizeof(struct btf_type) + 1) * sizeof *b->at);
    if (!b->at)
        return -ENOMEM;
    b->at[0] = 0;
    b->count = 1;
    for (const char *at = b->types; at < b->types_end;) {
        struct btf_type t;
        size_t left = (size_t)(b->types_end - at);
        if (left < sizeof t)
            return -EBADMSG;
        memcpy(&t, at, sizeof t);
        size_t rest = btf_rest(&t);
        if (rest > left - sizeof t)
            return -EBADMSG;
        b->at[b->count] = (uint32_t)(at - b->types);
        for (size_t i = 0; i < count; i++)
            if (btf_kind(&t) == wanted[i].kind && !wanted[i].id &&
                strcmp(btf_name(b, t.name_off), wanted[i].name) == 0)
                wanted[i].id = b->count;
        b->count++;
        at += sizeof t + rest;
    }
    return 0;
}

int btf_open(struct btf *b, struct btf_wanted *wanted, size_t count)
{
    *b = (struct btf){0};
    CLEANUP_CLOSE int fd = open("/sys/kernel/btf/vmlinux", O_RDONLY | O_CLOEXEC);
    struct stat st;
    if (fd < 0 || fstat(fd, &st) < 0)
        return -errno;
    if (st.st_size <= 0 || st.st_size > LARGEST_BYTES)
        return -EBADMSG;
    size_t size = (size_t)st.st_size;
    void *mapped = mmap(NULL, size, PROT_READ, MAP_PRIVATE, fd, 0);
    *b = (struct btf){.data = mapped, .size = size, .is_mapped = mapped != MAP_FAILED};
    if (!b->is_mapped) { /* before Linux 6.16 it cannot be mapped */
        char *data = malloc(size);
        size_t length = 0;
        ssize_t n = data ? 1 : 0;
        while (n > 0 && length < size) {
            n = read(fd, data + length, size - length);
            length += n > 0 ? (size_t)n : 0;
        }
        b->data = data;
        if (length < size) {
            btf_close(b);
            return data ? -EIO : -ENOMEM;
        }
    }
    int r = btf_index(b, wanted, count);
    if (r < 0)
        btf_close(b);
    return r;
}

void btf_close(struct btf *b)
{
    if (b->is_mapped)
        munmap((void *)(uintptr_t)b->data, b->size);
    else
        free((void *)(uintptr_t)b->data);
    free(b->at);
    *b = (struct btf){0};
}

/* ---- Asking ---------------------------------------------------------------------------------- */

/* Without const, volatile, typedef and the like. */
static uint32_t btf_plain(const struct btf *b, uint32_t type)
{
    struct btf_type t;
    for (unsigned depth = 0; depth < DEEPEST && btf_get(b, type, &t); depth++)
        switch (btf_kind(&t)) {
        case BTF_KIND_TYPEDEF:
        case BTF_KIND_VOLATILE:
        case BTF_KIND_CONST:
        case BTF_KIND_RESTRICT:
        case KIND_TYPE_TAG: type = t.type; break;
        default: return type;
        }
    return 0;
}

static bool btf_search(const struct btf *b, uint32_t type, const char *name, uint32_t base,
                       unsigned depth, uint32_t *ret_offset, uint32_t *ret_type)
{
    struct btf_type t;
    type = btf_plain(b, type);
    if (depth == DEEPEST || !btf_get(b, type, &t) ||
        (btf_kind(&t) != BTF_KIND_STRUCT && btf_kind(&t) != BTF_KIND_UNION))
        return false;
    const char *members = btf_after(b, type);
    bool has_bit_fields = t.info >> 31;
    for (unsigned i = 0; i < btf_vlen(&t); i++) {
        struct btf_member m;
        memcpy(&m, members + i * sizeof m, sizeof m);
        uint32_t bits = has_bit_fields ? m.offset & 0xffffff : m.offset;
        bool is_bit_field = has_bit_fields && m.offset >> 24;
        const char *called = btf_name(b, m.name_off);
        if (!*called &&
            btf_search(b, m.type, name, base + bits / 8, depth + 1, ret_offset, ret_type))
            return true;
        if (strcmp(called, name) != 0 || !*called)
            continue;
        if (is_bit_field || bits % 8)
            return false;
        *ret_offset = base + bits / 8;
        if (ret_type)
            *ret_type = m.type;
        return true;
    }
    return false;
}

bool btf_member(const struct btf *b, uint32_t type, const char *name, uint32_t *ret_offset,
                uint32_t *ret_type)
{
    return btf_search(b, type, name, 0, 0, ret_offset, ret_type);
}

uint32_t btf_size(const struct btf *b, uint32_t type)
{
    struct btf_type t;
    for (unsigned depth = 0; depth < DEEPEST; depth++) {
        type = btf_plain(b, type);
        if (!btf_get(b, type, &t))
            return 0;
        struct btf_array array;
        switch (btf_kind(&t)) {
        case BTF_KIND_PTR: return POINTER_BYTES;
        case BTF_KIND_INT:
        case BTF_KIND_ENUM:
        case KIND_ENUM64:
        case BTF_KIND_STRUCT:
        case BTF_KIND_UNION: return t.size;
        case BTF_KIND_ARRAY:
            memcpy(&array, btf_after(b, type), sizeof array);
            type = array.type;
            break;
        default: return 0;
        }
    }
    return 0;
}

bool btf_trace_parameter(const struct btf *b, uint32_t type, unsigned number, uint32_t *ret)
{
    struct btf_type t;
    type = btf_plain(b, type);
    if (!btf_get(b, type, &t) || btf_kind(&t) != BTF_KIND_PTR)
        return false;
    type = btf_plain(b, t.type);
    if (!btf_get(b, type, &t) || btf_kind(&t) != BTF_KIND_FUNC_PROTO || number + 1 >= btf_vlen(&t))
        return false;
    struct btf_param p;
    memcpy(&p, btf_after(b, type) + (number + 1) * sizeof p, sizeof p);
    *ret = p.type;
    return true;
}

bool btf_points_to(const struct btf *b, uint32_t type, uint32_t to)
{
    struct btf_type t;
    type = btf_plain(b, type);
    return to && btf_get(b, type, &t) && btf_kind(&t) == BTF_KIND_PTR && btf_plain(b, t.type) == to;
}
