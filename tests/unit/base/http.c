/* SPDX-License-Identifier: MIT */
#include "base/io/http.h"
#include "base/clock.h"
#include "base/text/secrets.h"
#include "base/util.h"
#include "http_server.h"
#include "unit.h"

#include <dlfcn.h>
#include <fcntl.h>
#include <netdb.h>

/* ---- http ----------------------------------------------------------------------------------- */

static struct http *open_or_skip(const struct http_settings *settings)
{
    struct http *h = NULL;
    struct toll_error e = {0};
    if (http_open(&h, settings, &e) < 0) {
        assert_non_null(strstr(e.message, "libcurl"));
        skip();
    }
    return h;
}

static int ask(struct http *h, struct http_server *s, struct http_request q,
               struct http_response *ret)
{
    char url[64];
    snprintf(url, sizeof url, "http://%s:%u/x?y", s->port % 2 ? "localhost" : "127.0.0.1", s->port);
    q.url = url;
    return http_send(h, &q, ret);
}

static void test_http_request_and_answer(void **state)
{
    struct http_server s;
    struct http_settings settings = {.token = "sesame", .headers = "X-A: 1\nX-B: 2"};
    struct http *h = open_or_skip(&settings);
    struct http_response r;
    static const char *const headers[] = {"Content-Type: text/plain", NULL};
    server_start(&s);
    server_answer(&s, "HTTP/1.1 429 Slow\r\nRetry-After: 7\r\nContent-Length: 5\r\n\r\nlater");
    assert_int_equal(
        ask(h, &s, (struct http_request){.headers = headers, .body = "a\0b", .length = 3}, &r), 0);
    assert_int_equal(r.status, 429);
    assert_int_equal(r.retry_after_ns, 7 * NS_PER_SECOND);
    assert_int_equal(r.length, 5);
    assert_memory_equal(r.body, "later", 5);
    assert_non_null(strstr(s.request, "POST /x?y HTTP/1.1\r\n"));
    assert_non_null(strstr(s.request, "Authorization: Bearer sesame\r\n"));
    assert_non_null(strstr(s.request, "X-A: 1\r\nX-B: 2\r\n"));
    assert_non_null(strstr(s.request, "Content-Type: text/plain\r\n"));
    assert_memory_equal(s.request + s.length - 3, "a\0b", 3);
    server_answer(&s, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    assert_int_equal(ask(h, &s, (struct http_request){0}, &r), 0);
    assert_non_null(strstr(s.request, "GET /x?y"));
    assert_int_equal(r.status, 200);
    assert_int_equal(r.retry_after_ns, 0);
    assert_int_equal(ask(h, &s, (struct http_request){.method = "DELETE"}, &r), 0);
    assert_non_null(strstr(s.request, "DELETE /x?y"));
    http_close(h);
    server_stop(&s);
}

static void test_http_basic_wins_over_bearer(void **state)
{
    struct http_server s;
    struct http_settings settings = {.token = "sesame", .user = "u", .password = "p"};
    struct http *h = open_or_skip(&settings);
    struct http_response r;
    server_start(&s);
    assert_int_equal(ask(h, &s, (struct http_request){0}, &r), 0);
    assert_non_null(strstr(s.request, "Authorization: Basic dTpw\r\n"));
    assert_null(strstr(s.request, "sesame"));
    http_close(h);
    http_close(NULL);
    server_stop(&s);
}

static bool is_over(void *arg)
{
    return ++*(unsigned *)arg > 1;
}

static void test_http_those_who_do_not_answer(void **state)
{
    struct http_server s;
    struct http *h = open_or_skip(NULL);
    struct http_response r;
    unsigned asked = 0;
    server_start(&s);
    server_answer(&s, NULL);
    uint64_t before = clock_mono(NULL);
    struct http_request q = {.is_over = is_over, .is_over_arg = &asked};
    assert_int_equal(ask(h, &s, q, &r), -ECANCELED);
    assert_true(strlen(r.why) > 0);
    q = (struct http_request){.timeout_ns = 50 * NS_PER_MS};
    assert_int_equal(ask(h, &s, q, &r), -ETIMEDOUT);
    assert_non_null(strstr(r.why, "no response in time"));
    assert_true(clock_mono(NULL) - before < 5 * NS_PER_SECOND);
    server_stop(&s);
    server_start(&s);
    server_answer(&s, "");
    assert_int_equal(ask(h, &s, (struct http_request){0}, &r), -EIO);
    server_answer(&s, "what?\r\n\r\n");
    assert_true(ask(h, &s, (struct http_request){0}, &r) < 0);
    server_stop(&s);
    assert_int_equal(ask(h, &s, (struct http_request){0}, &r), -ECONNREFUSED);
    struct http_request nowhere = {.url = "http://no.such.host.invalid/"};
    assert_int_equal(http_send(h, &nowhere, &r), -EHOSTUNREACH);
    assert_non_null(strstr(r.why, "no.such.host.invalid"));
    nowhere.url = "file:///etc/passwd";
    assert_int_equal(http_send(h, &nowhere, &r), -EINVAL);
    nowhere.url = "http://127.0.0.1/a b";
    assert_int_equal(http_send(h, &nowhere, &r), -EINVAL);
    http_close(h);
}

static void test_http_large_answers_are_cut(void **state)
{
    static char answer[100 + 3 * HTTP_BODY_BYTES];
    struct http_server s;
    struct http *h = open_or_skip(NULL);
    struct http_response r;
    int n = snprintf(answer, sizeof answer, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n",
                     2 * HTTP_BODY_BYTES);
    memset(answer + n, 'x', 2 * HTTP_BODY_BYTES);
    server_start(&s);
    server_answer(&s, answer);
    for (unsigned i = 0; i < 2; i++) { /* the connection is good for another one */
        assert_int_equal(ask(h, &s, (struct http_request){0}, &r), 0);
        assert_int_equal(r.length, HTTP_BODY_BYTES);
    }
    http_close(h);
    server_stop(&s);
}

/* Sends a head to whoever connects, then the same bytes again and again until they are not taken
 * any more, or there were more than a gigabyte. */
struct endless_server {
    int fd;
    const char *head, *again;
    uint64_t sent;
};

static void *endless_run(void *arg)
{
    struct endless_server *s = arg;
    char question[4096], text[65536];
    int fd = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC);
    assert_true(fd >= 0 && recv(fd, question, sizeof question, 0) > 0);
    assert_true(send(fd, s->head, strlen(s->head), MSG_NOSIGNAL) > 0);
    size_t length = 0, one = strlen(s->again);
    while (length + one <= sizeof text) {
        memcpy(text + length, s->again, one);
        length += one;
    }
    for (ssize_t n; s->sent < UINT64_C(1) << 30; s->sent += (uint64_t)n)
        if ((n = send(fd, text, length, MSG_NOSIGNAL)) <= 0)
            break;
    close(fd);
    return NULL;
}

