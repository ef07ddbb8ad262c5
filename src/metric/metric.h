/* SPDX-License-Identifier: MIT
 * The vocabulary: every metric as an enumerator (process_cpu_user_seconds) and as a row of facts.
 * What a value holds depends on its unit (enum metric_unit). */
#pragma once

#include "base/text/buf.h"
#include "toll.h"

/* ==== Metric ================================================================================== */

enum entity_kind {
#define ENTITY(kind, ...) ENTITY_##kind,
#include "metric/metrics.def"
    ENTITY_KINDS,
    ENTITY_TARGET = ENTITY_KINDS, /* measured in the metrics of a process */
};

/* The metrics of an entity are a run of ids: disk_first, then disk_read_bytes with the same number,
 * and so on. */
enum metric_id {
#define ENTITY(kind, name, ...)               name##_first, name##_first_ = name##_first - 1,
#define METRIC(entity, stem, kind, unit, ...) entity##_##stem##_##unit,
#include "metric/metrics.def"
    METRIC_COUNT
};

enum {
    PROCESS_METRICS = cgroup_first, /* a process is the first entity */
    SELF_METRICS = METRIC_COUNT - self_first,
    THREAD_METRICS = system_first - thread_first,
    GPU_METRICS = self_first - gpu_first,
    SYSTEM_METRICS = core_first - system_first, /* the most of any entity */
    METRICS_PER_ENTITY = 64,                    /* the width of a presence mask */
};

/* What a process uses of GPUs, as bits: it does not come from files of the process. */
#define PROCESS_GPU_BITS                                                                           \
    (BIT(process_gpu_memory_bytes) | BIT(process_gpu_utilization_ratio) |                          \
     BIT(process_gpu_seconds) | BIT(process_gpus_count))

/* What walking the page tables of a process gives, and nothing else. */
/* Packets of a target's cgroup, and all that is known of a target's network. */
#define PROCESS_PACKET_BITS                                                                        \
    (BIT(process_network_received_tcp_bytes) | BIT(process_network_sent_tcp_bytes) |               \
     BIT(process_network_received_udp_bytes) | BIT(process_network_sent_udp_bytes) |               \
     BIT(process_network_received_wire_bytes) | BIT(process_network_sent_wire_bytes) |             \
     BIT(process_network_packets_received_count) | BIT(process_network_packets_sent_count))
#define PROCESS_NETWORK_BITS                                                                       \
    (PROCESS_PACKET_BITS | BIT(process_network_received_bytes) | BIT(process_network_sent_bytes))

/* What calls of processes moved through sockets: of each process, if the kernel records it. */
#define PROCESS_SOCKET_BITS (BIT(process_socket_received_bytes) | BIT(process_socket_sent_bytes))

/* The share of energy, of targets as a whole. */
#define PROCESS_ENERGY_BITS                                                                        \
    (BIT(process_energy_cpu_low_joules) | BIT(process_energy_cpu_high_joules) |                    \
     BIT(process_energy_gpu_low_joules) | BIT(process_energy_gpu_high_joules))

#define PROCESS_ROLLUP_BITS                                                                        \
    (BIT(process_memory_pss_bytes) | BIT(process_memory_uss_bytes) |                               \
     BIT(process_memory_distinct_shared_bytes))

/* Memory of a process: two processes that share one memory have it together, once. */
#define PROCESS_MEMORY_BITS                                                                        \
    (PROCESS_ROLLUP_BITS | BIT(process_memory_rss_bytes) | BIT(process_memory_distinct_bytes) |    \
     BIT(process_memory_shared_bytes) | BIT(process_memory_swap_bytes) |                           \
     BIT(process_memory_virtual_bytes) | BIT(process_memory_peak_bytes))

enum metric_kind { METRIC_COUNTER, METRIC_GAUGE };
enum metric_unit {
    UNIT_seconds, /* held in nanoseconds */
    UNIT_bytes,
    UNIT_count,
    UNIT_joules, /* held in millionths */
    UNIT_hertz,
    UNIT_cores, /* from here on held as doubles */
    UNIT_ratio,
    UNIT_number,
    UNIT_watts,
    UNIT_celsius,
};
enum metric_fold {
    FOLD_SUM,
    FOLD_MAX,
    FOLD_ONCE,
    FOLD_CONSERVED,
    FOLD_KEPT,
    FOLD_WHOLE,
    FOLD_RATE,
    FOLD_NONE,
};
enum metric_cost { COST_CHEAP, COST_OFTEN, COST_REFRESH, COST_SLOW };
enum metric_show { SHOW_HEAD, SHOW_TABLE, SHOW_MORE, SHOW_NEVER };

