/* SPDX-License-Identifier: MIT
 * The collectors by name, for their list. */
#pragma once

#include "collect/collector.h"

extern const struct collector collector_machine_cpu;
extern const struct collector collector_machine_memory;
extern const struct collector collector_machine_paging;
extern const struct collector collector_machine_load;
extern const struct collector collector_disks;
extern const struct collector collector_mounts;
extern const struct collector collector_netifs;
extern const struct collector collector_sensors;
extern const struct collector collector_rapl;
