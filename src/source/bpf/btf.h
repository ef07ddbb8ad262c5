/* SPDX-License-Identifier: MIT
 * The types of the running kernel (BTF, /sys/kernel/btf/vmlinux): where the members of its structs
 * are, for programs that read them. Numbers of types are those of the kernel. */
#pragma once

#include "base/util.h"

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

/* The same on data that is owned from then on, and must be from malloc. */
int btf_open_data(struct btf *b, char *data, size_t size, struct btf_wanted *wanted, size_t count);
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
