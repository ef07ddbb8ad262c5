/* SPDX-License-Identifier: MIT */
#include "source/bpf/traffic.h"

#include "source/bpf/program.h"

#include <netinet/in.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

enum label { HAS_SEGMENTS, IS_IPV6, IS_TCP, IS_UDP, IS_OTHER, HAS_HEADERS, COUNT, ADD, PASS };

/* On the stack: the beginning of the IP header, and a byte of the TCP header. */
enum { IP_AT = -24, IP_BYTES = 20, TCP_AT = -32, IPV6_BYTES = 40, UDP_BYTES = 8 };

static void traffic_load_packet(struct bpf_code *c, int to, int bytes)
{
    code_set(c, BPF_REG_1, BPF_REG_6);
    code_set(c, BPF_REG_3, BPF_STACK);
    code_compute_number(c, BPF_ADD, BPF_REG_3, to);
    code_set_number(c, BPF_REG_4, bytes);
    code_call(c, BPF_FUNC_skb_load_bytes);
    code_jump_if_number(c, BPF_JNE, BPF_REG_0, 0, PASS);
}

/* The packet is seen from its IP header on. Kept: 6 the packet, 7 its length, 8 how many packets it
 * becomes, 9 the length of its headers. It passes whatever happens. */
static void traffic_write_program(struct bpf_code *c, int map, enum traffic_direction direction)
{
    code_set(c, BPF_REG_6, BPF_REG_1);
    code_load(c, BPF_W, BPF_REG_7, BPF_REG_6, offsetof(struct __sk_buff, len));
    code_load(c, BPF_W, BPF_REG_8, BPF_REG_6, offsetof(struct __sk_buff, gso_segs));
    code_jump_if_number(c, BPF_JNE, BPF_REG_8, 0, HAS_SEGMENTS);
    code_set_number(c, BPF_REG_8, 1);
    code_label(c, HAS_SEGMENTS);
    code_set_number(c, BPF_REG_2, 0);
    traffic_load_packet(c, IP_AT, IP_BYTES);
    code_load(c, BPF_B, BPF_REG_1, BPF_STACK, IP_AT);
    code_compute_number(c, BPF_RSH, BPF_REG_1, 4);
    code_jump_if_number(c, BPF_JEQ, BPF_REG_1, 6, IS_IPV6);
    code_jump_if_number(c, BPF_JNE, BPF_REG_1, 4, PASS);

    /* Version 4: the header has a length, and only the first fragment has that of TCP or UDP. */
    code_load(c, BPF_B, BPF_REG_9, BPF_STACK, IP_AT);
    code_compute_number(c, BPF_AND, BPF_REG_9, 15);
    code_compute_number(c, BPF_LSH, BPF_REG_9, 2);
    code_load(c, BPF_B, BPF_REG_1, BPF_STACK, IP_AT + 6);
    code_compute_number(c, BPF_AND, BPF_REG_1, 0x1f);
    code_load(c, BPF_B, BPF_REG_2, BPF_STACK, IP_AT + 7);
    code_compute(c, BPF_OR, BPF_REG_1, BPF_REG_2);
    code_jump_if_number(c, BPF_JNE, BPF_REG_1, 0, IS_OTHER);
    code_load(c, BPF_B, BPF_REG_1, BPF_STACK, IP_AT + 9);
    code_jump_if_number(c, BPF_JEQ, BPF_REG_1, IPPROTO_TCP, IS_TCP);
    code_jump_if_number(c, BPF_JEQ, BPF_REG_1, IPPROTO_UDP, IS_UDP);
    code_jump(c, IS_OTHER);

    code_label(c, IS_IPV6);
    code_set_number(c, BPF_REG_9, IPV6_BYTES);
    code_load(c, BPF_B, BPF_REG_1, BPF_STACK, IP_AT + 6);
    code_jump_if_number(c, BPF_JEQ, BPF_REG_1, IPPROTO_TCP, IS_TCP);
    code_jump_if_number(c, BPF_JEQ, BPF_REG_1, IPPROTO_UDP, IS_UDP);

    code_label(c, IS_OTHER);
    code_set_number(c, BPF_REG_5, TRAFFIC_OTHER);
    code_jump(c, HAS_HEADERS);

    code_label(c, IS_UDP);
    code_compute_number(c, BPF_ADD, BPF_REG_9, UDP_BYTES);
    code_set_number(c, BPF_REG_5, TRAFFIC_UDP);
    code_jump(c, HAS_HEADERS);

    code_label(c, IS_TCP); /* the upper half of byte 12 is the length of its header in words */
    code_set(c, BPF_REG_2, BPF_REG_9);
    code_compute_number(c, BPF_ADD, BPF_REG_2, 12);
    traffic_load_packet(c, TCP_AT, 1);
    code_load(c, BPF_B, BPF_REG_1, BPF_STACK, TCP_AT);
    code_compute_number(c, BPF_AND, BPF_REG_1, 0xf0);
    code_compute_number(c, BPF_RSH, BPF_REG_1, 2);
    code_compute(c, BPF_ADD, BPF_REG_9, BPF_REG_1);
    code_set_number(c, BPF_REG_5, TRAFFIC_TCP);

    code_label(c, HAS_HEADERS);
    code_set_number(c, BPF_REG_3, 0); /* payload */
    code_jump_if(c, BPF_JLT, BPF_REG_7, BPF_REG_9, COUNT);
    code_set(c, BPF_REG_3, BPF_REG_7);
    code_compute(c, BPF_SUB, BPF_REG_3, BPF_REG_9);
    code_label(c, COUNT);
    code_set(c, BPF_REG_4, BPF_REG_8); /* wire bytes: further packets repeat the headers */
    code_compute_number(c, BPF_SUB, BPF_REG_4, 1);
    code_compute(c, BPF_MUL, BPF_REG_4, BPF_REG_9);
    code_compute(c, BPF_ADD, BPF_REG_4, BPF_REG_7);
    code_load(c, BPF_B, BPF_REG_2, BPF_STACK, IP_AT);
    code_compute_number(c, BPF_RSH, BPF_REG_2, 4);

    /* Addresses that are constant: one that is computed needs CAP_PERFMON too. */
    for (unsigned family = 0; family < TRAFFIC_FAMILIES; family++)
        for (unsigned protocol = 0; protocol < TRAFFIC_PROTOCOLS; protocol++) {
            unsigned label = PASS + 1 + family * TRAFFIC_PROTOCOLS + protocol;
            code_jump_if_number(c, BPF_JNE, BPF_REG_2, family == TRAFFIC_IPV4 ? 4 : 6, label);
            code_jump_if_number(c, BPF_JNE, BPF_REG_5, (int)protocol, label);
            code_set_map_value(c, BPF_REG_1, map,
                               offsetof(struct traffic_counts, of[direction][family][protocol]));
            code_jump(c, ADD);
            code_label(c, label);
        }
    code_jump(c, PASS);
    code_label(c, ADD);
    code_add_to_memory(c, BPF_REG_1, offsetof(struct traffic_count, payload_bytes), BPF_REG_3);
    code_add_to_memory(c, BPF_REG_1, offsetof(struct traffic_count, packets), BPF_REG_8);
    code_add_to_memory(c, BPF_REG_1, offsetof(struct traffic_count, wire_bytes), BPF_REG_4);
    code_label(c, PASS);
    code_set_number(c, BPF_REG_0, 1);
    code_exit(c);
}

