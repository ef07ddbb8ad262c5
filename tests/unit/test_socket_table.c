/* SPDX-License-Identifier: MIT */
#include "source/net/sockets.h"

#include "unit.h"

static void round_of(struct socket_table *t, uint64_t cookie, uint32_t inode, uint64_t received,
                     uint64_t sent)
{
    socket_table_begin(t);
    if (cookie)
        socket_table_see(t, cookie, inode, received, sent);
    socket_table_end(t, true);
}

static void assert_total(const struct socket_table *t, unsigned target, uint64_t received,
                         uint64_t sent)
{
    assert_int_equal(t->received_bytes[target], received);
    assert_int_equal(t->sent_bytes[target], sent);
}

static unsigned count(const struct socket_table *t)
{
    unsigned n = 0;
    for (uint32_t i = 0; i < t->used; i++)
        n += t->sockets[i].round != 0;
    return n;
}

static void test_from_birth_to_last_words(void **state)
{
    (void)state;
    struct socket_table t = {0};
    round_of(&t, 1, 100, 10, 20);
    assert_total(&t, 0, 0, 0);
    socket_table_own(&t, 100, BIT(0));
    assert_total(&t, 0, 10, 20);
    round_of(&t, 1, 100, 15, 20);
    assert_total(&t, 0, 15, 20);
    round_of(&t, 1, 0, 16, 30); /* closed, and still sending */
    socket_table_closed(&t, 1, 16, 44);
    assert_total(&t, 0, 16, 44);
    assert_int_equal(count(&t), 0);
    assert_int_equal(t.by_cookie.count + t.by_inode.count, 0);
    socket_table_done(&t);
}

static void test_never_falls(void **state)
{
    (void)state;
    struct socket_table t = {0};
    round_of(&t, 1, 100, 10, 20);
    socket_table_own(&t, 100, BIT(0));
    round_of(&t, 1, 100, 3, 4);
    assert_total(&t, 0, 10, 20);
    socket_table_closed(&t, 1, 0, 0);
    assert_total(&t, 0, 10, 20);
    socket_table_done(&t);
}

static void test_shared(void **state)
{
    (void)state;
    struct socket_table t = {0};
    round_of(&t, 1, 100, 10, 20);
    socket_table_own(&t, 100, BIT(0) | BIT(63));
    socket_table_own(&t, 100, BIT(0)); /* another process of it */
    assert_total(&t, 0, 10, 20);
    assert_true(socket_table_can_own(&t, BIT(1)));
    socket_table_own(&t, 100, BIT(1) | BIT(63));
    assert_false(socket_table_can_own(&t, BIT(1)));
    round_of(&t, 1, 100, 11, 22);
    assert_total(&t, 0, 11, 22);
    assert_total(&t, 1, 11, 22);
    assert_total(&t, 63, 11, 22);
    assert_total(&t, 2, 0, 0);
    socket_table_done(&t);
}

static void test_count_from_now(void **state)
{
    (void)state;
    struct socket_table t = {0};
    socket_table_begin(&t);
    socket_table_see(&t, 1, 100, 10, 20);
    socket_table_see(&t, 2, 200, 10, 20);
    socket_table_count_from_now(&t, 100);
    socket_table_count_from_now(&t, 300);
    socket_table_own(&t, 100, BIT(0));
    socket_table_own(&t, 200, BIT(1));
    assert_total(&t, 0, 0, 0);
    assert_total(&t, 1, 10, 20);
    socket_table_see(&t, 1, 100, 11, 25);
    assert_total(&t, 0, 1, 5);
    socket_table_count_all_from_now(&t);
    socket_table_own(&t, 200, BIT(2));
    assert_total(&t, 2, 0, 0);
    socket_table_done(&t);
}

static void test_accepted_later(void **state)
{
    (void)state;
    struct socket_table t = {0};
    round_of(&t, 1, 0, 10, 0);
    assert_int_equal(t.appeared, 0);
    assert_false(socket_table_can_own(&t, BIT(0)));
    socket_table_own(&t, 0, BIT(0));
    assert_total(&t, 0, 0, 0);
    round_of(&t, 1, 100, 12, 0);
    assert_int_equal(t.appeared, 1);
    socket_table_own(&t, 100, BIT(0));
    assert_total(&t, 0, 12, 0);
    round_of(&t, 1, 100, 12, 0);
    assert_int_equal(t.appeared, 1);
    socket_table_done(&t);
}

