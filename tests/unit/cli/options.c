/* SPDX-License-Identifier: MIT */
#include "cli_options.h"

#include <sys/stat.h>

/* ---- options -------------------------------------------------------------------------------- */

static void test_options_nothing(void **state)
{
    struct parsed p;
    ACCEPT(&p, "make", "-j4", "-q");
    assert_int_equal(p.rest, 1); /* what follows the command is the command's */
    assert_false(p.s.quiet);
    assert_null(p.s.outputs);
    assert_null(p.s.tracker.labels);
    assert_int_equal(p.s.tracker.interval_ns, 0);
    assert_int_equal(p.s.tracker.size, sizeof p.s.tracker);
    assert_int_equal(p.s.summary, SUMMARY_TEXT);
    settings_done(&p.s);
    settings_done(&p.s);
}

static void test_options_ways_to_write_a_value(void **state)
{
    struct parsed p;
#define INTERVAL(ns, ...)                                                                          \
    do {                                                                                           \
        ACCEPT(&p, __VA_ARGS__, "cmd");                                                            \
        assert_int_equal(p.s.tracker.interval_ns, ns);                                             \
        assert_int_equal(p.rest, (int)ARRAY_LEN(((const char *[]){"run", __VA_ARGS__})));          \
        settings_done(&p.s);                                                                       \
    } while (0)
    INTERVAL(NS_PER_SECOND, "-i1s");
    INTERVAL(NS_PER_SECOND, "-i", "1s");
    INTERVAL(NS_PER_SECOND, "-i=1s");
    INTERVAL(NS_PER_SECOND, "--interval=1s");
    INTERVAL(NS_PER_SECOND, "--interval", "1s");
    INTERVAL(NS_PER_MS, "--interval=1ms");
    INTERVAL(2 * NS_PER_SECOND, "-i1s", "-i2s"); /* the last one wins */
    INTERVAL(0, "-i1s", "-iauto");
    INTERVAL(NS_PER_SECOND, "-qvi1s");
    INTERVAL(NS_PER_SECOND, "-qvi", "1s");
    INTERVAL(NS_PER_SECOND, "-i1s", "--");
}

static void test_options_letters_together(void **state)
{
    struct parsed p;
    ACCEPT(&p, "-qv", "cmd");
    assert_true(p.s.quiet && p.s.verbose);
    assert_int_equal(p.rest, 2);
    settings_done(&p.s);
    ACCEPT(&p, "-vqo", "x.csv", "cmd");
    assert_true(p.s.quiet && p.s.verbose);
    assert_string_equal(p.s.outputs[0], "x.csv");
    settings_done(&p.s);
}

static void test_options_where_the_command_begins(void **state)
{
    struct parsed p;
    ACCEPT(&p, "--", "-q");
    assert_int_equal(p.rest, 2);
    assert_false(p.s.quiet);
    settings_done(&p.s);
    ACCEPT(&p, "-q", "--", "--", "x");
    assert_int_equal(p.rest, 3);
    settings_done(&p.s);
    ACCEPT(&p, "-", "-q"); /* a lone dash is a word */
    assert_int_equal(p.rest, 1);
    settings_done(&p.s);
    ACCEPT(&p, "-q");
    assert_int_equal(p.rest, 2);
    settings_done(&p.s);
    ACCEPT(&p, "-o", "--", "cmd"); /* the value of -o */
    assert_string_equal(p.s.outputs[0], "--");
    assert_int_equal(p.rest, 3);
    settings_done(&p.s);
}

static void test_options_switches(void **state)
{
    struct parsed p;
    static const char *const on[] = {"--quiet", "--quiet=yes", "--quiet=true", "--quiet=on",
                                     "--quiet=1"};
    static const char *const off[] = {"--quiet=no", "--quiet=false", "--quiet=off", "--quiet=0"};
    for (size_t i = 0; i < ARRAY_LEN(on); i++) {
        ACCEPT(&p, on[i]);
        assert_true(p.s.quiet);
        settings_done(&p.s);
    }
    for (size_t i = 0; i < ARRAY_LEN(off); i++) {
        ACCEPT(&p, "-q", off[i]);
        assert_false(p.s.quiet);
        settings_done(&p.s);
    }
    REFUSE("yes or no", "--quiet=maybe");
    REFUSE("yes or no", "--quiet=");
}

