/* SPDX-License-Identifier: MIT
 * Files of the kernel: /proc, /sys and what it sends over a socket. */
#include "fuzz.h"
#include "source/cgroup/cgroup.h"
#include "source/cgroup/limits.h"
#include "source/cgroup/place.h"
#include "source/gpu/drm.h"
#include "source/kernel_file.h"
#include "source/machine/machine.h"
#include "source/machine/space.h"
#include "source/net/interfaces.h"
#include "source/net/sock_diag.h"
#include "source/pid_files.h"

/* ---- pid_stat ------------------------------------------------------------------------------- */

FUZZ_TARGET(pid_stat)
{
    struct scan text = fuzz_text(data, size);
    struct pid_stat st;
    fuzz_fill(&st, sizeof st);
    int r = parse_pid_stat(text, &st);
    if (r < 0) {
        CHECK_FAILURE(r, -ESRCH, size, &st);
        return 0;
    }
    CHECK(st.pid >= 0 && st.parent >= -1);
    CHECK(st.name > text.at && st.name[-1] == '(');
    CHECK(st.name_length < (size_t)(text.end - st.name) && st.name[st.name_length] == ')');
    const char *rest = st.name + st.name_length + 1;
    CHECK(!memchr(rest, ')', (size_t)(text.end - rest)));
    return 0;
}

/* ---- pid_status ----------------------------------------------------------------------------- */

static void check_namespaces(const uint8_t *data, size_t size)
{
    enum { MOST = 4 };
    pid_t pids[MOST];
    int n = parse_pid_namespaces(fuzz_text(data, size), pids, MOST);
    CHECK(n >= -EBADMSG || n == -ENODATA || n == -ESRCH);
    CHECK(n <= MOST && n != 0);
    for (int i = 0; i < n; i++)
        CHECK(pids[i] >= 0);
    CHECK(n <= 0 || memmem(data, size, "NSpid:", 6));
}

FUZZ_TARGET(pid_status)
{
    check_namespaces(data, size);
    struct pid_status st;
    fuzz_fill(&st, sizeof st);
    int r = parse_pid_status(fuzz_text(data, size), &st);
    if (r < 0) {
        CHECK_FAILURE(r, -ESRCH, size, &st);
        return 0;
    }
    CHECK(st.high_water_bytes % 1024 == 0 && (st.has_memory || !st.high_water_bytes));
    CHECK(st.shared_bytes % 1024 == 0 && (st.has_shared || !st.shared_bytes));
    CHECK(st.swap_bytes % 1024 == 0 && (st.has_swap || !st.swap_bytes));
    CHECK(memmem(data, size, "SigIgn:", 7) && memmem(data, size, "voluntary_ctxt_switches:", 24));
    CHECK(!st.has_memory || memmem(data, size, "VmHWM:", 6));
    CHECK(!st.has_shared ||
          (memmem(data, size, "RssFile:", 8) && memmem(data, size, "RssShmem:", 9)));
    CHECK(!st.has_swap || memmem(data, size, "VmSwap:", 7));
    return 0;
}

/* ---- pid_io --------------------------------------------------------------------------------- */

/* What was read, written as the kernel does, reads the same. */
FUZZ_TARGET(pid_io)
{
    struct pid_io io, again;
    fuzz_fill(&io, sizeof io);
    int r = parse_pid_io(fuzz_text(data, size), &io);
    if (r < 0) {
        CHECK_FAILURE(r, -ESRCH, size, &io);
        return 0;
    }
    char text[512];
    int length = snprintf(
        text, sizeof text,
        "rchar: %ju\nwchar: %ju\nsyscr: %ju\nsyscw: %ju\nread_bytes: %ju\nwrite_bytes: %ju\n"
        "cancelled_write_bytes: %ju\n",
        io.read_bytes, io.written_bytes, io.read_calls, io.write_calls, io.storage_read_bytes,
        io.storage_written_bytes, io.storage_cancelled_bytes);
    CHECK(parse_pid_io(scan_text(text, (size_t)length), &again) == 0);
    CHECK(memcmp(&io, &again, sizeof io) == 0);
    return 0;
}

