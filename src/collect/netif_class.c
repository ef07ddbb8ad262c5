/* SPDX-License-Identifier: MIT
 *
 * /sys/class/net/eth0/type      1, or 772 for loopback
 * /sys/class/net/eth0/device    when there is a device behind it
 * /sys/class/net/eth0/master    when it is part of a bridge, a bond, a team
 * /sys/class/net/eth0/brport    … of a bridge, on kernels before 3.9
 * /sys/class/net/eth0.7/lower_eth0    what it stands on
 */
#include "collect/netif_class.h"

#include "base/file.h"
#include "base/util.h"

#include <fcntl.h>
#include <net/if_arp.h>
#include <stdio.h>
#include <string.h>

enum { PATH_BYTES = 128 };

static void path_of(char ret[PATH_BYTES], const char *name, const char *file)
{
    snprintf(ret, PATH_BYTES, "class/net/%.64s/%.16s", name, file);
}

static bool has(const struct sysroot *root, const char *name, const char *file)
{
    char path[PATH_BYTES];
    path_of(path, name, file);
    return faccessat(root->sys, path, F_OK, 0) == 0;
}

static bool has_loopback_type(const struct sysroot *root, const char *name)
{
    char path[PATH_BYTES], text[32];
    path_of(path, name, "type");
    ssize_t n = file_read_at(root->sys, path, text, sizeof text);
    struct scan s = scan_text(text, n > 0 ? (size_t)n : 0);
    uint64_t type;
    return scan_u64(&s, &type) && type == ARPHRD_LOOPBACK;
}

const char *netif_class(const struct sysroot *root, bool in_sys, const char *name)
{
    in_sys = in_sys && root->sys >= 0;
    if (strcmp(name, "lo") == 0 || (in_sys && has_loopback_type(root, name)))
        return "loopback";
    return in_sys && has(root, name, "device") ? "physical" : "virtual";
}

struct lower_walk {
    const struct sysroot *root;
    bool stands_on_another;
};

/* A bond stands on its parts, too; but they have it for a master and are left out themselves. */
static void look_for_lower(void *arg, const char *name)
{
    static const char prefix[] = "lower_";
    struct lower_walk *w = arg;
    if (strncmp(name, prefix, strlen(prefix)) == 0)
        w->stands_on_another |= !has(w->root, name + strlen(prefix), "master");
}

bool netif_counts_twice(const struct sysroot *root, bool in_sys, const char *name)
{
    if (!in_sys || root->sys < 0)
        return false;
    if (has(root, name, "master") || has(root, name, "brport"))
        return true;
    char path[PATH_BYTES];
    path_of(path, name, "");
    CLEANUP_CLOSE int dir = openat(root->sys, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    struct lower_walk w = {.root = root};
    if (dir >= 0)
        file_each_entry(dir, look_for_lower, &w);
    return w.stands_on_another;
}
