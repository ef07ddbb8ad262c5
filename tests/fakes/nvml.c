/* SPDX-License-Identifier: MIT
 * A libnvidia-ml.so.1 that says what a file tells it to. The file, named by FAKE_NVML, is read at
 * every call (with a line "once 1": at the first one), so that a test can change the machine while
 * toll runs. Lines:
 *
 *   gpus 8              how many there are
 *   stride 24           bytes of a process in the lists: 16, 24 or 32
 *   written 16          … of which the driver writes so many
 *   KEY VALUE           a figure of every GPU, of one (3.KEY VALUE), or of an instance (3:1.KEY)
 *   error.KEY CODE      what the function of that figure returns, likewise with 3. in front
 *   slow.KEY MS         how long it takes; slow.load: how long it takes to load the library
 *   crash.KEY 1         it ends the program that calls it
 *   burn.KEY MS         how much CPU time it uses, at least
 *   print TEXT          what it prints at the beginning, to both of the standard streams
 *   leak 1              at the beginning it opens a file that children inherit
 *   3.compute PID BYTES a process on GPU 3; also graphics, mps; BYTES may be "none"
 *   3.sample PID SM US  what it used of the GPU's time, at that time
 *   3.mig 2             it is divided into so many instances
 *
 * What it was asked is written to the file that FAKE_NVML_ASKED names: a line "3.KEY" for each call
 * of a function. So a job can wait until toll has looked.
 *
 * Compiled with FAKE_OLD it is a library of an old driver, with FAKE_STUB it has next to nothing.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { OK = 0, NOT_SUPPORTED = 3, NOT_FOUND = 6, TOO_SMALL = 7, MOST = 64, INSTANCES = 8 };

#define EXPORT __attribute__((visibility("default")))

EXPORT const char *nvmlErrorString(int result);
EXPORT const char *nvmlErrorString(int result)
{
    return result == 18 ? "Driver/library version mismatch" : "an error of the fake";
}

#ifndef FAKE_STUB

/* A handle is a place in this: of a GPU, then its instances. */
static char places[MOST][INSTANCES + 1];

static char kept[65536];

static const char *facts(void)
{
    static char once_word[] = "once 1";
    static __thread char text[65536];
    if (*kept)
        return kept;
    const char *path = getenv("FAKE_NVML");
    FILE *file = path ? fopen(path, "re") : NULL;
    size_t length = file ? fread(text, 1, sizeof text - 1, file) : 0;
    text[length] = '\0';
    if (file)
        fclose(file);
    if (strstr(text, once_word))
        memcpy(kept, text, length + 1);
    return text;
}

static void name_of(const void *handle, char ret[16])
{
    long at = (const char *)handle - &places[0][0];
    long gpu = at / (INSTANCES + 1), instance = at % (INSTANCES + 1);
    if (instance)
        snprintf(ret, 16, "%ld:%ld", gpu, instance - 1);
    else
        snprintf(ret, 16, "%ld", gpu);
}

/* The rest of the n-th line that begins with the words, or NULL. */
static const char *line(const char *words, unsigned n)
{
    size_t length = strlen(words);
    for (const char *at = facts(); at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL)
        if (strncmp(at, words, length) == 0 && at[length] == ' ' && n-- == 0)
            return at + length + 1;
    return NULL;
}

/* Of the device if it has one of its own, else of all. */
static const char *find(const void *handle, const char *lead, const char *key)
{
    char name[16], words[128];
    if (handle) {
        name_of(handle, name);
        snprintf(words, sizeof words, "%s.%s%s", name, lead, key);
        const char *own = line(words, 0);
        if (own)
            return own;
    }
    snprintf(words, sizeof words, "%s%s", lead, key);
    return line(words, 0);
}

static unsigned long long number(const void *handle, const char *key, unsigned long long otherwise)
{
    const char *text = find(handle, "", key);
    return text ? strtoull(text, NULL, 10) : otherwise;
}

