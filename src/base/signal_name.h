/* SPDX-License-Identifier: MIT
 * Signals by name, whatever the C library offers. */
#pragma once

/* "TERM" for 15; NULL for numbers without a name of their own, such as real-time signals. */
const char *signal_name(int number);
