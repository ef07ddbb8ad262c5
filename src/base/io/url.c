/* SPDX-License-Identifier: MIT */
#include "base/io/url.h"

#include "base/text/buf.h"

#include <string.h>

static struct scan url_cut(struct scan *s, const char *letters)
{
    struct scan part = {.at = s->at, .end = s->at};
    while (part.end < s->end && !strchr(letters, *part.end))
        part.end++;
    s->at = part.end;
    return part;
}

/* The last @ ends the user: a password may be written with one. */
static struct scan url_cut_user(struct scan *authority)
{
    struct scan user = {.at = authority->at, .end = authority->at};
    for (const char *c = authority->at; c < authority->end; c++)
        if (*c == '@')
            user.end = c;
    if (user.end > authority->at || (authority->at < authority->end && *authority->at == '@'))
        authority->at = user.end + 1;
    return user;
}

static bool url_split_host(struct scan authority, struct url *u)
{
    if (authority.at < authority.end && *authority.at == '[') {
        authority.at++;
        u->host = url_cut(&authority, "]");
        if (authority.at == authority.end)
            return false;
        authority.at++;
    } else {
        u->host = url_cut(&authority, ":");
    }
    size_t length = scan_length(u->host);
    if (memchr(u->host.at, '[', length) || memchr(u->host.at, ']', length))
        return false; /* they are around an address, not in it */
    u->port = (struct scan){.at = authority.end, .end = authority.end};
    if (authority.at == authority.end)
        return u->host.at < u->host.end;
    if (*authority.at != ':')
        return false;
    authority.at++;
    u->port = authority;
    struct scan digits = authority;
    uint64_t port;
    return u->host.at < u->host.end && scan_u64(&digits, &port) && scan_done(&digits) && port &&
           port < 65536 && *authority.at != ' ';
}

bool url_split(const char *text, struct url *ret)
{
    struct url u = {0};
    struct scan s = scan_string(text);
    for (const char *c = text; *c; c++)
        if ((unsigned char)*c <= 0x20 || (unsigned char)*c >= 0x7F || strchr("\"\\<>", *c))
            return false;
    u.scheme = url_cut(&s, ":");
    size_t length = scan_length(u.scheme);
    u.is_secure = length == 5 && strncasecmp(u.scheme.at, "https", 5) == 0;
    if (!u.is_secure && !(length == 4 && strncasecmp(u.scheme.at, "http", 4) == 0))
        return false;
    if (!scan_word(&s, "://"))
        return false;
    struct scan authority = url_cut(&s, "/?#");
    u.user = url_cut_user(&authority);
    if (!url_split_host(authority, &u))
        return false;
    u.path = url_cut(&s, "?#");
    if (s.at < s.end && *s.at == '?') {
        s.at++;
        u.query = url_cut(&s, "#");
    } else {
        u.query = (struct scan){.at = s.at, .end = s.at};
    }
    *ret = u;
    return true;
}

unsigned url_port(const struct url *u)
{
    struct scan digits = u->port;
    uint64_t port;
    return scan_u64(&digits, &port) ? (unsigned)port : u->is_secure ? 443 : 80;
}

void url_encode(struct buf *b, const char *text, size_t length, const char *kept)
{
    for (size_t i = 0; i < length; i++) {
        unsigned char c = (unsigned char)text[i];
        bool is_plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
                        (c >= '0' && c <= '9') || (c && (strchr("-._~", c) || strchr(kept, c)));
        if (is_plain)
            buf_putc(b, (char)c);
        else
            buf_printf(b, "%%%02X", c);
    }
}

bool url_decode(struct buf *b, const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++) {
        if (text[i] != '%') {
            buf_putc(b, text[i]);
            continue;
        }
        int high = i + 2 < length ? scan_hex_digit(text[i + 1]) : -1;
        int low = high >= 0 ? scan_hex_digit(text[i + 2]) : -1;
        if (low < 0 || (high == 0 && low == 0))
            return false;
        buf_putc(b, (char)(high << 4 | low));
        i += 2;
    }
    return true;
}

void url_show(struct buf *b, const char *text)
{
    struct url u;
    if (!url_split(text, &u)) {
        buf_puts(b, "?"); /* a password may be anywhere in it */
        return;
    }
    bool has_colon = memchr(u.host.at, ':', scan_length(u.host));
    buf_add(b, u.scheme.at, scan_length(u.scheme));
    buf_puts(b, has_colon ? "://[" : "://");
    buf_add(b, u.host.at, scan_length(u.host));
    buf_puts(b, has_colon ? "]" : "");
    if (u.port.at < u.port.end) {
        buf_putc(b, ':');
        buf_add(b, u.port.at, scan_length(u.port));
    }
    buf_add(b, u.path.at, scan_length(u.path));
}
