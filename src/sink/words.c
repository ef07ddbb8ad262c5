/* SPDX-License-Identifier: MIT */
#include "sink/words.h"

#include "base/process.h"

#include "base/text/buf.h"

#include <ctype.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* ==== Human =================================================================================== */

/* As many decimals as make three digits. */
static void human_three_digits(struct buf *b, double value)
{
    buf_double_fixed(b, value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0);
}

/* 12.3 kJ, 2.40 GHz: by thousands. */
static void human_scaled(struct buf *b, double number, const char *unit)
{
    static const char *const prefixes[] = {"", "k", "M", "G", "T"};
    unsigned prefix = 0;
    while (number >= 999.5 && prefix + 1 < ARRAY_LEN(prefixes)) {
        number /= 1000;
        prefix++;
    }
    human_three_digits(b, number);
    buf_printf(b, " %s%s", prefixes[prefix], unit);
}

void human_seconds(struct buf *b, double seconds)
{
    buf_duration(b, seconds);
}

void human_count(struct buf *b, double count)
{
    uint64_t whole = (uint64_t)(count + 0.5);
    char digits[32];
    char *at = digits + sizeof digits;
    unsigned n = 0;
    do {
        if (n && n % 3 == 0)
            *--at = ',';
        *--at = (char)('0' + whole % 10);
        n++;
    } while (whole /= 10);
    buf_add(b, at, (size_t)(digits + sizeof digits - at));
}

void human_percent(struct buf *b, double share)
{
    bool is_tiny = share > 0 && share < 0.001;
    buf_puts(b, is_tiny ? "< " : "");
    buf_double_fixed(b, is_tiny ? 0.1 : share * 100, share < 0.0995 && share > 0 ? 1 : 0);
    buf_puts(b, " %");
}

void human_number(struct buf *b, const struct metric *m, double number)
{
    switch (m->unit) {
    case UNIT_seconds: human_seconds(b, number); break;
    case UNIT_bytes: buf_bytes(b, number); break;
    case UNIT_count:
        if (m->kind == METRIC_GAUGE && number != (double)(uint64_t)number && number < 1000)
            human_three_digits(b, number);
        else
            human_count(b, number);
        break;
    case UNIT_cores:
    case UNIT_number: buf_double_fixed(b, number, 2); break;
    case UNIT_joules: human_scaled(b, number, "J"); break;
    case UNIT_watts: human_scaled(b, number, "W"); break;
    case UNIT_hertz: human_scaled(b, number, "Hz"); break;
    case UNIT_celsius:
        buf_double_fixed(b, number, 1);
        buf_puts(b, " °C");
        break;
    case UNIT_ratio:
        human_three_digits(b, number * 100);
        buf_puts(b, " %");
        break;
    }
}

void human_short(struct buf *b, const struct metric *m, double number)
{
    static const char letters[] = "kMGTPE";
    bool bytes = m->unit == UNIT_bytes;
    double step = bytes && b->units == BYTES_BINARY ? 1024 : 1000;
    if (m->unit == UNIT_ratio)
        number *= 100;
    if (number < step - 0.5 || (bytes && b->units == BYTES_PLAIN)) {
        bool whole = bytes || m->unit == UNIT_count;
        unsigned decimals = whole ? 0 : number < 99.95 ? 2 : 1;
        if (m->unit == UNIT_ratio) /* drivers and ticks know no more */
            decimals = number > 0 && number < 9.95;
        buf_double_fixed(b, number, decimals);
        buf_puts(b, m->unit == UNIT_ratio ? "%" : "");
        return;
    }
    unsigned letter = 0;
    for (number /= step; number >= step - 0.5 && letters[letter + 1]; letter++)
        number /= step;
    buf_double_fixed(b, number, number < 9.95 ? 1 : 0);
    buf_putc(b, letters[letter]);
}

void human_rate(struct buf *b, const struct metric *m, double number)
{
    if (m->unit == UNIT_seconds)
        return;
    if (m->unit == UNIT_count && number < 1000)
        human_three_digits(b, number);
    else
        human_number(b, m, number);
    buf_puts(b, "/s");
}

/* ==== Text words ============================================================================== */

void text_style(struct sink *s, const char *sequence)
{
    if (s->flags & TOLL_OUTPUT_COLOR)
        buf_puts(&s->text, sequence);
}