static void test_options_choices(void **state)
{
    struct parsed p;
    ACCEPT(&p, "--summary=json", "--memory", "pss", "--processes=all", "--wait=all");
    assert_int_equal(p.s.summary, SUMMARY_JSON);
    assert_int_equal(p.s.tracker.memory, TOLL_MEMORY_PSS);
    assert_int_equal(p.s.tracker.processes, TOLL_PROCESSES_ALL);
    assert_int_equal(p.s.tracker.wait, TOLL_WAIT_ALL);
    settings_done(&p.s);
    ACCEPT(&p, "--summary=none", "--memory", "rss", "--processes=none", "--wait=main");
    assert_int_equal(p.s.summary, SUMMARY_NONE);
    assert_int_equal(p.s.tracker.memory, TOLL_MEMORY_RSS);
    assert_int_equal(p.s.tracker.processes, TOLL_PROCESSES_NONE);
    assert_int_equal(p.s.tracker.wait, TOLL_WAIT_MAIN);
    settings_done(&p.s);
    REFUSE("text, json or none", "--summary=xml");
    REFUSE("main or all", "--wait=");
    REFUSE("main or all", "--wait=mai");
    REFUSE("main or all", "--wait=main all");
}

static void test_options_refused(void **state)
{
    REFUSE("--nonsense", "--nonsense");
    REFUSE("--nonsense", "--nonsense=1", "cmd");
    REFUSE("-z", "-z");
    REFUSE("-z", "-qz");
    REFUSE("-=", "-q=yes"); /* letters of switches take no value */
    REFUSE("value missing", "-i");
    REFUSE("value missing", "--output");
    REFUSE("value missing", "-q", "--interval");
    REFUSE("1ms", "-i0");
    REFUSE("1ms", "-i999us");
    REFUSE("1ms", "-i25h");
    REFUSE("1ms", "--interval=");
    REFUSE("1ms", "--interval=-1s");
    REFUSE("1ms", "-ifast");
    REFUSE("stdout", "-o-");
    REFUSE("file name", "--output=");
    REFUSE("KEY=VALUE", "--label=x");
    REFUSE("KEY=VALUE", "--label==x");
    REFUSE("percentage", "--budget=0");
    REFUSE("percentage", "--budget=101");
    REFUSE("percentage", "--budget=x");
    REFUSE("percentage", "--budget=1x");
    REFUSE("descriptor", "--summary-to=");
    char *huge = malloc(100001);
    memset(huge, 'x', 100000);
    huge[100000] = '\0';
    huge[0] = huge[1] = '-';
    REFUSE("unknown option", huge);
    free(huge);
}

static void test_options_lists_grow(void **state)
{
    struct parsed p;
    ACCEPT(&p, "-oa.csv", "--label", "a=1", "-o", "b.json", "--label=b=", "--output=c.txt");
    assert_string_equal(p.s.outputs[0], "a.csv");
    assert_string_equal(p.s.outputs[1], "b.json");
    assert_string_equal(p.s.outputs[2], "c.txt");
    assert_null(p.s.outputs[3]);
    assert_string_equal(p.s.tracker.labels[0], "a=1");
    assert_string_equal(p.s.tracker.labels[1], "b=");
    assert_null(p.s.tracker.labels[2]);
    settings_done(&p.s);
}