static const struct bpf_program_kind traffic_kinds[] = {
    [TRAFFIC_RECEIVED] = {.type = BPF_PROG_TYPE_CGROUP_SKB,
                          .attach_type = BPF_CGROUP_INET_INGRESS,
                          .licence = "MIT",
                          .name = "toll_received"},
    [TRAFFIC_SENT] = {.type = BPF_PROG_TYPE_CGROUP_SKB,
                      .attach_type = BPF_CGROUP_INET_EGRESS,
                      .licence = "MIT",
                      .name = "toll_sent"},
};

static int traffic_load(int map, enum traffic_direction direction)
{
    struct bpf_code code = {0};
    traffic_write_program(&code, map, direction);
    return bpf_program_load(&code, &traffic_kinds[direction]);
}

int traffic_check(void)
{
    CLEANUP_CLOSE int map = bpf_array_make(sizeof(struct traffic_counts));
    CLEANUP_CLOSE int program = map < 0 ? -1 : traffic_load(map, TRAFFIC_SENT);
    return map < 0 ? map : program < 0 ? program : 0;
}

int traffic_open(struct traffic *t, int directory)
{
    *t = TRAFFIC_CLOSED;
    CLEANUP_CLOSE int map = bpf_array_make(sizeof *t->counts);
    if (map < 0)
        return map;
    void *at = mmap(NULL, sizeof *t->counts, PROT_READ, MAP_SHARED, map, 0);
    if (at == MAP_FAILED)
        return -errno;
    t->counts = at;
    for (unsigned direction = 0; direction < TRAFFIC_DIRECTIONS; direction++) {
        CLEANUP_CLOSE int program = traffic_load(map, direction);
        int r = program < 0
                    ? program
                    : bpf_link_make(program, directory, traffic_kinds[direction].attach_type);
        if (r < 0) {
            traffic_close(t);
            return r;
        }
        t->links[direction] = r;
    }
    return 0;
}

void traffic_close(struct traffic *t)
{
    for (unsigned i = 0; i < TRAFFIC_DIRECTIONS; i++)
        if (t->links[i] >= 0)
            close(t->links[i]);
    if (t->counts)
        munmap((void *)(uintptr_t)t->counts, sizeof *t->counts);
    *t = TRAFFIC_CLOSED;
}

void traffic_read(const struct traffic *t, struct traffic_counts *ret)
{
    const uint64_t *from = (const uint64_t *)t->counts;
    uint64_t *to = (uint64_t *)ret;
    for (size_t i = 0; i < sizeof *ret / sizeof *to; i++)
        to[i] = __atomic_load_n(&from[i], __ATOMIC_RELAXED);
}

struct traffic_count traffic_of(const struct traffic_counts *c, enum traffic_direction direction,
                                enum traffic_protocol protocol)
{
    struct traffic_count sum = {0};
    for (unsigned family = 0; family < TRAFFIC_FAMILIES; family++) {
        const struct traffic_count *one = &c->of[direction][family][protocol];
        sum.payload_bytes += one->payload_bytes;
        sum.packets += one->packets;
        sum.wire_bytes += one->wire_bytes;
    }
    return sum;
}