static void test_unseen_is_nobodys(void **state)
{
    (void)state;
    struct socket_table t = {0};
    socket_table_closed(&t, 7, 1000, 1000);
    socket_table_own(&t, 7, BIT(0));
    assert_total(&t, 0, 0, 0);
    socket_table_done(&t);
}

/* A socket of a target may be out of every dump for long and still have last words. */
static void test_waits_for_last_words(void **state)
{
    (void)state;
    struct socket_table t = {0};
    socket_table_begin(&t);
    socket_table_see(&t, 1, 100, 10, 20);
    socket_table_see(&t, 2, 200, 10, 20);
    socket_table_end(&t, true);
    socket_table_own(&t, 100, BIT(0));
    assert_false(socket_table_waits(&t));
    for (unsigned i = 0; i < 100; i++)
        round_of(&t, 0, 0, 0, 0);
    assert_true(socket_table_waits(&t));
    assert_int_equal(count(&t), 1);
    socket_table_closed(&t, 1, 11, 21);
    assert_total(&t, 0, 11, 21);
    assert_false(socket_table_waits(&t));
    socket_table_done(&t);
}

static void test_without_last_words(void **state)
{
    (void)state;
    struct socket_table t = {0};
    round_of(&t, 1, 100, 10, 20);
    socket_table_own(&t, 100, BIT(0));
    for (unsigned i = 0; i < 100; i++) {
        socket_table_begin(&t);
        socket_table_end(&t, false);
    }
    assert_int_equal(count(&t), 0);
    assert_total(&t, 0, 10, 20);
    socket_table_done(&t);
}

/* Many thousands that never have last words: the memory stays small. */
static void test_bounded(void **state)
{
    (void)state;
    struct socket_table t = {0};
    for (uint32_t i = 1; i <= 100000; i++) {
        socket_table_begin(&t);
        socket_table_see(&t, i, i, 1, 2);
        socket_table_own(&t, i, BIT(0));
        if (i % 64 == 0)
            socket_table_end(&t, true);
    }
    socket_table_end(&t, true);
    assert_true(count(&t) < 8192);
    assert_true(t.capacity <= 8192);
    assert_total(&t, 0, 100000, 200000);
    socket_table_done(&t);
}

/* Cookies that fold to one number hang together; any of them can go first. */
static void test_same_place(void **state)
{
    (void)state;
    static const uint64_t cookies[] = {5, UINT64_C(0x100000004), UINT64_C(0x200000007), 1,
                                       UINT64_C(0x700000007)};
    for (unsigned first = 0; first < ARRAY_LEN(cookies); first++) {
        struct socket_table t = {0};
        socket_table_begin(&t);
        for (unsigned i = 0; i < ARRAY_LEN(cookies); i++) {
            socket_table_see(&t, cookies[i], 100 + i, 10 + i, 0);
            socket_table_own(&t, 100 + i, BIT(i));
        }
        for (unsigned i = 0; i < ARRAY_LEN(cookies); i++) {
            unsigned which = (first + 3 * i) % ARRAY_LEN(cookies);
            socket_table_closed(&t, cookies[which], 20 + which, 0);
            assert_total(&t, which, 20 + which, 0);
        }
        assert_int_equal(count(&t), 0);
        assert_int_equal(t.by_cookie.count + t.by_inode.count, 0);
        socket_table_done(&t);
    }
}

/* The inode of a socket that is gone is used again: the new one has it. */
static void test_inode_used_again(void **state)
{
    (void)state;
    struct socket_table t = {0};
    round_of(&t, 1, 100, 10, 0);
    socket_table_own(&t, 100, BIT(0));
    round_of(&t, 2, 100, 5, 0);
    socket_table_own(&t, 100, BIT(1));
    socket_table_closed(&t, 1, 12, 0);
    socket_table_own(&t, 100, BIT(2));
    assert_total(&t, 0, 12, 0);
    assert_total(&t, 1, 5, 0);
    assert_total(&t, 2, 5, 0);
    socket_table_done(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_from_birth_to_last_words),
        cmocka_unit_test(test_never_falls),
        cmocka_unit_test(test_shared),
        cmocka_unit_test(test_count_from_now),
        cmocka_unit_test(test_accepted_later),
        cmocka_unit_test(test_unseen_is_nobodys),
        cmocka_unit_test(test_waits_for_last_words),
        cmocka_unit_test(test_without_last_words),
        cmocka_unit_test(test_bounded),
        cmocka_unit_test(test_same_place),
        cmocka_unit_test(test_inode_used_again),
    };
    return RUN("socket_table", tests);
}
