/* SPDX-License-Identifier: MIT
 * Every table of every layout can be read: figures, options, labels, words. */
#include "layout/layout.h"
#include "layout/translation.h"
#include "unit.h"

static bool has_word(const char *words, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = words; (at = strstr(at, word)); at += length)
        if ((at == words || at[-1] == ' ') && (at[length] == ' ' || !at[length]))
            return true;
    return false;
}

static unsigned dots(const char *text)
{
    unsigned count = 0;
    for (; *text; text++)
        count += *text == '.';
    return count;
}

static void check_option(const struct layout *d, const char *name)
{
    if (name)
        assert_true(layout_option_number(d, name, strlen(name)) >= 0);
}

/* An option, or terms. */
static void check_terms(const struct layout *d, const char *text)
{
    struct terms terms;
    if (text && layout_option_number(d, text, strlen(text)) < 0)
        assert_int_equal(terms_parse(&terms, text), 0);
}

static void check_column(const struct layout *d, const struct layout_table *t,
                         const struct layout_column *c)
{
    struct terms terms;
    if (terms_parse(&terms, c->terms) < 0)
        fail_msg("%s: %s: %s", d->facts.name, c->name, c->terms);
    check_option(d, c->scale);
    check_terms(d, c->per);
    check_terms(d, c->otherwise);
    if (terms.items[0].of == TERM_OPTION)
        check_option(d, terms.items[0].option);
    bool is_document = strcmp(t->format, "json") == 0 || strcmp(t->format, "text") == 0;
    if (strcmp(t->format, "text") == 0)
        assert_int_equal(dots(c->label), dots(c->name));
    if (is_document)
        assert_true(c->take != TAKE_DELTA && c->take != TAKE_RATE);
    else
        assert_true(c->take != TAKE_MAX && c->take != TAKE_MEAN);
    for (size_t i = 0; i < terms.count; i++) {
        const struct term *term = &terms.items[i];
        if (term->of != TERM_FIGURE && term->of != TERM_SUM)
            continue;
        bool of_counter = metric_of(term->id)->kind == METRIC_COUNTER;
        if (c->take == TAKE_DELTA || c->take == TAKE_RATE || c->take == TAKE_TOTAL ||
            c->take == TAKE_SHARE)
            assert_true(of_counter);
    }
    if (c->take == TAKE_SHARE)
        assert_non_null(c->per);
    for (const struct layout_column *other = t->columns; other < c; other++)
        assert_string_not_equal(other->name, c->name);
}

static void test_tables(void **state)
{
    for (size_t i = 0; layouts[i]; i++) {
        const struct layout *d = layouts[i];
        assert_true(d->option_count <= LAYOUT_OPTIONS_AT_MOST);
        for (size_t k = 0; k < d->table_count; k++) {
            const struct layout_table *t = &d->tables[k];
            assert_true(has_word(d->facts.formats, t->format));
            assert_true(t->count > 0);
            for (size_t c = 0; c < t->count; c++)
                check_column(d, t, &t->columns[c]);
            for (size_t c = 0; t->preface && c < t->preface->count; c++)
                check_column(d, t->preface, &t->preface->columns[c]);
        }
    }
}

/* What stands for an option that is not given, and what is given by default, is accepted. */
static void test_options(void **state)
{
    for (size_t i = 0; layouts[i]; i++) {
        struct layout_choice c;
        struct toll_error e = {0};
        if (layout_choice_parse(&c, layouts[i]->facts.name, &e) < 0)
            fail_msg("%s", e.message);
        layout_choice_done(&c);
        for (size_t k = 0; k < layouts[i]->option_count; k++) {
            const struct layout_option *o = &layouts[i]->options[k];
            struct terms terms;
            assert_non_null(o->help);
            if (o->otherwise)
                assert_int_equal(terms_parse(&terms, o->otherwise), 0);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_tables),
        cmocka_unit_test(test_options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
