/* SPDX-License-Identifier: MIT */
#include "source/gpu/vendor.h"

#include "unit.h"

#include <stdio.h>

static void say(struct gpu_sentences *s, const char *text)
{
    struct gpu_trouble trouble;
    snprintf(trouble.sentence, sizeof trouble.sentence, "%s", text);
    gpu_sentences_say(s, &trouble);
}

static void expect(struct gpu_sentences *s, const char *text)
{
    struct gpu_trouble told;
    assert_true(gpu_sentences_tell(s, &told));
    assert_string_equal(told.sentence, text);
}

static void test_once_each(void **state)
{
    struct gpu_sentences s = {0};
    struct gpu_trouble none;
    say(&s, "");
    assert_false(gpu_sentences_tell(&s, &none));
    say(&s, "one");
    say(&s, "two");
    say(&s, "one");
    expect(&s, "one");
    expect(&s, "two");
    say(&s, "two");
    assert_false(gpu_sentences_tell(&s, &none));
}

static void test_lost(void **state)
{
    static const struct gpu_vendor vendor = {.people = "Lossy", .lost = "it ran away"};
    struct gpu_device d = {.facts = {.index = 2, .pci = "0000:02:00.0"}, .vendor = &vendor};
    struct gpu_sentences s = {0};
    gpu_sentences_say_lost(&s, &d);
    expect(&s, "Lossy's GPU 2 (0000:02:00.0) is lost: it ran away, and its figures end here");
    snprintf(d.facts.uuid, sizeof d.facts.uuid, "GPU-2");
    gpu_sentences_say_lost(&s, &d);
    expect(&s, "Lossy's GPU 2 (GPU-2) is lost: it ran away, and its figures end here");
}

static void test_many(void **state)
{
    struct gpu_sentences s = {0};
    struct gpu_trouble told;
    unsigned count = 0;
    for (unsigned i = 0; i < 1000; i++) {
        char text[16];
        snprintf(text, sizeof text, "%u", i);
        say(&s, text);
    }
    while (gpu_sentences_tell(&s, &told))
        count++;
    assert_int_equal(count, ARRAY_LEN(s.said));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_once_each),
        cmocka_unit_test(test_lost),
        cmocka_unit_test(test_many),
    };
    return RUN("gpu_sentences", tests);
}
