/* SPDX-License-Identifier: MIT */
#include "base/clock.h"
#include "base/process.h"
#include "source/gpu/nvml.h"

#include <stdio.h>

/* ==== Nvml api ================================================================================ */

_Static_assert(sizeof(struct nvml_memory_v2) == 40, "as the driver has it");
_Static_assert(sizeof(struct nvml_process_sample) == 32, "as the driver has it");
_Static_assert(offsetof(struct nvml_pci, bus_id) == 36, "as the driver has it");

#define AT(field) offsetof(struct nvml_api, field)

/* Functions without a suffix are those of old drivers; the ones that count devices leave out GPUs
 * without power there. */
static const struct dynlib_symbol symbols[] = {
    {AT(init), {"nvmlInit_v2", "nvmlInit"}},
    {AT(shutdown), {"nvmlShutdown"}},
    {AT(error_string), {"nvmlErrorString"}},
    {AT(driver_version), {"nvmlSystemGetDriverVersion"}},
    {AT(count), {"nvmlDeviceGetCount_v2", "nvmlDeviceGetCount"}},
    {AT(handle), {"nvmlDeviceGetHandleByIndex_v2", "nvmlDeviceGetHandleByIndex"}},
    {AT(uuid), {"nvmlDeviceGetUUID"}},
    {AT(name), {"nvmlDeviceGetName"}},
    {AT(pci), {"nvmlDeviceGetPciInfo_v3", "nvmlDeviceGetPciInfo_v2", "nvmlDeviceGetPciInfo"}},
    {AT(utilization), {"nvmlDeviceGetUtilizationRates"}},
    {AT(memory), {"nvmlDeviceGetMemoryInfo"}},
    {AT(memory_v2), {"nvmlDeviceGetMemoryInfo_v2"}},
    {AT(power), {"nvmlDeviceGetPowerUsage"}},
    {AT(power_limit), {"nvmlDeviceGetEnforcedPowerLimit"}},
    {AT(energy), {"nvmlDeviceGetTotalEnergyConsumption"}},
    {AT(temperature), {"nvmlDeviceGetTemperature"}},
    {AT(clock), {"nvmlDeviceGetClockInfo"}},
    {AT(encoder), {"nvmlDeviceGetEncoderUtilization"}},
    {AT(decoder), {"nvmlDeviceGetDecoderUtilization"}},
    {AT(throttle),
     {"nvmlDeviceGetCurrentClocksEventReasons", "nvmlDeviceGetCurrentClocksThrottleReasons"}},
    {AT(samples), {"nvmlDeviceGetProcessUtilization"}},
    {AT(mig_mode), {"nvmlDeviceGetMigMode"}},
    {AT(mig_count), {"nvmlDeviceGetMaxMigDeviceCount"}},
    {AT(mig_handle), {"nvmlDeviceGetMigDeviceHandleByIndex"}},
    {AT(gpu_instance), {"nvmlDeviceGetGpuInstanceId"}},
    {AT(compute_instance), {"nvmlDeviceGetComputeInstanceId"}},
    {AT(lists[NVML_COMPUTE][0]), {"nvmlDeviceGetComputeRunningProcesses_v3"}},
    {AT(lists[NVML_COMPUTE][1]), {"nvmlDeviceGetComputeRunningProcesses_v2"}},
    {AT(lists[NVML_COMPUTE][2]), {"nvmlDeviceGetComputeRunningProcesses"}},
    {AT(lists[NVML_GRAPHICS][0]), {"nvmlDeviceGetGraphicsRunningProcesses_v3"}},
    {AT(lists[NVML_GRAPHICS][1]), {"nvmlDeviceGetGraphicsRunningProcesses_v2"}},
    {AT(lists[NVML_GRAPHICS][2]), {"nvmlDeviceGetGraphicsRunningProcesses"}},
    {AT(lists[NVML_MPS][0]), {"nvmlDeviceGetMPSComputeRunningProcesses_v3"}},
    {AT(lists[NVML_MPS][1]), {"nvmlDeviceGetMPSComputeRunningProcesses_v2"}},
    {AT(lists[NVML_MPS][2]), {"nvmlDeviceGetMPSComputeRunningProcesses"}},
};

int nvml_api_find(struct nvml_api *api, void *library, struct gpu_trouble *trouble)
{
    dynlib_find(library, symbols, ARRAY_LEN(symbols), api);
    if (api->init && api->count && api->handle)
        return 0;
    snprintf(
        trouble->sentence, sizeof trouble->sentence,
        "libnvidia-ml.so.1 has no functions to list GPUs (not from NVIDIA, or a stub for linking)");
    return -ENOSYS;
}

const char *nvml_api_words(const struct nvml_api *api, int result)
{
    const char *said = api->error_string ? api->error_string(result) : NULL;
    return said && *said ? said : "no description";
}

/* ==== Nvml device ============================================================================= */

/* Why clocks are held down: the board's power limit and the brake of the power supply; heat, by
 * software and by hardware; hardware for either reason. Idling, clocks set by a user, and waiting
 * for other GPUs do not count. */
