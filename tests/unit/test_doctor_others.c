/* SPDX-License-Identifier: MIT */
#include "doctor_tree.h"

#define SUDO               "sudo toll attach …"
#define REMOUNT            "mount -o remount,hidepid=0 /proc"
#define MOUNTINFO(options) "22 1 0:21 / /proc rw,relatime - proc proc " options "\n"

static void make(struct patient *p, const char *status, const char *mountinfo)
{
    patient_make(p, "6.1.0\n", status);
    tree_write(&p->tree, "proc/self/mountinfo", mountinfo);
}

static void test_readable(void **state)
{
    struct patient p;
    make(&p, STATUS_OF_ROOT, MOUNTINFO("rw"));
    tree_write(&p.tree, "proc/1/status", STATUS_OF_USER);
    tree_write(&p.tree, "proc/1/io", "rchar: 1\n");
    assert_ok(&p, doctor_others, "");
    patient_remove(&p);
}

/* The first may have ended in between: the next one is asked. */
static void test_some_readable(void **state)
{
    struct patient p;
    make(&p, STATUS_OF_ROOT, MOUNTINFO("rw"));
    tree_write(&p.tree, "proc/1/status", STATUS_OF_USER);
    tree_write(&p.tree, "proc/2/status", STATUS_OF_USER);
    tree_write(&p.tree, "proc/2/io", "rchar: 1\n");
    assert_ok(&p, doctor_others, "");
    patient_remove(&p);
}

static void test_seen_only(void **state)
{
    struct patient p;
    make(&p, STATUS_OF_USER, MOUNTINFO("rw,hidepid=off"));
    tree_write(&p.tree, "proc/1/status", STATUS_OF_ROOT);
    assert_not_ok(&p, doctor_others, TOLL_CHECK_PARTLY, SUDO);
    patient_remove(&p);
}

/* Root without the capability, as in a container. */
static void test_weak_root(void **state)
{
    struct patient p;
    make(&p, "Uid:\t0\t0\t0\t0\nSigIgn:\t0\nCapEff:\t00000000a80425fb\n", MOUNTINFO("rw"));
    tree_write(&p.tree, "proc/1/status", STATUS_OF_USER);
    assert_not_ok(&p, doctor_others, TOLL_CHECK_PARTLY, "docker run --cap-add=SYS_PTRACE");
    patient_remove(&p);
}

static void test_alone(void **state)
{
    struct patient p;
    make(&p, STATUS_OF_ROOT, MOUNTINFO("rw,hidepid=2"));
    assert_ok(&p, doctor_others, "there are none now");
    tree_write(&p.tree, "proc/self/mountinfo", MOUNTINFO("rw"));
    tree_write(&p.tree, "proc/self/status", STATUS_OF_USER);
    assert_not_ok(&p, doctor_others, TOLL_CHECK_PARTLY, SUDO);
    patient_remove(&p);
}

static void test_hidden(void **state)
{
    struct patient p;
    make(&p, STATUS_OF_USER, MOUNTINFO("rw,hidepid=2"));
    assert_not_ok(&p, doctor_others, TOLL_CHECK_MISSING, REMOUNT);
    assert_non_null(strstr(p.finding.detail.data, "hidepid=2"));
    tree_write(&p.tree, "proc/self/mountinfo", MOUNTINFO("rw,gid=104,hidepid=invisible"));
    assert_not_ok(&p, doctor_others, TOLL_CHECK_MISSING, "a user of group 104 (gid= of /proc)");
    tree_write(&p.tree, "proc/self/mountinfo", MOUNTINFO("rw,hidepid=ridiculously-long-word"));
    assert_not_ok(&p, doctor_others, TOLL_CHECK_MISSING, REMOUNT);
    /* What is mounted last lies on top, and another place does not matter. */
    tree_write(&p.tree, "proc/self/mountinfo",
               MOUNTINFO("rw,hidepid=2")
                   MOUNTINFO("rw") "23 1 0:22 / /proc2 rw - proc proc rw,hidepid=2\n");
    assert_not_ok(&p, doctor_others, TOLL_CHECK_PARTLY, SUDO);
    patient_remove(&p);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_readable),  cmocka_unit_test(test_some_readable),
        cmocka_unit_test(test_seen_only), cmocka_unit_test(test_alone),
        cmocka_unit_test(test_hidden),    cmocka_unit_test(test_weak_root),
    };
    return RUN("doctor_others", tests);
}