/* u or d: see enum metric_unit. */
union value {
    uint64_t u;
    double d;
};

struct metric {
    enum metric_kind kind;
    enum metric_unit unit;
    enum metric_fold fold;
    enum metric_cost cost;
    enum metric_show show;
    const char *line;         /* heading in a line of figures, or "" */
    struct toll_metric facts; /* the same as words, and the texts, for the public API */
};

extern const struct metric metric_table[METRIC_COUNT];

static inline const struct metric *metric_of(enum metric_id id)
{
    return &metric_table[id];
}

/* The process metrics of a fold, as bits. */
uint64_t metric_fold_mask(enum metric_fold fold);

/* The process metrics of a cost, as bits. */
uint64_t metric_cost_mask(enum metric_cost cost);

/* For each set bit of a mask, lowest first. */
#define FOR_EACH_BIT(id, mask)                                                                     \
    for (uint64_t left_ = (mask), id; left_ && (id = (uint64_t)__builtin_ctzll(left_), true);      \
         left_ &= left_ - 1)

/* "disk", and "disks" for the key of a list. */
const char *entity_kind_name(enum entity_kind kind);
const char *entity_kind_plural(enum entity_kind kind);

/* The first metric of each kind, and METRIC_COUNT after the last kind. */
extern const unsigned short metric_firsts[ENTITY_KINDS + 1];

static inline enum metric_id metric_first(enum entity_kind kind)
{
    return metric_firsts[kind == ENTITY_TARGET ? ENTITY_PROCESS : kind];
}

static inline unsigned metric_count(enum entity_kind kind)
{
    if (kind == ENTITY_TARGET)
        kind = ENTITY_PROCESS;
    return (unsigned)metric_firsts[kind + 1] - metric_firsts[kind];
}

static inline bool metric_is_double(const struct metric *m)
{
    return m->unit >= UNIT_cores;
}

/* A counter of processes that is not read for every sample, and about once a second of each process
 * at another moment: its growth in a shorter time was not all used in that time. */
#define METRIC_CATCHES_UP_NS NS_PER_SECOND
static inline bool metric_catches_up(const struct metric *m)
{
    bool is_refreshed = m->cost == COST_REFRESH && (m->fold == FOLD_KEPT || m->fold == FOLD_WHOLE);
    return m->kind == METRIC_COUNTER && (is_refreshed || m->cost == COST_OFTEN);
}

/* A high-water mark that the kernel keeps itself. When it was reached is not known, only when it
 * was read. */
static inline bool metric_is_high_water(const struct metric *m)
{
    return m == metric_of(process_memory_peak_bytes) || m == metric_of(cgroup_memory_peak_bytes);
}

/* A value in its base unit, as a number. */
static inline double metric_number(const struct metric *m, union value v)
{
    if (metric_is_double(m))
        return v.d;
    if (m->unit == UNIT_joules)
        return (double)v.u / 1e6;
    return m->unit == UNIT_seconds ? (double)v.u / 1e9 : (double)v.u;
}

/* Decimals of a value that is a double, in text and in a record. */
enum { METRIC_DECIMALS = 6 };

/* The value as text for CSV and JSON, nothing lost: 1.234567891 for nanoseconds. */
void metric_write(struct buf *b, const struct metric *m, union value v);

/* The number that is read again of that text. Outputs that send numbers use it, so that what is
 * exported from a record later is the same as what was sent live. */
double metric_recorded(const struct metric *m, union value v);

/* Whether one of the comma-separated globs matches the metric's name, with or without the prefix of
 * an entity. NULL matches everything. */
bool metric_matches(const char *globs, const char *prefix, const struct metric *m);

/* 0, or -EINVAL and a sentence when one of the globs matches no metric at all. */
int metric_check_globs(const char *globs, struct toll_error *e);

/* ==== Entity ================================================================================== */

/* What figures are of. */

/* The parts of a target. */
enum part { PART_COMBINED, PART_MAIN, PART_DESCENDANTS, PARTS };

