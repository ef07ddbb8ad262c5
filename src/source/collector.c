/* SPDX-License-Identifier: MIT */
#include "source/collector.h"

const struct collector *const collectors[] = {
    &collector_machine_cpu,    &collector_machine_memory,
    &collector_machine_paging, &collector_machine_load,
    &collector_disks,          &collector_mounts,
    &collector_netifs,         &collector_sensors,
    &collector_rapl,           NULL,
};
