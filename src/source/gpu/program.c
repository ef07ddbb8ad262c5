/* SPDX-License-Identifier: MIT
 * The program toll-gpu: calls a driver's library in a process that shares no memory with the
 * program that is measured. The library starts it, users do not. */
#include "source/gpu/readers.h"

int main(int argc, char **argv)
{
    return gpu_helper_main(argc, argv);
}