static void test_options_variables(void **state)
{
    struct parsed p;
    char name[64];
    option_variable("summary-to", name, sizeof name);
    assert_string_equal(name, "TOLL_SUMMARY_TO");
    setenv("TOLL_INTERVAL", "2s", 1);
    setenv("TOLL_QUIET", "yes", 1);
    setenv("TOLL_NO_CHILDREN", "on", 1);
    setenv("TOLL_OUTPUT", "  a.csv\tb.json ", 1);
    setenv("TOLL_HELP", "yes", 1); /* only on the command line */
    ACCEPT(&p, "cmd");
    assert_int_equal(p.s.tracker.interval_ns, 2 * NS_PER_SECOND);
    assert_true(p.s.quiet && p.s.tracker.no_children);
    assert_false(p.s.help);
    assert_string_equal(p.s.outputs[0], "a.csv");
    assert_string_equal(p.s.outputs[1], "b.json");
    assert_null(p.s.outputs[2]);
    settings_done(&p.s);

    /* The command line wins, value by value, list by list. */
    ACCEPT(&p, "-i1s", "--quiet=no", "-o", "c.txt", "cmd");
    assert_int_equal(p.s.tracker.interval_ns, NS_PER_SECOND);
    assert_false(p.s.quiet);
    assert_true(p.s.tracker.no_children);
    assert_string_equal(p.s.outputs[0], "c.txt");
    assert_null(p.s.outputs[1]);
    settings_done(&p.s);

    setenv("TOLL_OUTPUT", "", 1);
    ACCEPT(&p, "cmd");
    assert_null(p.s.outputs);
    settings_done(&p.s);
    setenv("TOLL_INTERVAL", "soon", 1);
    REFUSE("TOLL_INTERVAL", "cmd");
    no_variables(NULL);
}

/* File, variable, command line: each wins over the one before. */
static void test_options_precedence(void **state)
{
    struct tree tree;
    struct parsed p;
    char config[512];
    tree_make(&tree);
    tree_path(&tree, config, "toll.conf");
    tree_write(&tree, "toll.conf",
               "interval = 3s\nbudget = 5\nname = from file\nlabel = a=file\nlabel = b=file\n"
               "output = file.csv\n");
    setenv("TOLL_BUDGET", "6", 1);
    setenv("TOLL_NAME", "from variable", 1);
    setenv("TOLL_LABEL", "c=variable", 1);
    ACCEPT(&p, "--config", config, "--name", "from line", "cmd");
    assert_int_equal(p.s.tracker.interval_ns, 3 * NS_PER_SECOND);
    assert_true(p.s.tracker.budget_percent == 6);
    assert_string_equal(p.s.tracker.name, "from line");
    assert_string_equal(p.s.labels[0], "c=variable");
    assert_null(p.s.labels[1]);
    assert_string_equal(p.s.outputs[0], "file.csv");
    settings_done(&p.s);

    ACCEPT(&p, "--label=d=line", "-oline.csv", "--config", config, "cmd"); /* wherever it stands */
    assert_string_equal(p.s.labels[0], "d=line");
    assert_null(p.s.labels[1]);
    assert_string_equal(p.s.outputs[0], "line.csv");
    assert_null(p.s.outputs[1]);
    settings_done(&p.s);

    /* TOLL_CONFIG names the file, unless the command line does. */
    setenv("TOLL_CONFIG", "/no/such/file", 1);
    REFUSE("/no/such/file", "cmd");
    ACCEPT(&p, "--config", config, "cmd");
    settings_done(&p.s);
    /* Behind the command it is the command's option. */
    unsetenv("TOLL_CONFIG");
    ACCEPT(&p, "cmd", "--config", "/no/such/file");
    settings_done(&p.s);
    no_variables(NULL);
    tree_remove(&tree);
}

