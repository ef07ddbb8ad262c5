/* SPDX-License-Identifier: MIT */
#include "base/dynlib.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

static void *opened(void *library, char *why, size_t size)
{
    if (library)
        return library;
    const char *said = dlerror();
    snprintf(why, size, "%s", said ? said : "unknown reason");
    return NULL;
}

void *dynlib_open(const char *name, char *why, size_t size)
{
    return opened(dlopen(name, RTLD_NOW | RTLD_LOCAL), why, size);
}

void *dynlib_open_apart(const char *name, char *why, size_t size)
{
    return opened(dlmopen(LM_ID_NEWLM, name, RTLD_NOW | RTLD_LOCAL), why, size);
}

void dynlib_close(void *library)
{
    if (library)
        dlclose(library);
}

static void *find(void *library, const struct dynlib_symbol *s)
{
    for (const char *const *name = s->names; *name; name++) {
        void *function = dlsym(library, *name);
        if (function)
            return function;
    }
    return NULL;
}

size_t dynlib_find(void *library, const struct dynlib_symbol *symbols, size_t count,
                   void *functions)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++) {
        void *function = find(library, &symbols[i]);
        /* A pointer to a function is no pointer to data in C; in POSIX they look alike. */
        memcpy((char *)functions + symbols[i].at, &function, sizeof function);
        found += function != NULL;
    }
    return found;
}