unsigned text_width(const struct sink *s)
{
    enum { NARROWEST = 40, WIDEST = 160 };
    if (!s->columns)
        return TEXT_LINE;
    return s->columns < NARROWEST ? NARROWEST : s->columns > WIDEST ? WIDEST : s->columns;
}

const char *text_heading(const struct metric *m, bool is_upper, char *ret, size_t capacity)
{
    const char *bar = strchr(m->line, '|');
    if (is_upper)
        snprintf(ret, capacity, "%.*s", bar ? (int)(bar - m->line) : 0, m->line);
    else if (*m->line)
        snprintf(ret, capacity, "%s", bar ? bar + 1 : m->line);
    else
        snprintf(ret, capacity, "%s%s", m->facts.name, m->kind == METRIC_COUNTER ? "/s" : "");
    return ret;
}

size_t text_word(const char *text, size_t length)
{
    const char *blank = memchr(text, ' ', length);
    size_t word = blank ? (size_t)(blank - text) : length;
    const char *first = text + (*text == '(' && word > 1);
    bool is_number = word && isdigit((unsigned char)*first) &&
                     isdigit((unsigned char)text[word - 1]);
    if (!is_number || word + 1 >= length || text[word + 1] == ' ' ||
        isdigit((unsigned char)text[word + 1]))
        return word;
    blank = memchr(text + word + 1, ' ', length - word - 1);
    return blank ? (size_t)(blank - text) : length;
}

void text_paragraph(struct sink *s, const char *lead, const char *text)
{
    size_t at = strlen(lead), width = text_width(s);
    size_t indent = at;
    buf_puts(&s->text, lead);
    while (*text) {
        size_t word = text_word(text, strlen(text));
        size_t columns = utf8_columns(text, word);
        if (at > indent && at + 1 + columns > width) {
            buf_putc(&s->text, '\n');
            size_t start = s->text.length;
            buf_pad(&s->text, start, (unsigned)indent);
            at = indent;
        } else if (at > indent) {
            buf_putc(&s->text, ' ');
            at++;
        }
        for (const char *end = text + word; text < end;) {
            const char *blank = memchr(text, UNBROKEN, (size_t)(end - text));
            size_t plain = (size_t)((blank ? blank : end) - text);
            buf_printable(&s->text, text, plain);
            text += plain;
            if (blank) {
                buf_putc(&s->text, ' ');
                text++;
            }
        }
        at += columns;
        text += strspn(text, " ");
    }
    buf_putc(&s->text, '\n');
}

void text_paragraph_done(struct sink *s, const char *lead, struct buf *b)
{
    if (b->length && !buf_failed(b))
        text_paragraph(s, lead, b->data);
    buf_done(b);
}

void text_cut(struct buf *b, size_t start, unsigned columns)
{
    if (buf_failed(b) || utf8_columns(b->data + start, b->length - start) <= columns)
        return;
    while (b->length > start && utf8_columns(b->data + start, b->length - start) + 1 > columns) {
        b->length--;
        while (b->length > start && (b->data[b->length] & 0xC0) == 0x80)
            b->length--; /* not in the middle of a character */
    }
    buf_puts(b, "…");
}

/* Each has the same width as its replacement, so that columns stay aligned. */
void text_to_ascii(struct buf *b, size_t start)
{
    static const struct {
        const char *from, *to;
    } signs[] = {
        {"≥ ", ">="}, {"≥", ">"}, {"…", "~"}, {"×", "x"}, {"µ", "u"}, {"°", " "}, {"–", "-"},
        {"▁", "_"},   {"▂", "."}, {"▃", "-"}, {"▄", "="}, {"▅", "+"}, {"▆", "*"}, {"▇", "%"},
        {"█", "#"},   {"σ", "s"}, {"±", "~"}, {"░", ":"}, {"−", "-"}, {"·", "."}, {"│", "|"},
        {"└", "+"},   {"─", "-"}, {"├", "|"}, {"▏", "-"}, {"▎", "-"}, {"▍", "-"}, {"▌", "="},
        {"▋", "="},   {"▊", "="}, {"▉", "#"},
    };
    if (buf_failed(b))
        return;
    size_t to = start;
    for (size_t from = start; from < b->length;) {
        size_t length = 1;
        const char *ascii = NULL;
        for (size_t i = 0; i < ARRAY_LEN(signs) && !ascii && (b->data[from] & 0x80); i++) {
            length = strlen(signs[i].from);
            if (b->length - from >= length && memcmp(b->data + from, signs[i].from, length) == 0)
                ascii = signs[i].to;
        }
        if (!ascii && (b->data[from] & 0x80)) { /* a name from outside */
            ascii = "?";
            for (length = 1; from + length < b->length && (b->data[from + length] & 0xC0) == 0x80;)
                length++;
        } else if (!ascii) {
            length = 1;
        }
        size_t count = ascii ? strlen(ascii) : 1;
        memmove(b->data + to, ascii ? ascii : b->data + from, count);
        to += count;
        from += length;
    }
    b->length = to;
}

