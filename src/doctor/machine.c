/* SPDX-License-Identifier: MIT
 * Checks of what is known of the machine, of the network of a job, and of what can be written. The
 * collectors themselves are asked once. */
#include "doctor/doctor.h"
#include "source/collector.h"
#include "source/machine/mounts.h"
#include "source/net/sockets.h"

#include <fcntl.h>

/* ---- One look of a collector ----------------------------------------------------------------- */

struct look {
    struct instance system;
    struct instance_list list;
    void *state;
    const struct collector *collector;
};

/* 0, or what the collector's open says. */
static int look_begin(struct look *l, const struct doctor_facts *d, const struct collector *c)
{
    struct selection everything;
    struct collect_context context = {
        .root = &d->root,
        .selection = &everything,
        .system = &l->system,
    };
    *l = (struct look){.collector = c};
    selection_parse(&everything, NULL, NULL);
    instance_init(&l->system, ENTITY_SYSTEM);
    row_init(&l->system.read, ENTITY_SYSTEM);
    int r = c->open(&l->state, &context);
    if (r < 0) {
        l->state = NULL;
        return r;
    }
    c->collect(l->state, &context, &l->list);
    return 0;
}

static void look_end(struct look *l)
{
    if (l->state)
        l->collector->close(l->state);
    instance_list_done(&l->list);
}

static bool is_labelled(const struct instance *m, const char *value)
{
    for (size_t i = 0; i < ARRAY_LEN(m->entity.labels); i++)
        if (m->entity.labels[i].value && strcmp(m->entity.labels[i].value, value) == 0)
            return true;
    return false;
}

static unsigned count_labelled(const struct look *l, const char *value)
{
    unsigned count = 0;
    for (size_t i = 0; i < l->list.count; i++)
        count += is_labelled(l->list.items[i], value);
    return count;
}

static bool doctor_machine_knows(const struct doctor_facts *d, const struct collector *c,
                                 enum metric_id metric)
{
    struct look l;
    bool known = look_begin(&l, d, c) == 0 && row_has(&l.system.read, metric);
    look_end(&l);
    return known;
}

/* ---- The whole machine ----------------------------------------------------------------------- */

void doctor_system(const struct doctor_facts *d, struct finding *f)
{
    bool cpu = doctor_machine_knows(d, &collector_machine_cpu, system_cpu_user_seconds);
    bool memory = doctor_machine_knows(d, &collector_machine_memory,
                                       system_memory_available_bytes) ||
                  doctor_machine_knows(d, &collector_machine_memory, system_memory_total_bytes);
    bool load = doctor_machine_knows(d, &collector_machine_load, system_load_1m_number);
    finding_ok(f, "exact", "/proc/stat, meminfo, loadavg");
    if (cpu && memory && load)
        return;
    if (!cpu && !memory && !load)
        finding_missing(f, "none of these files can be read");
    else
        finding_partly(f, "not to be read in /proc:%s%s%s", cpu ? "" : " stat",
                       memory ? "" : " meminfo", load ? "" : " loadavg");
    finding_remedy(f, "mount -t proc proc /proc");
}

void doctor_pressure(const struct doctor_facts *d, struct finding *f)
{
    finding_ok(f, "exact", "/proc/pressure");
    if (doctor_machine_knows(d, &collector_machine_load, system_cpu_pressure_some_seconds))
        return;
    finding_missing(f, "/proc/pressure cannot be read");
    finding_remedy(f, doctor_is_since(d, 4, 20) ? "boot with psi=1 (a kernel with CONFIG_PSI=y)"
                                                : "Linux 4.20 or later with CONFIG_PSI=y");
}

/* ---- Disks, filesystems, interfaces ---------------------------------------------------------- */

/* Whole devices and partitions, physical and virtual are told apart by what /sys shows. */
static bool lacks_sys(const struct doctor_facts *d, struct finding *f, const char *what)
{
    if (d->root.sys >= 0 && faccessat(d->root.sys, "class", F_OK, 0) == 0)
        return false;
    finding_partly(f, "no /sys: %s", what);
    finding_remedy(f, "mount -t sysfs sysfs /sys");
    return true;
}

void doctor_disks(const struct doctor_facts *d, struct finding *f)
{
    struct look l;
    finding_ok(f, "exact", "/proc/diskstats");
    int r = look_begin(&l, d, &collector_disks);
    if (r < 0 || faccessat(d->root.proc, "diskstats", R_OK, 0) < 0) {
        finding_missing(f, "/proc/diskstats cannot be read");
        finding_remedy(f, "mount -t proc proc /proc");
    } else if (!lacks_sys(d, f, "partitions cannot be told apart")) {
        finding_detail(f, "%u real, %u stacked, %u virtual", count_labelled(&l, "disk"),
                       count_labelled(&l, "stacked"), count_labelled(&l, "virtual"));
    }
    look_end(&l);
}

