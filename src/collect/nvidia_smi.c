/* SPDX-License-Identifier: MIT
 * NVIDIA's GPUs by the command nvidia-smi, where the library cannot be used.
 *
 * nvidia-smi --query-gpu=index,uuid,… --format=csv,noheader,nounits
 *     0, GPU-5a1c…, NVIDIA A100-SXM4-40GB, 00000000:3B:00.0, 37, 4, 40960, 1024, …
 * nvidia-smi --query-compute-apps=gpu_uuid,pid,used_memory --format=csv,noheader,nounits
 *     GPU-5a1c…, 81231, 1024
 * nvidia-smi pmon -c 1 -s um
 *     # gpu         pid   type     sm    mem    enc    dec    jpg    ofa     fb   command
 *
 * An older command refuses a field it does not know: it is asked again without that. Every GPU that
 * pmon looks at has a line in it, and every process on it: who is not there does not use it. */
#include "collect/gpu_vendors.h"

#include "base/clock.h"
#include "base/util.h"
#include "collect/nvidia_smi_processes.h"
#include "collect/smi_figures.h"
#include "collect/smi_pace.h"

#include <fcntl.h>
#include <stdio.h>

enum { OPEN_MS = 10000, MOST_DEVICES = 64 };

#define MIB 1048576.0
#define MHZ 1e6

static const struct smi_figure figures[] = {
    {"utilization.gpu", gpu_utilization_ratio, 0.01},
    {"utilization.memory", gpu_memory_controller_ratio, 0.01},
    {"memory.total", gpu_memory_total_bytes, MIB},
    {"memory.used", gpu_memory_used_bytes, MIB},
    {"memory.reserved", gpu_memory_reserved_bytes, MIB},
    {"power.draw", gpu_power_watts, 1},
    {"enforced.power.limit", gpu_power_limit_watts, 1},
    {"temperature.gpu", gpu_temperature_celsius, 1},
    {"clocks.sm", gpu_clock_sm_hertz, MHZ},
    {"clocks.mem", gpu_clock_memory_hertz, MHZ},
    {"utilization.encoder", gpu_encoder_ratio, 0.01},
    {"utilization.decoder", gpu_decoder_ratio, 0.01},
};

static const char all_fields[] =
    "index,uuid,name,pci.bus_id,driver_version,utilization.gpu,utilization.memory,memory.total,"
    "memory.used,"
    "memory.reserved,power.draw,enforced.power.limit,temperature.gpu,clocks.sm,clocks.mem,"
    "utilization.encoder,"
    "utilization.decoder";

struct nvidia_smi {
    struct smi_command command;
    char fields[sizeof all_fields]; /* those that the command knows */
    struct gpu_facts facts[MOST_DEVICES];
    size_t count;
    struct gpu_pids pids;
    struct smi_pace pace;
    bool has_told;
};

static bool nvidia_smi_is_likely(const struct sysroot *root)
{
    return faccessat(root->proc, "driver/nvidia/version", F_OK, 0) == 0;
}

static void nvidia_smi_close(void *state)
{
    struct nvidia_smi *n = state;
    if (!n)
        return;
    smi_command_close(&n->command);
    smi_pace_done(&n->pace);
    gpu_pids_done(&n->pids);
    free(n);
}

/* Asks for all fields that the command knows, and finds out which. */
static int query(struct nvidia_smi *n, unsigned deadline_ms, struct scan *ret_text)
{
    char question[sizeof "--query-gpu=" + sizeof all_fields];
    const char *const arguments[] = {question, NVIDIA_SMI_FORMAT, NULL};
    int r;
    do {
        snprintf(question, sizeof question, "--query-gpu=%s", n->fields);
        r = smi_command_run(&n->command, arguments, deadline_ms, ret_text);
    } while (r > 0 && smi_drop_field(n->fields, *ret_text));
    return r;
}

/* The next line with a GPU on it; sentences that it prints in between are none. */
static bool next_gpu(struct scan *text, const struct smi_cells *heading, struct smi_cells *cells,
                     char uuid[GPU_TEXT_BYTES])
{
    struct scan line;
    while (scan_line(text, &line)) {
        smi_cells_of_csv(line, cells);
        if (cells->count == heading->count &&
            smi_word(cells, smi_column(heading, "uuid"), uuid, GPU_TEXT_BYTES) &&
            strcmp(uuid, "uuid") != 0)
            return true;
    }
    return false;
}

static void learn_facts(struct gpu_facts *f, const struct smi_cells *heading,
                        const struct smi_cells *cells, const char *uuid, size_t place)
{
    uint64_t index;
    *f = (struct gpu_facts){.vendor = "nvidia"};
    snprintf(f->uuid, sizeof f->uuid, "%s", uuid);
    bool has_index = smi_whole(cells, smi_column(heading, "index"), &index);
    f->index = has_index ? (unsigned)index : (unsigned)place;
    if (!smi_word(cells, smi_column(heading, "name"), f->name, sizeof f->name))
        *f->name = '\0';
    if (!smi_word(cells, smi_column(heading, "pci.bus_id"), f->pci, sizeof f->pci))
        *f->pci = '\0';
    smi_fold_pci(f->pci);
    if (!smi_word(cells, smi_column(heading, "driver_version"), f->driver, sizeof f->driver))
        *f->driver = '\0';
}