/* Names and letters are unique, choices have their values, every option has a help. */
static void test_options_the_table(void **state)
{
    for (const struct option *o = options; o->name; o++) {
        assert_ptr_equal(option_by_name(o->name, o->modes), o);
        if (o->letter)
            assert_ptr_equal(option_by_letter(o->letter, o->modes), o);
        assert_true(o->help && *o->help);
        if (o->choices)
            assert_non_null(o->value);
        assert_true(o->group < OPTION_GROUPS);
        assert_null(strstr(o->help, "default")); /* it has a field of its own */
        if (o->fallback && o->choices)
            assert_true(option_choose(o->choices, o->fallback) >= 0);
    }
    assert_null(option_by_name("", FOR_ANY_COMMAND));
    assert_string_equal(option_by_name("dialect", FOR_RUN)->name, "layout"); /* as it was called */
    assert_null(option_by_letter('Z', FOR_ANY_COMMAND));
    assert_int_equal(option_choose("a bb c", "bb"), 1);
    assert_int_equal(option_choose("a bb c", "b"), -1);
    assert_int_equal(option_choose("a bb c", ""), -1);
    assert_int_equal(option_choose("a bb c", "bb c"), -1);
}

static const char *random_word(uint64_t *seed)
{
    static const char *const words[] = {
        "-q",
        "-v",
        "-i",
        "-o",
        "--",
        "-",
        "--interval",
        "1s",
        "-i1s",
        "x.csv",
        "--help",
        "--summary",
        "json",
        "--summary=json",
        "--label",
        "a=b",
        "--label=",
        "-h",
        "--no-children",
        "-qvh",
        "-qo",
        "--memory",
        "pss",
        "",
        "cmd",
        "--wait=all",
        "--budget",
        "1%",
    };
    return words[random_below(seed, ARRAY_LEN(words))];
}

static void expect_words(const struct parsed *p, const char *expected)
{
    char have[256] = "";
    size_t n = 0;
    for (const char **word = p->s.words; word && *word; word++)
        n += (size_t)snprintf(have + n, sizeof have - n, "%s ", *word);
    assert_string_equal(have, expected);
}

/* Options stand before, between and behind words; -- ends them. */
static void test_options_words_between_options(void **state)
{
    struct parsed p;
    ACCEPT_LINE(&p, "attach", "-q", "12", "--for", "1s", "web=34", "-i2s", "56");
    expect_words(&p, "12 web=34 56 ");
    assert_true(p.s.quiet);
    assert_int_equal(p.s.for_ns, NS_PER_SECOND);
    assert_int_equal(p.s.tracker.interval_ns, 2 * NS_PER_SECOND);
    settings_done(&p.s);
    ACCEPT_LINE(&p, "attach", "12", "--", "-q", "--for");
    expect_words(&p, "12 -q --for ");
    assert_false(p.s.quiet);
    settings_done(&p.s);
    ACCEPT_LINE(&p, "attach", "--name", "--", "12", "-q"); /* that is a value */
    expect_words(&p, "12 ");
    assert_string_equal(p.s.tracker.name, "--");
    assert_true(p.s.quiet);
    settings_done(&p.s);
    ACCEPT_LINE(&p, "attach", "12", "--", "--", "34");
    expect_words(&p, "12 -- 34 ");
    settings_done(&p.s);
    ACCEPT_LINE(&p, "attach", "--match=x", "--match", "y z", "-g5", "--group=web=6");
    expect_words(&p, "");
    assert_string_equal(p.s.matches[0], "x");
    assert_string_equal(p.s.matches[1], "y z");
    assert_null(p.s.matches[2]);
    assert_string_equal(p.s.groups[0], "5");
    assert_string_equal(p.s.groups[1], "web=6");
    settings_done(&p.s);
    ACCEPT_LINE(&p, "attach", "-"); /* a word, which no pid is */
    expect_words(&p, "- ");
    settings_done(&p.s);
}

