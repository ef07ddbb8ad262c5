/* SPDX-License-Identifier: MIT
 * toll system: measure the whole machine. */
#include "cli/observe.h"

int system_main(int argc, char **argv)
{
    struct session s;
    struct toll_error e = {0};
    int status;
    if (session_open(&s, argc, argv, &status) == 0) {
        if (s.settings.words)
            status = complain("toll system takes options only, not '%s'; 'toll help system' lists "
                              "them",
                              s.settings.words[0]);
        else if (observe_attach(&s, &e) < 0)
            status = complain("%s", e.message);
        else
            status = observe(&s);
    }
    session_close(&s);
    return status;
}
