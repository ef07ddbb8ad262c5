/* SPDX-License-Identifier: MIT */
#include "source/machine/mounts.h"

#include "base/util.h"
#include "unit.h"

static void test_classes(void **state)
{
    static const struct {
        const char *type, *class;
        bool may_hang;
    } cases[] = {
        {"ext4", "local", false},
        {"btrfs", "local", false},
        {"xfs", "local", false},
        {"virtiofs", "local", false},
        {"newfs2030", "local", false},
        {"tmpfs", "memory", false},
        {"overlay", "overlay", false},
        {"fuse.fuse-overlayfs", "overlay", true},
        {"nfs", "network", true},
        {"nfs4", "network", true},
        {"cifs", "network", true},
        {"9p", "network", true},
        {"fuse", "network", true},
        {"fuse.sshfs", "network", true},
        {"fuse.mergerfs", "network", true},
        {"fuseblk", "local", true},
        {"proc", "pseudo", false},
        {"cgroup2", "pseudo", false},
        {"devtmpfs", "pseudo", false},
        {"squashfs", "pseudo", false},
        {"fusectl", "pseudo", false},
        {"nfsd", "pseudo", false},
        {"", "local", false},
    };
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        struct scan type = scan_string(cases[i].type);
        assert_string_equal(mount_class_name(mount_class_of(type)), cases[i].class);
        assert_int_equal(mount_may_hang(type), cases[i].may_hang);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_classes),
    };
    return RUN("mount_types", tests);
}
