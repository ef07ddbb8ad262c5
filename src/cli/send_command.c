/* SPDX-License-Identifier: MIT
 * toll send: what an output could not send, later. */
#include "base/utf8.h"
#include "cli/cli.h"
#include "cli/help.h"

#include <stdio.h>
#include <string.h>

int send_main(int argc, char **argv)
{
    const char *words[2] = {NULL, NULL};
    int count = 0;
    bool options = true;
    for (int i = 1; i < argc; i++) {
        if (options && strcmp(argv[i], "--") == 0) {
            options = false;
            continue;
        }
        if (options && (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0))
            return help_subcommand("send");
        if (options && argv[i][0] == '-' && argv[i][1])
            return complain("toll send has no option %s; there is --help", argv[i]);
        if (count == 2)
            return complain("'%s' is too much; toll send takes SPOOL [DESTINATION]", argv[i]);
        words[count++] = argv[i];
    }
    if (!count)
        return complain("a word is missing; toll send takes SPOOL [DESTINATION]");
    struct toll_sent sent = {.size = sizeof sent};
    struct toll_error e;
    int r = toll_send(words[0], words[1], &sent, &e);
    if (r < 0)
        return complain("%s", e.message);
    text_make_printable(sent.run); /* a server has named it */
    const char *to = *sent.run ? " to run " : "";
    if (sent.points_before)
        printf("sent %llu of %llu points%s%s; %llu were there already\n",
               (unsigned long long)sent.points,
               (unsigned long long)(sent.points + sent.points_before), to, sent.run,
               (unsigned long long)sent.points_before);
    else
        printf("%llu sample%s sent%s%s\n", (unsigned long long)sent.samples,
               sent.samples == 1 ? "" : "s", to, sent.run);
    return 0;
}