static void test_options_of_other_subcommands(void **state)
{
    REFUSE_LINE("--timeout: not an option of toll attach", "attach", "--timeout", "1s", "1");
    REFUSE_LINE("--timeout: not an option of toll attach", "attach", "1", "--timeout=1s");
    REFUSE_LINE("-g: not an option of toll system", "system", "-g", "1");
    REFUSE_LINE("--network: not an option of toll system", "system", "--network");
    REFUSE("--for: not an option of toll run", "--for", "1s", "make");
    REFUSE("--since-start: not an option of toll run", "--since-start", "make");
    struct parsed p;
    ACCEPT(&p, "make", "--for"); /* the command's own */
    settings_done(&p.s);
    setenv("TOLL_TIMEOUT", "nonsense", 1); /* not this subcommand's affair */
    setenv("TOLL_FOR", "5s", 1);
    ACCEPT_LINE(&p, "attach", "1");
    assert_int_equal(p.s.for_ns, 5 * NS_PER_SECOND);
    settings_done(&p.s);
    REFUSE("TOLL_TIMEOUT: invalid value 'nonsense'", "make");
    setenv("TOLL_USER", "root", 1); /* whom to attach to is said on the command line only */
    ACCEPT_LINE(&p, "attach", "1");
    assert_null(p.s.users);
    settings_done(&p.s);
    no_variables(NULL);
    unsetenv("TOLL_USER");
}

static void test_options_times_and_formats(void **state)
{
    struct parsed p;
    ACCEPT(&p, "--timeout", "1.5h", "--grace", "500ms", "-f", "csv", "make");
    assert_int_equal(p.s.tracker.timeout_ns, 5400 * NS_PER_SECOND);
    assert_int_equal(p.s.tracker.grace_ns, 500 * NS_PER_MS);
    assert_string_equal(p.s.format, "csv");
    settings_done(&p.s);
    static const char *const bad[] = {"0", "-1s", "", "soon", "1 s", "11y", "1e3s", "3651d"};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        REFUSE("a time above 0", "--timeout", bad[i], "make");
        REFUSE("a time above 0", "--grace", bad[i], "make");
        REFUSE_LINE("a time above 0", "system", "--for", bad[i]);
    }
    REFUSE("csv, jsonl", "-f", "nonsense", "make");
    REFUSE("csv, jsonl", "--format=", "make");
    REFUSE("stdout belongs to the command", "-o", "-", "make");
    ACCEPT_LINE(&p, "system", "-o", "-", "-f", "jsonl");
    assert_string_equal(p.s.outputs[0], "-");
    settings_done(&p.s);
    REFUSE_LINE("expected a regular expression", "attach", "--match", "");
    REFUSE_LINE("expected a path", "attach", "--cgroup=");
}

/* ---- rules ---------------------------------------------------------------------------------- */

/* Read, and then refused with this in the sentence; NULL: accepted. */
#define RULE(because, ...)                                                                         \
    do {                                                                                           \
        struct parsed p_;                                                                          \
        const char *because_ = because;                                                            \
        ACCEPT_LINE(&p_, __VA_ARGS__);                                                             \
        assert_int_equal(option_rules_check(&p_.s, &p_.e), because_ ? -EINVAL : 0);                \
        assert_string_equal(p_.e.message, because_ ? because_ : "");                               \
        settings_done(&p_.s);                                                                      \
    } while (0)

#define OK NULL

