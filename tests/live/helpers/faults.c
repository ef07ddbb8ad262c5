/* SPDX-License-Identifier: MIT
 * faults MB NAPS: touch MB of fresh memory page by page, then sleep NAPS times for 1 ms: a known
 * number of minor faults and of voluntary switches. */
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    size_t bytes = (size_t)atol(argv[1]) << 20;
    char *region = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (region == MAP_FAILED)
        return 1;
    madvise(region, bytes, MADV_NOHUGEPAGE);
    for (size_t at = 0; at < bytes; at += 4096)
        region[at] = 1;
    for (int i = 0; i < atoi(argv[2]); i++)
        usleep(1000);
    return 0;
}
