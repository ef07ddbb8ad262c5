/* SPDX-License-Identifier: MIT
 * /proc/stat: what the CPUs did since the machine was started. */
#pragma once

#include "base/io/file.h"
#include "base/text/scan.h"
#include "base/util.h"

#include <stdint.h>

/* ==== Proc stat =============================================================================== */

/* In the order of the columns; an older kernel has only the first ones. */
enum cpu_mode {
    CPU_USER,
    CPU_NICE,
    CPU_SYSTEM,
    CPU_IDLE,
    CPU_IOWAIT,
    CPU_IRQ,
    CPU_SOFTIRQ,
    CPU_STEAL,
    CPU_GUEST,
    CPU_MODES,
};

/* Ticks of USER_HZ. No tick is in two modes: the kernel's own `user` contains `guest`. */
struct cpu_times {
    unsigned modes; /* how many of them this kernel has */
    uint64_t ticks[CPU_MODES];
    uint64_t busy_ticks; /* all but idle, iowait and steal */
};

enum proc_stat_count {
    STAT_INTERRUPTS,
    STAT_SWITCHES,
    STAT_FORKS,
    STAT_RUNNING,
    STAT_BLOCKED,
    STAT_COUNTS,
};

struct proc_stat {
    struct cpu_times all;
    unsigned cpu_count; /* CPUs that are online */
    struct scan cpus;   /* their lines, inside the text that was parsed */
    unsigned seen;      /* bit n: counts[n] was there */
    uint64_t counts[STAT_COUNTS];
};

/* 0, -EBADMSG when the text is not as expected, -ENODATA when there is none. */
int parse_proc_stat(struct scan text, struct proc_stat *ret);

/* Cuts the next line off proc_stat.cpus. 1, 0 after the last one, -EBADMSG. */
int parse_proc_stat_cpu(struct scan *cpus, unsigned *ret_number, struct cpu_times *ret);

/* ==== Load ==================================================================================== */

/* /proc/loadavg: how many tasks want to run, and the pid handed out last. */

/* ==== Loadavg ================================================================================= */

struct loadavg {
    double load[3]; /* over 1, 5 and 15 minutes */
    uint64_t running;
    uint64_t threads; /* all there are */
};

/* Both: 0, -EBADMSG, -ENODATA when there is no text. */
int parse_loadavg(struct scan text, struct loadavg *ret);
int parse_loadavg_last_pid(struct scan text, uint64_t *ret);

/* ==== Uptime ================================================================================== */

/* /proc/uptime: time since the machine was started. */

/* 0, -EBADMSG, -ENODATA when there is no text. */
int parse_uptime(struct scan text, uint64_t *ret_ns);

/* ==== Process census ========================================================================== */

/* How many processes there are.
 *
 * Linux adds the number of processes to the links of the directory /proc, so that one call shows
 * what thousands of entries would. In a pid namespace it is everybody's number, and other kernels
 * do not do it: the links are believed only where they agree with a count, which is made again
 * now and then. */

struct process_census {
    bool by_links;
    uint64_t other_links;   /* those of /proc that are no processes */
    unsigned next_check_in; /* so many calls; 0: now */
};

/* 0, -ENODATA when /proc shows no process or not those of others, or another -errno. */
int process_census_take(struct process_census *p, const struct sysroot *root, uint64_t *ret);

/* ==== Memory ================================================================================== */

/* /proc/meminfo: what the memory of the machine is used for. */

/* ==== Meminfo ================================================================================= */

enum meminfo_key {
    MEMINFO_TOTAL,
    MEMINFO_AVAILABLE, /* since Linux 3.14 */
    MEMINFO_FREE,
    MEMINFO_BUFFERS,
    MEMINFO_CACHED,
    MEMINFO_RECLAIMABLE,
    MEMINFO_ACTIVE,
    MEMINFO_INACTIVE,
    MEMINFO_ACTIVE_ANON,
    MEMINFO_INACTIVE_ANON,
    MEMINFO_ANON,
    MEMINFO_SHMEM,
    MEMINFO_SLAB,
    MEMINFO_DIRTY,
    MEMINFO_WRITEBACK,
    MEMINFO_SWAP_TOTAL,
    MEMINFO_SWAP_FREE,
    MEMINFO_HUGE_TOTAL,
    MEMINFO_HUGE_FREE,
    MEMINFO_HUGE_SIZE, /* of one huge page */
    MEMINFO_KEYS,
};