static int ask_endless(const char *head, const char *again, struct http_response *ret)
{
    struct endless_server s = {.head = head, .again = again};
    struct http_server place = {0};
    struct sockaddr_in a = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof a;
    pthread_t thread;
    struct http *h = open_or_skip(NULL);
    s.fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(s.fd, (struct sockaddr *)&a, sizeof a), 0);
    assert_int_equal(listen(s.fd, 5), 0);
    assert_int_equal(getsockname(s.fd, (struct sockaddr *)&a, &size), 0);
    place.port = ntohs(a.sin_port);
    assert_int_equal(pthread_create(&thread, NULL, endless_run, &s), 0);
    int r = ask(h, &place, (struct http_request){.timeout_ns = 300 * NS_PER_SECOND}, ret);
    assert_int_equal(ret->length, r == 0 ? HTTP_BODY_BYTES : 0);
    pthread_join(thread, NULL);
    http_close(h);
    close(s.fd);
    /* What two sockets hold between them may have been sent beside what was read. */
    assert_true(s.sent < 64 << 20);
    return r;
}

static void test_http_answers_without_an_end(void **state)
{
    struct http_response r;
    assert_int_equal(ask_endless("HTTP/1.1 200 OK\r\nContent-Length: 1073741824\r\n\r\n", "x", &r),
                     0);
    assert_int_equal(r.status, 200);
    assert_int_equal(ask_endless("HTTP/1.1 503 No\r\n\r\n", "text ", &r), 0);
    assert_int_equal(r.status, 503);
    assert_int_equal(ask_endless("HTTP/1.1 200 OK\r\n", "X-Header: value\r\n", &r), -EPROTO);
    assert_non_null(strstr(r.why, "headers"));
}

static atomic_uint lookups;

