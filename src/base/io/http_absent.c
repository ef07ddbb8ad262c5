/* SPDX-License-Identifier: MIT
 * In the place of http.c where toll is built without libcurl: opening says so, and nothing else is
 * ever called. */
#include "base/err.h"
#include "base/io/http.h"

int http_open(struct http **ret, const struct http_settings *settings, struct toll_error *e)
{
    return err_set(e, -EOPNOTSUPP, "this toll was built without libcurl, it has no HTTP");
}

void http_close(struct http *h)
{
}

int http_send(struct http *h, const struct http_request *request, struct http_response *ret)
{
    *ret = (struct http_response){.body = ""};
    return -EOPNOTSUPP;
}
