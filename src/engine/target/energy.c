/* SPDX-License-Identifier: MIT */
#include "engine/target/energy.h"

#include "base/memory.h"
#include "source/machine/machine.h"

#include <math.h>
#include <stdio.h>
#include <unistd.h>

#define SHORTEST_RUN_NS     NS_PER_SECOND
#define LEAST_AT_A_MARK_NS  (100 * NS_PER_MS) /* ten readings a second at most */
#define LATEST_BEGINNING_NS (500 * NS_PER_MS)

/* More than one turn of a counter between two readings is not seen. A package uses no more than
 * this, and the smallest range of a counter is 65 kJ. */
#define LONGEST_SPAN_NS (65 * NS_PER_SECOND)

enum { CPUS_AT_MOST = 8192, PACKAGE_UNKNOWN = -1, PACKAGE_NOT_LOOKED_UP = -2 };

/* ==== Dividing ================================================================================ */

/* The package with the lowest (sign 1) or highest (sign -1) price that is not taken yet. */
static size_t energy_next_package(const struct energy_package *packages, size_t count,
                                  const double *prices, uint64_t taken, double sign)
{
    size_t best = count;
    for (size_t i = 0; i < count; i++)
        if (!(taken >> i & 1) && packages[i].cpus &&
            (best == count || sign * prices[i] < sign * prices[best]))
            best = i;
    return best;
}

void energy_divide(const struct energy_package *packages, size_t count, uint64_t span_ns,
                   double cpu_ns, double *ret_low_uj, double *ret_high_uj)
{
    enum { PACKAGES_AT_MOST = 64 };
    double all_uj = 0, used[2] = {0};
    count = count < PACKAGES_AT_MOST ? count : PACKAGES_AT_MOST;
    for (size_t i = 0; i < count; i++)
        all_uj += packages[i].used_uj;
    for (unsigned end = 0; end < 2 && cpu_ns > 0 && span_ns; end++) {
        bool is_low = end == 0;
        double prices[PACKAGES_AT_MOST]; /* for a nanosecond of CPU time */
        uint64_t taken = 0;
        double left_ns = cpu_ns;
        for (size_t i = 0; i < count; i++) {
            const struct energy_package *p = &packages[i];
            double whole_ns = (double)p->cpus * (double)span_ns;
            double of_ns = is_low ? whole_ns : p->used_busy_ns;
            prices[i] = of_ns > 0 ? p->used_uj / of_ns : 0;
        }
        size_t first = energy_next_package(packages, count, prices, 0, is_low ? 1 : -1), i;
        while (left_ns > 0 &&
               (i = energy_next_package(packages, count, prices, taken, is_low ? 1 : -1)) < count) {
            double here_ns = min_double(left_ns, packages[i].used_busy_ns);
            used[end] += here_ns * prices[i];
            left_ns -= here_ns;
            taken |= BIT(i);
        }
        /* Ticks of /proc/stat lag behind the clocks of processes. Then all that was busy was the
         * target's, and its rest is divided as if it were somewhere. */
        if (left_ns > 0 && is_low && first < count)
            used[end] += left_ns * prices[first];
        else if (left_ns > cpu_ns / 2)
            used[end] = all_uj;
    }
    *ret_low_uj = min_double(used[0], all_uj);
    *ret_high_uj = min_double(max_double(used[1], *ret_low_uj), all_uj);
}

/* ==== Processors ============================================================================== */

/* "package-0" or "package-1-die-0", alone or before " dram". */
static bool energy_scan_package(const char *name, unsigned *ret_number, int *ret_die)
{
    struct scan s = scan_string(name);
    uint64_t number, die;
    if (!scan_word(&s, "package-") || !scan_u64_here(&s, &number) || number > INT32_MAX)
        return false;
    *ret_die = -1;
    if (scan_word(&s, "-die-")) {
        if (!scan_u64_here(&s, &die) || die > INT32_MAX)
            return false;
        *ret_die = (int)die;
    }
    *ret_number = (unsigned)number;
    return scan_done(&s) || strcmp(s.at, " dram") == 0;
}

static struct energy_package *energy_package(struct energy_meter *e, unsigned number, int die)
{
    for (size_t i = 0; i < e->package_count; i++)
        if (e->packages[i].number == number && e->packages[i].die == die)
            return &e->packages[i];
    if (!ARRAY_GROW(e->packages, e->package_count))
        return NULL;
    e->packages[e->package_count] = (struct energy_package){.number = number, .die = die};
    for (size_t i = 0; i < e->cpu_count; i++) /* they may be its own */
        e->cpu_packages[i] = PACKAGE_NOT_LOOKED_UP;
    return &e->packages[e->package_count++];
}

