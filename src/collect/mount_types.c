/* SPDX-License-Identifier: MIT */
#include "collect/mount_types.h"

#include "base/util.h"

/* Those not named here are local. */
static const struct {
    enum mount_class class;
    const char *type;
} types[] = {
    {MOUNT_MEMORY, "tmpfs"},
    {MOUNT_OVERLAY, "overlay"},
    {MOUNT_OVERLAY, "aufs"},
    {MOUNT_OVERLAY, "fuse.fuse-overlayfs"},

    {MOUNT_NETWORK, "9p"},
    {MOUNT_NETWORK, "acfs"},
    {MOUNT_NETWORK, "afs"},
    {MOUNT_NETWORK, "beegfs"},
    {MOUNT_NETWORK, "ceph"},
    {MOUNT_NETWORK, "cifs"},
    {MOUNT_NETWORK, "coda"},
    {MOUNT_NETWORK, "fuse"},
    {MOUNT_NETWORK, "gfs2"},
    {MOUNT_NETWORK, "glusterfs"},
    {MOUNT_NETWORK, "gpfs"},
    {MOUNT_NETWORK, "lustre"},
    {MOUNT_NETWORK, "ncpfs"},
    {MOUNT_NETWORK, "nfs"},
    {MOUNT_NETWORK, "nfs4"},
    {MOUNT_NETWORK, "ocfs2"},
    {MOUNT_NETWORK, "orangefs"},
    {MOUNT_NETWORK, "panfs"},
    {MOUNT_NETWORK, "pvfs2"},
    {MOUNT_NETWORK, "smb3"},
    {MOUNT_NETWORK, "smbfs"},

    {MOUNT_PSEUDO, "autofs"},
    {MOUNT_PSEUDO, "binder"},
    {MOUNT_PSEUDO, "binfmt_misc"},
    {MOUNT_PSEUDO, "bpf"},
    {MOUNT_PSEUDO, "cgroup"},
    {MOUNT_PSEUDO, "cgroup2"},
    {MOUNT_PSEUDO, "configfs"},
    {MOUNT_PSEUDO, "cpuset"},
    {MOUNT_PSEUDO, "cramfs"},
    {MOUNT_PSEUDO, "debugfs"},
    {MOUNT_PSEUDO, "devpts"},
    {MOUNT_PSEUDO, "devtmpfs"}, /* device nodes */
    {MOUNT_PSEUDO, "efivarfs"},
    {MOUNT_PSEUDO, "erofs"},
    {MOUNT_PSEUDO, "fuse.gvfsd-fuse"},
    {MOUNT_PSEUDO, "fuse.lxcfs"},
    {MOUNT_PSEUDO, "fuse.portal"},
    {MOUNT_PSEUDO, "fusectl"},
    {MOUNT_PSEUDO, "hugetlbfs"},
    {MOUNT_PSEUDO, "iso9660"},
    {MOUNT_PSEUDO, "mqueue"},
    {MOUNT_PSEUDO, "nfsd"},
    {MOUNT_PSEUDO, "nsfs"},
    {MOUNT_PSEUDO, "proc"},
    {MOUNT_PSEUDO, "pstore"},
    {MOUNT_PSEUDO, "ramfs"},
    {MOUNT_PSEUDO, "resctrl"},
    {MOUNT_PSEUDO, "rootfs"},
    {MOUNT_PSEUDO, "rpc_pipefs"},
    {MOUNT_PSEUDO, "securityfs"},
    {MOUNT_PSEUDO, "selinuxfs"},
    {MOUNT_PSEUDO, "smackfs"},
    {MOUNT_PSEUDO, "squashfs"}, /* the packages of snap, all of them full */
    {MOUNT_PSEUDO, "sysfs"},
    {MOUNT_PSEUDO, "tracefs"},
    {MOUNT_PSEUDO, "xenfs"},
};

enum mount_class mount_class_of(struct scan type)
{
    size_t length = (size_t)(type.end - type.at);
    for (size_t i = 0; i < ARRAY_LEN(types); i++)
        if (strlen(types[i].type) == length && memcmp(types[i].type, type.at, length) == 0)
            return types[i].class;
    return scan_word(&type, "fuse.") ? MOUNT_NETWORK : MOUNT_LOCAL;
}

bool mount_may_hang(struct scan type)
{
    return mount_class_of(type) == MOUNT_NETWORK || scan_word(&type, "fuse.") ||
           scan_word(&type, "fuseblk");
}

const char *mount_class_name(enum mount_class class)
{
    static const char *const names[] = {"local", "memory", "overlay", "network", "pseudo"};
    return names[class];
}
