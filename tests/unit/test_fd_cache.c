/* SPDX-License-Identifier: MIT */
#include "source/kernel_file.h"

#include "tree.h"

static int some_fd(void)
{
    int fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    return fd;
}

/* As process_read_kept does it. */
static bool keep(struct fd_cache *c, struct kept_fds *k, enum kept_file file, bool changed)
{
    if (k->fds[file] >= 0 || !fd_cache_admits(c, k, changed))
        return false;
    fd_cache_keep(c, k, file, some_fd());
    return true;
}

/* The list is whole in both directions, the counts are true, every descriptor is open. */
static void check_cache(const struct fd_cache *c)
{
    unsigned used = 0;
    const struct kept_fds *newer = NULL;
    for (const struct kept_fds *k = c->newest; k; newer = k, k = k->older) {
        unsigned count = 0;
        assert_ptr_equal(k->newer, newer);
        for (unsigned i = 0; i < KEPT_FILES; i++) {
            count += k->fds[i] >= 0;
            if (k->fds[i] >= 0)
                assert_true(fcntl(k->fds[i], F_GETFD) >= 0);
        }
        assert_int_equal(count, k->count);
        assert_true(count > 0);
        used += count;
    }
    assert_ptr_equal(c->oldest, newer);
    assert_int_equal(used, c->used);
    assert_true(c->used <= c->limit);
}

static void test_limit_zero_keeps_none(void **state)
{
    struct fd_cache c;
    struct kept_fds k;
    fd_cache_init(&c, 0);
    kept_fds_init(&k);
    assert_false(fd_cache_admits(&c, &k, false));
    assert_false(fd_cache_admits(&c, &k, true));
    fd_cache_touch(&c, &k);
    fd_cache_drop(&c, &k);
    fd_cache_shrink(&c);
    assert_int_equal(c.limit, 0);
    check_cache(&c);
}

static void test_least_recently_changed_loses_first(void **state)
{
    struct fd_cache c;
    struct kept_fds k[4];
    fd_cache_init(&c, 3);
    for (unsigned i = 0; i < 4; i++)
        kept_fds_init(&k[i]);
    for (unsigned i = 0; i < 3; i++)
        assert_true(keep(&c, &k[i], KEPT_STAT, true));
    fd_cache_touch(&c, &k[0]); /* now 1 is the oldest */
    check_cache(&c);
    assert_false(keep(&c, &k[3], KEPT_STAT, false)); /* it did not change: only free room */
    assert_true(keep(&c, &k[3], KEPT_STAT, true));
    assert_int_equal(k[1].count, 0);
    assert_int_equal(k[1].fds[KEPT_STAT], -1);
    assert_int_equal(k[0].count + k[2].count + k[3].count, 3);
    check_cache(&c);
    assert_true(keep(&c, &k[3], KEPT_IO, true));
    assert_int_equal(k[2].count, 0);
    for (unsigned i = 0; i < 4; i++)
        fd_cache_drop(&c, &k[i]);
    check_cache(&c);
    assert_int_equal(c.used, 0);
}

/* One process alone does not push its own descriptors out. */
static void test_not_at_its_own_cost(void **state)
{
    struct fd_cache c;
    struct kept_fds k;
    fd_cache_init(&c, 2);
    kept_fds_init(&k);
    assert_true(keep(&c, &k, KEPT_STAT, true));
    assert_true(keep(&c, &k, KEPT_IO, true));
    assert_false(keep(&c, &k, KEPT_STATUS, true));
    assert_int_equal(k.count, 2);
    fd_cache_drop(&c, &k);
    fd_cache_drop(&c, &k);
    assert_int_equal(c.used, 0);
}

static void test_shrink(void **state)
{
    struct fd_cache c;
    struct kept_fds k[8];
    fd_cache_init(&c, 100);
    for (unsigned i = 0; i < 8; i++) {
        kept_fds_init(&k[i]);
        keep(&c, &k[i], KEPT_STAT, true);
        keep(&c, &k[i], KEPT_IO, true);
    }
    fd_cache_shrink(&c);
    assert_int_equal(c.limit, 8);
    assert_int_equal(c.used, 8);
    for (unsigned i = 0; i < 8; i++)
        assert_int_equal(k[i].count, i < 4 ? 0 : 2);
    check_cache(&c);
    while (c.used)
        fd_cache_shrink(&c);
    check_cache(&c);
    assert_null(c.oldest);
}

enum { MANY = 40 };

/* A plain model: when each process changed last. */
struct model {
    struct kept_fds k[MANY];
    uint64_t changed_at[MANY]; /* 0: keeps nothing */
    uint64_t now;
};

static void check_order(const struct fd_cache *c, const struct model *m)
{
    uint64_t newer = UINT64_MAX;
    for (const struct kept_fds *k = c->newest; k; k = k->older) {
        uint64_t at = m->changed_at[k - m->k];
        assert_true(at < newer);
        newer = at;
    }
}

static void run_random(uint64_t seed, unsigned limit)
{
    static struct model m;
    struct fd_cache c;
    m = (struct model){0};
    fd_cache_init(&c, limit);
    for (unsigned i = 0; i < MANY; i++)
        kept_fds_init(&m.k[i]);
    for (unsigned step = 0; step < 3000; step++) {
        unsigned i = (unsigned)random_below(&seed, MANY);
        struct kept_fds *k = &m.k[i];
        bool had = k->count;
        switch (random_below(&seed, 8)) {
        case 0: fd_cache_drop(&c, k); break;
        case 1:
        case 2:
            fd_cache_touch(&c, k);
            m.changed_at[i] = ++m.now;
            break;
        case 3:
            if (random_below(&seed, 100) == 0)
                fd_cache_shrink(&c);
            break;
        default:
            keep(&c, k, (enum kept_file)random_below(&seed, KEPT_FILES), step % 2);
            if (!had && k->count)
                m.changed_at[i] = ++m.now;
        }
        check_cache(&c);
        check_order(&c, &m);
    }
    for (unsigned i = 0; i < MANY; i++)
        fd_cache_drop(&c, &m.k[i]);
    assert_int_equal(c.used, 0);
    assert_null(c.newest);
}

static void test_random(void **state)
{
    unsigned before = tree_open_fds();
    for (unsigned limit = 1; limit < 200; limit += limit)
        run_random(limit, limit);
    assert_int_equal(tree_open_fds(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_limit_zero_keeps_none),
        cmocka_unit_test(test_least_recently_changed_loses_first),
        cmocka_unit_test(test_not_at_its_own_cost),
        cmocka_unit_test(test_shrink),
        cmocka_unit_test(test_random),
    };
    return RUN("fd_cache", tests);
}
