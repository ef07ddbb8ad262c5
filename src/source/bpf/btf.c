/* SPDX-License-Identifier: MIT */
#include "source/bpf/btf.h"

#include "base/memory.h"

#include <fcntl.h>
#include <linux/btf.h>
#include <sys/mman.h>
#include <sys/stat.h>

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
    uint64_t types_at = (uint64_t)h.hdr_len + h.type_off, names_at = (uint64_t)h.hdr_len + h.str_off;
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

int btf_open_data(struct btf *b, char *data, size_t size, struct btf_wanted *wanted, size_t count)
{
    *b = (struct btf){.data = data, .size = size};
    int r = btf_index(b, wanted, count);
    if (r < 0)
        btf_close(b);
    return r;
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
    if (mapped != MAP_FAILED) {
        *b = (struct btf){.data = mapped, .size = size, .is_mapped = true};
        int r = btf_index(b, wanted, count);
        if (r < 0)
            btf_close(b);
        return r;
    }
    /* Before Linux 6.16 the file cannot be mapped. */
    char *data = malloc(size);
    size_t length = 0;
    ssize_t n = data ? 1 : 0;
    while (n > 0 && length < size) {
        n = read(fd, data + length, size - length);
        length += n > 0 ? (size_t)n : 0;
    }
    if (!data || length < size) {
        free(data);
        return data ? -EIO : -ENOMEM;
    }
    return btf_open_data(b, data, size, wanted, count);
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
    return to && btf_get(b, type, &t) && btf_kind(&t) == BTF_KIND_PTR &&
           btf_plain(b, t.type) == to;
}
