/* SPDX-License-Identifier: MIT */
#include "doctor_tree.h"

#include <signal.h>
#include <sys/wait.h>

static void read_facts(struct patient *p)
{
    doctor_facts_done(&p->facts);
    assert_int_equal(doctor_facts_read(&p->facts, p->tree.path, NULL), 0);
}

static void test_recorded(void **state)
{
    struct patient p;
    patient_make(&p, "4.9.337-rt\n", STATUS_OF_USER);
    read_facts(&p);
    assert_string_equal(p.facts.release, "4.9.337-rt");
    assert_true(doctor_is_since(&p.facts, 4, 9));
    assert_true(doctor_is_since(&p.facts, 3, 20));
    assert_false(doctor_is_since(&p.facts, 4, 14));
    assert_false(doctor_is_since(&p.facts, 5, 0));
    assert_int_equal(p.facts.user, 1000);
    assert_false(doctor_has_capability(&p.facts, CAP_NUMBER_SYS_PTRACE));
    assert_false(p.facts.ignores_sigchld);
    assert_false(p.facts.is_virtual || p.facts.has_systemd || p.facts.started_child);

    tree_write(&p.tree, "proc/self/status", STATUS_OF_ROOT "SigIgn:\t0000000000010000\n");
    tree_write(&p.tree, "proc/cpuinfo", "vendor_id : AuthenticAMD\nflags : fpu hypervisor lm\n");
    tree_write(&p.tree, "run/systemd/system/x", "");
    read_facts(&p);
    assert_int_equal(p.facts.user, 0);
    assert_true(doctor_has_capability(&p.facts, CAP_NUMBER_SYS_PTRACE));
    assert_true(p.facts.ignores_sigchld);
    assert_true(p.facts.is_virtual && p.facts.is_amd && p.facts.has_systemd);
    patient_remove(&p);
}

static void test_nonsense(void **state)
{
    struct patient p;
    patient_make(&p, "\033[31m6.x\n", "CapEff:\tzz\nUid:\t\n");
    read_facts(&p);
    assert_string_equal(p.facts.release, "?[31m6.x");
    assert_int_equal(p.facts.version, 0);
    assert_int_equal(p.facts.capabilities, 0);
    patient_remove(&p);
}

static unsigned told;

static void on_child(int signal)
{
    told += signal == SIGCHLD;
}

/* The child it learns from is told to nobody, and nothing is left of it to wait for. */
static void test_live(void **state)
{
    struct doctor_facts f;
    signal(SIGCHLD, on_child);
    assert_int_equal(doctor_facts_read(&f, NULL, NULL), 0);
    assert_int_equal(f.user, geteuid());
    assert_true(f.version > 3000);
    assert_int_equal(told, 0);
    assert_int_equal(waitpid(-1, NULL, WNOHANG | __WALL), -1);
    assert_int_equal(errno, ECHILD);
    if (f.started_child)
        assert_true(f.waited_child);
    if (f.started_child && doctor_is_since(&f, 6, 15))
        assert_true(f.tells_exit_status);
    if (!doctor_is_since(&f, 6, 13))
        assert_false(f.tells_exit_status);
    doctor_facts_done(&f);
    signal(SIGCHLD, SIG_DFL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recorded),
        cmocka_unit_test(test_nonsense),
        cmocka_unit_test(test_live),
    };
    return RUN("doctor_facts", tests);
}