struct meminfo {
    unsigned seen; /* bit n: bytes[n] was there */
    uint64_t bytes[MEMINFO_KEYS];
};

/* 0, -EBADMSG when the total is missing or a number is not one, -ENODATA when there is no text. */
int parse_meminfo(struct scan text, struct meminfo *ret);

/* ==== Vmstat ================================================================================== */

/* /proc/vmstat: events of the memory of the machine. */

enum vmstat_key {
    VMSTAT_SWAP_IN, /* pages */
    VMSTAT_SWAP_OUT,
    VMSTAT_FAULTS_MAJOR,
    VMSTAT_OOM_KILLS, /* since Linux 4.13 */
    VMSTAT_KEYS,
};

struct vmstat {
    unsigned seen; /* bit n: counts[n] was there */
    uint64_t counts[VMSTAT_KEYS];
};

/* 0, -EBADMSG when nothing of it is there or a number is not one, -ENODATA when there is no text.
 */
int parse_vmstat(struct scan text, struct vmstat *ret);

/* ==== Disks =================================================================================== */

/* /proc/diskstats: what block devices and their partitions did. */

/* ==== Diskstats =============================================================================== */

/* In the order of the columns. */
enum diskstats_field {
    DISKSTATS_READS,
    DISKSTATS_READS_MERGED,
    DISKSTATS_READ_SECTORS, /* of 512 bytes, whatever blocks the device has */
    DISKSTATS_READ_MS,
    DISKSTATS_WRITES,
    DISKSTATS_WRITES_MERGED,
    DISKSTATS_WRITTEN_SECTORS,
    DISKSTATS_WRITE_MS,
    DISKSTATS_IN_FLIGHT,
    DISKSTATS_ACTIVE_MS,
    DISKSTATS_QUEUE_MS,
    DISKSTATS_DISCARDS, /* this and the following three since Linux 4.18 */
    DISKSTATS_DISCARDS_MERGED,
    DISKSTATS_DISCARDED_SECTORS,
    DISKSTATS_DISCARD_MS,
    DISKSTATS_FLUSHES, /* this and the next since Linux 5.5 */
    DISKSTATS_FLUSH_MS,
    DISKSTATS_FIELDS,
};

enum { DISKSTATS_SECTOR_BYTES = 512, DISKSTATS_NAME_BYTES = 32 };

struct diskstats {
    uint64_t major, minor;
    char name[DISKSTATS_NAME_BYTES];
    unsigned fields; /* how many of them this kernel has */
    uint64_t values[DISKSTATS_FIELDS];
};

/* Cuts the next line off the text. 1, 0 after the last one, -EBADMSG when the line is not as
 * expected: the next one may be. */
int parse_diskstats_line(struct scan *text, struct diskstats *ret);

/* ==== Disk facts ============================================================================== */

/* /sys/block: which block devices are whole ones, and what they are made of. */

enum disk_class {
    DISK_IGNORED, /* a partition, or a hidden path to a device that is counted already */
    DISK_REAL,
    DISK_STACKED, /* what it does is done again by the devices below it */
    DISK_VIRTUAL, /* made of memory or a file, or in the network */
};

struct disk_facts {
    enum disk_class class;
    bool has_slaves; /* the devices below it are to be seen */
};

/* "disk", "stacked", "virtual": the label `class`. */
const char *disk_class_name(enum disk_class class);

/* By the name that the device has in /proc/diskstats. */
struct disk_facts disk_facts_read(const struct sysroot *root, const char *name);

/* Whether there is a whole device of that name. */
bool disk_facts_exist(const struct sysroot *root, const char *name);

/* 0 or -errno. */
int disk_facts_read_size(const struct sysroot *root, const char *name, uint64_t *ret_bytes);

/* ==== Disk history ============================================================================ */

/* Counters of a block device that never fall, whatever the kernel's own do: a device that was
 * removed and came back counts from zero again, and times in milliseconds have 32 bits. */

struct disk_history {
    uint64_t total[DISKSTATS_FIELDS]; /* of all the lives of the device */
    struct diskstats last;            /* as it was read */
    bool has_last;
};

/* was_removed: between the reading before and this one. */
void disk_history_add(struct disk_history *h, const struct diskstats *now, bool was_removed);