/* Counts what is asked of the C library's. */
int getaddrinfo(const char *host, const char *service, const struct addrinfo *wanted,
                struct addrinfo **ret)
{
    static int (*real)(const char *, const char *, const struct addrinfo *, struct addrinfo **);
    if (!real)
        *(void **)&real = dlsym(RTLD_NEXT, "getaddrinfo");
    atomic_fetch_add(&lookups, strcmp(host, "localhost") == 0);
    return real(host, service, wanted, ret);
}

/* An address is of a host, whatever is asked of it there. */
static void test_http_a_name_is_looked_up_once(void **state)
{
    struct http_server s;
    struct http *h = open_or_skip(NULL);
    struct http_response r;
    char url[64];
    server_start(&s);
    server_answer(&s, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    lookups = 0;
    for (unsigned i = 0; i < 5; i++) {
        snprintf(url, sizeof url, "http://localhost:%u/path/%u?query=%u", s.port, i, i);
        assert_int_equal(http_send(h, &(struct http_request){.url = url}, &r), 0);
    }
    assert_int_equal(lookups, 1);
    snprintf(url, sizeof url, "http://localhost:%u/", s.port == 65535 ? 1 : s.port + 1);
    http_send(h, &(struct http_request){.url = url}, &r); /* its address belongs to its port */
    assert_int_equal(lookups, 2);
    http_close(h);
    server_stop(&s);
}

/* ---- http words ----------------------------------------------------------------------------- */

static void test_http_words_what_is_worth_a_retry(void **state)
{
    static const int yes[] = {408, 429, 500, 502, 503, 504, 599};
    static const int no[] = {200, 204, 301, 400, 401, 403, 404, 413, 422, 501};
    for (size_t i = 0; i < ARRAY_LEN(yes); i++)
        assert_true(http_is_worth_a_retry(yes[i]));
    for (size_t i = 0; i < ARRAY_LEN(no); i++)
        assert_false(http_is_worth_a_retry(no[i]));
}

static void http_words_expect(int status, const char *body, const char *sentence)
{
    char text[200];
    struct http_response r = {.status = status, .body = body, .length = strlen(body)};
    http_describe(&r, text, sizeof text);
    assert_string_equal(text, sentence);
}

static void test_http_words_sentences(void **state)
{
    http_words_expect(400, "out of order sample\nand more",
                      "server answered 400: out of order sample");
    http_words_expect(500, "<html>\n<body>", "server answered 500");
    http_words_expect(204, "", "server answered 204");
    http_words_expect(400, "a\x1b[31mb", "server answered 400: a?[31mb");
    char small[12], body[HTTP_BODY_BYTES];
    memset(body, 'x', sizeof body);
    struct http_response r = {.status = 400, .body = body, .length = sizeof body};
    http_describe(&r, small, sizeof small);
    assert_string_equal(small, "server answ");
}

/* ---- url ------------------------------------------------------------------------------------ */

static void url_expect(const char *text, const char *shown, unsigned port, const char *user)
{
    struct url u;
    struct buf b = {0};
    assert_true(url_split(text, &u));
    assert_int_equal(url_port(&u), port);
    assert_int_equal(u.user.end - u.user.at, strlen(user));
    assert_memory_equal(u.user.at, user, strlen(user));
    url_show(&b, text);
    assert_string_equal(b.data, shown);
    buf_done(&b);
}

static void test_url_good(void **state)
{
    url_expect("http://host", "http://host", 80, "");
    url_expect("https://host/", "https://host/", 443, "");
    url_expect("http://host:9090/api/v1/write", "http://host:9090/api/v1/write", 9090, "");
    url_expect("http://u:p@host/x?token=secret#frag", "http://host/x", 80, "u:p");
    url_expect("http://u:p@w@host:1/x", "http://host:1/x", 1, "u:p@w");
    url_expect("http://@host", "http://host", 80, "");
    url_expect("HTTPS://[::1]:8443/x", "HTTPS://[::1]:8443/x", 8443, "");
    url_expect("http://[fe80::1]?q", "http://[fe80::1]", 80, "");
    struct url u;
    assert_true(url_split("http://h/a/b?c=d#e", &u));
    assert_memory_equal(u.path.at, "/a/b", u.path.end - u.path.at);
    assert_memory_equal(u.query.at, "c=d", u.query.end - u.query.at);
}

static void test_url_parts(void **state)
{
    struct buf b = {0};
    url_encode(&b, "a b/c%:\xc3\xa4?#&=~", 14, "");
    assert_string_equal(b.data, "a%20b%2Fc%25%3A%C3%A4%3F%23%26%3D~");
    buf_clear(&b);
    url_encode(&b, "/a b%20/\0", 9, "/%");
    assert_string_equal(b.data, "/a%20b%20/%00");
    buf_done(&b);
}

static void test_url_bad(void **state)
{
    static const char *const bad[] = {
        "",
        "http",
        "http:",
        "http:/",
        "http://",
        "http:///x",
        "ftp://x",
        "http://:80",
        "http://h:",
        "http://h:0",
        "http://h:x",
        "http://h:65536",
        "http://h:1x",
        "http://[::1",
        "http://[::1]x",
        "http://h h",
        "http://h/\n",
        "host:9090",
        "http://h/\xff",
        "http://u:p@",
        "file:///etc/passwd",
    };
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct url u;
        struct buf b = {0};
        assert_false(url_split(bad[i], &u));
        url_show(&b, bad[i]);
        assert_string_equal(b.data, "?"); /* nothing of it */
        buf_done(&b);
    }
}

