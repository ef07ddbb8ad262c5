/* SPDX-License-Identifier: MIT
 * Command lines for the tests of options. */
#pragma once

#include "base/util.h"
#include "cli/options.h"
#include "tree.h"

const struct subcommand subcommands[] = {
    {.name = "run", .options = FOR_RUN},
    {.name = "attach", .options = FOR_ATTACH},
    {.name = "system", .options = FOR_SYSTEM},
    {0},
};

/* What came of a command line. */
struct parsed {
    struct settings s;
    struct toll_error e;
    int result;
    int rest; /* words that are no options, from here on */
};

static inline void parse_words(struct parsed *p, int argc, char **argv)
{
    *p = (struct parsed){.rest = -1};
    p->result = options_read(&p->s, argc, argv, &p->rest, &p->e);
}

/* PARSE(&p, "-q", "make"), or of another subcommand PARSE_LINE(&p, "attach", "-q", "1") */
#define PARSE(p, ...) PARSE_LINE(p, "run", __VA_ARGS__)
#define PARSE_LINE(p, ...)                                                                         \
    do {                                                                                           \
        const char *words_[] = {__VA_ARGS__};                                                      \
        char *argv_[ARRAY_LEN(words_) + 1] = {0};                                                  \
        for (size_t i_ = 0; i_ < ARRAY_LEN(words_); i_++)                                          \
            argv_[i_] = strdupa(words_[i_]);                                                       \
        parse_words(p, ARRAY_LEN(words_), argv_);                                                  \
    } while (0)

#define ACCEPT(p, ...) ACCEPT_LINE(p, "run", __VA_ARGS__)
#define ACCEPT_LINE(p, ...)                                                                        \
    do {                                                                                           \
        PARSE_LINE(p, __VA_ARGS__);                                                                \
        assert_string_equal((p)->e.message, "");                                                   \
        assert_int_equal((p)->result, 0);                                                          \
    } while (0)

/* Refused, with a sentence that has this in it. */
#define REFUSE(because, ...) REFUSE_LINE(because, "run", __VA_ARGS__)
#define REFUSE_LINE(because, ...)                                                                  \
    do {                                                                                           \
        struct parsed p_;                                                                          \
        PARSE_LINE(&p_, __VA_ARGS__);                                                              \
        assert_int_equal(p_.result, -EINVAL);                                                      \
        assert_int_equal(p_.e.code, -EINVAL);                                                      \
        if (!strstr(p_.e.message, because))                                                        \
            fail_msg("'%s' is not in '%s'", because, p_.e.message);                                \
        settings_done(&p_.s);                                                                      \
    } while (0)

static inline int no_variables(void **state)
{
    for (const struct option *o = options; o->name; o++) {
        char variable[64];
        option_variable(o->name, variable, sizeof variable);
        unsetenv(variable);
    }
    setenv("XDG_CONFIG_HOME", "/no/such/directory", 1); /* not the settings of the user who tests */
    return 0;
}
