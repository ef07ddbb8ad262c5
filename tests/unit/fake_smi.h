/* SPDX-License-Identifier: MIT
 * The fakes of vendors' commands (tests/fakes/smi) in the place of the machine's own. */
#pragma once

#include "base/util.h"
#include "figures.h"
#include "source/gpu/helper.h"
#include "source/gpu/vendor.h"
#include "tree.h"

#include <sys/wait.h>

struct fake_smi {
    struct sysroot root;
    struct gpu_helpers helpers;
    struct gpu_context context;
    const struct gpu_vendor *vendor; /* NULL when none is open */
    void *state;
    struct gpu_frame frame;
    struct gpu_trouble trouble;
    char *path; /* as it was */
};

/* folder: smi, smi-rocm, or one that is not there. */
static inline void fake_smi_make(struct fake_smi *x, const char *folder, const char *driver,
                                 const char *trouble)
{
    char path[1024];
    *x = (struct fake_smi){.root = SYSROOT_NONE};
    assert_int_equal(sysroot_open(&x->root, NULL, NULL), 0);
    gpu_helpers_init(&x->helpers);
    x->context = (struct gpu_context){.root = &x->root, .helpers = &x->helpers};
    x->path = strdup(getenv("PATH"));
    assert_non_null(x->path);
    snprintf(path, sizeof path, "%s/%s:/usr/bin:/bin", FAKE_COMMANDS, folder);
    setenv("PATH", path, 1);
    setenv("FAKE_SMI_DRIVER", driver, 1);
    setenv("FAKE_SMI_TROUBLE", trouble, 1);
    setenv("FAKE_SMI_PID", "81231", 1);
}

static inline int fake_smi_open(struct fake_smi *x, const struct gpu_vendor *vendor)
{
    int r = vendor->open(&x->state, &x->context, &x->trouble);
    x->vendor = r == 0 ? vendor : NULL;
    return r;
}

static inline void fake_smi_read(struct fake_smi *x)
{
    *x->trouble.sentence = '\0';
    gpu_frame_clear(&x->frame);
    x->vendor->read(x->state, &x->frame, NULL, 0, &x->trouble);
}

static inline void fake_smi_remove(struct fake_smi *x)
{
    if (x->vendor)
        x->vendor->close(x->state);
    assert_int_equal(waitpid(-1, NULL, WNOHANG | __WALL), -1); /* nobody is left */
    gpu_frame_done(&x->frame);
    gpu_helpers_done(&x->helpers);
    sysroot_close(&x->root);
    setenv("PATH", x->path, 1);
    free(x->path);
}
