/* SPDX-License-Identifier: MIT */
#include "cli_options.h"

struct fixture {
    struct tree tree;
    char path[512];
    struct settings s;
    struct toll_error e;
};

/* As a subcommand would. */
static int read_for(struct fixture *f, unsigned mode, const char *subcommand, const char *text)
{
    settings_done(&f->s);
    f->s = (struct settings){.mode = mode, .subcommand = subcommand};
    f->e = (struct toll_error){0};
    tree_write(&f->tree, "toll.conf", text);
    return config_read(&f->s, f->path, &f->e);
}

static int read_text(struct fixture *f, const char *text)
{
    return read_for(f, FOR_RUN, "run", text);
}

static void begin(struct fixture *f)
{
    *f = (struct fixture){0};
    tree_make(&f->tree);
    tree_path(&f->tree, f->path, "toll.conf");
}

static void end(struct fixture *f)
{
    settings_done(&f->s);
    tree_remove(&f->tree);
}

static void test_lines(void **state)
{
    struct fixture f;
    begin(&f);
    assert_int_equal(read_text(&f, "# options\n\n[run]\n  interval = 250ms \r\n; more\nquiet=yes\n"
                                   "label = team=blue\nlabel=x = y\nname =  a b  "),
                     0);
    assert_int_equal(f.s.tracker.interval_ns, 250 * NS_PER_MS);
    assert_true(f.s.quiet);
    assert_string_equal(f.s.labels[0], "team=blue");
    assert_string_equal(f.s.labels[1], "x = y");
    assert_string_equal(f.s.tracker.name, "a b");
    assert_int_equal(read_text(&f, ""), 0);
    assert_int_equal(read_text(&f, "\n\n"), 0);
    end(&f);
}

static void test_refused_with_its_line(void **state)
{
    static const struct {
        const char *text, *line, *because;
    } cases[] = {
        {"interval\n", "line 1", "option = value"},
        {"\n\nnonsense = 1\n", "line 3", "nonsense"},
        {"[run]\n[other]\n", "line 2", "[other]"},
        {"interval = soon", "line 1", "soon"},
        {"quiet = perhaps", "line 1", "yes or no"},
        {"quiet =", "line 1", "yes or no"},
        {"= 5", "line 1", "no option"},
        {"help = yes", "line 1", "no option"}, /* only on the command line */
        {"config = other", "line 1", "no option"},
        {"--interval = 1s", "line 1", "no option"},
    };
    struct fixture f;
    begin(&f);
    for (size_t i = 0; i < ARRAY_LEN(cases); i++) {
        assert_int_equal(read_text(&f, cases[i].text), -EINVAL);
        assert_non_null(strstr(f.e.message, cases[i].line));
        assert_non_null(strstr(f.e.message, cases[i].because));
        assert_non_null(strstr(f.e.message, f.path));
    }
    end(&f);
}

static const char sections[] = "name = everybody\ntimeout = 9s\nsince-start = yes\n"
                               "[run]\ninterval = 1s\ntimeout = 1m\n"
                               "[attach]\ninterval = 2s\nnetwork = yes\n"
                               "[system]\ninterval = 3s\nfor = 1h\n"
                               "[run]\nlabel = a=b\n";

static void test_sections(void **state)
{
    struct fixture f;
    begin(&f);
    assert_int_equal(read_for(&f, FOR_RUN, "run", sections), 0);
    assert_string_equal(f.s.tracker.name, "everybody");
    assert_int_equal(f.s.tracker.interval_ns, NS_PER_SECOND);
    assert_int_equal(f.s.tracker.timeout_ns, 60 * NS_PER_SECOND);
    assert_false(f.s.tracker.since_start);
    assert_string_equal(f.s.labels[0], "a=b");
    assert_int_equal(read_for(&f, FOR_ATTACH, "attach", sections), 0);
    assert_string_equal(f.s.tracker.name, "everybody");
    assert_int_equal(f.s.tracker.interval_ns, 2 * NS_PER_SECOND);
    assert_int_equal(f.s.tracker.timeout_ns, 0); /* it has no such option */
    assert_true(f.s.tracker.since_start && f.s.tracker.network);
    assert_null(f.s.labels);
    assert_int_equal(read_for(&f, FOR_SYSTEM, "system", sections), 0);
    assert_int_equal(f.s.tracker.interval_ns, 3 * NS_PER_SECOND);
    assert_int_equal(f.s.for_ns, 3600 * NS_PER_SECOND);
    assert_false(f.s.tracker.network);
    end(&f);
}

/* Before a heading an option of somebody else is passed over, below its own it is a mistake. */
static void test_options_of_others(void **state)
{
    struct fixture f;
    begin(&f);
    assert_int_equal(read_for(&f, FOR_ATTACH, "attach", "timeout = 1s\n"), 0);
    assert_int_equal(read_for(&f, FOR_ATTACH, "attach", "[run]\nnonsense = 1\n"), 0);
    assert_int_equal(read_for(&f, FOR_ATTACH, "attach", "[attach]\ntimeout = 1s\n"), -EINVAL);
    assert_non_null(strstr(f.e.message, "line 2"));
    assert_non_null(strstr(f.e.message, "not an option of toll attach"));
    assert_int_equal(read_for(&f, FOR_SYSTEM, "system", "[system]\nwait = all\n"), -EINVAL);
    /* Whom to attach to is said on the command line only. */
    assert_int_equal(read_for(&f, FOR_ATTACH, "attach", "user = root\n"), -EINVAL);
    assert_int_equal(read_text(&f, "[\n"), -EINVAL);
    assert_int_equal(read_text(&f, "[]\n"), -EINVAL);
    assert_int_equal(read_text(&f, "[run\n"), -EINVAL);
    assert_non_null(strstr(f.e.message, "[attach]"));
    end(&f);
}

static void test_files_that_cannot_be_read(void **state)
{
    struct fixture f;
    begin(&f);
    assert_int_equal(config_read(&f.s, "/no/such/file", &f.e), -EINVAL);
    assert_non_null(strstr(f.e.message, "/no/such/file"));
    settings_done(&f.s);
    assert_int_equal(config_read(&f.s, f.tree.path, &f.e), -EINVAL);
    settings_done(&f.s);
    char *huge = malloc(100001);
    memset(huge, '#', 100000);
    huge[100000] = '\0';
    assert_int_equal(read_text(&f, huge), -EINVAL);
    assert_non_null(strstr(f.e.message, "64 KiB"));
    huge[65534] = '\0';
    assert_int_equal(read_text(&f, huge), 0); /* the largest */
    free(huge);
    end(&f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines),
        cmocka_unit_test(test_refused_with_its_line),
        cmocka_unit_test(test_sections),
        cmocka_unit_test(test_options_of_others),
        cmocka_unit_test(test_files_that_cannot_be_read),
    };
    return RUN("config", tests);
}