/* The counters of packages and of their memory, which are zones of their own. */
static void energy_take_zones(struct energy_meter *e, const struct instance_list *machine)
{
    for (size_t i = 0; i < e->package_count; i++) {
        e->packages[i].was_read = e->packages[i].is_read;
        e->packages[i].is_read = false;
        e->packages[i].used_uj = -(double)e->packages[i].energy_uj;
        e->packages[i].energy_uj = 0;
    }
    for (size_t i = 0; i < machine->count; i++) {
        const struct instance *m = machine->items[i];
        unsigned number;
        int die;
        if (m->entity.kind != ENTITY_RAPL || !energy_scan_package(m->entity.name, &number, &die))
            continue;
        struct energy_package *p = energy_package(e, number, die);
        if (!p)
            continue;
        e->is_of_perf = strncmp(m->entity.labels[0].value, "energy-", strlen("energy-")) == 0;
        p->is_read |= !strchr(m->entity.name, ' ');
        p->energy_uj += row_u64(&m->read, rapl_energy_joules);
    }
    for (size_t i = 0; i < e->package_count; i++)
        e->packages[i].used_uj += (double)e->packages[i].energy_uj;
}

static int energy_read_id(const struct sysroot *root, unsigned cpu, const char *name)
{
    char folder[64], text[16];
    uint64_t id;
    snprintf(folder, sizeof folder, "devices/system/cpu/cpu%u/topology", cpu);
    if (root->sys < 0 || number_file_read_word(root, folder, name, text, sizeof text) < 0)
        return -1;
    struct scan s = scan_string(text);
    return scan_u64(&s, &id) && scan_done(&s) && id <= INT32_MAX ? (int)id : -1;
}

static int energy_find_package(const struct energy_meter *e, const struct sysroot *root,
                               unsigned cpu)
{
    int number = energy_read_id(root, cpu, "physical_package_id");
    int die = energy_read_id(root, cpu, "die_id");
    if (number < 0) /* where the kernel does not say, there is no choice */
        return e->package_count == 1 ? 0 : PACKAGE_UNKNOWN;
    for (size_t i = 0; i < e->package_count; i++)
        if ((int)e->packages[i].number == number &&
            (e->packages[i].die < 0 || e->packages[i].die == die))
            return (int)i;
    return PACKAGE_UNKNOWN;
}

static struct energy_package *energy_package_of_cpu(struct energy_meter *e,
                                                    const struct sysroot *root, unsigned cpu)
{
    if (cpu >= CPUS_AT_MOST)
        return NULL;
    while (e->cpu_count <= cpu) {
        if (!ARRAY_GROW(e->cpu_packages, e->cpu_count))
            return NULL;
        e->cpu_packages[e->cpu_count++] = PACKAGE_NOT_LOOKED_UP;
    }
    if (e->cpu_packages[cpu] == PACKAGE_NOT_LOOKED_UP)
        e->cpu_packages[cpu] = energy_find_package(e, root, cpu);
    return e->cpu_packages[cpu] < 0 ? NULL : &e->packages[e->cpu_packages[cpu]];
}

/* Which CPUs are online, and what ran on them. False when some belong to no package. */
static bool energy_take_busy(struct energy_meter *e, const struct sysroot *root)
{
    struct scan text, lines;
    struct proc_stat st;
    if (kernel_file_read(&e->stat, root->proc, "stat", root->live, &text) < 0 ||
        parse_proc_stat(text, &st) < 0)
        return false;
    for (size_t i = 0; i < e->package_count; i++) {
        e->packages[i].cpus = 0;
        e->packages[i].used_busy_ns = -(double)e->packages[i].busy_ns;
        e->packages[i].busy_ns = 0;
    }
    bool is_whole = st.cpu_count > 0;
    unsigned cpu;
    struct cpu_times times;
    lines = st.cpus;
    while (parse_proc_stat_cpu(&lines, &cpu, &times) > 0) {
        struct energy_package *p = energy_package_of_cpu(e, root, cpu);
        if (p) {
            p->cpus++;
            p->busy_ns += times.busy_ticks * e->ns_per_tick;
        }
        is_whole &= p != NULL;
    }
    for (size_t i = 0; i < e->package_count; i++) {
        struct energy_package *p = &e->packages[i];
        /* A CPU that went offline took its ticks along. */
        p->used_busy_ns = max_double(0, p->used_busy_ns + (double)p->busy_ns);
    }
    return is_whole;
}

