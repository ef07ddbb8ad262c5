/* SPDX-License-Identifier: MIT */
#include "cli_options.h"

struct fixture {
    struct tree tree;
    char path[512];
    struct settings s;
    struct toll_error e;
};

static int read_text(struct fixture *f, const char *text)
{
    settings_done(&f->s);
    f->e = (struct toll_error){0};
    tree_write(&f->tree, "toll.conf", text);
    return config_read(&f->s, f->path, &f->e);
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
        cmocka_unit_test(test_files_that_cannot_be_read),
    };
    return RUN("config", tests);
}