static void test_rules_what_an_option_needs(void **state)
{
    RULE("--grace: no effect without --timeout (add --timeout TIME)", "run", "--grace=1s", "x");
    RULE(OK, "run", "--grace=1s", "--timeout=1s", "x");
    static const char no_output[] = "--format: no effect without an output (add -o FILE, or use "
                                    "--json for a summary in JSON)";
    static const char named[] = "--format: no effect: the names of all outputs have another format "
                                "(leave it out, or use -o TYPE:FILE)";
    RULE(no_output, "run", "-fcsv", "x");
    RULE(OK, "run", "-fcsv", "-oa.csv", "x");
    RULE(named, "run", "-fcsv", "-oa.db", "-ob.json", "x");
    RULE(named, "run", "-fcsv", "-ojsonl:a", "x");
    RULE(OK, "run", "-fcsv", "-oa", "x");
    RULE(OK, "run", "-fcsv", "-oa.csv", "-ob", "x");
    RULE(OK, "attach", "-fcsv", "1");
    RULE(OK, "system", "-fcsv", "-o-");
    static const char no_text[] = "--verbose: no effect without a text summary (leave out --quiet, "
                                  "--json or --summary)";
    RULE(OK, "run", "-v", "x");
    RULE(no_text, "run", "-qv", "x");
    RULE(no_text, "run", "-v", "--json", "x");
    RULE(no_text, "run", "-v", "--summary=none", "x");
    RULE(no_text, "run", "-v", "--summary-to=a.json", "x");
    RULE(OK, "run", "-v", "--summary=none", "-oa.txt", "x");
    RULE(OK, "run", "-qv", "--summary-to=a", "x");
    RULE("--color: no effect: no text is written (leave out --quiet, --json or --summary)", "run",
         "--color=always", "--json", "x");
    RULE(OK, "run", "--color=never", "--json", "x");
    RULE(OK, "attach", "--color=always", "--summary=none", "1"); /* the lines */
    static const char no_rows[] = "--processes: no effect without an output that has rows of "
                                  "single processes (add -o FILE.jsonl or -o FILE.sqlite)";
    RULE(no_rows, "run", "--processes=all", "-oa.csv", "x");
    RULE(OK, "run", "--processes=all", "-oa.jsonl", "x");
    RULE(OK, "attach", "--processes=all", "--json", "1");
    static const char no_result[] = "--label: no effect without a summary or an output (leave out "
                                    "--quiet, or add -o FILE)";
    RULE(no_result, "run", "-q", "--label=a=b", "x");
    RULE(OK, "run", "-q", "--label=a=b", "-oa.csv", "x");
    RULE(OK, "run", "-q", "--label=a=b", "--summary-to=-", "x");
}

static void test_rules_one_thing_at_a_time(void **state)
{
    RULE("--json: conflicts with --summary (leave out one of them)", "run", "--json",
         "--summary=text", "x");
    RULE(OK, "run", "--json", "--summary=json", "x");
    RULE("--json: no effect with --quiet (leave out one of them)", "run", "--json", "-q", "x");
    RULE(OK, "run", "--json", "-q", "--summary-to=a", "x");
    RULE("--csv: conflicts with --json (leave out one of them)", "system", "--json", "--csv");
    RULE("--csv: conflicts with --format (leave out one of them)", "system", "--csv", "-fjsonl");
    RULE(OK, "system", "--csv", "-fjsonl", "-oa");
    RULE(OK, "system", "--csv", "-q");
    RULE("--summary: no effect with --quiet (leave out one of them, or add --summary-to FILE)",
         "run", "-q", "--summary=json", "x");
    RULE(OK, "run", "-q", "--summary=none", "x");
    RULE("--summary-to: no effect with --summary none (leave out one of them)", "run",
         "--summary=none", "--summary-to=a", "x");
    REFUSE("stdout belongs to the command", "--csv", "x");
}

/* Defaults of an environment have nothing to do in many runs, and break none. */
static void test_rules_count_the_command_line_only(void **state)
{
    setenv("TOLL_GRACE", "1s", 1);
    setenv("TOLL_FORMAT", "csv", 1);
    setenv("TOLL_PROCESSES", "all", 1);
    setenv("TOLL_VERBOSE", "yes", 1);
    setenv("TOLL_QUIET", "yes", 1);
    setenv("TOLL_SUMMARY", "json", 1);
    RULE(OK, "run", "x");
    RULE(OK, "run", "-v", "--label=a=b", "x");
    no_variables(NULL);
    setenv("TOLL_OUTPUT", "a.jsonl", 1);
    setenv("TOLL_TIMEOUT", "5s", 1);
    RULE(OK, "run", "-q", "--processes=all", "--grace=1s", "--name=n", "x");
    no_variables(NULL);
}