void text_foreign(struct sink *s, const char *text)
{
    buf_printable(&s->text, text, strlen(text));
}

void text_name_column(struct sink *s, const char *name, unsigned width)
{
    size_t start = s->text.length;
    text_foreign(s, name);
    if (utf8_columns(s->text.data + start, s->text.length - start) >= width)
        buf_putc(&s->text, '\n'), start = s->text.length;
    buf_pad(&s->text, start, width);
}

/* In single quotes, where a quote is written '\''. */
static void put_quoted(struct buf *b, const char *text)
{
    buf_putc(b, '\'');
    while (*text) {
        size_t plain = strcspn(text, "'");
        buf_printable(b, text, plain);
        text += plain;
        if (*text == '\'') {
            buf_puts(b, "'\\''");
            text++;
        }
    }
    buf_putc(b, '\'');
}

void human_command(struct buf *b, char *const *command)
{
    enum { LONGEST = 300 };
    size_t start = b->length;
    for (char *const *arg = command; arg && *arg && b->length - start < LONGEST; arg++) {
        buf_puts(b, arg == command ? "" : " ");
        if (!**arg || strpbrk(*arg, " \t\n\"'\\$`*?[]{}()<>|&;!#~"))
            put_quoted(b, *arg);
        else
            buf_printable(b, *arg, strlen(*arg));
    }
    if (b->length - start > LONGEST && !buf_failed(b)) {
        b->length = start + LONGEST;
        while ((b->data[b->length] & 0xC0) == 0x80)
            b->length--; /* not in the middle of a letter */
        buf_puts(b, "…");
    }
}

void text_command(struct sink *s, char *const *command)
{
    human_command(&s->text, command);
}

void human_end(struct buf *b, const struct summary *summary)
{
    const struct toll_end *end = &summary->whole.end;
    bool attached = summary->run->target_count > 0;
    /* A program that measures a part of itself is alive at the end of it, of course. */
    bool is_own_block = attached && summary->run->pid && summary->run->pid == summary->run->own_pid;
    bool is_cut = end->unknown && !end->ended; /* the record does not have the end */
    const char *link = " in ";
    if (is_cut) {
        buf_puts(b, "record ends");
        link = " after ";
    } else if (!summary->has_target || (is_own_block && !end->ended)) {
        buf_puts(b, "measured");
        link = " for ";
    } else if (attached && end->ended && !end->unknown && !end->signaled) {
        buf_printf(b, "exit %d, measured", end->status);
        link = " for ";
    } else if (!end->ended) {
        buf_puts(b, attached ? "still running, measured" : "still running");
        link = attached ? " for " : " after ";
    } else if (end->unknown) {
        buf_puts(b, attached ? "ended" : "exit status unknown,");
        link = " after ";
    } else if (end->signaled) {
        const char *name = signal_name(end->status);
        link = " after ";
        if (end->oom_killed)
            buf_puts(b, "killed by the OOM killer");
        else if (name)
            buf_printf(b, "%skilled by SIG%s", end->timed_out ? "timed out, " : "", name);
        else
            buf_printf(b, "%skilled by signal %d", end->timed_out ? "timed out, " : "",
                       end->status);
        if (end->core_dumped)
            buf_puts(b, " (core dumped)");
    } else {
        buf_printf(b, "%sexit %d", end->timed_out ? "timed out, " : "", end->status);
        if (end->oom_killed)
            buf_puts(b, ", out of memory,");
    }
    buf_puts(b, link);
    human_seconds(b, (double)summary->elapsed_ns / 1e9);
}

void words_put_place(struct buf *b, const struct run *run)
{
    const struct parallel *p = &run->parallel;
    buf_puts(b, p->rank);
    if (*p->world_size)
        buf_printf(b, " of %s", p->world_size);
    if (*p->launcher)
        buf_printf(b, " (%s)", p->launcher);
    if (*p->local_rank)
        buf_printf(b, ", local rank %s", p->local_rank);
    if (*run->job.id)
        buf_printf(b, "%s%s", *p->rank ? ", job " : "", run->job.id);
    if (*run->job.array_index)
        buf_printf(b, ", array index %s", run->job.array_index);
}