#define BY_POWER (0x04ULL | 0x80ULL)
#define BY_HEAT  (0x20ULL | 0x40ULL)
#define BY_ANY   (BY_POWER | BY_HEAT | 0x08ULL)

void nvml_device_describe(struct nvml_device *d, const struct nvml_api *api, nvml_handle *parent,
                          unsigned index, unsigned instance)
{
    struct gpu_facts *f = &d->facts;
    nvml_handle *board = parent ? parent : d->handle;
    struct nvml_pci pci = {0};
    *f = (struct gpu_facts){.index = index, .vendor = "nvidia"};
    if (!api->uuid || api->uuid(d->handle, f->uuid, sizeof f->uuid) != NVML_OK)
        *f->uuid = '\0';
    if (!api->name || api->name(d->handle, f->name, sizeof f->name) != NVML_OK)
        *f->name = '\0';
    f->uuid[sizeof f->uuid - 1] = f->name[sizeof f->name - 1] = '\0';
    if (api->pci && api->pci(board, &pci) == NVML_OK)
        snprintf(f->pci, sizeof f->pci, "%04x:%02x:%02x.0", pci.domain, pci.bus, pci.device);
    if (!parent)
        return;
    snprintf(f->instance, sizeof f->instance, "%u", instance);
    /* Drivers before 470 had names of instances made of the GPU's, which CUDA still accepts. */
    char whole[GPU_TEXT_BYTES] = "";
    unsigned of_gpu, of_compute;
    if (api->uuid && api->uuid(parent, whole, sizeof whole) == NVML_OK && api->gpu_instance &&
        api->compute_instance && api->gpu_instance(d->handle, &of_gpu) == NVML_OK &&
        api->compute_instance(d->handle, &of_compute) == NVML_OK)
        snprintf(f->legacy, sizeof f->legacy, "MIG-%.*s/%u/%u", (int)sizeof whole - 1, whole,
                 of_gpu, of_compute);
}

struct nvml_reading {
    const struct nvml_api *api;
    nvml_handle *handle;
    struct row *row;
};

static void nvml_put_percent(struct row *row, enum metric_id id, unsigned percent)
{
    if (percent <= 100)
        row_put_double(row, id, percent / 100.0);
}

static int nvml_read_utilization(const struct nvml_reading *r)
{
    struct nvml_utilization u;
    int result = r->api->utilization ? r->api->utilization(r->handle, &u) : NVML_NO_FUNCTION;
    if (result == NVML_OK) {
        nvml_put_percent(r->row, gpu_utilization_ratio, u.gpu);
        nvml_put_percent(r->row, gpu_memory_controller_ratio, u.memory);
    }
    return result;
}

/* A GPU that uses the machine's memory reports 0 of 0. */
static void nvml_device_put_memory(struct row *row, enum metric_id id, uint64_t bytes,
                                   uint64_t total)
{
    if (bytes != UINT64_MAX && (total || bytes))
        row_put_u64(row, id, bytes);
}

/* The older function counts what the driver reserves as used. */
static int nvml_read_memory_v1(const struct nvml_reading *r)
{
    struct nvml_memory m;
    int result = r->api->memory ? r->api->memory(r->handle, &m) : NVML_NO_FUNCTION;
    if (result != NVML_OK)
        return result;
    nvml_device_put_memory(r->row, gpu_memory_total_bytes, m.total, m.total);
    nvml_device_put_memory(r->row, gpu_memory_used_bytes, m.used, m.total);
    return result;
}

static int nvml_read_memory(const struct nvml_reading *r)
{
    struct nvml_memory_v2 m = {.version = NVML_MEMORY_V2};
    int result = r->api->memory_v2 ? r->api->memory_v2(r->handle, &m) : NVML_NO_FUNCTION;
    if (result == NVML_LOST)
        return result;
    if (result != NVML_OK)
        return nvml_read_memory_v1(r);
    const struct {
        enum metric_id id;
        uint64_t value;
    } values[] = {{gpu_memory_total_bytes, m.total},
                  {gpu_memory_reserved_bytes, m.reserved},
                  {gpu_memory_used_bytes, m.used}};
    for (size_t i = 0; i < ARRAY_LEN(values); i++)
        nvml_device_put_memory(r->row, values[i].id, values[i].value, m.total);
    return result;
}

static int nvml_read_power(const struct nvml_reading *r)
{
    unsigned milliwatts;
    int result = r->api->power ? r->api->power(r->handle, &milliwatts) : NVML_NO_FUNCTION;
    if (result == NVML_OK && milliwatts != UINT32_MAX)
        row_put_double(r->row, gpu_power_watts, milliwatts / 1000.0);
    if (result == NVML_LOST || !r->api->power_limit)
        return result;
    int limit = r->api->power_limit(r->handle, &milliwatts); /* either may be missing alone */
    if (limit == NVML_OK && milliwatts != UINT32_MAX)
        row_put_double(r->row, gpu_power_limit_watts, milliwatts / 1000.0);
    return limit == NVML_LOST ? limit : result;
}