static void be_slow(const void *handle, const char *key)
{
    const char *slow = find(handle, "slow.", key);
    if (!slow)
        return;
    long ms = strtol(slow, NULL, 10);
    struct timespec time = {ms / 1000, ms % 1000 * 1000000};
    nanosleep(&time, NULL);
}

/* With the lock of the loader held, as whatever a library does when it is loaded. */
__attribute__((constructor)) static void load(void)
{
    be_slow(NULL, "load");
}

static void burn(const void *handle, const char *key)
{
    const char *text = find(handle, "burn.", key);
    uint64_t ns = text ? strtoull(text, NULL, 10) * 1000000 : 0;
    struct timespec began, now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &began);
    do {
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    } while ((uint64_t)(now.tv_sec - began.tv_sec) * 1000000000 + (uint64_t)now.tv_nsec <
             ns + (uint64_t)began.tv_nsec);
}

static void note_question(const void *handle, const char *key)
{
    char name[16] = "";
    const char *path = getenv("FAKE_NVML_ASKED");
    FILE *file = path ? fopen(path, "ae") : NULL;
    if (!file)
        return;
    if (handle)
        name_of(handle, name);
    fprintf(file, "%s.%s\n", name, key);
    fclose(file);
}

/* What a function returns before it does anything. */
static int begin(const void *handle, const char *key)
{
    note_question(handle, key);
    be_slow(handle, key);
    burn(handle, key);
    if (find(handle, "crash.", key))
        abort();
    const char *error = find(handle, "error.", key);
    return error ? (int)strtol(error, NULL, 10) : OK;
}

/* A figure: an error, what the file says, or not supported. */
static int figure(const void *handle, const char *key, unsigned long long *ret)
{
    int r = begin(handle, key);
    if (r)
        return r;
    const char *text = find(handle, "", key);
    if (!text)
        return NOT_SUPPORTED;
    *ret = strtoull(text, NULL, 10);
    return OK;
}

static int small_figure(const void *handle, const char *key, unsigned *ret)
{
    unsigned long long value;
    int r = figure(handle, key, &value);
    if (r == OK)
        *ret = (unsigned)value;
    return r;
}

#ifdef FAKE_OLD
#define NEWEST(name) name
#else
#define NEWEST(name) name##_v2
#endif

/* Without prototypes of their own: nobody includes this. */
#pragma GCC diagnostic ignored "-Wmissing-prototypes"

EXPORT int NEWEST(nvmlInit)(void)
{
    const char *words = find(NULL, "", "print");
    if (words) {
        printf("%s", words);
        fflush(stdout);
        fprintf(stderr, "%s", words);
    }
    if (number(NULL, "leak", 0) && open("/dev/null", O_RDONLY) < 0)
        return NOT_SUPPORTED;
    return begin(NULL, "init");
}

EXPORT int nvmlShutdown(void)
{
    const char *path = getenv("FAKE_NVML_SHUTDOWN");
    FILE *file = path ? fopen(path, "ae") : NULL;
    if (file) {
        fputs("shutdown\n", file);
        fclose(file);
    }
    return begin(NULL, "shutdown");
}

EXPORT int NEWEST(nvmlDeviceGetCount)(unsigned *count)
{
    *count = (unsigned)number(NULL, "gpus", 0);
    return begin(NULL, "count");
}

EXPORT int NEWEST(nvmlDeviceGetHandleByIndex)(unsigned index, void **device)
{
    *device = &places[index % MOST][0];
    return begin(*device, "handle");
}

static int text_of(void *device, const char *key, const char *lead, char *text, unsigned size)
{
    char name[16];
    int r = begin(device, key);
    const char *told = find(device, "", key);
    name_of(device, name);
    if (told)
        snprintf(text, size, "%.*s", (int)strcspn(told, "\n"), told);
    else
        snprintf(text, size, "%s%s", lead, name);
    return r;
}

EXPORT int nvmlDeviceGetUUID(void *device, char *text, unsigned size)
{
    char name[16];
    name_of(device, name);
    return text_of(device, "uuid", strchr(name, ':') ? "MIG-fake-" : "GPU-fake-", text, size);
}