static void energy_take_processors(struct energy_meter *e, const struct tracked *t,
                                   const struct instance_list *machine, uint64_t now_ns)
{
    if (!e->ns_per_tick) {
        long ticks = t->root.live ? sysconf(_SC_CLK_TCK) : 100;
        e->ns_per_tick = NS_PER_SECOND / (uint64_t)(ticks > 0 ? ticks : 100);
        e->stat = KERNEL_FILE_NONE;
    }
    energy_take_zones(e, machine);
    bool is_whole = energy_take_busy(e, &t->root);
    bool any = false;
    e->span_ns = e->has_read ? left_u64(now_ns, e->read_ns) : 0;
    for (size_t i = 0; i < e->package_count; i++) {
        struct energy_package *p = &e->packages[i];
        any |= p->is_read;
        is_whole &= p->is_read && (p->was_read || !e->has_read);
        if (!p->is_read || !p->was_read)
            p->used_uj = 0;
    }
    e->is_whole = is_whole && e->span_ns <= LONGEST_SPAN_NS;
    e->is_new = any || e->has_read; /* a counter that does not answer any more is missing */
    if (any) {
        e->has_read = true;
        e->read_ns = now_ns;
    }
}

/* ==== GPUs ==================================================================================== */

/* An Intel GPU inside a processor has this address and no counter: it is part of the package. An
 * instance of a divided GPU is part of its board. */
static bool energy_has_own_gpu(const struct gpu_device *d)
{
    return !*d->facts.instance &&
           !(strcmp(d->facts.vendor, "intel") == 0 && strcmp(d->facts.pci, "0000:00:02.0") == 0);
}

static void energy_take_gpus(struct energy_meter *e, const struct tracked *t, const struct gpus *g)
{
    const struct gpu_frame *f = &g->frame;
    if (f->device_count > e->gpu_count) {
        struct energy_gpu *gpus = reallocarray(e->gpus, f->device_count, sizeof *gpus);
        if (!gpus)
            return;
        memset(gpus + e->gpu_count, 0, (f->device_count - e->gpu_count) * sizeof *gpus);
        e->gpus = gpus;
        e->gpu_count = f->device_count;
    }
    e->gpus_are_new = true;
    for (unsigned i = 0; i < f->device_count; i++) {
        const struct gpu_device *d = &f->devices[i];
        struct energy_gpu *own = &e->gpus[i];
        own->has_use = false;
        if (!gpu_instances_chosen(&g->instances, i) || !energy_has_own_gpu(d) || d->is_lost)
            continue;
        const struct gpu_instance *instance = g->instances.items[i];
        const struct row *read = &instance->instance.read;
        bool has_energy = row_has(read, gpu_energy_joules);
        bool has_power = row_has(&d->row, gpu_power_watts);
        uint64_t read_ns = has_energy ? max_u64(d->energy_ns, d->read_ns) : d->read_ns;
        if (read_ns <= own->read_ns || (own->has_counter && !has_energy))
            continue; /* the counter has it when it answers again */
        if (!has_energy && !has_power) {
            e->lacks_gpu = true;
            continue;
        }
        double power = has_power ? row_value(&d->row, gpu_power_watts).d : 0;
        if (own->has_counter)
            own->used_uj = (double)left_u64(row_u64(read, gpu_energy_joules), own->energy_uj);
        else if (own->is_read) /* the mean of both ends, for the time between */
            own->used_uj = (power + own->power_watts) / 2 * (double)(read_ns - own->read_ns) / 1e3;
        else if (read_ns > t->start_ns + LATEST_BEGINNING_NS)
            e->lacks_gpu = true;
        e->lacks_gpu |= instance->energy_was_reset;
        own->has_use = own->is_read;
        e->gpus_are_sampled |= !has_energy;
        e->gpus_have_counter |= has_energy;
        own->is_read = true;
        own->has_counter = has_energy;
        own->energy_uj = row_u64(read, gpu_energy_joules);
        own->power_watts = power;
        own->read_ns = read_ns;
    }
}

/* What a target has of one GPU now. */
struct gpu_part {
    bool is_on, has_others;
    double share; /* of its time; negative: not known */
};

