/* SPDX-License-Identifier: MIT
 * faults ROUNDS: maps memory and faults it in as fast as it can, beside 1 GB that stays resident.
 * Everything that holds the lock of its address space shows in its wall time. Pages are small, so
 * that the page tables are as long as they can be. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

#define RESIDENT (1UL << 30)
#define CHUNK    (4UL << 20)
#define PAGE     4096

static void *map(size_t bytes)
{
    char *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) {
        perror("faults: mmap");
        exit(1);
    }
    madvise(memory, bytes, MADV_NOHUGEPAGE);
    for (size_t at = 0; at < bytes; at += PAGE)
        ((volatile char *)memory)[at] = 1;
    return memory;
}

int main(int argc, char **argv)
{
    unsigned long rounds = argc > 1 ? strtoul(argv[1], NULL, 10) : 1000;
    map(RESIDENT);
    for (unsigned long i = 0; i < rounds; i++)
        munmap(map(CHUNK), CHUNK);
}
