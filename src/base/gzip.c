/* SPDX-License-Identifier: MIT */
#include "base/gzip.h"

#include "base/err.h"

#ifdef HAS_ZLIB

#include "base/dynlib.h"

#include <limits.h>
#include <zlib.h>

struct gzip {
    int (*init)(z_streamp s, int level, int method, int window, int memory, int strategy,
                const char *version, int size);
    int (*deflate)(z_streamp s, int flush);
    int (*end)(z_streamp s);
    uLong (*bound)(z_streamp s, uLong length);
};

int gzip_open(struct gzip **ret, struct toll_error *e)
{
    static const struct dynlib_symbol functions[] = {
        {offsetof(struct gzip, init), {"deflateInit2_"}},
        {offsetof(struct gzip, deflate), {"deflate"}},
        {offsetof(struct gzip, end), {"deflateEnd"}},
        {offsetof(struct gzip, bound), {"deflateBound"}},
    };
    char why[200] = "";
    struct gzip g;
    void *library = dynlib_open("libz.so.1", why, sizeof why);
    if (!library)
        return err_set(e, -EOPNOTSUPP, "gzip needs zlib, which cannot be loaded: %s", why);
    if (dynlib_find(library, functions, ARRAY_LEN(functions), &g) != ARRAY_LEN(functions))
        return err_set(e, -EOPNOTSUPP, "gzip needs another version of zlib");
    struct gzip *own = malloc(sizeof *own);
    if (!own)
        return err_set(e, -ENOMEM, "no memory for gzip");
    *own = g;
    *ret = own;
    return 0;
}

void gzip_close(struct gzip *g)
{
    free(g);
}

int gzip_pack(struct gzip *g, const char *data, size_t length, struct buf *ret)
{
    enum { WITH_GZIP_HEADER = 15 + 16, MEMORY = 8 };
    z_stream s = {0};
    size_t room;
    buf_clear(ret);
    if (length > UINT_MAX / 2 ||
        g->init(&s, Z_DEFAULT_COMPRESSION, Z_DEFLATED, WITH_GZIP_HEADER, MEMORY, Z_DEFAULT_STRATEGY,
                ZLIB_VERSION, sizeof s) != Z_OK)
        return -ENOMEM;
    char *to = buf_room(ret, g->bound(&s, length), &room);
    s.next_in = (Bytef *)(uintptr_t)data;
    s.avail_in = (uInt)length;
    s.next_out = (Bytef *)to;
    s.avail_out = (uInt)min_u64(room, UINT_MAX);
    int r = to && g->deflate(&s, Z_FINISH) == Z_STREAM_END ? 0 : -ENOMEM;
    if (r == 0)
        ret->length = s.total_out;
    g->end(&s);
    return r;
}

#else

int gzip_open(struct gzip **ret, struct toll_error *e)
{
    return err_set(e, -EOPNOTSUPP, "this toll was built without zlib, it has no gzip");
}

void gzip_close(struct gzip *g)
{
}

int gzip_pack(struct gzip *g, const char *data, size_t length, struct buf *ret)
{
    return -EOPNOTSUPP;
}

#endif
