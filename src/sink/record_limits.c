/* SPDX-License-Identifier: MIT
 * What a target may use, as JSON. */
#include "sink/record_json.h"

static const char *const keys[LIMITS] = {
    [LIMIT_CPUS] = "cpus",
    [LIMIT_MEMORY_BYTES] = "memory_bytes",
    [LIMIT_SWAP_BYTES] = "swap_bytes",
    [LIMIT_TASKS] = "tasks",
    [LIMIT_OPEN_FILES] = "open_files",
    [LIMIT_PROCESSES] = "processes",
    [LIMIT_ADDRESS_BYTES] = "address_space_bytes",
    [LIMIT_CPU_SECONDS] = "cpu_time_seconds",
    [LIMIT_FILE_BYTES] = "file_size_bytes",
    [LIMIT_CORE_BYTES] = "core_file_bytes",
    [LIMIT_LOCKED_BYTES] = "locked_memory_bytes",
};

static void add_limit(struct json_out *j, enum limit_kind kind, const struct limit *l)
{
    json_key(j, keys[kind]);
    json_object(j);
    json_key(j, "value");
    if (l->unlimited)
        json_null(j);
    else if (kind == LIMIT_CPUS)
        json_double(j, l->cores, 6);
    else
        json_u64(j, l->value);
    json_put_bool(j, "unlimited", l->unlimited);
    json_put_string(j, "by", l->by ? l->by : "");
    if (l->cgroup)
        json_put_string(j, "cgroup", l->cgroup);
    json_object_end(j);
}

void record_json_limits(struct json_out *j, const struct limits *limits)
{
    json_key(j, "limits");
    json_object(j);
    for (unsigned kind = 0; kind < LIMITS; kind++)
        if (limits->of[kind].known)
            add_limit(j, kind, &limits->of[kind]);
    json_object_end(j);
}