static double energy_share_of_process(const struct gpus *g, const struct gpu_process *p)
{
    if (p->has_share)
        return p->share;
    for (size_t i = 0; i < g->uses.count; i++)
        if (g->uses.items[i].pid == p->pid && g->uses.items[i].device == p->device)
            return g->uses.items[i].share;
    return -1;
}

static struct gpu_part energy_part_of_gpu(const struct tracked *t, const struct gpus *g,
                                          const struct target *target, unsigned device)
{
    struct gpu_part part = {0};
    bool is_divided = g->frame.devices[device].is_divided;
    for (size_t i = 0; i < g->frame.process_count; i++) {
        const struct gpu_process *p = &g->frame.processes[i];
        if ((p->device != device && !is_divided) || p->has_left)
            continue;
        const struct member *m = p->pid > 0 ? members_find(&t->members, p->pid) : NULL;
        if (!m || !(member_targets(t, m) & target->bit)) {
            part.has_others = true;
            continue;
        }
        double share = energy_share_of_process(g, p);
        part.is_on = true;
        part.share = share < 0 || part.share < 0 ? -1 : part.share + share;
    }
    if (is_divided) { /* which of its instances they are on is not known here */
        part.has_others = true;
        part.share = -1;
    }
    return part;
}

/* Low and high, as a share of the energy of the device. */
static void energy_divide_gpu(const struct gpu_device *d, const struct gpu_part *part,
                              bool has_others, double *ret_low, double *ret_high)
{
    *ret_low = *ret_high = 1;
    if (!has_others)
        return;
    *ret_low = part->share > 0 ? min_double(part->share, 1) : 0;
    if (part->share < 0 || !row_has(&d->row, gpu_utilization_ratio))
        return;
    double busy = max_double(row_value(&d->row, gpu_utilization_ratio).d, part->share);
    *ret_high = busy > 0 ? min_double(part->share / busy, 1) : 1;
}

/* ==== Tick ==================================================================================== */

bool energy_is_due(const struct energy_meter *e, const struct frame *f)
{
    return e->is_asked && f->between && left_u64(f->mono_ns, e->read_ns) >= LEAST_AT_A_MARK_NS;
}

void energy_tick(struct energy_meter *e, const struct tracked *t, const struct gpus *g,
                 const struct frame *f, const struct instance_list *machine,
                 bool processors_are_new)
{
    e->is_new = e->gpus_are_new = false;
    if (!e->is_asked)
        return;
    size_t count = book_count(t);
    if (e->share_count < count) {
        struct energy_share *shares = reallocarray(e->shares, count, sizeof *shares);
        if (!shares)
            return;
        memset(shares + e->share_count, 0, (count - e->share_count) * sizeof *shares);
        e->shares = shares;
        e->share_count = count;
    }
    if (processors_are_new)
        energy_take_processors(e, t, machine, f->mono_ns);
    if (g->readers && g->is_new)
        energy_take_gpus(e, t, g);
    /* A driver that did not answer in the end: what was used then is missing. */
    for (size_t i = 0; f->last && i < e->gpu_count; i++)
        e->lacks_gpu |= e->gpus[i].is_read && e->gpus[i].read_ns + LATEST_BEGINNING_NS < f->mono_ns;
}

static void energy_add_grams(struct energy_meter *e, struct energy_share *s, uint64_t real_ns,
                             double low, double high)
{
    double grams = carbon_at(&e->prices, real_ns);
    if (isnan(grams)) {
        s->lacks_grams = true;
        return;
    }
    s->low_grams += low / 3.6e12 * grams;
    s->high_grams += high / 3.6e12 * grams;
}

static void energy_count_processors(struct energy_meter *e, struct energy_share *s,
                                    const struct frame *f, const struct row *row)
{
    bool has_cpu = row_has(row, process_cpu_seconds);
    uint64_t cpu_ns = row_u64(row, process_cpu_seconds);
    if (s->cpu.is_begun && e->is_whole && has_cpu && s->has_cpu) {
        double low, high;
        energy_divide(e->packages, e->package_count, e->span_ns,
                      (double)left_u64(cpu_ns, s->cpu_ns), &low, &high);
        s->cpu.low_uj += low;
        s->cpu.high_uj += high;
        energy_add_grams(e, s, f->real_ns, low, high);
    } else if (s->cpu.is_begun || !e->is_whole || f->elapsed_ns > LATEST_BEGINNING_NS) {
        s->cpu.is_partial = true;
    }
    s->cpu.is_begun = true;
    s->cpu_ns = has_cpu ? cpu_ns : s->cpu_ns;
    s->has_cpu = has_cpu || s->has_cpu;
}