void doctor_filesystems(const struct doctor_facts *d, struct finding *f)
{
    struct mount_table table;
    unsigned all = 0, network = 0;
    finding_ok(f, "exact", "mountinfo, statvfs");
    mount_table_init(&table);
    int r = mount_table_refresh(&table, &d->root);
    for (const struct mount *m = table.first; m; m = m->next) {
        all++;
        network += m->class == MOUNT_NETWORK;
    }
    mount_table_done(&table);
    if (r < 0) {
        finding_missing(f, "/proc/self/mountinfo cannot be read");
        finding_remedy(f, "mount -t proc proc /proc");
    } else {
        finding_detail(f, "%u local, %u network", all - network, network);
    }
}

void doctor_interfaces(const struct doctor_facts *d, struct finding *f)
{
    struct look l;
    finding_ok(f, "exact", "/proc/net/dev");
    int r = look_begin(&l, d, &collector_netifs);
    if (r < 0 || !l.list.count) {
        finding_missing(f, "/proc/net/dev lists none");
        finding_remedy(f, "a kernel with CONFIG_NET=y, and /proc of the same network namespace");
    } else if (!lacks_sys(d, f, "classes are guessed")) {
        finding_detail(f, "%u physical, %u virtual, %u loopback", count_labelled(&l, "physical"),
                       count_labelled(&l, "virtual"), count_labelled(&l, "loopback"));
    }
    look_end(&l);
}

/* ---- Temperatures and energy ----------------------------------------------------------------- */

/* Not even with the right driver. */
static bool cannot_be_there(const struct doctor_facts *d, struct finding *f)
{
    if (d->root.sys < 0) {
        finding_missing(f, "no /sys");
        finding_remedy(f, "mount -t sysfs sysfs /sys");
        return true;
    }
    if (d->is_virtual) {
        finding_missing(f, "a virtual machine has none");
        finding_remedy(f, "toll on the host");
    }
    return d->is_virtual;
}

void doctor_sensors(const struct doctor_facts *d, struct finding *f)
{
    struct look l;
    finding_ok(f, "sampled", "/sys/class/hwmon, thermal");
    int r = look_begin(&l, d, &collector_sensors);
    if (r == 0 && l.list.count) {
        finding_detail(f, "%zu sensor%s", l.list.count, l.list.count == 1 ? "" : "s");
    } else if (r == 0) {
        finding_missing(f, "sensors are there, but none answers now");
        finding_remedy(f, "ask again, or see what the driver writes to the kernel log");
    } else if (!cannot_be_there(d, f)) {
        finding_missing(f, "no driver of a sensor is loaded");
        finding_remedy(f, "modprobe %s", d->is_amd ? "k10temp" : "coretemp");
    }
    look_end(&l);
}

static bool has_zones(const struct doctor_facts *d)
{
    return d->root.sys >= 0 && faccessat(d->root.sys, "class/powercap/intel-rapl:0", F_OK, 0) == 0;
}

void doctor_energy(const struct doctor_facts *d, struct finding *f)
{
    struct look l;
    finding_ok(f, "exact", "/sys/class/powercap (RAPL)");
    int r = look_begin(&l, d, &collector_rapl);
    if (r == 0 && row_has(&l.system.read, system_energy_joules)) {
        finding_detail(f, "%zu counter%s", l.list.count, l.list.count == 1 ? "" : "s");
    } else if (r == 0 && has_zones(d)) {
        finding_missing(f, "its counters are readable for root only");
        finding_remedy(f, "chmod a+r /sys/class/powercap/*/energy_uj");
    } else if (!cannot_be_there(d, f)) {
        finding_missing(f, "no counters: no driver, or none for the processor");
        finding_remedy(f, d->is_amd && !doctor_is_since(d, 5, 11) ? "Linux 5.11 or later"
                                                                  : "modprobe intel_rapl_msr");
    }
    look_end(&l);
}

/* ---- The network of a job -------------------------------------------------------------------- */

void doctor_network(const struct doctor_facts *d, struct finding *f)
{
    struct sockets *s = NULL;
    finding_ok(f, "lower bound", "TCP by sock_diag");
    if (!d->root.live) {
        finding_unknown(f, "a recorded machine has no sockets");
        return;
    }
    int r = sockets_open(&s, &d->root, false);
    sockets_close(s);
    if (r < 0) {
        finding_missing(f,
                        "the kernel does not list sockets (%s); only a target with a network "
                        "namespace of its own is counted",
                        strerror(-r));
        finding_remedy(f, "modprobe tcp_diag");
    } else if (!doctor_is_since(d, 4, 1)) {
        finding_missing(f, "the kernel does not count the bytes of sockets");
        finding_remedy(f, "Linux 4.1 or later");
    }
}

/* ---- Formats --------------------------------------------------------------------------------- */

void doctor_formats(const struct doctor_facts *d, struct finding *f)
{
    struct buf names = {0};
    const struct toll_format *format;
    (void)d;
    for (size_t i = 0; (format = toll_format_at(i)); i++)
        buf_printf(&names, "%s%s", i ? ", " : "", format->name);
    finding_ok(f, "", "%s", names.data ? names.data : "");
    buf_done(&names);
}
