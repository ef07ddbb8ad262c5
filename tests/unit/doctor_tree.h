/* SPDX-License-Identifier: MIT
 * A recorded machine for the checks of toll doctor. */
#pragma once

#include "source/probe.h"
#include "tree.h"

struct patient {
    struct tree tree;
    struct probe_facts facts;
    struct finding finding; /* of the last probe */
};

#define STATUS_OF_ROOT "Name:\ttoll\nUid:\t0\t0\t0\t0\nSigIgn:\t0\nCapEff:\t000001ffffffffff\n"
#define STATUS_OF_USER                                                                             \
    "Name:\ttoll\nUid:\t1000\t1000\t1000\t1000\nSigIgn:\t0000000000000000\nCapEff:\t0\n"           \
    "Cpus_allowed_list:\t0-1\nvoluntary_ctxt_switches:\t1\nnonvoluntary_ctxt_switches:\t1\n"

static inline void patient_make(struct patient *p, const char *release, const char *status)
{
    memset(p, 0, sizeof *p);
    p->facts.root = SYSROOT_NONE;
    tree_make(&p->tree);
    tree_write(&p->tree, "proc/sys/kernel/osrelease", release);
    tree_write(&p->tree, "proc/self/status", status);
}

static inline void patient_forget(struct patient *p)
{
    buf_done(&p->finding.means);
    buf_done(&p->finding.detail);
    buf_done(&p->finding.remedy);
    p->finding = (struct finding){.state = TOLL_CHECK_UNKNOWN, .quality = ""};
}

static inline void patient_remove(struct patient *p)
{
    patient_forget(p);
    probe_facts_done(&p->facts);
    tree_remove(&p->tree);
}

/* Reads the facts anew, and probes. */
static inline void patient_probe(struct patient *p, probe_function *probe)
{
    patient_forget(p);
    probe_facts_done(&p->facts);
    assert_int_equal(probe_facts_read(&p->facts, p->tree.path, NULL), 0);
    probe(&p->facts, &p->finding);
}

static inline const char *patient_text(const struct buf *b)
{
    return b->data ? b->data : "";
}

#define assert_ok(p, probe, expected_detail)                                                       \
    do {                                                                                           \
        patient_probe(p, probe);                                                                   \
        assert_int_equal((p)->finding.state, TOLL_CHECK_OK);                                       \
        assert_string_equal(patient_text(&(p)->finding.detail), expected_detail);                  \
        assert_string_equal(patient_text(&(p)->finding.remedy), "");                               \
    } while (0)

#define assert_not_ok(p, probe, expected_state, expected_remedy)                                   \
    do {                                                                                           \
        patient_probe(p, probe);                                                                   \
        assert_int_equal((p)->finding.state, expected_state);                                      \
        assert_string_not_equal(patient_text(&(p)->finding.detail), "");                           \
        assert_string_equal(patient_text(&(p)->finding.remedy), expected_remedy);                  \
    } while (0)
