/* SPDX-License-Identifier: MIT
 *
 * 3,4531,3674722581,-;Out of memory: Killed process 29095 (toll) total-vm:24074108kB, …
 * 3,812,91204455,-;Memory cgroup out of memory: Killed process 4711 (job) total-vm:…
 *  SUBSYSTEM=…
 *
 * Kernels before 5.0 write "Kill process 4711 (job) score 9 or sacrifice child" first, which is
 * only a plan, and then the line that is looked for here. Fields may be added in front of the
 * semicolon.
 */
#include "parse/kmsg.h"

#include "base/util.h"

int parse_kmsg(struct scan text, struct kmsg *ret)
{
    struct scan line;
    struct kmsg k;
    uint64_t priority;
    if (!scan_line(&text, &line) || !scan_u64(&line, &priority) || !scan_word(&line, ",") ||
        !scan_u64(&line, &k.sequence) || !scan_word(&line, ",") || !scan_u64(&line, &k.time_us))
        return -EBADMSG;
    const char *semicolon = memchr(line.at, ';', (size_t)(line.end - line.at));
    if (!semicolon || *line.at != ',')
        return -EBADMSG;
    k.message = (struct scan){.at = semicolon + 1, .end = line.end};
    *ret = k;
    return 0;
}

bool kmsg_tells_killed(struct scan message, uint64_t pid)
{
    static const char words[] = "Killed process ";
    const char *found = memmem(message.at, (size_t)(message.end - message.at), words,
                               sizeof words - 1);
    if (!found)
        return false;
    message.at = found + sizeof words - 1;
    uint64_t killed;
    if (!scan_u64(&message, &killed) || killed != pid)
        return false;
    return scan_word(&message, " (") || scan_word(&message, ",");
}
