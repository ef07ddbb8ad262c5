/* SPDX-License-Identifier: MIT
 * The fake of NVIDIA's library (tests/fakes/nvml.c) and what it is told. */
#pragma once

#include "source/gpu/vendor.h"
#include "tree.h"

#include <dlfcn.h>

struct fake_nvml {
    struct tree tree;
    struct sysroot root;
    struct gpu_context context;
    struct gpu_trouble trouble;
    void *library;
    void *state; /* of the vendor */
    struct gpu_frame frame;
};

/* From now on it is a machine of which that is true; a thread that reads it sees no half of it. */
static inline void fake_nvml_say(struct fake_nvml *f, const char *facts)
{
    char path[512], new[512];
    tree_write(&f->tree, "nvml.new", facts);
    tree_path(&f->tree, path, "nvml");
    assert_int_equal(rename(tree_path(&f->tree, new, "nvml.new"), path), 0);
    setenv("FAKE_NVML", path, 1);
}

/* variant: nvml, nvml-old or nvml-stub. It is loaded by its path here: the loader then finds it by
 * its name. */
static inline void fake_nvml_make(struct fake_nvml *f, const char *variant, const char *facts)
{
    char path[512];
    *f = (struct fake_nvml){.context.root = &f->root};
    tree_make(&f->tree);
    tree_write(&f->tree, "proc/version", "Linux\n");
    assert_int_equal(sysroot_open(&f->root, f->tree.path, NULL), 0);
    snprintf(path, sizeof path, "%s/%s/libnvidia-ml.so.1", FAKES, variant);
    f->library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    assert_non_null(f->library);
    fake_nvml_say(f, facts);
}

static inline int fake_nvml_open(struct fake_nvml *f)
{
    f->trouble.sentence[0] = '\0';
    return gpu_vendor_nvml.open(&f->state, &f->context, &f->trouble);
}

static inline void fake_nvml_read(struct fake_nvml *f, const pid_t *pids, size_t count)
{
    f->trouble.sentence[0] = '\0';
    gpu_frame_clear(&f->frame);
    gpu_vendor_nvml.read(f->state, &f->frame, pids, count, &f->trouble);
}

static inline void fake_nvml_remove(struct fake_nvml *f)
{
    gpu_vendor_nvml.close(f->state);
    gpu_frame_done(&f->frame);
    dlclose(f->library);
    sysroot_close(&f->root);
    tree_remove(&f->tree);
}
