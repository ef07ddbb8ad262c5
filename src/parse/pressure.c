/* SPDX-License-Identifier: MIT
 *
 * some avg10=31.72 avg60=10.26 avg300=7.68 total=1634313557
 * full avg10=0.00 avg60=0.00 avg300=0.00 total=0
 *  averages in percent, the totals in microseconds
 */
#include "parse/pressure.h"

#include "base/util.h"

/* The total is found by its name: fields may be added in front of it. */
static bool read_total(struct scan line, uint64_t *ret_ns)
{
    for (scan_blanks(&line); !scan_done(&line); scan_blanks(&line)) {
        uint64_t total_us;
        if (scan_word(&line, "total="))
            return !scan_done(&line) && *line.at != ' ' && scan_u64(&line, &total_us) &&
                   scan_done(&line) && !__builtin_mul_overflow(total_us, NS_PER_US, ret_ns);
        if (!scan_skip_fields(&line, 1))
            return false;
    }
    return false;
}

int parse_pressure(struct scan text, struct pressure *ret)
{
    if (scan_done(&text))
        return -ENODATA;
    struct pressure p = {0};
    bool has_some = false;
    struct scan line;
    while (scan_line(&text, &line) && line.end != text.at) { /* a line without newline was cut */
        bool some = scan_word(&line, "some ");
        if (!some && !scan_word(&line, "full "))
            continue;
        if (!read_total(line, some ? &p.some_ns : &p.full_ns))
            return -EBADMSG;
        has_some |= some;
        p.has_full |= !some;
    }
    if (!has_some)
        return -EBADMSG;
    *ret = p;
    return 0;
}
