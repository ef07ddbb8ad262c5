/* SPDX-License-Identifier: MIT */
#include "cli/color.h"

#include "base/util.h"

bool color_is_wanted(int fd)
{
    const char *no_color = getenv("NO_COLOR");
    const char *term = getenv("TERM");
    return isatty(fd) && !(no_color && *no_color) && term && strcmp(term, "dumb") != 0;
}
