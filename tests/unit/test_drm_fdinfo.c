/* SPDX-License-Identifier: MIT */
#include "source/gpu/drm.h"

#include "base/util.h"
#include "unit.h"

#include <stdio.h>

static const char amdgpu[] = "pos:\t0\n"
                             "flags:\t02100002\n"
                             "mnt_id:\t27\n"
                             "ino:\t1041\n"
                             "drm-driver:\tamdgpu\n"
                             "drm-client-id:\t141\n"
                             "drm-pdev:\t0000:0A:00.0\n"
                             "pasid:\t32781\n"
                             "drm-memory-vram:\t2048 KiB\n"
                             "drm-memory-gtt: \t1024 KiB\n"
                             "drm-memory-cpu: \t0 KiB\n"
                             "amd-memory-visible-vram:\t2048 KiB\n"
                             "drm-engine-gfx:\t28301 ns\n"
                             "drm-engine-compute:\t9 ns\n"
                             "drm-engine-enc_1:\t0 ns\n";

static const char i915[] = "drm-driver: i915\n"
                           "drm-client-id: 39\n"
                           "drm-pdev: 0000:00:02.0\n"
                           "drm-total-system0: 6044 KiB\n"
                           "drm-shared-system0: 0\n"
                           "drm-active-system0: 0\n"
                           "drm-resident-system0: 6040 KiB\n"
                           "drm-purgeable-system0: 1688 KiB\n"
                           "drm-total-stolen-system0: 5\n"
                           "drm-engine-render: 9288864723 ns\n"
                           "drm-engine-video: 7 ns\n"
                           "drm-engine-capacity-video: 2\n"
                           "drm-engine-video-enhance: 0 ns\n";

static const char xe[] = "drm-driver:\txe\n"
                         "drm-client-id:\t3\n"
                         "drm-pdev:\t0000:03:00.0\n"
                         "drm-total-gtt:\t192 KiB\n"
                         "drm-total-vram0:\t23992 KiB\n"
                         "drm-shared-vram0:\t16 MiB\n"
                         "drm-resident-vram0:\t16 MiB\n"
                         "drm-resident-vram1:\t4096\n"
                         "drm-cycles-rcs:\t28257900\n"
                         "drm-total-cycles-rcs:\t7655183225\n"
                         "drm-cycles-vcs:\t0\n"
                         "drm-total-cycles-vcs:\t7655183225\n"
                         "drm-engine-capacity-vcs:\t2\n";

static bool same(const struct drm_fdinfo *whole, const struct drm_fdinfo *cut)
{
    /* Fewer lines, but those that are there say the same. */
    bool is_same = strcmp(whole->driver, cut->driver) == 0 && whole->client == cut->client;
    for (unsigned i = 0; i < cut->engine_count; i++) {
        const struct drm_engine *a = &whole->engines[i], *b = &cut->engines[i];
        is_same &= strcmp(a->name, b->name) == 0;
        is_same &= !b->has_busy || a->busy_ns == b->busy_ns;
        is_same &= !b->has_cycles || a->cycles == b->cycles;
        is_same &= !b->has_total || a->total_cycles == b->total_cycles;
    }
    for (unsigned i = 0; i < cut->region_count; i++) {
        const struct drm_region *a = &whole->regions[i], *b = &cut->regions[i];
        is_same &= !b->has_total || a->total_bytes == b->total_bytes;
        is_same &= !b->has_resident || a->resident_bytes == b->resident_bytes;
    }
    return is_same;
}

static int parse_n(const char *text, size_t length, struct drm_fdinfo *ret)
{
    char *copy = exact_copy(text, length);
    memset(ret, UNTOUCHED, sizeof *ret);
    int r = parse_drm_fdinfo(scan_text(copy, length), ret);
    free(copy);
    assert_true(r == 0 || is_untouched(ret, sizeof *ret));
    return r;
}

static int parse(const char *text, struct drm_fdinfo *ret)
{
    return parse_n(text, strlen(text), ret);
}

static void test_amdgpu(void **state)
{
    struct drm_fdinfo d;
    uint64_t bytes;
    assert_int_equal(parse(amdgpu, &d), 0);
    assert_string_equal(d.driver, "amdgpu");
    assert_string_equal(d.pci, "0000:0a:00.0");
    assert_int_equal(d.client, 141);
    assert_int_equal(d.engine_count, 3);
    assert_string_equal(d.engines[0].name, "gfx");
    assert_true(d.engines[0].has_busy && !d.engines[0].has_cycles);
    assert_int_equal(d.engines[0].busy_ns, 28301);
    assert_int_equal(d.engines[0].capacity, 1);
    assert_string_equal(d.engines[2].name, "enc_1");
    assert_true(drm_fdinfo_memory(&d, &bytes));
    assert_int_equal(bytes, 2048 * 1024); /* what is on the card alone */
}

static void test_i915(void **state)
{
    struct drm_fdinfo d;
    uint64_t bytes;
    assert_int_equal(parse(i915, &d), 0);
    assert_string_equal(d.pci, "0000:00:02.0");
    assert_int_equal(d.engine_count, 3);
    assert_int_equal(d.engines[0].busy_ns, 9288864723);
    assert_string_equal(d.engines[1].name, "video");
    assert_int_equal(d.engines[1].capacity, 2);
    assert_string_equal(d.engines[2].name, "video-enhance");
    assert_true(drm_fdinfo_memory(&d, &bytes));
    assert_int_equal(bytes, 6040 * 1024); /* resident, of the machine: it has none of its own */
}

