/* SPDX-License-Identifier: MIT
 *
 * cpu  395580 1959 445594 1508054 8999 0 2655 6161 0 0
 * cpu0 186345 963 223657 767478 2284 0 358 3084 0 0
 * cpu1 209234 995 221937 740575 6714 0 2297 3077 0 0
 *  user nice system idle iowait irq softirq steal guest guest_nice
 * intr 9598926 0 0 0 0 …
 * ctxt 22054369
 * btime 1794778006
 * processes 1889347
 * procs_running 5
 * procs_blocked 0
 * softirq 6789574 0 782302 4 1158 1079180 0 3 1153992 0 3772935
 *
 * CPUs that are offline have no line. Old kernels end earlier: steal came with Linux 2.6.11, guest
 * with 2.6.24, guest_nice with 2.6.33. The line of interrupts may be many kilobytes long.
 */
#include "parse/proc_stat.h"

#include "base/util.h"

#include <limits.h>

enum { FEWEST_COLUMNS = CPU_IDLE + 1, GUEST_NICE = CPU_MODES, COLUMNS };

static bool add_up(uint64_t *sum, uint64_t more)
{
    return !__builtin_add_overflow(*sum, more, sum);
}

static bool add_up_busy(struct cpu_times *t)
{
    static const enum cpu_mode busy[] = {CPU_USER, CPU_NICE,    CPU_SYSTEM,
                                         CPU_IRQ,  CPU_SOFTIRQ, CPU_GUEST};
    for (size_t i = 0; i < ARRAY_LEN(busy); i++)
        if (!add_up(&t->busy_ticks, t->ticks[busy[i]]))
            return false;
    return true;
}

/* What stands behind "cpu" or "cpu0" in its line. */
static int read_times(struct scan line, struct cpu_times *ret)
{
    uint64_t columns[COLUMNS] = {0};
    unsigned count = 0;
    while (count < COLUMNS && scan_u64(&line, &columns[count]))
        count++;
    bool has_more = count == COLUMNS && !scan_done(&line) && *line.at == ' ';
    if (count < FEWEST_COLUMNS || !(scan_done(&line) || has_more))
        return -EBADMSG;
    struct cpu_times t = {.modes = (unsigned)min_u64(count, CPU_MODES)};
    memcpy(t.ticks, columns, sizeof t.ticks);
    t.ticks[CPU_USER] = left_u64(columns[CPU_USER], columns[CPU_GUEST]);
    t.ticks[CPU_NICE] = left_u64(columns[CPU_NICE], columns[GUEST_NICE]);
    if (!add_up(&t.ticks[CPU_GUEST], columns[GUEST_NICE]) || !add_up_busy(&t))
        return -EBADMSG;
    *ret = t;
    return 0;
}

int parse_proc_stat_cpu(struct scan *cpus, unsigned *ret_number, struct cpu_times *ret)
{
    struct scan line;
    uint64_t number;
    if (!scan_line(cpus, &line))
        return 0;
    if (!scan_word(&line, "cpu") || scan_done(&line) || *line.at == ' ' ||
        !scan_u64(&line, &number) || number > INT_MAX)
        return -EBADMSG;
    int e = read_times(line, ret);
    if (e < 0)
        return e;
    *ret_number = (unsigned)number;
    return 1;
}

/* A line that lacks its newline was cut short. */
static bool whole_line(struct scan *text, struct scan *ret)
{
    return scan_line(text, ret) && ret->end < text->at;
}

static int read_count(struct scan line, struct proc_stat *st)
{
    static const char *const keys[STAT_COUNTS] = {
        [STAT_INTERRUPTS] = "intr ",       [STAT_SWITCHES] = "ctxt ",
        [STAT_FORKS] = "processes ",       [STAT_RUNNING] = "procs_running ",
        [STAT_BLOCKED] = "procs_blocked ",
    };
    for (unsigned k = 0; k < STAT_COUNTS; k++) {
        if (!scan_word(&line, keys[k]))
            continue;
        if (!scan_u64(&line, &st->counts[k]) || !(scan_done(&line) || *line.at == ' '))
            return -EBADMSG;
        st->seen |= 1U << k;
        return 0;
    }
    return 0;
}

int parse_proc_stat(struct scan text, struct proc_stat *ret)
{
    if (scan_done(&text))
        return -ENODATA;
    struct proc_stat st = {0};
    struct scan line, word;
    if (!whole_line(&text, &line) || !scan_word(&line, "cpu "))
        return -EBADMSG;
    int e = read_times(line, &st.all);
    st.cpus = (struct scan){.at = text.at, .end = text.at};
    bool has_more;
    while ((has_more = whole_line(&text, &line))) {
        word = line;
        if (!scan_word(&word, "cpu"))
            break;
        st.cpu_count++;
        st.cpus.end = text.at;
    }
    if (!has_more) /* CPUs may be missing: nothing shows that these are all */
        return -EBADMSG;
    while (e == 0 && has_more && st.seen != BIT(STAT_COUNTS) - 1) {
        e = read_count(line, &st);
        has_more = whole_line(&text, &line);
    }
    if (e == 0)
        *ret = st;
    return e;
}