/* ==== Limits ================================================================================== */

unsigned limits_used(const struct limits *limits, struct limit_used ret[LIMITS])
{
    static const struct {
        enum limit_kind kind;
        enum metric_id unit;
        const char *name;
    } kinds[] = {
        {LIMIT_CPUS, process_cpu_cores, "cores"},
        {LIMIT_MEMORY_BYTES, process_memory_rss_bytes, "memory"},
        {LIMIT_TASKS, process_threads_count, "tasks of the cgroup"},
        {LIMIT_ADDRESS_BYTES, process_memory_rss_bytes, "address space of the main process"},
        {LIMIT_OPEN_FILES, process_threads_count, "open files of the main process"},
        {LIMIT_CPU_SECONDS, process_cpu_seconds, "CPU time of the main process"},
    };
    unsigned count = 0;
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++) {
        const struct limit *l = &limits->of[kinds[i].kind];
        double allowed = kinds[i].kind == LIMIT_CPUS ? l->cores : (double)l->value;
        if (!l->known || l->unlimited || !l->has_used || !(allowed > 0))
            continue;
        bool is_charged = kinds[i].kind == LIMIT_MEMORY_BYTES && l->whose &&
                          strcmp(l->whose, "cgroup") == 0;
        ret[count++] = (struct limit_used){
            .kind = kinds[i].kind,
            .name = is_charged ? "memory charged to the cgroup" : kinds[i].name,
            .unit = metric_of(kinds[i].unit),
            .limit = l,
            .used = l->used,
            .allowed = allowed,
            .is_least = l->used_is_least && !l->reached,
        };
    }
    return count;
}

/* ==== Energy ================================================================================== */

/* Units of a figure from large to small; the one in which the high end is 1 or more is used. */
struct energy_unit {
    double size;
    const char *name;
};

static const struct energy_unit energy_in_kwh[] = {
    {1, "kWh"}, {1e-3, "Wh"}, {1e-6, "mWh"}, {0, NULL}};
static const struct energy_unit energy_in_grams[] = {
    {1e6, "t CO2e"}, {1e3, "kg CO2e"}, {1, "g CO2e"}, {1e-3, "mg CO2e"}, {0, NULL}};
static const struct energy_unit energy_in_joules[] = {
    {1e6, "MJ"}, {1e3, "kJ"}, {1, "J"}, {0, NULL}};

/* Three digits that count: 12.3, 0.00123. */
static void energy_put_number(struct buf *b, double value)
{
    unsigned decimals = 0;
    for (double least = 100; value > 0 && value < least && decimals < 9; least /= 10)
        decimals++;
    buf_double(b, value, decimals);
}

bool words_put_energy(struct buf *b, const char *before, const char *at_least,
                      const struct job_energy *j, enum energy_word word)
{
    const struct energy_unit money[] = {{1, *j->currency ? j->currency : "(money)"}, {0, NULL}};
    const struct {
        struct energy_interval interval;
        const struct energy_unit *units;
    } words[] = {[ENERGY_JOULES] = {j->joules, energy_in_joules},
                 [ENERGY_KWH] = {j->kwh, energy_in_kwh},
                 [ENERGY_CO2E] = {j->grams, energy_in_grams},
                 [ENERGY_COST] = {j->cost, money}};
    struct energy_interval i = words[word].interval;
    const struct energy_unit *unit = words[word].units;
    if (!i.has_low)
        return false;
    double most = i.has_high ? i.high : i.low;
    while (unit[1].name && most < unit->size)
        unit++;
    struct buf low = {0}, high = {0};
    energy_put_number(&low, i.low / unit->size);
    energy_put_number(&high, i.high / unit->size);
    bool is_same = low.length == high.length && low.data && high.data &&
                   memcmp(low.data, high.data, low.length) == 0;
    buf_puts(b, before);
    buf_puts(b, i.has_high ? "" : at_least);
    buf_add(b, low.data, low.length);
    if (i.has_high && !is_same) {
        buf_puts(b, " to ");
        buf_add(b, high.data, high.length);
    }
    buf_printf(b, " %s", unit->name);
    buf_done(&low);
    buf_done(&high);
    return true;
}
