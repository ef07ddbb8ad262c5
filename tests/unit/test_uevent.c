/* SPDX-License-Identifier: MIT */
#include "source/gpu/drm.h"

#include "base/util.h"
#include "unit.h"

static const char text[] = "DRIVER=amdgpu\nPCI_CLASS=30000\nPCI_ID=1002:73BF\n"
                           "PCI_SLOT_NAME=0000:03:00.0\nEMPTY=\nODD=a\tb\n";

static int get(const char *whole, const char *key, char *ret, size_t capacity)
{
    char *copy = exact_copy(whole, strlen(whole));
    int r = parse_uevent(scan_text(copy, strlen(whole)), key, ret, capacity);
    free(copy);
    return r;
}

static void test_values(void **state)
{
    char value[32];
    assert_int_equal(get(text, "DRIVER", value, sizeof value), 0);
    assert_string_equal(value, "amdgpu");
    assert_int_equal(get(text, "PCI_SLOT_NAME", value, sizeof value), 0);
    assert_string_equal(value, "0000:03:00.0");
}

static void test_not_there(void **state)
{
    char value[32] = "before";
    assert_int_equal(get(text, "PCI", value, sizeof value), -ENODATA);
    assert_int_equal(get("", "DRIVER", value, sizeof value), -ENODATA);
    assert_int_equal(get("DRIVER=xe", "DRIVER", value, sizeof value), -ENODATA); /* cut */
    assert_string_equal(value, "before");
}

static void test_not_as_expected(void **state)
{
    char value[8] = "before";
    assert_int_equal(get(text, "EMPTY", value, sizeof value), -EBADMSG);
    assert_int_equal(get(text, "ODD", value, sizeof value), -EBADMSG);
    assert_int_equal(get(text, "PCI_ID", value, sizeof value), -EBADMSG);
    assert_string_equal(value, "before");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_values),
        cmocka_unit_test(test_not_there),
        cmocka_unit_test(test_not_as_expected),
    };
    return RUN("uevent", tests);
}