/* ---- statm ---------------------------------------------------------------------------------- */

/* What was read, written as the kernel does, reads the same. */
FUZZ_TARGET(statm)
{
    struct statm st, again;
    fuzz_fill(&st, sizeof st);
    int r = parse_statm(fuzz_text(data, size), &st);
    if (r < 0) {
        CHECK_FAILURE(r, -ESRCH, size, &st);
        return 0;
    }
    char text[96];
    int length = snprintf(text, sizeof text, "%ju %ju %ju 0 0 0 0\n", st.virtual_pages,
                          st.rss_pages, st.shared_pages);
    CHECK(parse_statm(scan_text(text, (size_t)length), &again) == 0);
    CHECK(memcmp(&st, &again, sizeof st) == 0);
    return 0;
}

/* ---- schedstat ------------------------------------------------------------------------------ */

/* What was read, written as the kernel does, reads the same. */
FUZZ_TARGET(schedstat)
{
    struct schedstat st, again;
    fuzz_fill(&st, sizeof st);
    int r = parse_schedstat(fuzz_text(data, size), &st);
    if (r < 0) {
        CHECK_FAILURE(r, -ESRCH, size, &st);
        return 0;
    }
    char text[64];
    int length = snprintf(text, sizeof text, "%ju %ju 1\n", st.run_ns, st.wait_ns);
    CHECK(parse_schedstat(scan_text(text, (size_t)length), &again) == 0);
    CHECK(memcmp(&st, &again, sizeof st) == 0);
    return 0;
}

/* ---- smaps_rollup --------------------------------------------------------------------------- */

/* What was read, written as the kernel does, reads the same. */
FUZZ_TARGET(smaps_rollup)
{
    struct smaps_rollup st, again;
    fuzz_fill(&st, sizeof st);
    int r = parse_smaps_rollup(fuzz_text(data, size), &st);
    if (r < 0) {
        CHECK_FAILURE(r, -ESRCH, size, &st);
        return 0;
    }
    CHECK(st.pss_bytes % 1024 == 0 && st.uss_bytes % 1024 == 0);
    char text[256];
    int length = snprintf(
        text, sizeof text,
        "Rss: %ju kB\nPss: %ju kB\nPss_Dirty: 1 kB\nPrivate_Clean: 0 kB\nPrivate_Dirty: %ju kB\n",
        st.rss_bytes / 1024, st.pss_bytes / 1024, st.uss_bytes / 1024);
    CHECK(parse_smaps_rollup(scan_text(text, (size_t)length), &again) == 0);
    CHECK(memcmp(&st, &again, sizeof st) == 0);
    return 0;
}

/* ---- pid_cgroup ----------------------------------------------------------------------------- */

FUZZ_TARGET(pid_cgroup)
{
    struct scan s = fuzz_text(data, size);
    struct pid_cgroup p;
    int r;
    const char *before = s.at;
    while ((r = parse_pid_cgroup(&s, &p)) != 0) {
        CHECK(r == 1 || r == -EBADMSG);
        CHECK(s.at > before);
        before = s.at;
        CHECK(r < 0 || *p.path.at == '/');
        CHECK(r < 0 || (p.controllers.at <= p.controllers.end && p.path.at < p.path.end));
    }
    return 0;
}

/* ---- pid_limits ----------------------------------------------------------------------------- */

FUZZ_TARGET(pid_limits)
{
    struct pid_limits l;
    fuzz_fill(&l, sizeof l);
    int r = parse_pid_limits(fuzz_text(data, size), &l);
    if (r < 0) {
        CHECK_FAILURE(r, -ESRCH, size, &l);
        return 0;
    }
    CHECK(l.known && l.known < 1U << PID_LIMITS);
    CHECK(memmem(data, size, "Max ", 4));
    return 0;
}

/* ---- proc_stat ------------------------------------------------------------------------------ */