static void expect_decoded(const char *text, const char *expected)
{
    struct buf b = {0};
    assert_int_equal(url_decode(&b, text, strlen(text)), expected != NULL);
    if (expected)
        assert_string_equal(b.data ? b.data : "", expected);
    buf_done(&b);
}

static void test_url_decode(void **state)
{
    expect_decoded("", "");
    expect_decoded("plain+", "plain+");
    expect_decoded("a%20b%2C%c3%A9", "a b,\xc3\xa9");
    expect_decoded("%", NULL);
    expect_decoded("x%2", NULL);
    expect_decoded("%zz", NULL);
    expect_decoded("%00", NULL);
}

/* ---- secrets -------------------------------------------------------------------------------- */

static void expect_command(const char *const words[], const char *const masked[])
{
    char **got = secrets_mask_command(words);
    assert_non_null(got);
    for (size_t i = 0; masked[i]; i++) {
        assert_non_null(got[i]);
        assert_string_equal(got[i], masked[i]);
        free(got[i]);
    }
    free(got);
}

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

static void expect_text(const char *text, const char *masked)
{
    struct buf b = {0};
    secrets_mask_text(&b, text, strlen(text));
    buf_puts(&b, "");
    assert_string_equal(b.data ? b.data : "", masked);
    buf_done(&b);
}

static void expect_unchanged(const char *text)
{
    expect_text(text, text);
}

static void test_secrets_options(void **state)
{
    expect_command(WORDS("a", "--password", "X", "--password=hunter2", "--user", "me"),
                   WORDS("a", "--password", "***", "--password=***", "--user", "me"));
    expect_command(
        WORDS("a", "--token=a b;c", "--api-key", "-k", "--db-passwd", "x", "--secret", "y"),
        WORDS("a", "--token=***", "--api-key", "***", "--db-passwd", "***", "--secret", "***"));
    expect_command(
        WORDS("a", "-password", "x", "-Dspring.datasource.password=x", "-Dpassword=x"),
        WORDS("a", "-password", "***", "-Dspring.datasource.password=***", "-Dpassword=***"));
    expect_command(WORDS("a", "--accessToken", "x", "--clientSecret=y"),
                   WORDS("a", "--accessToken", "***", "--clientSecret=***"));
    /* An option that takes no value here does not hide the next one. */
    expect_command(WORDS("psql", "--password", "--host", "h"),
                   WORDS("psql", "--password", "--host", "h"));
}

