/* SPDX-License-Identifier: MIT
 * A libnvidia-ml.so.1 that takes next to no time: 8 GPUs whose figures never change, and the
 * processes of a file as tests/fakes/nvml.c reads it, which is read until it has a line "once 1".
 * With it, what the thread that reads GPUs uses is toll's own work. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OK = 0, NOT_FOUND = 6, TOO_SMALL = 7, GPUS = 8, MOST = 256 };

#define EXPORT __attribute__((visibility("default")))
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

static struct {
    unsigned count;
    unsigned pids[MOST];
} gpus[GPUS];

static void read_processes(void)
{
    static int is_read;
    char line[128];
    const char *path = getenv("FAKE_NVML");
    FILE *file = is_read || !path ? NULL : fopen(path, "re");
    for (unsigned i = 0; file && i < GPUS; i++)
        gpus[i].count = 0;
    while (file && fgets(line, sizeof line, file)) {
        unsigned gpu, pid;
        is_read |= strcmp(line, "once 1\n") == 0;
        if (sscanf(line, "%u.compute %u", &gpu, &pid) == 2 && gpu < GPUS && gpus[gpu].count < MOST)
            gpus[gpu].pids[gpus[gpu].count++] = pid;
    }
    if (file)
        fclose(file);
}

static unsigned index_of(const void *device)
{
    return (unsigned)((uintptr_t)device - 1);
}

EXPORT int nvmlInit_v2(void)
{
    return OK;
}

EXPORT int nvmlShutdown(void)
{
    return OK;
}

EXPORT int nvmlDeviceGetCount_v2(unsigned *count)
{
    *count = GPUS;
    return OK;
}

EXPORT int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **device)
{
    *device = (void *)(uintptr_t)(index + 1);
    return OK;
}

EXPORT int nvmlDeviceGetUUID(void *device, char *text, unsigned size)
{
    snprintf(text, size, "GPU-flat-%u", index_of(device));
    return OK;
}

EXPORT int nvmlDeviceGetUtilizationRates(void *device, unsigned *percents)
{
    percents[0] = 10 + index_of(device);
    percents[1] = 5;
    return OK;
}

EXPORT int nvmlDeviceGetMemoryInfo_v2(void *device, unsigned char *memory)
{
    unsigned long long values[4] = {UINT64_C(40) << 30, 1 << 20, 1 << 30, index_of(device)};
    memcpy(memory + 8, values, sizeof values);
    return OK;
}

static int say(unsigned *ret, unsigned value)
{
    *ret = value;
    return OK;
}

EXPORT int nvmlDeviceGetPowerUsage(void *device, unsigned *milliwatts)
{
    return say(milliwatts, 100000 + index_of(device));
}

EXPORT int nvmlDeviceGetEnforcedPowerLimit(void *device, unsigned *milliwatts)
{
    return say(milliwatts, 400000 + index_of(device));
}

EXPORT int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *millijoules)
{
    *millijoules = 1000 + index_of(device);
    return OK;
}

EXPORT int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *celsius)
{
    return say(celsius, (unsigned)sensor + 40 + index_of(device));
}

EXPORT int nvmlDeviceGetClockInfo(void *device, int type, unsigned *megahertz)
{
    return say(megahertz, (unsigned)type * 100 + index_of(device));
}

EXPORT int nvmlDeviceGetComputeRunningProcesses_v3(void *device, unsigned *count, void *infos)
{
    unsigned gpu = index_of(device), room = *count;
    if (gpu == 0)
        read_processes();
    *count = gpus[gpu].count;
    if (*count > room)
        return TOO_SMALL;
    for (unsigned i = 0; i < *count; i++) {
        uint64_t entry[3] = {gpus[gpu].pids[i], 1000000, UINT64_MAX};
        memcpy((char *)infos + i * sizeof entry, entry, sizeof entry);
    }
    return OK;
}

EXPORT int nvmlDeviceGetProcessUtilization(void *device, unsigned char *samples, unsigned *count,
                                           unsigned long long since_us)
{
    unsigned gpu = index_of(device), room = *count;
    *count = gpus[gpu].count;
    if (!*count)
        return NOT_FOUND;
    if (*count > room || !samples)
        return TOO_SMALL;
    for (unsigned i = 0; i < *count; i++) {
        unsigned long long time_us = since_us + 1;
        unsigned sample[8] = {gpus[gpu].pids[i], 0, 0, 0, 5};
        memcpy(&sample[2], &time_us, sizeof time_us);
        memcpy(samples + i * sizeof sample, sample, sizeof sample);
    }
    return OK;
}
