/* SPDX-License-Identifier: MIT
 * Whether what is written to a descriptor may have colours: a terminal, and nobody minds. */
#pragma once

#include <stdbool.h>

bool color_is_wanted(int fd);