static void test_secrets_variables(void **state)
{
    expect_command(
        WORDS("env", "FOO_TOKEN=abc", "MY_KEY=k", "PGPASSWORD=p w", "PATH=/bin", "make"),
        WORDS("env", "FOO_TOKEN=***", "MY_KEY=***", "PGPASSWORD=***", "PATH=/bin", "make"));
    expect_command(
        WORDS("docker", "run", "-e", "DB_PASSWORD_PROD=x", "--env=API_TOKEN=y", "-p", "80:80"),
        WORDS("docker", "run", "-e", "DB_PASSWORD_PROD=***", "--env=API_TOKEN=***", "-p", "80:80"));
    expect_command(WORDS("x", "PWD=/home", "OLDPWD=/", "MYSQL_PWD=y"),
                   WORDS("x", "PWD=/home", "OLDPWD=/", "MYSQL_PWD=***"));
    /* pwd is a password or a directory. */
    expect_command(WORDS("x", "--pwd", "zzz", "--pwd=zzz", "-pwd", "zzz"),
                   WORDS("x", "--pwd", "***", "--pwd=***", "-pwd", "***"));
    expect_command(
        WORDS("apptainer", "--pwd", "/work", "--pwd=./x", "--pwd", "~", "--pwd", "$PWD"),
        WORDS("apptainer", "--pwd", "/work", "--pwd=./x", "--pwd", "~", "--pwd", "$PWD"));
    expect_text("Server=db;Uid=me;Pwd=a1;Timeout=3", "Server=db;Uid=me;Pwd=***;Timeout=3");
    expect_text("{\"pwd\":\"zzz\",\"a\":1}", "{\"pwd\":***,\"a\":1}");
    expect_unchanged("{\"pwd\": \"/home\"}");
    expect_unchanged("cd x && pwd && ls");
}

/* What only sounds like one. */
static void test_secrets_innocent(void **state)
{
    static const char *const words[] = {"python",
                                        "train.py",
                                        "--max-tokens",
                                        "512",
                                        "--tokenizer",
                                        "gpt2",
                                        "--pad-token",
                                        "<pad>",
                                        "--password-file",
                                        "/run/pw",
                                        "--sort-key",
                                        "name",
                                        "--no-password",
                                        "x",
                                        "--ask-pass",
                                        "y",
                                        "--token-count=3",
                                        "SECRET_NAME=db",
                                        "monkey=banana",
                                        "a=b",
                                        "compass=north",
                                        "KEY=c",
                                        NULL};
    expect_command(words, words);
    expect_command(WORDS("ffmpeg", "-pass", "1", "-pass", "secret"),
                   WORDS("ffmpeg", "-pass", "1", "-pass", "***"));
    expect_unchanged("git clone ssh://git@example.org/a.git");
    expect_unchanged("http://example.org:8080/token:latest?a=b&c=d@e");
    expect_unchanged("don't panic, it's fine");
    expect_unchanged("sk-learn-pipelines-and-models");
    expect_unchanged("it is a secret");
    expect_unchanged("");
}

static void test_secrets_urls(void **state)
{
    expect_text("https://me:pw@host/x", "https://me:***@host/x");
    expect_text("redis://:p@ss@host:6379/0", "redis://:***@host:6379/0");
    expect_text("postgres://u:p/w@h/db", "postgres://u:***@h/db");
    expect_text("https://0123456789abcdef0123@github.com/a", "https://***@github.com/a");
    expect_text("a https://u:p@h,b http://v:q@i", "a https://u:***@h,b http://v:***@i");
    expect_text("https://h/?access_token=abc&x=1", "https://h/?access_token=***&x=1");
    expect_text("https://h/?sv=1&sig=abc%3D&x=1", "https://h/?sv=1&sig=***&x=1");
    expect_text("https://h/?X-Amz-Signature=abc", "https://h/?X-Amz-Signature=***");
}

static void test_secrets_headers(void **state)
{
    expect_command(WORDS("curl", "-su", "me:pw", "-HAuthorization: Basic abc def", "https://h"),
                   WORDS("curl", "-su", "me:***", "-HAuthorization: ***", "https://h"));
    expect_command(WORDS("sh", "-c", "curl '-HAuthorization: Basic abc' https://h"),
                   WORDS("sh", "-c", "curl '-HAuthorization: ***' https://h"));
    expect_command(WORDS("curl", "-su", "me", "-so", "a:b"),
                   WORDS("curl", "-su", "me", "-so", "a:b"));
    expect_command(WORDS("python", "-c", "password = \"hunter2\"; x = 'token' : 'a b'"),
                   WORDS("python", "-c", "password = ***; x = 'token' : ***"));
    expect_command(WORDS("app", "{\"token\" : \"abc\", \"name\" : \"me\"}"),
                   WORDS("app", "{\"token\" : *** \"name\" : \"me\"}"));
    expect_command(WORDS("curl", "-H", "Authorization: Bearer abc def", "-u", "me:pw", "https://h"),
                   WORDS("curl", "-H", "Authorization: ***", "-u", "me:***", "https://h"));
    expect_command(
        WORDS("curl", "--user=me:pw", "--proxy-user", "a:b", "-uc:d", "--user-agent", "x"),
        WORDS("curl", "--user=me:***", "--proxy-user", "a:***", "-uc:***", "--user-agent", "x"));
    expect_text("X-Api-Key: abc", "X-Api-Key: ***");
    expect_text("Cookie: a=b; c=d", "Cookie: ***");
    expect_command(WORDS("x", "--header=Authorization: token abc"),
                   WORDS("x", "--header=Authorization: ***"));
    expect_text("auth Bearer abc.def", "auth Bearer ***");
}