static void check_times(const struct cpu_times *t)
{
    CHECK(t->modes > CPU_IDLE && t->modes <= CPU_MODES);
    for (unsigned mode = t->modes; mode < CPU_MODES; mode++)
        CHECK(t->ticks[mode] == 0);
    CHECK(t->busy_ticks >= t->ticks[CPU_USER] && t->busy_ticks >= t->ticks[CPU_GUEST]);
}

/* As many lines of CPUs as were counted, all of them inside the text. */
FUZZ_TARGET(proc_stat)
{
    struct proc_stat st;
    struct scan text = fuzz_text(data, size);
    fuzz_fill(&st, sizeof st);
    int r = parse_proc_stat(text, &st);
    if (r < 0) {
        CHECK_FAILURE(r, -ENODATA, size, &st);
        return 0;
    }
    check_times(&st.all);
    CHECK(st.cpus.at >= text.at && st.cpus.end <= text.end);
    unsigned lines = 0, number;
    struct cpu_times t;
    while ((r = parse_proc_stat_cpu(&st.cpus, &number, &t)) != 0) {
        lines++;
        if (r > 0)
            check_times(&t);
        else
            CHECK(r == -EBADMSG);
    }
    CHECK(lines == st.cpu_count);
    return 0;
}

/* ---- loadavg -------------------------------------------------------------------------------- */

static void check_loads(const uint8_t *data, size_t size)
{
    struct loadavg l;
    fuzz_fill(&l, sizeof l);
    int r = parse_loadavg(fuzz_text(data, size), &l);
    if (r < 0) {
        CHECK_FAILURE(r, -ENODATA, size, &l);
        return;
    }
    for (size_t i = 0; i < ARRAY_LEN(l.load); i++)
        CHECK(l.load[i] >= 0 && l.load[i] < 2e19);
}

/* What was read, written as the kernel does, reads the same. */
FUZZ_TARGET(loadavg)
{
    check_loads(data, size);
    uint64_t pid, again;
    fuzz_fill(&pid, sizeof pid);
    int r = parse_loadavg_last_pid(fuzz_text(data, size), &pid);
    if (r < 0) {
        CHECK_FAILURE(r, -ENODATA, size, &pid);
        return 0;
    }
    char text[64];
    int length = snprintf(text, sizeof text, "0.27 0.06 0.02 1/81 %ju\n", pid);
    CHECK(parse_loadavg_last_pid(scan_text(text, (size_t)length), &again) == 0);
    CHECK(pid == again);
    return 0;
}

/* ---- uptime --------------------------------------------------------------------------------- */

/* What was read, written as the kernel does, reads the same. */
FUZZ_TARGET(uptime)
{
    uint64_t ns, again;
    fuzz_fill(&ns, sizeof ns);
    int r = parse_uptime(fuzz_text(data, size), &ns);
    if (r < 0) {
        CHECK_FAILURE(r, -ENODATA, size, &ns);
        return 0;
    }
    char text[64];
    int length = snprintf(text, sizeof text, "%ju.%02ju 0.00\n", ns / NS_PER_SECOND,
                          ns % NS_PER_SECOND / (NS_PER_SECOND / 100));
    CHECK(parse_uptime(scan_text(text, (size_t)length), &again) == 0);
    CHECK(ns == again);
    return 0;
}

/* ---- meminfo -------------------------------------------------------------------------------- */

FUZZ_TARGET(meminfo)
{
    struct meminfo m;
    fuzz_fill(&m, sizeof m);
    int r = parse_meminfo(fuzz_text(data, size), &m);
    if (r < 0) {
        CHECK_FAILURE(r, -ENODATA, size, &m);
        return 0;
    }
    CHECK(m.seen & BIT(MEMINFO_TOTAL));
    CHECK(m.seen < BIT(MEMINFO_KEYS));
    for (unsigned key = 0; key < MEMINFO_KEYS; key++)
        CHECK(!(m.seen & BIT(key)) || m.bytes[key] % 1024 == 0);
    return 0;
}

/* ---- vmstat --------------------------------------------------------------------------------- */

