/* SPDX-License-Identifier: MIT
 * libcurl as far as http.c needs it, loaded at run time; nothing else includes this. */
#pragma once

#include "toll.h"

/* Some of what is used here has a newer name by now, which older ones do not have. */
#define CURL_DISABLE_DEPRECATION
#include <curl/curl.h>

struct http_curl {
    void *library;
    CURLcode (*global_init)(long flags);
    void (*global_cleanup)(void);
    CURL *(*easy_init)(void);
    void (*easy_reset)(CURL *easy);
    void (*easy_cleanup)(CURL *easy);
    CURLcode (*easy_setopt)(CURL *easy, CURLoption option, ...);
    CURLcode (*easy_getinfo)(CURL *easy, CURLINFO info, ...);
    const char *(*easy_strerror)(CURLcode code);
    CURLM *(*multi_init)(void);
    CURLMcode (*multi_add_handle)(CURLM *multi, CURL *easy);
    CURLMcode (*multi_remove_handle)(CURLM *multi, CURL *easy);
    CURLMcode (*multi_perform)(CURLM *multi, int *running);
    CURLMcode (*multi_poll)(CURLM *multi, struct curl_waitfd *fds, unsigned count, int timeout_ms,
                            int *ret_ready);
    CURLMsg *(*multi_info_read)(CURLM *multi, int *ret_left);
    CURLMcode (*multi_cleanup)(CURLM *multi);
    struct curl_slist *(*slist_append)(struct curl_slist *list, const char *text);
    void (*slist_free_all)(struct curl_slist *list);
};

/* -EOPNOTSUPP and a sentence when there is none, or one older than 7.66. */
int http_curl_load(struct http_curl *ret, struct toll_error *e);
void http_curl_unload(struct http_curl *c);

/* The addresses of the host of a URL, and of the proxies that are named in the environment, as
 * lines for libcurl. Left to itself it would start a thread for that, whose reads would be taken
 * for those of a child. -EHOSTUNREACH, or -EINVAL when it is no URL, and a sentence. */
int http_curl_resolve(struct http_curl *c, const char *url, struct curl_slist **ret, char *why,
                      size_t capacity);