EXPORT int nvmlDeviceGetName(void *device, char *text, unsigned size)
{
    return text_of(device, "name", "Fake GPU ", text, size);
}

EXPORT int nvmlDeviceGetUtilizationRates(void *device, unsigned *percents)
{
    int r = small_figure(device, "utilization", &percents[0]);
    percents[1] = (unsigned)number(device, "memory_controller", 0);
    return r;
}

EXPORT int nvmlDeviceGetMemoryInfo(void *device, unsigned long long *memory)
{
    int r = figure(device, "memory_total", &memory[0]);
    memory[2] = number(device, "memory_used", 0) + number(device, "memory_reserved", 0);
    memory[1] = memory[0] - memory[2];
    return r;
}

#define COUNTS(kind)                                                                               \
    EXPORT int nvmlDeviceGet##kind##RunningProcesses(void *device, unsigned *count, void *infos)

static int list(void *device, const char *key, unsigned *count, unsigned char *infos, size_t stride)
{
    char name[16], words[64];
    int r = begin(device, key);
    if (r)
        return r;
    name_of(device, name);
    snprintf(words, sizeof words, "%s.%s", name, key);
    unsigned there = 0;
    while (line(words, there))
        there++;
    if (there > *count || (there && !infos)) {
        *count = there;
        return TOO_SMALL;
    }
    for (unsigned i = 0; i < there; i++) {
        char *rest;
        unsigned pid = (unsigned)strtoul(line(words, i), &rest, 10);
        uint64_t used = strncmp(rest, " none", 5) == 0 ? UINT64_MAX : strtoull(rest, NULL, 10);
        unsigned char *entry = infos + i * stride;
        memset(entry, 0xFF, number(NULL, "written", stride));
        memcpy(entry, &pid, sizeof pid);
        memcpy(entry + 8, &used, sizeof used);
    }
    *count = there;
    return OK;
}

COUNTS(Compute)
{
    return list(device, "compute", count, infos, 16);
}

COUNTS(Graphics)
{
    return list(device, "graphics", count, infos, 16);
}

#ifndef FAKE_OLD

EXPORT int nvmlSystemGetDriverVersion(char *text, unsigned size)
{
    return text_of(&places[0][0], "driver", "550.54.1", text, size);
}

EXPORT int nvmlDeviceGetPciInfo_v3(void *device, unsigned char *pci)
{
    char name[16];
    unsigned numbers[3] = {0, 0x3b, 0};
    name_of(device, name);
    numbers[1] += (unsigned)strtoul(name, NULL, 10);
    memset(pci, 0, 68);
    memcpy(pci + 16, numbers, sizeof numbers);
    return begin(device, "pci");
}

EXPORT int nvmlDeviceGetMemoryInfo_v2(void *device, unsigned char *memory)
{
    unsigned version;
    unsigned long long values[4] = {0};
    memcpy(&version, memory, sizeof version);
    if (version != (40 | 2 << 24))
        return 25;
    int r = figure(device, "memory_total", &values[0]);
    if (find(device, "error.", "memory_v2"))
        r = begin(device, "memory_v2");
    values[1] = number(device, "memory_reserved", 0);
    values[3] = number(device, "memory_used", 0);
    values[2] = values[0] - values[3];
    if (r == OK)
        memcpy(memory + 8, values, sizeof values);
    return r;
}

EXPORT int nvmlDeviceGetPowerUsage(void *device, unsigned *milliwatts)
{
    return small_figure(device, "power", milliwatts);
}

EXPORT int nvmlDeviceGetEnforcedPowerLimit(void *device, unsigned *milliwatts)
{
    return small_figure(device, "power_limit", milliwatts);
}

EXPORT int nvmlDeviceGetTotalEnergyConsumption(void *device, unsigned long long *millijoules)
{
    return figure(device, "energy", millijoules);
}