FUZZ_TARGET(vmstat)
{
    struct vmstat v;
    fuzz_fill(&v, sizeof v);
    int r = parse_vmstat(fuzz_text(data, size), &v);
    if (r < 0)
        CHECK_FAILURE(r, -ENODATA, size, &v);
    else
        CHECK(v.seen && v.seen < BIT(VMSTAT_KEYS));
    return 0;
}

/* ---- pressure ------------------------------------------------------------------------------- */

/* What was read, written as the kernel does, reads the same. */
FUZZ_TARGET(pressure)
{
    struct pressure p, again;
    fuzz_fill(&p, sizeof p);
    int r = parse_pressure(fuzz_text(data, size), &p);
    if (r < 0) {
        CHECK_FAILURE(r, -ENODATA, size, &p);
        return 0;
    }
    CHECK(memmem(data, size, "some ", 5) && (p.has_full || p.full_ns == 0));
    CHECK(p.some_ns % NS_PER_US == 0 && p.full_ns % NS_PER_US == 0);
    struct buf b = {0};
    buf_printf(&b, "some avg10=0.00 avg60=0.00 avg300=0.00 total=%ju\n", p.some_ns / NS_PER_US);
    if (p.has_full)
        buf_printf(&b, "full avg10=0.00 avg60=0.00 avg300=0.00 total=%ju\n", p.full_ns / NS_PER_US);
    CHECK(parse_pressure(scan_text(b.data, b.length), &again) == 0);
    CHECK(p.has_full == again.has_full && p.some_ns == again.some_ns && p.full_ns == again.full_ns);
    buf_done(&b);
    return 0;
}

/* ---- cpu_list ------------------------------------------------------------------------------- */

FUZZ_TARGET(cpu_list)
{
    struct cpu_list l;
    fuzz_fill(&l, sizeof l);
    int r = parse_cpu_list(fuzz_text(data, size), &l);
    if (r < 0) {
        CHECK(r == -EBADMSG || r == -ENODATA);
        CHECK(fuzz_is_filled(&l, sizeof l));
        return 0;
    }
    struct cpu_list same = l;
    CHECK(cpu_list_count(&l) > 0 && cpu_list_count(&l) <= CPU_LIST_MOST);
    cpu_list_keep(&same, &l);
    CHECK(memcmp(&same, &l, sizeof l) == 0);
    return 0;
}

/* ---- diskstats ------------------------------------------------------------------------------ */

/* Every call takes a line off; a device has a name that is no path upwards. */
FUZZ_TARGET(diskstats)
{
    struct scan text = fuzz_text(data, size);
    struct diskstats d;
    const char *before = text.at;
    int r;
    fuzz_fill(&d, sizeof d);
    while ((r = parse_diskstats_line(&text, &d)) != 0) {
        CHECK(text.at > before && text.at <= text.end);
        before = text.at;
        if (r < 0) {
            CHECK(r == -EBADMSG && fuzz_is_filled(&d, sizeof d));
            continue;
        }
        size_t length = strnlen(d.name, sizeof d.name);
        CHECK(length > 0 && length < sizeof d.name && d.name[0] != '.');
        CHECK(d.fields > DISKSTATS_QUEUE_MS && d.fields <= DISKSTATS_FIELDS);
        fuzz_fill(&d, sizeof d);
    }
    CHECK(scan_done(&text));
    return 0;
}

/* ---- mountinfo ------------------------------------------------------------------------------ */

static void check_inside(struct scan s, const uint8_t *data, size_t size)
{
    const char *first = (const char *)data;
    CHECK(first <= s.at && s.at <= s.end && s.end <= first + size);
    char decoded[64];
    ssize_t n = mountinfo_decode(s, decoded, sizeof decoded);
    CHECK(n == -ENAMETOOLONG || n == -EBADMSG ||
          (n <= s.end - s.at && strlen(decoded) == (size_t)n));
    comma_list_has(s, "rw");
}

