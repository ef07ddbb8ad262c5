/* SPDX-License-Identifier: MIT */
#include "base/text/secrets.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

static const char MASK[] = "***";

/* Locale-proof. */
static bool secrets_is_letter(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

static bool secrets_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool secrets_is_blank(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

static bool is_quote(char c)
{
    return c == '"' || c == '\'' || c == '`';
}

static bool is_name_character(char c)
{
    return secrets_is_letter(c) || secrets_is_digit(c) || c == '_' || c == '-' || c == '.';
}

/* "pwd" is a password, or the current directory. */
static bool is_path(const char *at, const char *end)
{
    at += at < end && *at == '\\';
    at += at < end && is_quote(*at);
    return at < end && (*at == '/' || *at == '.' || *at == '~' || *at == '$' || *at == '`');
}

static bool is_listed(const char *word, const char *const list[])
{
    for (; *list; list++)
        if (strcmp(word, *list) == 0)
            return true;
    return false;
}

static bool ends_with_one(const char *word, const char *const list[])
{
    size_t length = strlen(word);
    for (; *list; list++) {
        size_t suffix = strlen(*list);
        if (length >= suffix && strcmp(word + length - suffix, *list) == 0)
            return true;
    }
    return false;
}

/* ---- Names that announce a secret ------------------------------------------------------------ */

enum { WORD_BYTES = 24 };

/* The words of a name: DB_PASSWORD, db-password, db.password and dbPassword are the same two. */
struct name_words {
    char first[WORD_BYTES], before_last[WORD_BYTES], last[WORD_BYTES];
    bool has_password; /* one of them, or something as clear, is among them */
    bool is_upper;     /* no small letter in it: a variable of the environment */
};

static void end_word(struct name_words *n, char *word, size_t *length)
{
    static const char *const clear[] = {"password",   "passwd",    "passphrase", "secret",
                                        "apikey",     "accesskey", "secretkey",  "privatekey",
                                        "credential", NULL};
    while (*length && secrets_is_digit(word[*length - 1])) /* PASSWORD2 */
        (*length)--;
    if (*length > 1 && word[*length - 1] == 's' && word[*length - 2] != 's') {
        word[*length] = '\0';
        if (strcmp(word, "credentials") == 0 || strcmp(word, "secrets") == 0)
            (*length)--;
    }
    if (!*length)
        return;
    word[*length] = '\0';
    n->has_password |= ends_with_one(word, clear);
    memcpy(n->before_last, n->last, sizeof n->last);
    memcpy(n->last, word, *length + 1);
    if (!*n->first)
        memcpy(n->first, word, *length + 1);
    *length = 0;
}

static struct name_words split_name(const char *name, size_t length)
{
    struct name_words n = {.is_upper = true};
    char word[WORD_BYTES];
    size_t used = 0;
    for (size_t i = 0; i < length; i++) {
        char c = name[i];
        bool is_hump = i && c >= 'A' && c <= 'Z' && name[i - 1] >= 'a' && name[i - 1] <= 'z';
        bool is_separator = !secrets_is_letter(c) && !secrets_is_digit(c);
        if (is_hump || is_separator)
            end_word(&n, word, &used);
        n.is_upper &= !(c >= 'a' && c <= 'z');
        if (is_separator)
            continue;
        if (used == sizeof word - 1) /* its end matters: keep that */
            memmove(word, word + 1, --used);
        word[used++] = c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
    }
    end_word(&n, word, &used);
    return n;
}

/* Not of a value but of something about it: --password-file, --token-count, SECRET_NAME. */
static const char *const describes[] = {
    "file",   "path",    "dir",     "directory", "stdin",  "fd",    "env",       "var",
    "length", "len",     "count",   "size",      "policy", "name",  "names",     "id",
    "ttl",    "timeout", "expiry",  "expires",   "min",    "max",   "prompt",    "command",
    "helper", "manager", "store",   "type",      "format", "field", "enabled",   "required",
    "rounds", "mode",    "version", "url",       "uri",    "host",  "algorithm", NULL};

enum name_kind { NAME_PLAIN, NAME_SECRET, NAME_SECRET_OR_PATH };

static enum name_kind kind_of_name(const char *name, size_t length)
{
    static const char *const of_keys[] = {
        "api",    "access",  "secret",  "private",  "auth",    "encryption",   "signing",
        "master", "account", "storage", "service",  "license", "subscription", "client",
        "shared", "deploy",  "app",     "consumer", "server",  "session",      NULL};
    static const char *const of_language[] = {
        "pad",   "eos",   "bos",   "unk",   "mask", "sep",   "cls",       "special",
        "start", "stop",  "begin", "end",   "next", "max",   "min",       "num",
        "per",   "image", "last",  "first", "eot",  "split", "delimiter", NULL};
    static const char *const whole[] = {"jwt", "otp", "bearer", "authorization", "cookie", NULL};
    static const char *const refuses[] = {"no", "ask", "without", "prompt", NULL};

    static const char *const token[] = {"token", NULL};

    struct name_words n = split_name(name, length);
    if (!*n.last || is_listed(n.last, describes) || is_listed(n.first, refuses))
        return NAME_PLAIN;
    if (strcmp(n.last, "pwd") == 0 && !*n.before_last)
        return NAME_SECRET_OR_PATH;
    bool is_secret;
    if (n.has_password || is_listed(n.last, whole))
        is_secret = true;
    else if (ends_with_one(n.last, token))
        is_secret = !is_listed(n.before_last, of_language);
    else if (strcmp(n.last, "key") == 0)
        is_secret = is_listed(n.before_last, of_keys) || (n.is_upper && *n.before_last);
    else if (strcmp(n.last, "signature") == 0)
        is_secret = strcmp(n.before_last, "amz") == 0 || strcmp(n.before_last, "goog") == 0;
    else
        is_secret = strcmp(n.last, "pass") == 0 || strcmp(n.last, "pw") == 0 ||
                    strcmp(n.last, "pwd") == 0;
    return is_secret ? NAME_SECRET : NAME_PLAIN;
}

/* With the value, up to `end`. */
static bool is_secret_pair(const char *name, size_t length, const char *value, const char *end)
{
    enum name_kind kind = kind_of_name(name, length);
    return kind == NAME_SECRET || (kind == NAME_SECRET_OR_PATH && !is_path(value, end));
}

/* Its value goes on to the end: "Authorization: Bearer X", "Cookie: a=X; b=Y". */
static bool is_header_of_secrets(const char *name, size_t length)
{
    struct name_words n = split_name(name, length);
    return strcmp(n.last, "authorization") == 0 || strcmp(n.last, "cookie") == 0;
}

/* ---- Tokens of well-known form --------------------------------------------------------------- */

/* Length of such a token at the text, with the length of its prefix, which is shown; or 0. */
static size_t known_token(const char *text, size_t left, size_t *ret_prefix)
{
    static const struct {
        const char *prefix;
        unsigned char least; /* characters after it */
        bool is_plain;       /* letters and digits alone */
    } kinds[] = {
        {"ghp_", 16, true},     {"gho_", 16, true},     {"ghu_", 16, true},
        {"ghs_", 16, true},     {"ghr_", 16, true},     {"github_pat_", 16, false},
        {"glpat-", 12, false},  {"sk-", 20, false},     {"sk_live_", 12, true},
        {"sk_test_", 12, true}, {"rk_live_", 12, true}, {"AKIA", 16, true},
        {"ASIA", 16, true},     {"xoxb-", 12, false},   {"xoxp-", 12, false},
        {"xoxa-", 12, false},   {"xoxs-", 12, false},   {"xapp-", 12, false},
        {"hf_", 20, true},      {"AIza", 30, false},    {"ya29.", 16, false},
        {"npm_", 30, true},     {"pypi-", 30, false},   {"dop_v1_", 30, true},
        {"gsk_", 30, true},     {"whsec_", 16, true},   {"SG.", 30, false},
        {"eyJ", 40, false}, /* a JSON web token */
    };
    for (size_t k = 0; k < ARRAY_LEN(kinds); k++) {
        size_t prefix = strlen(kinds[k].prefix);
        if (left < prefix || memcmp(text, kinds[k].prefix, prefix) != 0)
            continue;
        size_t length = prefix;
        while (length < left &&
               (secrets_is_letter(text[length]) || secrets_is_digit(text[length]) ||
                (!kinds[k].is_plain && is_name_character(text[length]))))
            length++;
        bool has_digit = false; /* words of a language have none: sk-learn-… */
        for (size_t i = prefix; i < length && !has_digit; i++)
            has_digit = secrets_is_digit(text[i]);
        if (length < prefix + kinds[k].least || !has_digit)
            continue;
        *ret_prefix = prefix;
        return length;
    }
    return 0;
}

/* ---- A chunk of text, without regard to its words ------------------------------------------ */

enum { LOOK_AHEAD = 1024 }; /* bytes: keeps the time for hostile text linear */

/* Whether "name=" or "name:" follows. */
static bool begins_pair(const char *at, const char *end)
{
    const char *first = at;
    while (at < end && secrets_is_blank(*at) && at - first < LOOK_AHEAD)
        at++;
    const char *name = at;
    while (at < end && (is_name_character(*at) || is_quote(*at)) && at - first < LOOK_AHEAD)
        at++;
    return at > name && at < end && (*at == '=' || *at == ':');
}

/* Only brackets, quotes and punctuation are left. */
static bool is_rest_of_brackets(const char *at, const char *end)
{
    const char *first = at;
    while (at < end && at - first < LOOK_AHEAD && *at && strchr(")]}>,;\"'` \n", *at))
        at++;
    return at == end;
}

/* The end of the value that begins here. In doubt too much is masked. */
static const char *value_end(const char *at, const char *end)
{
    const char *first = at;
    if (at < end && *at == '\\' && at + 1 < end && is_quote(at[1])) { /* JSON in a string */
        char quote = at[1];
        for (at += 2; at < end; at++)
            if (*at == '\\' && at + 1 < end && at[1] == quote)
                return at + 2;
        return end;
    }
    if (at < end && is_quote(*at)) {
        char quote = *at;
        for (at++; at < end && *at != quote; at++)
            if (*at == '\\' && at + 1 < end)
                at++;
        return at < end ? at + 1 : end;
    }
    for (; at < end && !secrets_is_blank(*at) && !is_quote(*at); at++) {
        if (*at && strchr("&;,", *at) && begins_pair(at + 1, end))
            break;
        if (*at && strchr(")]}>", *at) && at - first < LOOK_AHEAD && is_rest_of_brackets(at, end))
            break;
    }
    return at;
}

/* Behind "://": user:password@, of which the password is masked; a user alone when it looks like a
 * token. Returns where to go on; what is before it was added. */
static const char *mask_authority(struct buf *b, const char *at, const char *end, bool is_http)
{
    const char *last = at, *colon = NULL, *sign = NULL, *later = NULL;
    bool is_in_authority = true;
    for (; last < end && last - at < LOOK_AHEAD && !secrets_is_blank(*last) && !is_quote(*last);
         last++) {
        is_in_authority &= *last != '/' && *last != '?' && *last != '#';
        if (*last == '@' && is_in_authority)
            sign = last;
        if (*last == '@')
            later = last;
        if (*last == ':' && !colon && is_in_authority && !sign)
            colon = last;
    }
    /* A password with a slash in it, not escaped: what follows the colon is not a port. */
    if (!sign && later && colon && colon + 1 < later && !secrets_is_digit(colon[1]))
        sign = later;
    if (!sign || (colon && colon > sign))
        return at;
    size_t prefix;
    if (colon && colon + 1 < sign) {
        buf_add(b, at, (size_t)(colon + 1 - at));
        buf_puts(b, MASK);
        return sign;
    }
    if (!colon && is_http && (sign - at >= 16 || known_token(at, (size_t)(sign - at), &prefix))) {
        buf_puts(b, MASK);
        return sign;
    }
    return at;
}

/* Of "name", its quote and "=" or ":", where the value begins; NULL when it is no pair. */
static const char *pair_value(const char *at, const char *end, bool is_sentence)
{
    if (at + 1 < end && *at == '\\' && is_quote(at[1]))
        at += 2;
    else if (at < end && is_quote(*at))
        at++;
    if (at >= end || (*at != '=' && (*at != ':' || is_sentence)))
        return NULL;
    at++;
    while (at < end && !is_sentence && secrets_is_blank(*at))
        at++;
    return at < end && !(*at == '/' && at + 1 < end && at[1] == '/') ? at : NULL;
}

/* Length of the option before a header: curl '-HAuthorization: …' */
static size_t glued_header(const char *name, size_t length)
{
    return length > 2 && memcmp(name, "-H", 2) == 0 ? 2 : 0;
}

static void mask_chunk(struct buf *b, const char *text, size_t length, bool is_sentence)
{
    const char *at = text, *end = text + length;
    while (at < end) {
        size_t prefix;
        size_t token = known_token(at, (size_t)(end - at), &prefix);
        if (token) {
            buf_add(b, at, prefix);
            buf_puts(b, MASK);
            at += token;
            continue;
        }
        if (end - at > 3 && memcmp(at, "://", 3) == 0) {
            bool is_http = (at - text >= 4 && memcmp(at - 4, "http", 4) == 0) ||
                           (at - text >= 5 && memcmp(at - 5, "https", 5) == 0);
            buf_puts(b, "://");
            at = mask_authority(b, at + 3, end, is_http);
            continue;
        }
        if (!is_name_character(*at)) {
            buf_putc(b, *at++);
            continue;
        }
        const char *name = at;
        while (at < end && is_name_character(*at))
            at++;
        buf_add(b, name, (size_t)(at - name));
        bool is_path = name > text && name[-1] == '/' && at < end && *at == ':';
        bool is_query = name > text && (name[-1] == '?' || name[-1] == '&');
        if (name == text)
            name += glued_header(name, (size_t)(at - name));
        const char *value = is_path ? NULL : pair_value(at, end, is_sentence);
        bool is_signature = is_query && at - name == 3 && strncasecmp(name, "sig", 3) == 0;
        if (!value || !(is_secret_pair(name, (size_t)(at - name), value, end) || is_signature))
            continue;
        const char *last = is_header_of_secrets(name, (size_t)(at - name)) && !is_sentence &&
                                   !is_quote(*value)
                               ? end
                               : value_end(value, end);
        if (last == value)
            continue;
        buf_add(b, at, (size_t)(value - at));
        buf_puts(b, MASK);
        at = last;
    }
}

/* ---- Words of a command or a script ---------------------------------------------------------- */

/* Programs with options of one letter that are a password. Those without letters end what the
 * program before them means: sshpass -p X ssh -p 22. */
struct program {
    const char *names;    /* with blanks between and around */
    const char *glued;    /* -pX */
    const char *separate; /* -p X */
    const char *users;    /* -u user:X, both ways */
};

static const struct program programs[] = {
    {" mysql mysqldump mysqladmin mysqlimport mariadb mariadb-dump mariadb-admin ", "p", "", ""},
    {" sshpass mongo mongosh mongodump mongorestore mongoexport login ", "p", "p", ""},
    {" 7z 7za 7zr ", "p", "", ""},
    {" redis-cli ", "a", "a", ""},
    {" ldapsearch ldapmodify ldapadd ldapdelete ldappasswd ldapwhoami ", "w", "w", ""},
    {" zip unzip sqlcmd bcp mosquitto_pub mosquitto_sub ipmitool ", "P", "P", ""},
    {" openssl ", "", "kK", ""},
    {" curl ", "", "", "uU"},
    {" http https ", "", "", "a"},
    {" smbclient ", "", "", "U"},
    {" ssh scp sftp rsync sudo docker podman python python3 ", "", "", ""},
    {" srun sbatch salloc squeue sacct sinfo scancel ", "", "", ""}, /* -p is a partition */
    {0},
};

enum pending {
    NOTHING,
    WHOLE_WORD,   /* the next word is a secret */
    UNLESS_DIGIT, /* the next word unless it is one digit: ffmpeg -pass 1 */
    UNLESS_PATH,  /* the next word unless it is a path: apptainer --pwd /work */
    UNLESS_PORT,  /* the next word unless it is a path or a port: -p 80:8080 */
    AFTER_COLON,  /* user:X */
    REST,         /* all that follows is one */
};

struct words {
    const struct program *program;
    enum pending pending;
    enum pending after_sign; /* the word before is the name of a secret: with "=" or ":" next */
    enum { NO_USER, USER_IS_NEXT, HAS_USER } user;
    bool is_script;    /* the next word is one: sh -c */
    bool is_top_level; /* words of a command, not of a script */
    unsigned depth;
};

static void mask_words(struct buf *b, const char *text, size_t length, unsigned depth);

static const struct program *program_named(const char *word, size_t length)
{
    const char *base = word;
    for (const char *c = word; c < word + length; c++)
        if (strchr("/|;&($`", *c))
            base = c + 1;
    char padded[32];
    size_t bytes = (size_t)(word + length - base);
    if (!bytes || bytes + 3 > sizeof padded)
        return NULL;
    snprintf(padded, sizeof padded, " %.*s ", (int)bytes, base);
    for (const struct program *p = programs; p->names; p++)
        if (strstr(p->names, padded))
            return p;
    return NULL;
}

static void mask_user(struct buf *b, const char *word, size_t length)
{
    size_t user = 0;
    while (user < length && word[user] != ':' && word[user] != '%')
        user++;
    buf_add(b, word, user < length ? user + 1 : user);
    if (user + 1 < length)
        buf_puts(b, MASK);
}

static bool is_path_or_port(const char *at, const char *end)
{
    if (is_path(at, end))
        return true;
    at += at < end && is_quote(*at);
    bool begins_with_digit = at < end && secrets_is_digit(*at);
    while (at < end && (secrets_is_digit(*at) || strchr(":,.-/\"'", *at)) && *at)
        at++;
    return begins_with_digit && at == end;
}

/* In a program that is not listed -p may be anything: a port, a path, a flag, the beginning of
 * -profile. After "-u NAME" in the same command it is most likely a password. */
static bool mask_letter_after_user(struct buf *b, struct words *w, const char *word, size_t length)
{
    const char *end = word + length;
    static const char *const options[] = {"-u", "--user", "--username"};
    if (w->user == USER_IS_NEXT) {
        bool is_name = length && secrets_is_letter(*word);
        for (const char *c = word; c < end && is_name; c++)
            is_name = secrets_is_letter(*c) || secrets_is_digit(*c) || *c == '_' || *c == '-';
        w->user = is_name ? HAS_USER : NO_USER;
    }
    for (size_t i = 0; i < ARRAY_LEN(options); i++) {
        size_t option = strlen(options[i]);
        if (length < option || memcmp(word, options[i], option) != 0 || w->user == HAS_USER)
            continue;
        if (length == option)
            w->user = USER_IS_NEXT;
        else if (option > 2 && length > option + 1 && word[option] == '=')
            w->user = HAS_USER;
    }
    if (w->user != HAS_USER || length < 2 || memcmp(word, "-p", 2) != 0 ||
        memchr(word, '=', length) || is_path_or_port(word + 2, end))
        return false;
    buf_add(b, word, 2);
    if (length == 2)
        w->pending = UNLESS_PORT;
    else
        buf_puts(b, MASK);
    return true;
}

/* Whether it was one of the options that a program has for passwords. */
static bool mask_letter(struct buf *b, struct words *w, const char *word, size_t length)
{
    const struct program *p = w->program;
    if (!p)
        return mask_letter_after_user(b, w, word, length);
    if (length < 2 || word[0] != '-')
        return false;
    if (*p->users == 'u' && length >= 6 && memcmp(word, "--", 2) == 0) { /* curl */
        bool is_user = (length >= 6 && memcmp(word, "--user", 6) == 0) ||
                       (length >= 12 && memcmp(word, "--proxy-user", 12) == 0);
        size_t option = word[2] == 'u' ? 6 : 12;
        if (!is_user || (length > option && word[option] != '='))
            return false;
        buf_add(b, word, length > option ? option + 1 : length);
        if (length > option)
            mask_user(b, word + option + 1, length - option - 1);
        else
            w->pending = AFTER_COLON;
        return true;
    }
    /* Letters in a group: curl -su user:X */
    size_t letters = 1;
    while (letters < length && secrets_is_letter(word[letters]))
        letters++;
    if (letters == length && length > 2 && *p->users && strchr(p->users, word[length - 1])) {
        buf_add(b, word, length);
        w->pending = AFTER_COLON;
        return true;
    }
    bool is_alone = length == 2;
    if (strchr(p->users, word[1])) {
        buf_add(b, word, 2);
        if (is_alone)
            w->pending = AFTER_COLON;
        else
            mask_user(b, word + 2, length - 2);
        return true;
    }
    if (!strchr(is_alone ? p->separate : p->glued, word[1]))
        return false;
    buf_add(b, word, 2);
    if (is_alone)
        w->pending = WHOLE_WORD;
    else
        buf_puts(b, MASK);
    return true;
}

/* -c, -lc, -ec of a shell and of what is alike, --command. */
static bool announces_script(const char *word, size_t length)
{
    if (length == 9 && memcmp(word, "--command", 9) == 0)
        return true;
    bool is_short = length >= 2 && length <= 5 && word[0] == '-' && word[length - 1] == 'c';
    for (size_t i = 1; is_short && i < length; i++)
        is_short = secrets_is_letter(word[i]);
    return is_short;
}

/* What the word before means for this one. Whether that decides about it. */
static bool mask_pending(struct buf *b, struct words *w, const char *word, size_t length)
{
    enum pending pending = w->pending;
    if (pending == NOTHING)
        return false;
    if (pending == REST)
        return true; /* it was masked with the first word of it */
    w->pending = NOTHING;
    bool is_option = length > 2 && memcmp(word, "--", 2) == 0 && secrets_is_letter(word[2]);
    if (is_option || !length ||
        (pending == UNLESS_DIGIT && length == 1 && secrets_is_digit(*word)) ||
        (pending == UNLESS_PATH && is_path(word, word + length)) ||
        (pending == UNLESS_PORT && is_path_or_port(word, word + length)))
        return false;
    if (pending == AFTER_COLON)
        mask_user(b, word, length);
    else
        buf_puts(b, MASK);
    return true;
}

static bool is_sign(char c)
{
    return c == ':' || c == '=';
}

/* "Authorization:", "{"password":", "Bearer": the value is the next word. Without the sign at its
 * end, that may be a word of its own. */
static void note_announcement(struct words *w, const char *word, size_t length)
{
    if (length == 6 && strncasecmp(word, "bearer", 6) == 0) {
        w->pending = WHOLE_WORD;
        return;
    }
    bool has_sign = length && is_sign(word[length - 1]);
    size_t end = has_sign ? length - 1 : length;
    while (end && (is_quote(word[end - 1]) || word[end - 1] == '\\'))
        end--;
    size_t first = end;
    while (first && is_name_character(word[first - 1]))
        first--;
    first += first ? 0 : glued_header(word, end);
    enum name_kind kind = kind_of_name(word + first, end - first);
    if (kind == NAME_PLAIN)
        return;
    enum pending next = is_header_of_secrets(word + first, end - first) ? REST
                        : kind == NAME_SECRET_OR_PATH                   ? UNLESS_PATH
                                                                        : WHOLE_WORD;
    if (has_sign)
        w->pending = next;
    else
        w->after_sign = next;
}

static void mask_word(struct buf *b, struct words *w, const char *word, size_t length)
{
    bool is_script = w->is_script;
    enum pending after_sign = w->after_sign;
    w->is_script = false;
    w->after_sign = NOTHING;
    if (length == 1 && is_sign(*word) && after_sign != NOTHING) {
        buf_putc(b, *word);
        w->pending = after_sign;
        return;
    }
    if (mask_pending(b, w, word, length) || mask_letter(b, w, word, length))
        return;
    /* The length of "--name", "-name" or "name" before "=", or of the whole word. */
    size_t name = 0, dashes = 0;
    while (name < length && is_name_character(word[name]))
        name++;
    while (dashes < name && word[dashes] == '-')
        dashes++;
    /* -Dname=value of Java and the like */
    size_t letter = dashes == 1 && name > 2 && word[1] == 'D' ? 1 : 0;
    const char *end = word + length;
    enum name_kind kind = name > dashes + letter
                              ? kind_of_name(word + dashes + letter, name - dashes - letter)
                              : NAME_PLAIN;
    bool has_value = name + 1 < length && word[name] == '=' && !is_script;
    if (has_value &&
        (kind == NAME_SECRET || (kind == NAME_SECRET_OR_PATH && !is_path(word + name + 1, end)))) {
        const char *last = value_end(word + name + 1, end);
        buf_add(b, word, name + 1);
        buf_puts(b, MASK);
        if (!w->is_top_level && is_rest_of_brackets(last, end)) /* f(password='x') */
            buf_add(b, last, (size_t)(end - last));
        return;
    }
    if (kind != NAME_PLAIN && dashes && name == length) {
        w->pending = kind == NAME_SECRET_OR_PATH ? UNLESS_PATH
                     : length - dashes == 4      ? UNLESS_DIGIT /* -pass */
                                                 : WHOLE_WORD;
        buf_add(b, word, length);
        return;
    }
    if (dashes) {
        w->is_script = announces_script(word, length);
    } else {
        const struct program *p = program_named(word, length);
        w->program = p ? p : w->program;
    }
    if (w->is_top_level || is_script) {
        mask_words(b, word, length, w->depth + 1);
    } else {
        mask_chunk(b, word, length, false);
        note_announcement(w, word, length);
    }
    if (w->is_top_level)
        note_announcement(w, word, length);
}

/* The end of the word that begins here: blanks in quotes belong to it. A quote that is never closed
 * is a letter like others. */
static const char *word_end(const char *at, const char *end, const char **unclosed)
{
    while (at < end && !secrets_is_blank(*at)) {
        if (*at == '\\' && at + 1 < end) {
            at += 2;
            continue;
        }
        if (is_quote(*at) && at < *unclosed) {
            const char *close = at + 1;
            while (close < end && *close != *at)
                close += *close == '\\' && *at != '\'' && close + 1 < end ? 2 : 1;
            if (close >= end)
                *unclosed = at;
            else
                at = close;
        }
        at++;
    }
    return at < end ? at : end;
}

/* Whether a word is all in one pair of quotes, in which others may be escaped. */
static bool is_one_quote(const char *word, size_t length)
{
    size_t at = 1;
    if (length < 2 || !is_quote(*word))
        return false;
    while (at < length && word[at] != *word)
        at += word[at] == '\\' && *word != '\'' ? 2 : 1;
    return at == length - 1;
}

static void mask_words(struct buf *b, const char *text, size_t length, unsigned depth)
{
    enum { DEEPEST = 4 };
    static const char private_key[] = "PRIVATE KEY-----";
    const char *at = text, *end = text + length, *unclosed = end;
    struct words w = {.depth = depth};
    if (memmem(text, length, private_key, sizeof private_key - 1)) {
        buf_puts(b, MASK);
        return;
    }
    while (at < end) {
        if (secrets_is_blank(*at)) {
            buf_putc(b, *at++);
            continue;
        }
        const char *word = at;
        at = word_end(at, end, &unclosed);
        size_t bytes = (size_t)(at - word);
        while (bytes && word[bytes - 1] && strchr(";&|", word[bytes - 1]))
            bytes--;
        if (bytes && word[bytes - 1] == '\\') /* they are escaped, and part of the word */
            bytes = (size_t)(at - word);
        size_t signs = (size_t)(at - word) - bytes;
        if (is_one_quote(word, bytes) && w.pending == NOTHING && depth < DEEPEST) {
            buf_putc(b, *word);
            mask_words(b, word + 1, bytes - 2, depth + 1);
            buf_putc(b, *word);
            w.after_sign = NOTHING;
            w.user = w.user == USER_IS_NEXT ? HAS_USER : w.user;
            note_announcement(&w, word + 1, bytes - 2);
            w.is_script = false;
        } else {
            mask_word(b, &w, word, bytes);
        }
        if (w.pending == REST && at < end) {
            buf_putc(b, ' ');
            buf_puts(b, MASK);
            return;
        }
        if (signs) { /* the next word belongs to another command */
            buf_add(b, at - signs, signs);
            w = (struct words){.depth = depth};
        }
    }
}

/* ---- From outside ---------------------------------------------------------------------------- */

void secrets_mask_text(struct buf *b, const char *text, size_t length)
{
    mask_words(b, text, length, 0);
}

char **secrets_mask_command(const char *const words[])
{
    size_t count = 0;
    while (words[count])
        count++;
    char **masked = calloc(count + 1, sizeof *masked);
    struct words w = {.is_top_level = true};
    for (size_t i = 0; masked && i < count; i++) {
        struct buf b = {0};
        mask_word(&b, &w, words[i], strlen(words[i]));
        if (w.pending == REST) /* a header in a word of its own goes no further than the next */
            w.pending = WHOLE_WORD;
        masked[i] = buf_take(&b);
        if (!masked[i]) {
            for (size_t k = 0; k < i; k++)
                free(masked[k]);
            free(masked);
            return NULL;
        }
    }
    return masked;
}

char *secrets_mask_pair(const char *pair)
{
    struct buf b = {0};
    struct words w = {.is_top_level = true};
    mask_word(&b, &w, pair, strlen(pair));
    return buf_take(&b);
}

void secrets_mask_sentence(char *sentence, size_t capacity)
{
    struct buf b = {0};
    mask_chunk(&b, sentence, strlen(sentence), true);
    if (!buf_failed(&b) && capacity)
        snprintf(sentence, capacity, "%s", b.data ? b.data : "");
    buf_done(&b);
}
