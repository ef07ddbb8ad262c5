/* SPDX-License-Identifier: MIT
 * share CHILDREN MB MS: one shared anonymous region of MB, filled once; the children map and touch
 * all of it, and everybody stays for MS. The parent lets go of its own mapping. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    if (argc < 4)
        return 2;
    size_t bytes = (size_t)atol(argv[2]) << 20;
    char *region = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (region == MAP_FAILED)
        return 1;
    memset(region, 1, bytes);
    for (int i = 0; i < atoi(argv[1]); i++)
        if (fork() == 0) {
            volatile char sum = 0;
            for (size_t at = 0; at < bytes; at += 4096)
                sum += region[at];
            usleep((useconds_t)atol(argv[3]) * 1000);
            _exit(0);
        }
    munmap(region, bytes);
    while (wait(NULL) > 0)
        ;
    return 0;
}