FUZZ_TARGET(mountinfo)
{
    struct mountinfo m;
    struct scan text = fuzz_text(data, size);
    fuzz_fill(&m, sizeof m);
    int r = parse_mountinfo(text, &m);
    if (r < 0)
        CHECK(r == -EBADMSG && fuzz_is_filled(&m, sizeof m));
    while (mountinfo_next(&text, &m)) {
        const struct scan fields[] = {m.root, m.point,  m.options,      m.optional,
                                      m.type, m.source, m.super_options};
        for (size_t i = 0; i < ARRAY_LEN(fields); i++)
            check_inside(fields[i], data, size);
        CHECK(m.point.at < m.point.end && m.type.at < m.type.end);
    }
    return 0;
}

/* ---- statvfs_record ------------------------------------------------------------------------- */

FUZZ_TARGET(statvfs_record)
{
    struct statvfs_record record;
    struct space space;
    fuzz_fill(&record, sizeof record);
    int r = parse_statvfs_record(fuzz_text(data, size), &record);
    if (r < 0)
        CHECK(r == -EBADMSG && fuzz_is_filled(&record, sizeof record));
    else
        CHECK(*record.point.at == '/' && record.point.end < (const char *)data + size);
    fuzz_fill(&space, sizeof space);
    r = statvfs_record_find(fuzz_text(data, size), "/", &space);
    CHECK(r == 0 || (r == -ENODATA && fuzz_is_filled(&space, sizeof space)));
    return 0;
}

/* ---- net_dev -------------------------------------------------------------------------------- */

FUZZ_TARGET(net_dev)
{
    struct scan text = fuzz_text(data, size);
    for (;;) {
        const char *before = text.at;
        struct net_dev dev;
        fuzz_fill(&dev, sizeof dev);
        int r = parse_net_dev(&text, &dev);
        CHECK(text.at >= before && text.at <= text.end);
        if (r <= 0) {
            CHECK(r == 0 || r == -EBADMSG);
            CHECK(fuzz_is_filled(&dev, sizeof dev));
            return 0;
        }
        CHECK(text.at > before && text.at[-1] == '\n');
        CHECK(dev.name[0] && !dev.name[NET_DEV_NAME_BYTES - 1]);
        CHECK(memmem(data, size, dev.name, strlen(dev.name)));
    }
}

/* ---- connections_made ----------------------------------------------------------------------- */

FUZZ_TARGET(connections_made)
{
    uint64_t made;
    fuzz_fill(&made, sizeof made);
    int r = parse_connections_made(fuzz_text(data, size), &made);
    CHECK(r == 0 || (r == -EBADMSG && fuzz_is_filled(&made, sizeof made)));
    return 0;
}

/* ---- inet_diag ------------------------------------------------------------------------------ */

FUZZ_TARGET(inet_diag)
{
    struct scan messages = fuzz_text(data, size);
    for (;;) {
        const char *before = messages.at;
        struct inet_diag_answer a;
        fuzz_fill(&a, sizeof a);
        int r = parse_inet_diag(&messages, &a);
        CHECK(messages.at >= before && messages.at <= messages.end);
        if (r <= 0) {
            CHECK(r == -EBADMSG || (r == 0 && scan_done(&messages)));
            CHECK(messages.at == before && fuzz_is_filled(&a, sizeof a));
            return 0;
        }
        CHECK(messages.at > before);
        CHECK(a.kind == INET_DIAG_ANSWER_SOCKET || (!a.inode && !a.cookie && !a.has_bytes));
        CHECK(a.kind == INET_DIAG_ANSWER_ERROR || !a.error);
        CHECK(a.has_bytes || (!a.received_bytes && !a.sent_bytes));
    }
}

/* ---- cgroup_flat ---------------------------------------------------------------------------- */

FUZZ_TARGET(cgroup_flat)
{
    static const char *const keys[] = {"usage_usec", "anon", "oom_kill"};
    uint64_t values[ARRAY_LEN(keys)];
    fuzz_fill(values, sizeof values);
    int r = parse_cgroup_flat(fuzz_text(data, size), keys, ARRAY_LEN(keys), values);
    CHECK(r == -EBADMSG || (r >= 0 && r < 8));
    for (unsigned k = 0; k < ARRAY_LEN(keys); k++) {
        if (r > 0 && r >> k & 1)
            CHECK(memmem(data, size, keys[k], strlen(keys[k])));
        else
            CHECK(fuzz_is_filled(&values[k], sizeof values[k]));
    }
    return 0;
}