static void energy_count_gpus(struct energy_meter *e, struct energy_share *s,
                              const struct tracked *t, const struct gpus *g, const struct frame *f,
                              const struct target *target)
{
    for (unsigned i = 0; i < e->gpu_count && i < 64; i++) {
        if (!e->gpus[i].has_use)
            continue;
        struct gpu_part part = energy_part_of_gpu(t, g, target, i);
        bool was_on = s->on_gpus >> i & 1;
        bool has_others = part.has_others || (s->shared >> i & 1);
        if (part.is_on || was_on) {
            double low, high;
            if (!part.is_on) /* it left in between */
                part.share = -1;
            energy_divide_gpu(&g->frame.devices[i], &part, has_others, &low, &high);
            low *= e->gpus[i].used_uj;
            high *= e->gpus[i].used_uj;
            s->gpu.low_uj += low;
            s->gpu.high_uj += high;
            energy_add_grams(e, s, f->real_ns, low, high);
        }
        s->on_gpus = (s->on_gpus & ~BIT(i)) | (part.is_on ? BIT(i) : 0);
        s->shared = (s->shared & ~BIT(i)) | (part.has_others ? BIT(i) : 0);
    }
    s->gpu.is_begun = true;
}

/* A lower bound where a part of the run is missing; then nothing is known of the high end. */
static void energy_put(struct row *row, enum metric_id low, enum metric_id high, double low_uj,
                       double high_uj, bool is_partial)
{
    row_put_u64(row, low, (uint64_t)low_uj);
    row_put_u64(row, high, (uint64_t)high_uj);
    if (is_partial) {
        row_bound(row, BIT(low));
        row_unknown(row, high);
    }
}

void energy_count(struct energy_meter *e, const struct tracked *t, const struct gpus *g,
                  const struct frame *f, const struct target *target, struct row *row)
{
    size_t i = (size_t)(target - t->targets);
    if (!e->is_asked || i >= e->share_count)
        return;
    struct energy_share *s = &e->shares[i];
    if (e->is_new)
        energy_count_processors(e, s, f, row);
    if (e->gpus_are_new)
        energy_count_gpus(e, s, t, g, f, target);
    s->gpu.is_partial |= e->lacks_gpu || e->gpu_count > 64;
    if (s->cpu.is_begun)
        energy_put(row, process_energy_cpu_low_joules, process_energy_cpu_high_joules,
                   s->cpu.low_uj, s->cpu.high_uj, s->cpu.is_partial);
    if (s->gpu.is_begun)
        energy_put(row, process_energy_gpu_low_joules, process_energy_gpu_high_joules,
                   s->gpu.low_uj, s->gpu.high_uj, s->gpu.is_partial);
}

/* ==== End ===================================================================================== */

static const char *energy_source_of_gpus(const struct energy_meter *e)
{
    return !e->gpus_are_sampled   ? "energy counters of GPUs"
           : e->gpus_have_counter ? "energy counters and sampled power of GPUs"
                                  : "sampled power of GPUs";
}

static const char *energy_source_of_processors(const struct energy_meter *e)
{
    return e->is_of_perf ? "perf (power/energy-pkg)" : "RAPL";
}

/* At least nothing is nothing known. */
static enum quality energy_quality(bool is_begun, bool is_partial, double low, uint64_t elapsed_ns)
{
    if (!is_begun || elapsed_ns < SHORTEST_RUN_NS || (is_partial && low <= 0))
        return QUALITY_UNKNOWN;
    return is_partial ? QUALITY_LOWER_BOUND : QUALITY_SAMPLED;
}

void energy_judge_target(const struct energy_meter *e, const struct tracked *t,
                         const struct target *target, uint64_t elapsed_ns, struct target_summary *s)
{
    static const struct provenance unknown = {.quality = QUALITY_UNKNOWN, .source = ""};
    size_t i = (size_t)(target - t->targets);
    if (!e->is_asked || i >= e->share_count)
        return;
    const struct energy_share *share = &e->shares[i];
    struct provenance *v = s->provenance[PART_COMBINED];
    enum quality cpu = energy_quality(share->cpu.is_begun, share->cpu.is_partial, share->cpu.low_uj,
                                      elapsed_ns);
    enum quality gpu = energy_quality(share->gpu.is_begun, share->gpu.is_partial, share->gpu.low_uj,
                                      elapsed_ns);
    v[process_energy_cpu_low_joules] = v[process_energy_cpu_high_joules] = (struct provenance){
        cpu, energy_source_of_processors(e)};
    v[process_energy_gpu_low_joules] = v[process_energy_gpu_high_joules] = (struct provenance){
        gpu, energy_source_of_gpus(e)};
    if (cpu == QUALITY_UNKNOWN)
        v[process_energy_cpu_low_joules] = unknown;
    if (cpu != QUALITY_SAMPLED)
        v[process_energy_cpu_high_joules] = unknown;
    if (gpu == QUALITY_UNKNOWN)
        v[process_energy_gpu_low_joules] = unknown;
    if (gpu != QUALITY_SAMPLED)
        v[process_energy_gpu_high_joules] = unknown;
}