static void test_secrets_known_tokens(void **state)
{
    expect_text("ghp_0123456789abcdefABCDEF0123456789abcd", "ghp_***");
    expect_text("x=sk-proj-0123456789abcdefghij,y", "x=sk-***,y");
    expect_text("AKIAIOSFODNN7EXAMPLE", "AKIA***");
    expect_text("id AKIAIOSFODNN7EXAMPLE.", "id AKIA***.");
    expect_text("glpat-abcdefghij12345", "glpat-***");
    expect_text("-----BEGIN RSA PRIVATE KEY-----\nabc", "***");
}

/* One word that is a script, and documents. */
static void test_secrets_inside(void **state)
{
    expect_command(WORDS("sh", "-c", "echo \"a;b\" API_KEY=zzz; rm -f nothing"),
                   WORDS("sh", "-c", "echo \"a;b\" API_KEY=***; rm -f nothing"));
    expect_command(WORDS("sh", "-c", "a --password zzz&& b --token 'z z'| c -pzzz; d API_KEY=z&"),
                   WORDS("sh", "-c", "a --password ***&& b --token ***| c -pzzz; d API_KEY=***&"));
    expect_command(WORDS("sh", "-c", "mysql -pzzz; curl -u me:zzz; x --password; rm -f nothing"),
                   WORDS("sh", "-c", "mysql -p***; curl -u me:***; x --password; rm -f nothing"));
    expect_command(WORDS("sh", "-c", "FOO_TOKEN=zzz\\; x"), WORDS("sh", "-c", "FOO_TOKEN=*** x"));
    expect_command(WORDS("sh", "-c", "FOO_TOKEN=abc ./run --password 'my pw' --fast"),
                   WORDS("sh", "-c", "FOO_TOKEN=*** ./run --password *** --fast"));
    expect_command(WORDS("bash", "-lc", "cd /x && mysql -psecret db; echo done"),
                   WORDS("bash", "-lc", "cd /x && mysql -p*** db; echo done"));
    expect_command(
        WORDS("sh", "-c", "bash -c \"curl -H 'Authorization: Bearer a b' https://u:p@h\""),
        WORDS("sh", "-c", "bash -c \"curl -H 'Authorization: ***' https://u:***@h\""));
    expect_command(WORDS("sh", "-c", "sh -c \"x -c \\\"a b\\\" --password y; true\"; z"),
                   WORDS("sh", "-c", "sh -c \"x -c \\\"a b\\\" --password ***; true\"; z"));
    expect_command(
        WORDS("sh", "-c", "curl -d '{\"user\": \"me\", \"password\": \"a b\"}' https://h"),
        WORDS("sh", "-c", "curl -d '{\"user\": \"me\", \"password\": ***' https://h"));
    expect_text("{\"password\":\"x\",\"user\":\"y\"}", "{\"password\":***,\"user\":\"y\"}");
    expect_text("Server=db;Password=a,b;Timeout=3", "Server=db;Password=***;Timeout=3");
    expect_command(WORDS("python", "-c", "connect(user='a', password='x y')"),
                   WORDS("python", "-c", "connect(user='a', password=***)"));
    expect_command(WORDS("ssh", "host", "DB_PASS=x run me"), WORDS("ssh", "host", "DB_PASS=***"));
}

