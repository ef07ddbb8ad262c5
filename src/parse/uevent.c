/* SPDX-License-Identifier: MIT
 *
 * DRIVER=amdgpu
 * PCI_CLASS=30000
 * PCI_ID=1002:73BF
 * PCI_SLOT_NAME=0000:03:00.0
 *
 * A last line without its newline was cut short and is not there. */
#include "parse/uevent.h"

#include "base/util.h"

int parse_uevent(struct scan text, const char *key, char *ret, size_t capacity)
{
    struct scan line;
    while (scan_line(&text, &line) && line.end < text.at) {
        if (!scan_word(&line, key) || !scan_word(&line, "="))
            continue;
        size_t length = (size_t)(line.end - line.at);
        if (!length || length >= capacity)
            return -EBADMSG;
        for (const char *c = line.at; c < line.end; c++)
            if ((unsigned char)*c < ' ' || *c == 127)
                return -EBADMSG;
        memcpy(ret, line.at, length);
        ret[length] = '\0';
        return 0;
    }
    return -ENODATA;
}