static struct energy_interval energy_interval_of(enum quality quality, double low, double high)
{
    return (struct energy_interval){.has_low = quality != QUALITY_UNKNOWN,
                                    .has_high = quality == QUALITY_SAMPLED,
                                    .low = low,
                                    .high = high};
}

/* Energy of a part that is unknown makes the sum a lower bound. */
static struct energy_interval energy_add(struct energy_interval a, struct energy_interval b)
{
    return (struct energy_interval){
        .has_low = a.has_low || b.has_low,
        .has_high = a.has_high && b.has_high,
        .low = (a.has_low ? a.low : 0) + (b.has_low ? b.low : 0),
        .high = a.high + b.high,
    };
}

void energy_finish(const struct energy_meter *e, const struct tracked *t, const struct run *run,
                   struct summary *s)
{
    struct job_energy *j = &s->job_energy;
    *j = (struct job_energy){.is_asked = e->is_asked};
    if (!e->is_asked || !t->whole)
        return;
    size_t i = (size_t)(t->whole - t->targets);
    struct energy_share share = i < e->share_count ? e->shares[i] : (struct energy_share){0};
    enum quality cpu = energy_quality(share.cpu.is_begun, share.cpu.is_partial, share.cpu.low_uj,
                                      s->elapsed_ns);
    enum quality gpu = energy_quality(share.gpu.is_begun, share.gpu.is_partial, share.gpu.low_uj,
                                      s->elapsed_ns);
    bool has_gpus = run->gpus || run->gpus_unread || run->gpus_awaited;
    j->cpu = energy_interval_of(cpu, share.cpu.low_uj / 1e6, share.cpu.high_uj / 1e6);
    j->gpu = energy_interval_of(gpu, share.gpu.low_uj / 1e6, share.gpu.high_uj / 1e6);
    if (!has_gpus && s->elapsed_ns >= SHORTEST_RUN_NS) /* there is none */
        j->gpu = (struct energy_interval){.has_low = j->cpu.has_low, .has_high = j->cpu.has_low};
    j->joules = energy_add(j->cpu, j->gpu);
    j->grams = j->joules;
    j->grams.low = share.low_grams;
    j->grams.high = share.high_grams;
    j->grams.has_high &= !share.lacks_grams;
    j->grams.has_low &= !share.lacks_grams || share.low_grams > 0;
    job_energy_price(j, &e->prices, s->elapsed_ns);
    j->quality = !j->joules.has_low    ? QUALITY_UNKNOWN
                 : !j->joules.has_high ? QUALITY_LOWER_BOUND
                                       : QUALITY_SAMPLED;
    const char *comma = cpu && gpu ? ", " : "";
    snprintf(j->from, sizeof j->from, "%s%s%s", cpu ? energy_source_of_processors(e) : "", comma,
             gpu ? energy_source_of_gpus(e) : "");
    const char *why = s->elapsed_ns < SHORTEST_RUN_NS ? "run shorter than 1 s"
                      : !share.cpu.is_begun  ? "no energy counter of processors, see 'toll "
                                               "doctor'"
                      : share.cpu.is_partial ? "processors: part of the run is missing"
                      : has_gpus && gpu == QUALITY_UNKNOWN ? "energy of GPUs unknown"
                      : j->joules.has_high                 ? ""
                                                           : "part of the run is missing";
    snprintf(j->why, sizeof j->why, "%s", why);
}

void energy_done(struct energy_meter *e)
{
    if (e->ns_per_tick)
        kernel_file_done(&e->stat);
    free(e->packages);
    free(e->cpu_packages);
    free(e->gpus);
    free(e->shares);
    energy_prices_done(&e->prices);
    *e = (struct energy_meter){0};
}