static void test_secrets_letters(void **state)
{
    expect_command(WORDS("timeout", "5", "sshpass", "-p", "pw", "ssh", "-p", "22", "host"),
                   WORDS("timeout", "5", "sshpass", "-p", "***", "ssh", "-p", "22", "host"));
    expect_command(WORDS("/usr/bin/mysql", "-uroot", "-psecret", "-P", "3306", "-p", "db"),
                   WORDS("/usr/bin/mysql", "-uroot", "-p***", "-P", "3306", "-p", "db"));
    expect_command(WORDS("docker", "login", "-u", "me", "-p", "pw"),
                   WORDS("docker", "login", "-u", "me", "-p", "***"));
    expect_command(WORDS("make", "-p", "all"), WORDS("make", "-p", "all"));
    /* Any program: -p after -u NAME, unless it is a port or a path. */
    expect_command(WORDS("./client", "-u", "root", "-pS3cret", "db"),
                   WORDS("./client", "-u", "root", "-p***", "db"));
    expect_command(WORDS("client", "--user=root", "-h", "h", "-p", "zzz", "-p", "5432"),
                   WORDS("client", "--user=root", "-h", "h", "-p", "***", "-p", "5432"));
    expect_text("client -u 'root' -p 'z z'; mkdir -p dir", "client -u 'root' -p ***; mkdir -p dir");
    static const char *const unchanged[] = {
        "cp -u -p a b",        "patch -u -p1",      "ps -u root -p 12",
        "gcc -pthread -pipe",  "find . -path x",    "diff -u a b",
        "srun -u prog -p gpu", "tool -u me -p /x",  "python3.9 -u train.py -p cfg",
        "squeue -u me -p gpu", "tool -u me -p80:8", "tool -u 5 -p x"};
    for (size_t i = 0; i < ARRAY_LEN(unchanged); i++)
        expect_unchanged(unchanged[i]);
    expect_command(WORDS("redis-cli", "-a", "pw"), WORDS("redis-cli", "-a", "***"));
    expect_command(WORDS("openssl", "enc", "-k", "pw", "-pass", "pass:x", "-passin", "pass:y"),
                   WORDS("openssl", "enc", "-k", "***", "-pass", "***", "-passin", "pass:***"));
}

static void test_secrets_again(void **state)
{
    expect_command(WORDS("a", "--password", "***", "A_TOKEN=***", "https://u:***@h"),
                   WORDS("a", "--password", "***", "A_TOKEN=***", "https://u:***@h"));
}

static void expect_pair(const char *pair, const char *masked)
{
    char *got = secrets_mask_pair(pair);
    assert_string_equal(got, masked);
    free(got);
}

static void test_secrets_pairs(void **state)
{
    expect_pair("experiment=a b", "experiment=a b");
    expect_pair("db_password=a b", "db_password=***");
    expect_pair("url=https://u:p@h", "url=https://u:***@h");
    expect_pair("", "");
}

static void test_secrets_sentences(void **state)
{
    char sentence[80] = "https://u:p@h: TOKEN=abc is wrong; --password: expected a file";
    secrets_mask_sentence(sentence, sizeof sentence);
    assert_string_equal(sentence,
                        "https://u:***@h: TOKEN=*** is wrong; --password: expected a file");
    char narrow[12] = "a_token=x";
    secrets_mask_sentence(narrow, sizeof narrow);
    assert_string_equal(narrow, "a_token=***");
    char cut[10] = "a_token=x";
    secrets_mask_sentence(cut, sizeof cut);
    assert_string_equal(cut, "a_token=*");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_http_request_and_answer),
        cmocka_unit_test(test_http_basic_wins_over_bearer),
        cmocka_unit_test(test_http_those_who_do_not_answer),
        cmocka_unit_test(test_http_large_answers_are_cut),
        cmocka_unit_test(test_http_answers_without_an_end),
        cmocka_unit_test(test_http_a_name_is_looked_up_once),
        cmocka_unit_test(test_http_words_what_is_worth_a_retry),
        cmocka_unit_test(test_http_words_sentences),
        cmocka_unit_test(test_url_good),
        cmocka_unit_test(test_url_parts),
        cmocka_unit_test(test_url_bad),
        cmocka_unit_test(test_url_decode),
        cmocka_unit_test(test_secrets_options),
        cmocka_unit_test(test_secrets_variables),
        cmocka_unit_test(test_secrets_innocent),
        cmocka_unit_test(test_secrets_urls),
        cmocka_unit_test(test_secrets_headers),
        cmocka_unit_test(test_secrets_known_tokens),
        cmocka_unit_test(test_secrets_inside),
        cmocka_unit_test(test_secrets_letters),
        cmocka_unit_test(test_secrets_again),
        cmocka_unit_test(test_secrets_pairs),
        cmocka_unit_test(test_secrets_sentences),
    };
    return RUN("base/http", tests);
}