static void test_xe(void **state)
{
    struct drm_fdinfo d;
    uint64_t bytes;
    assert_int_equal(parse(xe, &d), 0);
    assert_int_equal(d.engine_count, 2);
    assert_true(d.engines[0].has_cycles && d.engines[0].has_total && !d.engines[0].has_busy);
    assert_int_equal(d.engines[0].cycles, 28257900);
    assert_int_equal(d.engines[0].total_cycles, 7655183225);
    assert_int_equal(d.engines[1].capacity, 2);
    assert_true(drm_fdinfo_memory(&d, &bytes));
    assert_int_equal(bytes, (16 << 20) + 4096);
}

static void test_older_kernels(void **state)
{
    struct drm_fdinfo d;
    uint64_t bytes;
    /* Linux 5.19: no memory. */
    assert_int_equal(parse("drm-driver: i915\ndrm-client-id: 1\ndrm-engine-render: 5 ns\n", &d), 0);
    assert_string_equal(d.pci, "");
    assert_false(drm_fdinfo_memory(&d, &bytes));
    /* Total alone. */
    assert_int_equal(parse("drm-driver: i915\ndrm-client-id: 1\ndrm-total-local0: 3 MiB\n", &d), 0);
    assert_true(drm_fdinfo_memory(&d, &bytes));
    assert_int_equal(bytes, 3 << 20);
    /* Both names of one figure: the later line says the same. */
    assert_int_equal(parse("drm-driver: amdgpu\ndrm-client-id: 1\ndrm-memory-vram: 4 KiB\n"
                           "drm-total-vram: 8 KiB\ndrm-resident-vram: 4 KiB\n",
                           &d),
                     0);
    assert_true(drm_fdinfo_memory(&d, &bytes));
    assert_int_equal(bytes, 4096);
}

static void test_not_of_a_gpu(void **state)
{
    struct drm_fdinfo d;
    assert_int_equal(parse("", &d), -ENODATA);
    assert_int_equal(parse("pos:\t0\nflags:\t02\nmnt_id:\t15\n", &d), -ENODATA);
    assert_int_equal(parse("drm-driver: ast\n", &d), -ENODATA); /* it does not tell clients apart */
    assert_int_equal(parse("drm-client-id: 7\n", &d), -ENODATA);
}

static void test_garbage(void **state)
{
    static const char *const lines[] = {
        "drm-client-id: x\n",
        "drm-client-id:\n",
        "drm-client-id: 99999999999999999999\n",
        "drm-driver: two words\n",
        "drm-driver: a-name-that-is-far-too-long-to-be-one\n",
        "drm-engine-gfx: 5\n",
        "drm-engine-gfx: 5 s\n",
        "drm-engine-gfx: ns\n",
        "drm-engine-gfx 5 ns\n",
        "drm-engine-: 5 ns\n",
        "drm-engine-\x01: 5 ns\n",
        "drm-engine-gfx: -5 ns\n",
        "drm-engine-capacity-gfx: 0\n",
        "drm-engine-capacity-gfx: x\n",
        "drm-cycles-rcs: 5 ns\n",
        "drm-total-cycles-rcs:\n",
        "drm-memory-vram: 5 kB\n",
        "drm-memory-vram: 18014398509481984 KiB\n",
        "drm-resident-vram: KiB\n",
        "drm-total-vram: 5 KiB 6\n",
    };
    for (size_t i = 0; i < ARRAY_LEN(lines); i++) {
        char text[256];
        struct drm_fdinfo d;
        snprintf(text, sizeof text, "drm-driver: xe\ndrm-client-id: 1\n%s", lines[i]);
        assert_int_equal(parse(text, &d), -EBADMSG);
    }
}

static void test_more_than_fits(void **state)
{
    char text[4096] = "drm-driver: xe\ndrm-client-id: 1\n";
    for (int i = 0; i < 2 * DRM_ENGINES; i++) {
        size_t length = strlen(text);
        snprintf(text + length, sizeof text - length,
                 "drm-engine-e%d: %d ns\ndrm-engine-capacity-e%d: 2\ndrm-memory-vram%d: 1\n"
                 "drm-total-vram%d: 1\ndrm-cycles-e%d: 1\ndrm-total-cycles-e%d: 1\n",
                 i, i, i, i, i, i, i);
    }
    struct drm_fdinfo d;
    assert_int_equal(parse(text, &d), 0);
    assert_int_equal(d.engine_count, DRM_ENGINES);
    assert_int_equal(d.region_count, DRM_REGIONS);
    assert_int_equal(d.engines[DRM_ENGINES - 1].busy_ns, DRM_ENGINES - 1);
}

static void test_cut_short(void **state)
{
    static const char *const texts[] = {amdgpu, i915, xe};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++) {
        struct drm_fdinfo whole, cut;
        assert_int_equal(parse(texts[i], &whole), 0);
        for (size_t length = 0; length < strlen(texts[i]); length++) {
            int r = parse_n(texts[i], length, &cut);
            assert_true(r == -ENODATA || (r == 0 && same(&whole, &cut)));
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_amdgpu),
        cmocka_unit_test(test_i915),
        cmocka_unit_test(test_xe),
        cmocka_unit_test(test_older_kernels),
        cmocka_unit_test(test_not_of_a_gpu),
        cmocka_unit_test(test_garbage),
        cmocka_unit_test(test_more_than_fits),
        cmocka_unit_test(test_cut_short),
    };
    return RUN("drm_fdinfo", tests);
}