/* ---- cgroup_io ------------------------------------------------------------------------------ */

FUZZ_TARGET(cgroup_io)
{
    struct scan s = fuzz_text(data, size);
    struct cgroup_io io;
    const char *before = s.at;
    int r;
    while ((r = parse_cgroup_io(&s, &io)) != 0) {
        CHECK(r == 1 || r == -EBADMSG);
        CHECK(s.at > before);
        before = s.at;
        CHECK(r < 0 || io.has_values || !(io.read_bytes | io.written_bytes | io.reads | io.writes));
    }
    s = fuzz_text(data, size);
    struct cgroup_blkio b;
    before = s.at;
    while ((r = parse_cgroup_blkio(&s, &b)) != 0) {
        CHECK(r == 1 || r == -EBADMSG);
        CHECK(s.at > before);
        before = s.at;
    }
    return 0;
}

/* ---- cgroup_value --------------------------------------------------------------------------- */

FUZZ_TARGET(cgroup_value)
{
    struct cgroup_value v;
    fuzz_fill(&v, sizeof v);
    int r = parse_cgroup_value(fuzz_text(data, size), &v);
    if (r < 0)
        CHECK(r == -EBADMSG && fuzz_is_filled(&v, sizeof v));
    else
        CHECK(!v.unlimited || v.value == 0);
    struct cgroup_cpu_max m;
    fuzz_fill(&m, sizeof m);
    r = parse_cgroup_cpu_max(fuzz_text(data, size), &m);
    if (r < 0)
        CHECK(r == -EBADMSG && fuzz_is_filled(&m, sizeof m));
    else
        CHECK(m.period_us > 0 && (!m.unlimited || m.quota_us == 0));
    return 0;
}

/* ---- kmsg ----------------------------------------------------------------------------------- */

FUZZ_TARGET(kmsg)
{
    struct kmsg k;
    fuzz_fill(&k, sizeof k);
    int r = parse_kmsg(fuzz_text(data, size), &k);
    if (r < 0) {
        CHECK(r == -EBADMSG && fuzz_is_filled(&k, sizeof k));
        return 0;
    }
    CHECK(k.message.at <= k.message.end);
    CHECK(!kmsg_is_kill_of(k.message, 29095) || memmem(data, size, "29095", 5));
    return 0;
}

/* ---- drm_fdinfo ----------------------------------------------------------------------------- */

FUZZ_TARGET(drm_fdinfo)
{
    struct drm_fdinfo d;
    fuzz_fill(&d, sizeof d);
    int r = parse_drm_fdinfo(fuzz_text(data, size), &d);
    if (r < 0) {
        CHECK(r == -EBADMSG || r == -ENODATA);
        CHECK(fuzz_is_filled(&d, sizeof d));
        return 0;
    }
    CHECK(*d.driver && strlen(d.driver) < sizeof d.driver && strlen(d.pci) < sizeof d.pci);
    CHECK(d.engine_count <= DRM_ENGINES && d.region_count <= DRM_REGIONS);
    for (unsigned i = 0; i < d.engine_count; i++)
        CHECK(*d.engines[i].name && d.engines[i].capacity > 0);
    uint64_t bytes;
    if (drm_fdinfo_memory(&d, &bytes))
        CHECK(d.region_count > 0);
    return 0;
}

/* ---- uevent --------------------------------------------------------------------------------- */

FUZZ_TARGET(uevent)
{
    static const char *const keys[] = {"DRIVER", "PCI_ID", "PCI_SLOT_NAME"};
    for (size_t k = 0; k < ARRAY_LEN(keys); k++) {
        char value[16];
        fuzz_fill(value, sizeof value);
        int r = parse_uevent(fuzz_text(data, size), keys[k], value, sizeof value);
        CHECK(r == 0 || r == -EBADMSG || r == -ENODATA);
        CHECK(r == 0 ? strnlen(value, sizeof value) < sizeof value
                     : fuzz_is_filled(value, sizeof value));
    }
    return 0;
}
