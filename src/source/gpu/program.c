/* SPDX-License-Identifier: MIT
 * The program toll-gpu: a vendor in a process of its own that shares no memory with the program
 * that is measured. It is started by the library, never by people. */
#include "source/gpu/helper.h"

int main(int argc, char **argv)
{
    return gpu_apart_main(argc, argv);
}
