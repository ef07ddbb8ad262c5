/* SPDX-License-Identifier: MIT */
#include "sink/om_request.h"

#include "base/scan.h"

#include <arpa/inet.h>
#include <string.h>

bool om_request_is_whole(const char *text)
{
    return strstr(text, "\r\n\r\n") || strstr(text, "\n\n");
}

/* The value of a header, without what surrounds it; name is "\nname:". Of several the first. */
static struct scan header(const char *text, const char *name)
{
    const char *at = strcasestr(text, name);
    if (!at)
        return scan_text("", 0);
    at += strlen(name);
    at += strspn(at, " \t");
    size_t length = strcspn(at, "\r\n");
    while (length && (at[length - 1] == ' ' || at[length - 1] == '\t'))
        length--;
    return scan_text(at, length);
}

static bool wants_openmetrics(const char *text)
{
    static const char type[] = "application/openmetrics-text";
    struct scan accept = header(text, "\naccept:");
    const char *found = strcasestr(accept.at, type);
    return found && found + sizeof type - 1 <= accept.end;
}

/* "name", "name:port", "1.2.3.4:port" or "[::1]:port"; without one, it is no browser. */
static bool is_this_machine(struct scan host)
{
    char name[256], own[256] = "";
    unsigned char address[16];
    bool has_brackets = host.at < host.end && *host.at == '[';
    host.at += has_brackets;
    size_t length = 0;
    while (host.at + length < host.end && host.at[length] != (has_brackets ? ']' : ':'))
        length++;
    if (length >= sizeof name)
        return false;
    memcpy(name, host.at, length);
    name[length] = '\0';
    gethostname(own, sizeof own - 1);
    return !length || inet_pton(AF_INET, name, address) == 1 ||
           inet_pton(AF_INET6, name, address) == 1 || strcasecmp(name, "localhost") == 0 ||
           strcasecmp(name, own) == 0;
}

enum om_verdict om_request_read(const char *text, bool local_only, struct om_request *ret)
{
    bool is_head = strncmp(text, "HEAD ", 5) == 0;
    if (!is_head && strncmp(text, "GET ", 4) != 0)
        return OM_METHOD;
    const char *path = text + (is_head ? 5 : 4);
    if (strncmp(path + strcspn(path, " \r\n"), " HTTP/1.", 8) != 0)
        return OM_BAD;
    if (local_only && !is_this_machine(header(text, "\nhost:")))
        return OM_HOST;
    size_t name = strcspn(path, "? ");
    if (name != 8 || strncmp(path, "/metrics", name) != 0)
        return OM_PATH;
    *ret = (struct om_request){is_head, wants_openmetrics(text)};
    return OM_SERVE;
}
