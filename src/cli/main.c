/* SPDX-License-Identifier: MIT */
#include "base/util.h"
#include "cli/cli.h"

#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

const struct subcommand subcommands[] = {
    {"run", "[options] [--] COMMAND [ARGUMENT…]", "run a command and tell what it used", run_main,
     false},
    {"metrics", "[--json | --markdown]", "list what can be measured", metrics_main, false},
    {"help", "[SUBCOMMAND]", "explain toll or one of its subcommands", help_main, false},
    {"completion", "bash | zsh | fish", "print a shell's completion script", completion_main, true},
    {"replay", "[options] DIRECTORY", "measure a recorded run instead of a live one", replay_main,
     true},
    {0},
};

int complain(const char *format, ...)
{
    char sentence[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(sentence, sizeof sentence, format, args);
    va_end(args);
    for (char *c = sentence; *c; c++) /* it may quote what somebody else wrote */
        if ((unsigned char)*c < 0x20 || *c == 0x7F)
            *c = '?';
    fprintf(stderr, "toll: %s\n", sentence);
    return EXIT_TOLL;
}

int print(struct buf *b)
{
    bool written = !buf_failed(b) && fwrite(b->data, 1, b->length, stdout) == b->length &&
                   fflush(stdout) == 0;
    buf_done(b);
    return written ? 0 : complain("cannot write to stdout");
}

/* A closed standard stream must not become the next file that is opened: what is said to people
 * would end up in it. The command still finds it closed. */
static void fill_standard_streams(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR | O_CLOEXEC) < 0)
            return;
}

int main(int argc, char **argv)
{
    fill_standard_streams();
    if (argc < 2) {
        fputs("usage: toll run [options] [--] COMMAND…     ('toll help' tells more)\n", stderr);
        return EXIT_TOLL;
    }
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "-V") == 0) {
        printf("toll %s\n", toll_version());
        return 0;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
        return help_main(1, argv + 1);
    for (const struct subcommand *s = subcommands; s->name; s++)
        if (strcmp(argv[1], s->name) == 0)
            return s->main(argc - 1, argv + 1);
    return complain("'%s' is not a subcommand; to measure it: toll run -- %s; 'toll help' lists "
                    "the subcommands",
                    argv[1], argv[1]);
}
