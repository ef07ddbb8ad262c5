/* SPDX-License-Identifier: MIT
 *
 * nvidia-smi --query-compute-apps=gpu_uuid,pid,used_memory --format=csv,noheader,nounits
 *     GPU-5a1c…, 81231, 1024
 * nvidia-smi pmon -c 1 -s um
 *     # gpu         pid   type     sm    mem    enc    dec    jpg    ofa     fb   command
 *     # Idx           #    C/G      %      %      %      %      %      %     MB   name
 *         0       81231     C     45     20      -      -      -      -   1024   python
 *         1           -     -      -      -      -      -      -      -      -   -
 *
 * Every GPU that pmon looks at has a line in it, and every process on it: who is not there does not
 * use it. Some versions have no column fb. */
#include "collect/nvidia_smi_processes.h"

#include "base/util.h"
#include "parse/smi_table.h"

#define MIB 1048576.0

/* One round of reading. */
struct round {
    struct smi_command *command;
    struct gpu_pids *pids;
    struct gpu_frame *frame;
};

/* The place of a device in the frame, or -1. */
static int place_of(const struct round *r, const char *uuid)
{
    for (size_t i = 0; i < r->frame->device_count; i++)
        if (strcmp(r->frame->devices[i].facts.uuid, uuid) == 0)
            return (int)i;
    return -1;
}

static int place_of_index(const struct round *r, uint64_t index)
{
    for (size_t i = 0; i < r->frame->device_count; i++)
        if (r->frame->devices[i].facts.index == index)
            return (int)i;
    return -1;
}

static void put_memory(struct gpu_process *p, double mib)
{
    uint64_t bytes = mib < 1e12 ? (uint64_t)(mib * MIB + 0.5) : 0;
    if (mib >= 1e12)
        return;
    p->memory_bytes = p->has_memory ? max_u64(p->memory_bytes, bytes) : bytes;
    p->has_memory = true;
}

static struct gpu_process *process_of(struct round *r, int place, uint64_t pid)
{
    if (place < 0 || pid > UINT32_MAX)
        return NULL;
    pid_t ours = gpu_pids_map(r->pids, (unsigned)pid);
    return gpu_frame_process(r->frame, (unsigned)place, ours);
}

/* Processes that compute, with their memory. */
static void read_compute(struct round *r)
{
    static const char fields[] = "gpu_uuid,pid,used_memory";
    static const char *const arguments[] = {"--query-compute-apps=gpu_uuid,pid,used_memory",
                                            NVIDIA_SMI_FORMAT, NULL};
    struct scan text, line;
    struct smi_cells heading, cells;
    if (smi_command_run(r->command, arguments, NVIDIA_SMI_MS, &text) != 0)
        return;
    smi_cells_of_csv(scan_string(fields), &heading);
    while (scan_line(&text, &line)) {
        char uuid[GPU_TEXT_BYTES];
        uint64_t pid;
        double mib;
        smi_cells_of_csv(line, &cells);
        if (cells.count != heading.count || !smi_word(&cells, 0, uuid, sizeof uuid) ||
            !smi_whole(&cells, 1, &pid))
            continue;
        struct gpu_process *p = process_of(r, place_of(r, uuid), pid);
        if (p && smi_number(&cells, 2, &mib))
            put_memory(p, mib);
    }
}

static void take_pmon_line(struct round *r, const struct smi_cells *heading,
                           const struct smi_cells *cells)
{
    uint64_t index, pid;
    double number;
    int place = smi_whole(cells, smi_column(heading, "gpu"), &index) ? place_of_index(r, index)
                                                                     : -1;
    if (place < 0)
        return;
    r->frame->devices[place].tells = GPU_TELLS_MEMORY | GPU_TELLS_SHARE;
    if (!smi_whole(cells, smi_column(heading, "pid"), &pid))
        return; /* nobody */
    struct gpu_process *p = process_of(r, place, pid);
    if (p && smi_number(cells, smi_column(heading, "fb"), &number))
        put_memory(p, number);
    if (p && smi_number(cells, smi_column(heading, "sm"), &number) && number <= 100) {
        p->share = p->has_share && p->share > number / 100 ? p->share : number / 100;
        p->has_share = true;
    }
}

/* The first of the two lines that begin with # has the names. Without it nothing is taken. */
static void read_pmon(struct round *r)
{
    static const char *const arguments[] = {"pmon", "-c", "1", "-s", "um", NULL};
    struct scan text, line;
    struct smi_cells heading = {.count = 0}, cells;
    if (smi_command_run(r->command, arguments, NVIDIA_SMI_MS, &text) != 0)
        return;
    while (scan_line(&text, &line)) {
        bool is_heading = !scan_done(&line) && *line.at == '#';
        smi_cells_of_words(line, &cells);
        if (is_heading && smi_column(&cells, "pid") >= 0)
            heading = cells;
        else if (!is_heading)
            take_pmon_line(r, &heading, &cells);
    }
    for (size_t i = 0; i < r->frame->device_count; i++)
        if (r->frame->devices[i].tells)
            row_put_u64(&r->frame->devices[i].row, gpu_processes_count,
                        gpu_frame_count(r->frame, (unsigned)i));
}

void nvidia_smi_processes_read(struct smi_command *command, struct gpu_pids *pids,
                               struct gpu_frame *f)
{
    struct round r = {command, pids, f};
    read_compute(&r);
    read_pmon(&r);
}