/* "combined", "main", "descendants": keys inside a target. */
const char *part_name(enum part part);

/* "target", "main", "descendants": prefixes of flat column names. */
const char *part_prefix(enum part part);

enum { ENTITY_NAME_BYTES = 64 }; /* the kernel's limit on a process name, escapes included */

/* A further fact about an entity: {"class", "loopback"}. */
struct label {
    const char *key;
    const char *value; /* borrowed, lives as long as the entity */
};

enum { ENTITY_LABELS = 8 };

/* A process is known by pid and start time together: a pid alone may be reused. */
struct entity {
    enum entity_kind kind;
    enum part part;   /* of a target */
    unsigned target;  /* its number, from 0 */
    uint64_t targets; /* of a process: bits of those it belongs to */
    pid_t pid;        /* of a process */
    pid_t parent;
    uint64_t start_ticks;
    char name[ENTITY_NAME_BYTES];
    const char *path; /* a name of any length instead (a mount point, a cgroup), borrowed */
    struct label labels[ENTITY_LABELS]; /* those with a key */
};

/* Where the space of a filesystem is. Local and network filesystems have space of their own; memory
 * is not on a disk, and an overlay shows the space of another one again. */
enum space_kind { SPACE_NONE, SPACE_OVERLAY, SPACE_NETWORK, SPACE_LOCAL };

enum space_kind entity_space(const struct entity *e);

/* The value of a label, or NULL. */
const char *entity_label(const struct entity *e, const char *key);

/* The number of a GPU as its machine counts them, 3 of nvidia3. Where two have the same number, or
 * one is a part of a GPU, they are counted instead. name: of the GPU at a place, of so many. */
size_t gpu_number(const void *of,
                  const char *(*name)(const void *of, enum entity_kind kind, size_t place),
                  size_t count, size_t place);

/* path or name */
const char *entity_name(const struct entity *e);

/* ==== Quality ================================================================================= */

/* How a figure was obtained. From worst to best, so that the worse of two is the smaller. */

enum quality {
    QUALITY_UNKNOWN,
    QUALITY_LOWER_BOUND,     /* at least this: something was seen to be missing */
    QUALITY_SAMPLED,         /* read from time to time; what happened in between is unknown */
    QUALITY_EXACT_IF_REAPED, /* a kernel counter; would lack children that were discarded without
                              * being waited for, and no such loss was seen */
    QUALITY_EXACT,           /* a kernel counter that cannot miss a member */
    QUALITIES
};

/* "unknown", "lower bound", "sampled", "exact if reaped", "exact" */
const char *quality_word(enum quality q);

/* The source of a figure, and how good it is. */
struct provenance {
    enum quality quality;
    const char *source; /* a name with static life, "" when unknown */
};

/* ==== Column ================================================================================== */

/* The flat names of figures: "target_cpu_seconds" of all targets together, "main_cpu_seconds" of a
 * part, "target.NAME.cpu_seconds" of one of several targets, "system_load_1_number",
 * "disk.vda.read_bytes" of a device, "self_cpu_seconds". */

/* Writes what comes before the metric's name. name: of one of several targets or of a device, or
 * NULL. */
void column_lead(struct buf *b, enum entity_kind kind, enum part part, const char *name);

/* The metric of a column of such a row, or -ENOENT when it is not one. */
int column_metric(enum entity_kind kind, enum part part, const char *name, const char *column);

/* Whether a frame can have a column of this name, given the right targets and devices. */
bool column_exists(const char *column);

/* ==== Selection =============================================================================== */

/* Which metrics of which entity were asked for, as bits. */

struct selection {
    uint64_t parts[PARTS];
    uint64_t of[ENTITY_KINDS];
    bool by_name; /* metrics were named; otherwise all are selected */
};

/* globs NULL selects everything. -EINVAL and a sentence when a glob matches nothing. */
int selection_parse(struct selection *ret, const char *globs, struct toll_error *e);

/* Removes what the other does not have. */
void selection_narrow(struct selection *s, const struct selection *other);

/* Writes the names of all that is selected, comma-separated: globs that select the same. */
void selection_write(struct buf *b, const struct selection *s);

/* Process metrics that anybody needs to have read. */
uint64_t selection_wanted(const struct selection *s);
