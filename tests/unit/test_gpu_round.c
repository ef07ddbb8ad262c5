/* SPDX-License-Identifier: MIT */
#include "source/gpu/reader.h"

#include "base/clock.h"
#include "unit.h"

#include <errno.h>
#include <stdio.h>

/* ---- Two vendors: one that does not open, one that stands for it --------------------------------
 */

static int first_result, second_closed;
static bool is_second_likely = true;
static const struct gpu_vendor *turns[8];
static unsigned turn_count;

static bool likely(const struct sysroot *root)
{
    return true;
}

static bool second_likely(const struct sysroot *root)
{
    return is_second_likely;
}

static int first_open(void **ret_state, const struct gpu_context *c, struct gpu_trouble *trouble)
{
    *ret_state = NULL;
    snprintf(trouble->sentence, sizeof trouble->sentence, "the first does not open");
    return first_result;
}

static int second_open(void **ret_state, const struct gpu_context *c, struct gpu_trouble *trouble)
{
    *ret_state = NULL;
    return 0;
}

static void add_device(void *s, struct gpu_frame *f, const pid_t *pids, size_t count,
                       struct gpu_trouble *trouble)
{
    gpu_frame_add_device(f);
    snprintf(trouble->sentence, sizeof trouble->sentence, "for %d pids", (int)count);
}

static void count_close(void *s)
{
    second_closed++;
}

static const struct gpu_vendor first = {
    .is_likely = likely,
    .open = first_open,
    .read = add_device,
    .close = count_close,
};
static const struct gpu_vendor second = {
    .is_likely = second_likely,
    .instead_of = &first,
    .open = second_open,
    .read = add_device,
    .close = count_close,
};
static const struct gpu_vendor other = {
    .is_likely = likely,
    .open = second_open,
    .read = add_device,
    .close = count_close,
};
static const struct gpu_vendor *const vendors[] = {&first, &second, NULL};

static void note_turn(void *arg, const struct gpu_vendor *vendor)
{
    turns[turn_count++ % ARRAY_LEN(turns)] = vendor;
}

static struct gpu_round make(void)
{
    turn_count = 0;
    second_closed = 0;
    return (struct gpu_round){.vendors = vendors, .turn_to = note_turn};
}

/* ---- Tests ----------------------------------------------------------------------------------- */

static void test_one_stands_for_another(void **state)
{
    struct gpu_round r = make();
    first_result = -ENODEV;
    assert_true(gpu_round_open(&r));
    assert_int_equal(r.attempt_count, 2);
    assert_string_equal(r.attempts[0].trouble.sentence, ""); /* it is made up for */
    pid_t pids[] = {1, 2};
    gpu_round_read(&r, pids, 2, false);
    assert_int_equal(r.frame.device_count, 1);
    assert_ptr_equal(r.frame.devices[0].vendor, &second);
    assert_string_equal(r.trouble.sentence, "for 2 pids");
    assert_true(turn_count == 3 && turns[0] == &first && turns[1] == &second &&
                turns[2] == &second);
    gpu_round_close(&r);
    assert_int_equal(second_closed, 1);
    gpu_frame_done(&r.frame);
}

static void test_not_where_the_other_opens(void **state)
{
    struct gpu_round r = make();
    first_result = 0;
    assert_true(gpu_round_open(&r));
    assert_ptr_equal(r.vendor, &first);
    assert_int_equal(r.attempt_count, 1);
    gpu_round_close(&r);
}

static void test_only_the_likely(void **state)
{
    struct gpu_round r = make();
    first_result = -ENODEV;
    is_second_likely = false;
    assert_false(gpu_round_open(&r));
    assert_string_equal(r.attempts[0].trouble.sentence, "the first does not open");
    gpu_round_close(&r); /* of nothing */
    r = make();
    r.all = true;
    assert_true(gpu_round_open(&r));
    gpu_round_close(&r);
    is_second_likely = true;
}

/* Vendors further down the list have a thread of their own. */
static void test_not_those_of_others(void **state)
{
    static const struct gpu_vendor *const other_way[] = {&first, &other, NULL};
    struct gpu_round r = make();
    r.vendors = other_way;
    first_result = -ENODEV;
    assert_false(gpu_round_open(&r));
    assert_int_equal(r.attempt_count, 1);
}

static void test_rounds_keep_a_distance(void **state)
{
    struct gpu_round r = make();
    first_result = 0;
    gpu_round_open(&r);
    assert_int_equal(gpu_round_begin_at(&r, 0), 0);
    uint64_t before_ns = clock_mono(NULL);
    gpu_round_read(&r, NULL, 0, false);
    assert_true(r.began_ns >= before_ns && r.frame.devices[0].read_ns >= r.began_ns);
    assert_int_equal(r.frame.devices[0].rest_ns, r.rest_ns);
    assert_true(r.rest_ns >= 100 * NS_PER_MS);
    assert_int_equal(gpu_round_begin_at(&r, r.began_ns + 1), r.began_ns + r.rest_ns);
    uint64_t due_ns = r.began_ns + 1000 * NS_PER_SECOND;
    uint64_t at_ns = gpu_round_begin_at(&r, due_ns);
    assert_true(at_ns < due_ns && at_ns > r.began_ns + r.rest_ns); /* in time, not long before */
    gpu_round_close(&r);
    gpu_frame_done(&r.frame);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_stands_for_another),
        cmocka_unit_test(test_not_where_the_other_opens),
        cmocka_unit_test(test_only_the_likely),
        cmocka_unit_test(test_not_those_of_others),
        cmocka_unit_test(test_rounds_keep_a_distance),
    };
    return RUN("gpu_round", tests);
}
