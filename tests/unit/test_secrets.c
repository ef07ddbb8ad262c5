/* SPDX-License-Identifier: MIT */
#include "base/text/secrets.h"

#include "unit.h"

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

static void test_options(void **state)
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

static void test_variables(void **state)
{
    expect_command(
        WORDS("env", "FOO_TOKEN=abc", "MY_KEY=k", "PGPASSWORD=p w", "PATH=/bin", "make"),
        WORDS("env", "FOO_TOKEN=***", "MY_KEY=***", "PGPASSWORD=***", "PATH=/bin", "make"));
    expect_command(
        WORDS("docker", "run", "-e", "DB_PASSWORD_PROD=x", "--env=API_TOKEN=y", "-p", "80:80"),
        WORDS("docker", "run", "-e", "DB_PASSWORD_PROD=***", "--env=API_TOKEN=***", "-p", "80:80"));
    expect_command(WORDS("x", "PWD=/home", "OLDPWD=/", "MYSQL_PWD=y"),
                   WORDS("x", "PWD=/home", "OLDPWD=/", "MYSQL_PWD=***"));
}

/* What only sounds like one. */
static void test_innocent(void **state)
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

static void test_urls(void **state)
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

static void test_headers(void **state)
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

static void test_known_tokens(void **state)
{
    expect_text("ghp_0123456789abcdefABCDEF0123456789abcd", "ghp_***");
    expect_text("x=sk-proj-0123456789abcdefghij,y", "x=sk-***,y");
    expect_text("AKIAIOSFODNN7EXAMPLE", "AKIA***");
    expect_text("id AKIAIOSFODNN7EXAMPLE.", "id AKIA***.");
    expect_text("glpat-abcdefghij12345", "glpat-***");
    expect_text("-----BEGIN RSA PRIVATE KEY-----\nabc", "***");
}

/* One word that is a script, and documents. */
static void test_inside(void **state)
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
    expect_command(
        WORDS("sh", "-c", "curl -d '{\"user\": \"me\", \"password\": \"a b\"}' https://h"),
        WORDS("sh", "-c", "curl -d '{\"user\": \"me\", \"password\": ***' https://h"));
    expect_text("{\"password\":\"x\",\"user\":\"y\"}", "{\"password\":***,\"user\":\"y\"}");
    expect_text("Server=db;Password=a,b;Timeout=3", "Server=db;Password=***;Timeout=3");
    expect_command(WORDS("python", "-c", "connect(user='a', password='x y')"),
                   WORDS("python", "-c", "connect(user='a', password=***)"));
    expect_command(WORDS("ssh", "host", "DB_PASS=x run me"), WORDS("ssh", "host", "DB_PASS=***"));
}

static void test_letters(void **state)
{
    expect_command(WORDS("timeout", "5", "sshpass", "-p", "pw", "ssh", "-p", "22", "host"),
                   WORDS("timeout", "5", "sshpass", "-p", "***", "ssh", "-p", "22", "host"));
    expect_command(WORDS("/usr/bin/mysql", "-uroot", "-psecret", "-P", "3306", "-p", "db"),
                   WORDS("/usr/bin/mysql", "-uroot", "-p***", "-P", "3306", "-p", "db"));
    expect_command(WORDS("docker", "login", "-u", "me", "-p", "pw"),
                   WORDS("docker", "login", "-u", "me", "-p", "***"));
    expect_command(WORDS("make", "-p", "all"), WORDS("make", "-p", "all"));
    expect_command(WORDS("redis-cli", "-a", "pw"), WORDS("redis-cli", "-a", "***"));
    expect_command(WORDS("openssl", "enc", "-k", "pw", "-pass", "pass:x", "-passin", "pass:y"),
                   WORDS("openssl", "enc", "-k", "***", "-pass", "***", "-passin", "pass:***"));
}

static void test_again(void **state)
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

static void test_pairs(void **state)
{
    expect_pair("experiment=a b", "experiment=a b");
    expect_pair("db_password=a b", "db_password=***");
    expect_pair("url=https://u:p@h", "url=https://u:***@h");
    expect_pair("", "");
}

static void test_sentences(void **state)
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
        cmocka_unit_test(test_options),   cmocka_unit_test(test_variables),
        cmocka_unit_test(test_innocent),  cmocka_unit_test(test_urls),
        cmocka_unit_test(test_headers),   cmocka_unit_test(test_known_tokens),
        cmocka_unit_test(test_inside),    cmocka_unit_test(test_letters),
        cmocka_unit_test(test_again),     cmocka_unit_test(test_pairs),
        cmocka_unit_test(test_sentences),
    };
    return RUN("secrets", tests);
}