static int nvml_read_energy_counter(const struct nvml_reading *r)
{
    unsigned long long millijoules;
    int result = r->api->energy ? r->api->energy(r->handle, &millijoules) : NVML_NO_FUNCTION;
    if (result == NVML_OK && millijoules <= UINT64_MAX / 1000)
        row_put_u64(r->row, gpu_energy_joules, millijoules * 1000);
    return result;
}

static int nvml_read_temperature(const struct nvml_reading *r)
{
    unsigned celsius;
    int result = r->api->temperature
                     ? r->api->temperature(r->handle, NVML_TEMPERATURE_GPU, &celsius)
                     : NVML_NO_FUNCTION;
    if (result == NVML_OK && celsius < 1000)
        row_put_double(r->row, gpu_temperature_celsius, celsius);
    return result;
}

static int nvml_device_read_clock(const struct nvml_reading *r, int type, enum metric_id id)
{
    unsigned megahertz;
    int result = r->api->clock ? r->api->clock(r->handle, type, &megahertz) : NVML_NO_FUNCTION;
    if (result == NVML_OK && megahertz != UINT32_MAX)
        row_put_u64(r->row, id, megahertz * UINT64_C(1000000));
    return result;
}

static int nvml_read_clocks(const struct nvml_reading *r)
{
    int result = nvml_device_read_clock(r, NVML_CLOCK_SM, gpu_clock_sm_hertz);
    return result == NVML_LOST
               ? result
               : nvml_device_read_clock(r, NVML_CLOCK_MEMORY, gpu_clock_memory_hertz);
}

static int nvml_read_encoder(const struct nvml_reading *r)
{
    unsigned percent, period_us;
    int result = r->api->encoder ? r->api->encoder(r->handle, &percent, &period_us)
                                 : NVML_NO_FUNCTION;
    if (result == NVML_OK)
        nvml_put_percent(r->row, gpu_encoder_ratio, percent);
    return result;
}

static int nvml_read_decoder(const struct nvml_reading *r)
{
    unsigned percent, period_us;
    int result = r->api->decoder ? r->api->decoder(r->handle, &percent, &period_us)
                                 : NVML_NO_FUNCTION;
    if (result == NVML_OK)
        nvml_put_percent(r->row, gpu_decoder_ratio, percent);
    return result;
}

static int nvml_read_throttle(const struct nvml_reading *r)
{
    unsigned long long reasons;
    int result = r->api->throttle ? r->api->throttle(r->handle, &reasons) : NVML_NO_FUNCTION;
    if (result != NVML_OK)
        return result;
    row_put_u64(r->row, gpu_throttled_count, (reasons & BY_ANY) != 0);
    row_put_u64(r->row, gpu_throttled_power_count, (reasons & BY_POWER) != 0);
    row_put_u64(r->row, gpu_throttled_heat_count, (reasons & BY_HEAT) != 0);
    return result;
}

/* Power and the like are of a whole board: read for its instances as well, they would count several
 * times. */
static const struct {
    int (*read)(const struct nvml_reading *r);
    const char *what;
    bool of_divided;  /* a divided GPU has it */
    bool of_instance; /* an instance of a divided GPU has it */
} readings[] = {
    {nvml_read_energy_counter, "energy", true, false},
    {nvml_read_utilization, "utilisation", false, true},
    {nvml_read_memory, "memory", true, true},
    {nvml_read_power, "power", true, false},
    {nvml_read_temperature, "temperature", true, false},
    {nvml_read_clocks, "clocks", true, false},
    {nvml_read_encoder, "video encoder", false, true},
    {nvml_read_decoder, "video decoder", false, true},
    {nvml_read_throttle, "clock limits", true, false},
};

_Static_assert(ARRAY_LEN(readings) + 1 == NVML_READINGS, "and the processes");

const char *nvml_device_reading(unsigned i)
{
    return i < ARRAY_LEN(readings) ? readings[i].what : "processes";
}

static int nvml_device_read_one(struct nvml_device *d, size_t i, const struct nvml_api *api,
                                struct gpu_device *ret)
{
    struct nvml_reading r = {.api = api, .handle = d->handle, .row = &ret->row};
    bool has_it = d->is_instance  ? readings[i].of_instance
                  : d->is_divided ? readings[i].of_divided
                                  : true;
    d->results[i] = has_it ? readings[i].read(&r) : NVML_OK;
    return d->results[i];
}

/* Energy is the first of the readings. */
int nvml_device_read_energy(struct nvml_device *d, const struct nvml_api *api,
                            struct gpu_device *ret)
{
    int result = nvml_device_read_one(d, 0, api, ret);
    ret->energy_ns = clock_mono(NULL);
    return result;
}

int nvml_device_read(struct nvml_device *d, const struct nvml_api *api, struct gpu_device *ret,
                     const _Atomic bool *hurry)
{
    for (size_t i = 1; i < ARRAY_LEN(readings) && !(hurry && *hurry); i++)
        if (nvml_device_read_one(d, i, api, ret) == NVML_LOST)
            return NVML_LOST;
    return NVML_OK;
}

void nvml_device_lose(struct gpu_device *d)
{
    d->row.present = 0;
    d->lists = 0;
    d->is_lost = true;
}
