/* SPDX-License-Identifier: MIT
 * Runs a fuzz target without libFuzzer: over every file of the directories given, whole, cut at
 * every length, and changed by the target's own mutation where it has one. */
#include "mutate.h"

#include <dirent.h>
#include <fcntl.h>

/* A mutation cuts as well; and what has one takes longer. */
enum { INPUT_BYTES = 64 * 1024, CUTS = 2000, FEWER_CUTS = 100, ROUNDS = 100 };

#pragma weak LLVMFuzzerCustomMutator
#pragma weak replay_choose

/* In a block of exactly that size, so that a sanitizer sees a read past its end. */
static void run(const uint8_t *data, size_t size)
{
    uint8_t *copy = malloc(size ? size : 1);
    CHECK(copy);
    memcpy(copy, data, size);
    LLVMFuzzerTestOneInput(copy, size);
    free(copy);
}

static void replay_file(int dir, const char *name)
{
    static uint8_t data[INPUT_BYTES];
    CLEANUP_CLOSE int fd = openat(dir, name, O_RDONLY | O_CLOEXEC);
    ssize_t size = fd < 0 ? -1 : read(fd, data, sizeof data);
    if (size < 0) {
        perror(name);
        exit(1);
    }
    size_t step = 1 + (size_t)size / (LLVMFuzzerCustomMutator ? FEWER_CUTS : CUTS);
    for (size_t length = 0; length < (size_t)size; length += step)
        run(data, length);
    run(data, (size_t)size);
    for (unsigned seed = 1; LLVMFuzzerCustomMutator && seed <= ROUNDS; seed++) {
        static uint8_t changed[INPUT_BYTES];
        memcpy(changed, data, (size_t)size);
        run(changed, LLVMFuzzerCustomMutator(changed, (size_t)size, sizeof changed, seed));
    }
}

static unsigned replay_directory(const char *path)
{
    DIR *dir = opendir(path);
    if (!dir) {
        perror(path);
        exit(1);
    }
    unsigned files = 0;
    for (struct dirent *d; (d = readdir(dir));) {
        if (d->d_name[0] == '.')
            continue;
        replay_file(dirfd(dir), d->d_name);
        files++;
    }
    closedir(dir);
    return files;
}

int main(int argc, char **argv)
{
    unsigned files = 0;
    for (int i = 1; i < argc; i++) {
        if (replay_choose)
            replay_choose(argv[i]);
        files += replay_directory(argv[i]);
    }
    printf("%u inputs\n", files);
    return files ? 0 : 1; /* an empty corpus tests nothing */
}
