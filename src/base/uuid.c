/* SPDX-License-Identifier: MIT */
#include "base/uuid.h"

#include "base/clock.h"
#include "base/util.h"

#include <string.h>
#include <sys/random.h>
#include <unistd.h>

/* Early after booting the kernel may have no random bits yet, and waiting for them would hold up a
 * job. The process and its clocks are unlike those of any other process of this machine. */
static void uuid_fill_random(uint8_t ret[UUID_RANDOM_BYTES])
{
    if (getrandom(ret, UUID_RANDOM_BYTES, GRND_NONBLOCK) == UUID_RANDOM_BYTES)
        return;
    uint64_t state = (uint64_t)getpid() << 32 ^ clock_mono(NULL) ^ clock_real(NULL) << 20 ^
                     (uint64_t)(uintptr_t)&state;
    for (size_t i = 0; i < UUID_RANDOM_BYTES; i++) {
        state = state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
        ret[i] = (uint8_t)(state >> 56);
    }
}

void uuid_make(char ret[UUID_BYTES], uint64_t real_ns, const uint8_t random[UUID_RANDOM_BYTES])
{
    static const char digits[] = "0123456789abcdef";
    uint8_t bytes[16];
    uint64_t ms = real_ns / NS_PER_MS;
    for (unsigned i = 0; i < 6; i++)
        bytes[i] = (uint8_t)(ms >> (40 - 8 * i));
    if (random)
        memcpy(bytes + 6, random, UUID_RANDOM_BYTES);
    else
        uuid_fill_random(bytes + 6);
    bytes[6] = (uint8_t)(0x70 | (bytes[6] & 0x0F)); /* version 7 */
    bytes[8] = (uint8_t)(0x80 | (bytes[8] & 0x3F)); /* variant of RFC 9562 */
    for (unsigned i = 0; i < sizeof bytes; i++) {
        *ret++ = digits[bytes[i] >> 4];
        *ret++ = digits[bytes[i] & 15];
        if (i == 3 || i == 5 || i == 7 || i == 9)
            *ret++ = '-';
    }
    *ret = '\0';
}

bool uuid_is(const char *text, size_t length)
{
    if (length != UUID_BYTES - 1)
        return false;
    for (size_t i = 0; i < length; i++) {
        bool is_dash = i == 8 || i == 13 || i == 18 || i == 23;
        if (is_dash ? text[i] != '-'
                    : !((text[i] >= '0' && text[i] <= '9') || (text[i] >= 'a' && text[i] <= 'f')))
            return false;
    }
    return true;
}
