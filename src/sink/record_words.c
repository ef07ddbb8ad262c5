/* SPDX-License-Identifier: MIT */
#include "sink/record_words.h"

const char *const record_words_end[END_STATUSES] = {
    [END_RUNNING] = "running",
    [END_EXITED] = "exited",
    [END_SIGNALED] = "signaled",
    [END_UNKNOWN] = "unknown",
};

const char *const record_words_left[DEPARTURES] = {
    [LEFT_REAPED] = "reaped by toll",
    [LEFT_INSIDE] = "reaped inside",
    [LEFT_LOST] = "reaped by nobody",
};

const char *const record_words_way[OUTPUT_WAYS] = {
    [OUTPUT_FILE] = "file",
    [OUTPUT_STREAM] = "stream",
    [OUTPUT_SENT] = "sent",
    [OUTPUT_SCRAPED] = "scraped",
};

const char *const record_words_mark[MARK_KINDS] = {
    [MARK_PHASE_END] = "phase",
    [MARK_EVENT] = "event",
    [MARK_GAUGE] = "gauge",
};

const char *const record_words_limit[LIMITS] = {
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

const struct record_quantile record_words_quantile[RECORD_QUANTILES] = {
    {"p50", 0.5},
    {"p90", 0.9},
    {"p99", 0.99},
};