/* ---- warnings ------------------------------------------------------------------------------- */

static void expect_warning(const struct parsed *p, const char *expected)
{
    const char *have = p->s.warnings ? p->s.warnings[0] : "";
    if (!strstr(have, expected) || (!*expected && *have))
        fail_msg("'%s' is not in '%s'", expected, have);
}

static void test_warnings_of_variables(void **state)
{
    struct parsed p;
    static const char *const fine[] = {"TOLL_INTERVAL", "TOLL_TIMEOUT", "TOLL_CONFIG"};
    for (size_t i = 0; i < ARRAY_LEN(fine); i++) {
        setenv(fine[i], i == 2 ? "/dev/null" : "1s", 1);
        ACCEPT_LINE(&p, "attach", "1");
        expect_warning(&p, "");
        settings_done(&p.s);
        unsetenv(fine[i]);
    }
    setenv("TOLL_INTERVALL", "1s", 1);
    ACCEPT(&p, "x");
    expect_warning(&p, "TOLL_INTERVALL: unknown variable, ignored");
    settings_done(&p.s);
    setenv("TOLL_SOCKET", "/nowhere", 1); /* the toll around this one has warned */
    ACCEPT(&p, "x");
    expect_warning(&p, "");
    settings_done(&p.s);
    unsetenv("TOLL_SOCKET");
    unsetenv("TOLL_INTERVALL");
    setenv("TOLL_USER", "x", 1);
    ACCEPT(&p, "x");
    expect_warning(&p, "TOLL_USER: ignored: --user is accepted on the command line only");
    settings_done(&p.s);
    unsetenv("TOLL_USER");
}

static void test_config_of_the_user(void **state)
{
    struct tree tree;
    struct parsed p;
    char path[512], other[512];
    tree_make(&tree);
    tree_write(&tree, "toll/config",
               "interval = 3s\nlabel = a=user\nlabel = b=user\nname = user\n");
    tree_write(&tree, "other", "label = c=other\nname = other\n");
    tree_path(&tree, path, "toll/config");
    tree_path(&tree, other, "other");
    setenv("XDG_CONFIG_HOME", tree.path, 1);
    ACCEPT(&p, "x");
    assert_int_equal(p.s.tracker.interval_ns, 3 * NS_PER_SECOND);
    assert_string_equal(p.s.labels[1], "b=user");
    settings_done(&p.s);

    /* A file that is named for this run wins, value by value, list by list. */
    ACCEPT(&p, "--config", other, "x");
    assert_int_equal(p.s.tracker.interval_ns, 3 * NS_PER_SECOND);
    assert_string_equal(p.s.tracker.name, "other");
    assert_string_equal(p.s.labels[0], "c=other");
    assert_null(p.s.labels[1]);
    settings_done(&p.s);

    chmod(path, 0664);
    ACCEPT(&p, "x");
    assert_int_equal(p.s.tracker.interval_ns, 0);
    expect_warning(&p, "other users can write to it");
    settings_done(&p.s);
    chmod(path, 0600);
    tree_write(&tree, "toll/config", "intervall = 3s\n");
    REFUSE("toll/config:1: unknown option 'intervall'", "x");
    tree_remove(&tree);
    ACCEPT(&p, "x");
    expect_warning(&p, "");
    settings_done(&p.s);

    /* By default it is below the home directory; a relative directory has no meaning. */
    tree_make(&tree);
    tree_write(&tree, ".config/toll/config", "interval = 4s\n");
    char *home = getenv("HOME") ? strdup(getenv("HOME")) : NULL;
    setenv("HOME", tree.path, 1);
    setenv("XDG_CONFIG_HOME", "relative", 1);
    ACCEPT(&p, "x");
    assert_int_equal(p.s.tracker.interval_ns, 4 * NS_PER_SECOND);
    settings_done(&p.s);
    if (home)
        setenv("HOME", home, 1);
    free(home);
    tree_remove(&tree);
    no_variables(NULL);
}

