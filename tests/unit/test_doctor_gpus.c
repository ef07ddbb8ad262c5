/* SPDX-License-Identifier: MIT */
#include "doctor_tree.h"
#include "fake_nvml.h"

static void test_recorded(void **state)
{
    struct patient p;
    patient_make(&p, "6.1.0\n", STATUS_OF_USER);
    patient_probe(&p, doctor_gpus);
    assert_int_equal(p.finding.state, TOLL_CHECK_MISSING);
    assert_non_null(strstr(patient_text(&p.finding.remedy), "load the driver"));
    tree_write(&p.tree, "proc/driver/nvidia/version", "NVRM version: …\n");
    patient_probe(&p, doctor_gpus);
    assert_int_equal(p.finding.state, TOLL_CHECK_UNKNOWN);
    patient_remove(&p);
}

/* This machine, with the fake library. */
static void probe(struct doctor_facts *d, struct finding *f)
{
    *f = (struct finding){.state = TOLL_CHECK_UNKNOWN, .quality = ""};
    assert_int_equal(sysroot_open(&d->root, NULL, NULL), 0);
    doctor_gpus(d, f);
    sysroot_close(&d->root);
}

static void forget(struct finding *f)
{
    buf_done(&f->means);
    buf_done(&f->detail);
    buf_done(&f->remedy);
}

static void test_asked(void **state)
{
    struct fake_nvml fake;
    struct doctor_facts d = {0};
    struct finding f;
    fake_nvml_make(&fake, "nvml",
                   "gpus 2\nutilization 5\ndriver 550.54.14\nmemory_total 5\n1.power 7\n");
    probe(&d, &f);
    assert_int_equal(f.state, TOLL_CHECK_OK);
    assert_string_equal(f.detail.data,
                        "nvidia0 Fake GPU 0, nvidia1 Fake GPU 1 (NVML, driver 550.54.14); without "
                        "power (nvidia0), energy counter");
    forget(&f);
    fake_nvml_say(&fake, "gpus 2\n1.error.handle 15\ndriver 550.54.14\n");
    probe(&d, &f); /* what is there is told beside what is not */
    assert_int_equal(f.state, TOLL_CHECK_PARTLY);
    assert_non_null(strstr(f.detail.data, "nvidia0 Fake GPU 0 (NVML"));
    assert_non_null(strstr(f.detail.data, "GPU 1 does not answer (error 15"));
    forget(&f);
    fake_nvml_say(&fake, "gpus 2\nerror.init 18\n");
    probe(&d, &f);
    assert_int_equal(f.state, TOLL_CHECK_MISSING);
    assert_non_null(strstr(f.detail.data, "restart the machine"));
    assert_null(strstr(f.remedy.data, "load the driver")); /* it is loaded */
    forget(&f);
    fake_nvml_say(&fake, "gpus 1\nerror.compute 3\nerror.sample 3\n");
    probe(&d, &f);
    assert_int_equal(f.state, TOLL_CHECK_PARTLY);
    assert_non_null(strstr(f.detail.data, "which process"));
    forget(&f);
    fake_nvml_remove(&fake);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_recorded),
        cmocka_unit_test(test_asked),
    };
    return RUN("doctor_gpus", tests);
}
