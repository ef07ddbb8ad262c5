/* SPDX-License-Identifier: MIT
 * fill MB [MS]: memory of MB, all of it touched, kept for MS. Ends with 3 when there is none. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    size_t bytes = (size_t)atol(argv[1]) << 20;
    char *memory = malloc(bytes);
    if (!memory)
        return 3;
    memset(memory, 1, bytes);
    if (argc > 2)
        usleep((useconds_t)atol(argv[2]) * 1000);
    return memory[bytes / 2] - 1;
}