static int find_devices(struct nvidia_smi *n, struct gpu_trouble *trouble)
{
    struct scan text = scan_string("");
    struct smi_cells heading, cells;
    char uuid[GPU_TEXT_BYTES];
    int r = query(n, OPEN_MS, &text);
    struct scan rows = text, first;
    smi_cells_of_csv(scan_string(n->fields), &heading);
    while (r == 0 && n->count < MOST_DEVICES && next_gpu(&rows, &heading, &cells, uuid)) {
        learn_facts(&n->facts[n->count], &heading, &cells, uuid, n->count);
        n->count++;
    }
    if (n->count)
        return 0;
    struct scan words = text;
    if (!scan_line(&text, &first) || scan_word(&words, "No devices were found"))
        first = scan_string("");
    if (r == -ETIME)
        snprintf(trouble->sentence, sizeof trouble->sentence,
                 "nvidia-smi did not answer in %d seconds", OPEN_MS / 1000);
    else if (!scan_done(&first))
        snprintf(trouble->sentence, sizeof trouble->sentence, "nvidia-smi says: %.*s",
                 (int)min_u64((uint64_t)(first.end - first.at), 200), first.at);
    for (char *c = trouble->sentence; *c; c++)
        *c = (unsigned char)*c < ' ' || *c == 127 ? '?' : *c;
    return *trouble->sentence ? -EIO : -ENODEV;
}

static int nvidia_smi_open(void **ret_state, const struct gpu_context *c,
                           struct gpu_trouble *trouble)
{
    char path[SMI_PATH_BYTES];
    if (!c->root->live || !c->helpers || smi_command_find("nvidia-smi", path) < 0)
        return -ENODEV;
    struct nvidia_smi *n = calloc(1, sizeof *n);
    if (!n)
        return -ENOMEM;
    n->command.fd = -1;
    memcpy(n->fields, all_fields, sizeof all_fields);
    gpu_pids_init(&n->pids, c->root);
    int r = smi_command_open(&n->command, path, c->helpers);
    if (r == 0)
        r = find_devices(n, trouble);
    if (r < 0) {
        nvidia_smi_close(n);
        return r;
    }
    *ret_state = n;
    return 0;
}

/* A device that is not in an answer which is otherwise good has fallen off the bus. */
static int read_devices(struct nvidia_smi *n, struct gpu_frame *f)
{
    struct scan text;
    struct smi_cells heading, cells;
    char uuid[GPU_TEXT_BYTES];
    bool is_there[MOST_DEVICES] = {false}, has_any = false;
    int status = query(n, NVIDIA_SMI_MS, &text);
    if (status < 0)
        return status;
    smi_cells_of_csv(scan_string(n->fields), &heading);
    while (next_gpu(&text, &heading, &cells, uuid))
        for (size_t i = 0; i < n->count; i++) {
            if (strcmp(n->facts[i].uuid, uuid) != 0)
                continue;
            has_any = is_there[i] = true;
            smi_figures_put(&f->devices[i].row, &heading, &cells, figures, ARRAY_LEN(figures));
        }
    for (size_t i = 0; has_any && i < n->count; i++)
        f->devices[i].is_lost = !is_there[i];
    return has_any ? 0 : -EIO;
}

static void tell(struct nvidia_smi *n, int status, struct gpu_trouble *trouble)
{
    if (n->has_told)
        return;
    n->has_told = true;
    snprintf(trouble->sentence, sizeof trouble->sentence,
             "nvidia-smi %s: as long as this lasts, nothing is known of NVIDIA's GPUs",
             status == -ETIME ? "does not answer" : "fails");
}

static void read_all(struct nvidia_smi *n, struct gpu_trouble *trouble)
{
    struct gpu_frame *f = &n->pace.kept;
    gpu_frame_clear(f);
    for (size_t i = 0; i < n->count; i++) {
        struct gpu_device *d = gpu_frame_add_device(f);
        if (!d) {
            gpu_frame_clear(f);
            return;
        }
        d->facts = n->facts[i];
    }
    int status = read_devices(n, f);
    if (status < 0) {
        tell(n, status, trouble);
        return;
    }
    nvidia_smi_processes_read(&n->command, &n->pids, f);
}

static void nvidia_smi_read(void *state, struct gpu_frame *f, const pid_t *pids, size_t pid_count,
                            struct gpu_trouble *trouble)
{
    struct nvidia_smi *n = state;
    uint64_t now_ns = clock_mono(NULL);
    if (smi_pace_is_due(&n->pace, now_ns)) {
        gpu_pids_begin(&n->pids, pids, pid_count, now_ns);
        read_all(n, trouble);
        smi_pace_took(&n->pace, now_ns, clock_mono(NULL));
    }
    smi_pace_copy(&n->pace, f);
}

const struct gpu_vendor gpu_vendor_nvidia_smi = {
    .name = "nvidia",
    .people = "NVIDIA",
    .lost = "nvidia-smi does not list it any more",
    .means = "nvidia-smi",
    .is_likely = nvidia_smi_is_likely,
    .open = nvidia_smi_open,
    .read = nvidia_smi_read,
    .close = nvidia_smi_close,
    .instead_of = &gpu_vendor_nvml,
};
