/* SPDX-License-Identifier: MIT
 * toll replay: the same figures and outputs from a recorded run, for tests and bug reports. */
#include "cli/session.h"

int replay_main(int argc, char **argv)
{
    struct session s;
    int status;
    setenv("TOLL_GPUS", "none", 0); /* those of this machine have nothing to do with it */
    if (session_open(&s, argc, argv, &status) != 0) {
        session_close(&s);
        return status;
    }
    struct toll_error e = {0};
    struct toll_end end = {.size = sizeof end};
    status = 0;
    const char **words = s.settings.words;
    const char *directory = words && words[0] && !words[1] ? words[0] : NULL;
    if (!directory)
        status = complain("toll replay takes the directory of one recorded run");
    else if (toll_tracker_replay(s.tracker, directory, &e) < 0)
        status = complain("%s", e.message);
    if (status == 0) {
        int r;
        while ((r = toll_tracker_step(s.tracker)) > 0)
            ;
        session_finish(&s, &end);
        if (r < 0)
            status = complain("the script of '%s' is not as expected", directory);
    }
    session_close(&s);
    return status;
}
