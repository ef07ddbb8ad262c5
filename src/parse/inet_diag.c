/* SPDX-License-Identifier: MIT
 *
 * struct nlmsghdr         length, type SOCK_DIAG_BY_FAMILY, sequence
 * struct inet_diag_msg    family, state, addresses, cookie, inode
 * struct nlattr           length, INET_DIAG_INFO
 *   struct tcp_info       grows from kernel to kernel
 * struct nlattr           length, INET_DIAG_PROTOCOL: one byte
 * …
 *
 * Everything is padded to four bytes. Nothing is taken to be aligned here: fields are copied out.
 */
#include "parse/inet_diag.h"

#include <linux/inet_diag.h>
#include <linux/netlink.h>
#include <linux/sock_diag.h>
#include <linux/tcp.h>
#include <netinet/in.h>
#include <string.h>

static size_t left(const struct scan *s)
{
    return (size_t)(s->end - s->at);
}

/* Cuts a piece off that says itself how long it is, with its padding. */
static bool cut(struct scan *s, size_t length, size_t header, struct scan *ret_payload)
{
    if (length < header || length > left(s))
        return false;
    *ret_payload = scan_text(s->at + header, length - header);
    size_t padded = NLMSG_ALIGN(length);
    s->at += padded < left(s) ? padded : left(s);
    return true;
}

/* The number at that place of a struct tcp_info; false when the kernel's is shorter. */
static bool field(const struct scan *info, size_t offset, uint64_t *ret)
{
    if (left(info) < offset + sizeof *ret)
        return false;
    memcpy(ret, info->at + offset, sizeof *ret);
    return true;
}

#define FIELD(info, name, ret) field(info, offsetof(struct tcp_info, name), ret)

/* What is acknowledged contains the beginning of a connection that was made from here, and its end,
 * as one byte each. What was sent for the first time (since Linux 4.19) does not: where all is
 * acknowledged the smaller number is the exact one. */
static void read_info(const struct scan *info, struct inet_diag_answer *a)
{
    uint64_t acked, received, sent, again;
    if (!FIELD(info, tcpi_bytes_acked, &acked) || !FIELD(info, tcpi_bytes_received, &received))
        return;
    if (FIELD(info, tcpi_bytes_sent, &sent) && FIELD(info, tcpi_bytes_retrans, &again) &&
        again <= sent)
        acked = min_u64(acked, sent - again);
    a->has_bytes = true;
    a->received_bytes = received;
    a->sent_bytes = acked;
}

static int read_socket(struct scan payload, struct inet_diag_answer *a)
{
    struct inet_diag_msg message;
    if (left(&payload) < sizeof message)
        return -EBADMSG;
    memcpy(&message, payload.at, sizeof message);
    payload.at += sizeof message;
    a->inode = message.idiag_inode;
    a->cookie = (uint64_t)message.id.idiag_cookie[1] << 32 | message.id.idiag_cookie[0];

    struct nlattr attribute;
    while (left(&payload) >= sizeof attribute) {
        struct scan value;
        memcpy(&attribute, payload.at, sizeof attribute);
        if (!cut(&payload, attribute.nla_len, sizeof attribute, &value))
            return -EBADMSG;
        int type = attribute.nla_type & NLA_TYPE_MASK;
        if (type == INET_DIAG_INFO)
            read_info(&value, a);
        else if (type == INET_DIAG_PROTOCOL && (scan_done(&value) || *value.at != IPPROTO_TCP))
            return -EBADMSG;
    }
    return 0;
}

static int read_error(const struct scan *payload, struct inet_diag_answer *a)
{
    int code;
    if (left(payload) < sizeof code)
        return -EBADMSG;
    memcpy(&code, payload->at, sizeof code);
    a->kind = INET_DIAG_ANSWER_ERROR;
    a->error = code;
    return 0;
}

int parse_inet_diag(struct scan *messages, struct inet_diag_answer *ret)
{
    struct nlmsghdr header;
    struct scan rest = *messages, payload;
    if (scan_done(&rest))
        return 0;
    if (left(&rest) < sizeof header)
        return -EBADMSG;
    memcpy(&header, rest.at, sizeof header);
    if (!cut(&rest, header.nlmsg_len, sizeof header, &payload))
        return -EBADMSG;

    struct inet_diag_answer a = {.kind = INET_DIAG_ANSWER_OTHER, .sequence = header.nlmsg_seq};
    int r = 0;
    if (header.nlmsg_type == NLMSG_DONE) {
        a.kind = INET_DIAG_ANSWER_DONE;
    } else if (header.nlmsg_type == NLMSG_ERROR) {
        r = read_error(&payload, &a);
    } else if (header.nlmsg_type == SOCK_DIAG_BY_FAMILY) {
        a.kind = INET_DIAG_ANSWER_SOCKET;
        r = read_socket(payload, &a);
    }
    if (r < 0)
        return r;
    *messages = rest;
    *ret = a;
    return 1;
}
