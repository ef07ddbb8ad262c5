/* SPDX-License-Identifier: MIT
 * other FILE BYTES MS STATUS [full]: to be installed setuid root. Writes BYTES to FILE, uses 50 ms
 * of CPU time, stays for MS, exits with STATUS. With `full` it is root altogether, so that not
 * even a signal of the user reaches it. */
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    if (argc < 5 || geteuid() != 0)
        return 99;
    if (argc > 5 && setresuid(0, 0, 0) < 0)
        return 98;
    size_t left = (size_t)atol(argv[2]);
    int fd = open(argv[1], O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    static char block[65536];
    while (left) {
        size_t n = left < sizeof block ? left : sizeof block;
        if (write(fd, block, n) != (ssize_t)n)
            return 97;
        left -= n;
    }
    clock_t end = clock() + CLOCKS_PER_SEC / 20;
    while (clock() < end)
        ;
    usleep((useconds_t)atol(argv[3]) * 1000);
    return atoi(argv[4]);
}
