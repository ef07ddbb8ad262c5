/* SPDX-License-Identifier: MIT */
#include "collect/nvml_api.h"

#include "base/dynlib.h"

#include <stdio.h>

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
    snprintf(trouble->sentence, sizeof trouble->sentence,
             "libnvidia-ml.so.1 is there, but lacks the functions that list GPUs: it is not "
             "NVIDIA's, or a stub for linking");
    return -ENOSYS;
}

const char *nvml_api_words(const struct nvml_api *api, int result)
{
    const char *said = api->error_string ? api->error_string(result) : NULL;
    return said && *said ? said : "no words for it";
}