/* Any line is either read to a command or refused with a sentence; nothing leaks, nothing breaks.
 */
static void test_options_random_lines(void **state)
{
    uint64_t seed = 1;
    for (int i = 0; i < 20000; i++) {
        char subcommand[] = "attach";
        char *argv[10] = {i % 2 ? subcommand : strdupa("run")};
        int argc = 1 + (int)random_below(&seed, 8);
        char storage[10][32];
        for (int k = 1; k < argc; k++) {
            snprintf(storage[k], sizeof storage[k], "%s", random_word(&seed));
            argv[k] = storage[k];
        }
        struct parsed p;
        parse_words(&p, argc, argv);
        if (p.result == 0)
            assert_true(p.rest >= 1 && p.rest <= argc);
        else
            assert_true(p.result == -EINVAL && *p.e.message);
        settings_done(&p.s);
    }
}

/* ---- config --------------------------------------------------------------------------------- */

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

static void test_config_lines(void **state)
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

static void test_config_refused_with_its_line(void **state)
{
    static const struct {
        const char *text, *line, *because;
    } cases[] = {
        {"interval\n", ":1: ", "option = value"},
        {"\n\nnonsense = 1\n", ":3: ", "nonsense"},
        {"[run]\n[other]\n", ":2: ", "[other]"},
        {"interval = soon", ":1: ", "soon"},
        {"quiet = perhaps", ":1: ", "yes or no"},
        {"quiet =", ":1: ", "yes or no"},
        {"= 5", ":1: ", "unknown option"},
        {"help = yes", ":1: ", "command line only"}, /* only on the command line */
        {"config = other", ":1: ", "command line only"},
        {"--interval = 1s", ":1: ", "unknown option"},
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

static void test_config_sections(void **state)
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
static void test_config_options_of_others(void **state)
{
    struct fixture f;
    begin(&f);
    assert_int_equal(read_for(&f, FOR_ATTACH, "attach", "timeout = 1s\n"), 0);
    assert_int_equal(read_for(&f, FOR_ATTACH, "attach", "[run]\nnonsense = 1\n"), 0);
    assert_int_equal(read_for(&f, FOR_ATTACH, "attach", "[attach]\ntimeout = 1s\n"), -EINVAL);
    assert_non_null(strstr(f.e.message, ":2: "));
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

static void test_config_files_that_cannot_be_read(void **state)
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

static int set_up(void **state)
{
    no_variables(state);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_options_nothing),
        cmocka_unit_test(test_options_ways_to_write_a_value),
        cmocka_unit_test(test_options_letters_together),
        cmocka_unit_test(test_options_where_the_command_begins),
        cmocka_unit_test(test_options_switches),
        cmocka_unit_test(test_options_choices),
        cmocka_unit_test(test_options_refused),
        cmocka_unit_test(test_options_lists_grow),
        cmocka_unit_test(test_options_variables),
        cmocka_unit_test(test_options_precedence),
        cmocka_unit_test(test_options_words_between_options),
        cmocka_unit_test(test_options_of_other_subcommands),
        cmocka_unit_test(test_options_times_and_formats),
        cmocka_unit_test(test_options_the_table),
        cmocka_unit_test(test_options_random_lines),
        cmocka_unit_test(test_rules_what_an_option_needs),
        cmocka_unit_test(test_rules_one_thing_at_a_time),
        cmocka_unit_test(test_rules_count_the_command_line_only),
        cmocka_unit_test(test_warnings_of_variables),
        cmocka_unit_test(test_config_of_the_user),
        cmocka_unit_test(test_config_lines),
        cmocka_unit_test(test_config_refused_with_its_line),
        cmocka_unit_test(test_config_sections),
        cmocka_unit_test(test_config_options_of_others),
        cmocka_unit_test(test_config_files_that_cannot_be_read),
    };
    return cmocka_run_group_tests_name("cli/options", tests, set_up, NULL);
}