EXPORT int nvmlDeviceGetTemperature(void *device, int sensor, unsigned *celsius)
{
    return sensor ? 2 : small_figure(device, "temperature", celsius);
}

EXPORT int nvmlDeviceGetClockInfo(void *device, int type, unsigned *megahertz)
{
    return small_figure(device,
                        type == 1   ? "clock_sm"
                        : type == 2 ? "clock_memory"
                                    : "clock",
                        megahertz);
}

EXPORT int nvmlDeviceGetEncoderUtilization(void *device, unsigned *percent, unsigned *period_us)
{
    *period_us = 167000;
    return small_figure(device, "encoder", percent);
}

EXPORT int nvmlDeviceGetDecoderUtilization(void *device, unsigned *percent, unsigned *period_us)
{
    *period_us = 167000;
    return small_figure(device, "decoder", percent);
}

EXPORT int nvmlDeviceGetCurrentClocksThrottleReasons(void *device, unsigned long long *reasons)
{
    return figure(device, "throttle", reasons);
}

static size_t stride(void)
{
    return number(NULL, "stride", 24);
}

#define COUNTS_LATER(kind, suffix, key)                                                            \
    EXPORT int nvmlDeviceGet##kind##RunningProcesses##suffix(void *device, unsigned *count,        \
                                                             void *infos)                          \
    {                                                                                              \
        int r = begin(device, "list" #suffix);                                                     \
        return r ? r : list(device, key, count, infos, stride());                                  \
    }

COUNTS_LATER(Compute, _v2, "compute")
COUNTS_LATER(Compute, _v3, "compute")
COUNTS_LATER(Graphics, _v2, "graphics")
COUNTS_LATER(Graphics, _v3, "graphics")
COUNTS_LATER(MPSCompute, _v3, "mps")

EXPORT int nvmlDeviceGetProcessUtilization(void *device, unsigned char *samples, unsigned *count,
                                           unsigned long long since_us)
{
    char name[16], words[64];
    int r = begin(device, "sample");
    if (r)
        return r;
    name_of(device, name);
    snprintf(words, sizeof words, "%s.sample", name);
    unsigned newer = 0, there = 0;
    for (unsigned i = 0; line(words, i); i++) {
        char *rest;
        unsigned values[8] = {(unsigned)strtoul(line(words, i), &rest, 10)};
        values[4] = (unsigned)strtoul(rest, &rest, 10);
        unsigned long long time_us = strtoull(rest, NULL, 10);
        memcpy(&values[2], &time_us, sizeof time_us);
        if (time_us <= since_us)
            continue;
        newer++;
        if (samples && there < *count)
            memcpy(samples + 32 * there++, values, sizeof values);
    }
    unsigned room = *count;
    *count = newer;
    if (!newer)
        return NOT_FOUND;
    return newer > room || !samples ? TOO_SMALL : OK;
}

EXPORT int nvmlDeviceGetMigMode(void *device, unsigned *current, unsigned *pending)
{
    *current = *pending = number(device, "mig", 0) > 0;
    return begin(device, "mig");
}

EXPORT int nvmlDeviceGetMaxMigDeviceCount(void *device, unsigned *most)
{
    *most = INSTANCES - 1;
    return begin(device, "mig");
}

EXPORT int nvmlDeviceGetMigDeviceHandleByIndex(void *device, unsigned index, void **instance)
{
    *instance = (char *)device + 1 + index;
    return index < number(device, "mig", 0) ? OK : NOT_FOUND;
}

/* As the published interface has them: of the instance, and of the part of it that computes. */
EXPORT int nvmlDeviceGetGpuInstanceId(void *device, unsigned *id)
{
    *id = (unsigned)number(device, "gpu_instance", 0);
    return begin(device, "gpu_instance");
}

EXPORT int nvmlDeviceGetComputeInstanceId(void *device, unsigned *id)
{
    *id = (unsigned)number(device, "compute_instance", 0);
    return begin(device, "compute_instance");
}

#endif
#endif
