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
#include "source/gpu/smi.h"

#include "base/clock.h"
#include "base/util.h"
#include "source/gpu/smi_command.h"
#include "source/gpu/vendor.h"

#include <fcntl.h>
#include <stdio.h>

/* ==== Smi figures ============================================================================= */

static void smi_put_number(struct row *row, enum metric_id id, double value)
{
    const struct metric *m = metric_of(id);
    if (m->unit == UNIT_ratio && value > 1)
        return;
    if (metric_is_double(m))
        row_put_double(row, id, value);
    else if (value < 1e18)
        row_put_u64(row, id, (uint64_t)(value + 0.5));
}

void smi_figures_put(struct row *row, const struct smi_cells *heading,
                     const struct smi_cells *cells, const struct smi_figure *table, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        double number;
        if (smi_number(cells, smi_column(heading, table[i].columns), &number))
            smi_put_number(row, table[i].id, number * table[i].unit);
    }
}

/* ==== Amd smi ================================================================================= */

/* AMD's GPUs by the commands amd-smi or rocm-smi, where the files of the driver are not to be seen:
 * devices only, nothing of processes.
 *
 * amd-smi monitor -p -t -u -m -v --csv
 *     gpu,power_usage,hotspot_temperature,memory_temperature,gfx_util,gfx_clock,mem_util,…
 *     0,61,41,38,37,1310,4,1600,…
 * rocm-smi --showuse --showmeminfo vram --showpower --showtemp --showuniqueid --showbus --csv
 *     device,Unique ID,Temperature (Sensor edge) (C),…,GPU use (%),…,PCI Bus
 *     card0,0x7f9c3a5d1e2b4c68,41.0,…,37,…,0000:C1:00.0 */

enum { AMD_SMI_OPEN_MS = 10000, READ_MS = 5000, AMD_SMI_MOST_DEVICES = 64 };

#define MB          1048576.0 /* what amd-smi calls so */
#define AMD_SMI_MHZ 1e6

static const struct smi_figure amd_smi_figures[] = {
    {"gfx_util|gfx|GPU use (%)", gpu_utilization_ratio, 0.01},
    {"mem_util|mem", gpu_memory_controller_ratio, 0.01},
    {"vram_used", gpu_memory_used_bytes, MB},
    {"VRAM Total Used Memory (B)", gpu_memory_used_bytes, 1},
    {"vram_total", gpu_memory_total_bytes, MB},
    {"VRAM Total Memory (B)", gpu_memory_total_bytes, 1},
    {"power_usage|power|Average Graphics Package Power (W)|"
     "Current Socket Graphics Package Power (W)",
     gpu_power_watts, 1},
    {"gpu_temp|hotspot_temperature|Temperature (Sensor edge) (C)|"
     "Temperature (Sensor junction) (C)",
     gpu_temperature_celsius, 1},
    {"gfx_clock|gfx_clk", gpu_clock_sm_hertz, AMD_SMI_MHZ},
    {"mem_clock|mem_clk", gpu_clock_memory_hertz, AMD_SMI_MHZ},
};

static const char *const amd_smi_arguments[] = {"monitor", "-p", "-t",    "-u",
                                                "-m",      "-v", "--csv", NULL};
static const char *const rocm_smi_arguments[] = {
    "--showuse",      "--showmeminfo", "vram",  "--showpower", "--showtemp",
    "--showuniqueid", "--showbus",     "--csv", NULL,
};

struct amd_smi {
    struct smi_command command;
    const char *name; /* of the command */
    const char *const *arguments;
    struct gpu_facts facts[AMD_SMI_MOST_DEVICES];
    size_t count;
    struct smi_pace pace;
    bool has_told;
};

static bool amd_smi_is_likely(const struct sysroot *root)
{
    return root->sys >= 0 && faccessat(root->sys, "module/amdgpu", F_OK, 0) == 0;
}

static void amd_smi_close(void *state)
{
    struct amd_smi *a = state;
    if (!a)
        return;
    smi_command_close(&a->command);
    smi_pace_done(&a->pace);
    free(a);
}

/* Which GPU a line is of: 0, or card0. */
static bool index_of(const struct smi_cells *heading, const struct smi_cells *cells, unsigned *ret)
{
    int column = smi_column(heading, "gpu|device");
    if (column < 0 || (unsigned)column >= cells->count)
        return false;
    struct scan s = cells->cells[column];
    uint64_t index;
    scan_word(&s, "card");
    if (!scan_u64(&s, &index) || !scan_done(&s) || index > UINT32_MAX)
        return false;
    *ret = (unsigned)index;
    return true;
}

/* The next line of a GPU; *heading has no cells until its line was met. */
static bool amd_smi_next_gpu(struct scan *text, struct smi_cells *heading, struct smi_cells *cells,
                             unsigned *ret_index)
{
    struct scan line;
    while (scan_line(text, &line)) {
        smi_cells_of_csv(line, cells);
        if (smi_column(cells, "gpu|device") >= 0)
            *heading = *cells;
        else if (cells->count == heading->count && index_of(heading, cells, ret_index))
            return true;
    }
    return false;
}

static void amd_smi_learn_facts(struct gpu_facts *f, const struct smi_cells *heading,
                                const struct smi_cells *cells, unsigned index)
{
    *f = (struct gpu_facts){.index = index, .vendor = "amd", .name = "AMD GPU"};
    if (!smi_word(cells, smi_column(heading, "Unique ID"), f->uuid, sizeof f->uuid))
        *f->uuid = '\0';
    if (strncmp(f->uuid, "0x", 2) == 0) /* as the driver writes it */
        memmove(f->uuid, f->uuid + 2, strlen(f->uuid + 2) + 1);
    if (!smi_word(cells, smi_column(heading, "PCI Bus"), f->pci, sizeof f->pci))
        *f->pci = '\0';
    smi_fold_pci(f->pci);
}

static int amd_smi_find_devices(struct amd_smi *a, struct gpu_trouble *trouble)
{
    struct scan text = scan_string("");
    struct smi_cells heading = {.count = 0}, cells;
    unsigned index;
    int r = smi_command_run(&a->command, a->arguments, AMD_SMI_OPEN_MS, &text);
    while (r == 0 && a->count < AMD_SMI_MOST_DEVICES &&
           amd_smi_next_gpu(&text, &heading, &cells, &index))
        amd_smi_learn_facts(&a->facts[a->count++], &heading, &cells, index);
    if (a->count)
        return 0;
    if (r == -ETIME)
        snprintf(trouble->sentence, sizeof trouble->sentence, "%s did not answer in %d seconds",
                 a->name, AMD_SMI_OPEN_MS / 1000);
    return r == -ETIME ? -EIO : -ENODEV;
}

static int amd_smi_open(void **ret_state, const struct gpu_context *c, struct gpu_trouble *trouble)
{
    char path[SMI_PATH_BYTES];
    if (!c->root->live || !c->helpers)
        return -ENODEV;
    bool is_new = smi_command_find("amd-smi", path) == 0;
    if (!is_new && smi_command_find("rocm-smi", path) < 0)
        return -ENODEV;
    struct amd_smi *a = calloc(1, sizeof *a);
    if (!a)
        return -ENOMEM;
    a->name = is_new ? "amd-smi" : "rocm-smi";
    a->arguments = is_new ? amd_smi_arguments : rocm_smi_arguments;
    a->command.fd = -1;
    int r = smi_command_open(&a->command, path, c->helpers);
    if (r == 0)
        r = amd_smi_find_devices(a, trouble);
    if (r < 0) {
        amd_smi_close(a);
        return r;
    }
    *ret_state = a;
    return 0;
}

static void amd_smi_tell(struct amd_smi *a, int status, struct gpu_trouble *trouble)
{
    if (a->has_told)
        return;
    a->has_told = true;
    snprintf(trouble->sentence, sizeof trouble->sentence,
             "%s %s: as long as this lasts, nothing is known of AMD's GPUs", a->name,
             status == -ETIME ? "does not answer" : "fails");
}

static void amd_smi_read_all(struct amd_smi *a, struct gpu_trouble *trouble)
{
    struct gpu_frame *f = &a->pace.kept;
    struct scan text;
    struct smi_cells heading = {.count = 0}, cells;
    unsigned index;
    gpu_frame_clear(f);
    for (size_t i = 0; i < a->count; i++) {
        struct gpu_device *d = gpu_frame_add_device(f);
        if (!d) {
            gpu_frame_clear(f);
            return;
        }
        d->facts = a->facts[i];
    }
    int r = smi_command_run(&a->command, a->arguments, READ_MS, &text);
    if (r != 0) {
        amd_smi_tell(a, r, trouble);
        return;
    }
    while (amd_smi_next_gpu(&text, &heading, &cells, &index))
        for (size_t i = 0; i < a->count; i++)
            if (a->facts[i].index == index)
                smi_figures_put(&f->devices[i].row, &heading, &cells, amd_smi_figures,
                                ARRAY_LEN(amd_smi_figures));
}

static void amd_smi_read(void *state, struct gpu_frame *f, const pid_t *pids, size_t pid_count,
                         struct gpu_trouble *trouble)
{
    (void)pids, (void)pid_count;
    struct amd_smi *a = state;
    uint64_t now_ns = clock_mono(NULL);
    if (smi_pace_is_due(&a->pace, now_ns)) {
        amd_smi_read_all(a, trouble);
        smi_pace_took(&a->pace, now_ns, clock_mono(NULL));
    }
    smi_pace_copy(&a->pace, f);
}

const struct gpu_vendor gpu_vendor_amd_smi = {
    .name = "amd",
    .people = "AMD",
    .means = "amd-smi",
    .is_likely = amd_smi_is_likely,
    .open = amd_smi_open,
    .read = amd_smi_read,
    .close = amd_smi_close,
    .instead_of = &gpu_vendor_amdgpu,
};

/* ==== Nvidia smi processes ==================================================================== */

/* nvidia-smi --query-compute-apps=gpu_uuid,pid,used_memory --format=csv,noheader,nounits
 *     GPU-5a1c…, 81231, 1024
 * nvidia-smi pmon -c 1 -s um
 *     # gpu         pid   type     sm    mem    enc    dec    jpg    ofa     fb   command
 *     # Idx           #    C/G      %      %      %      %      %      %     MB   name
 *         0       81231     C     45     20      -      -      -      -   1024   python
 *         1           -     -      -      -      -      -      -      -      -   -
 *
 * Every GPU that pmon looks at has a line in it, and every process on it: who is not there does not
 * use it. Some versions have no column fb. */

#define NVIDIA_SMI_PROCESSES_MIB 1048576.0

/* One round of reading. */
struct round {
    struct smi_command *command;
    struct gpu_pids *pids;
    struct gpu_frame *frame;
};

/* The place of a device in the frame, or -1. */
static int nvidia_smi_processes_place_of(const struct round *r, const char *uuid)
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

static void nvidia_smi_processes_put_memory(struct gpu_process *p, double mib)
{
    uint64_t bytes = mib < 1e12 ? (uint64_t)(mib * NVIDIA_SMI_PROCESSES_MIB + 0.5) : 0;
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
        struct gpu_process *p = process_of(r, nvidia_smi_processes_place_of(r, uuid), pid);
        if (p && smi_number(&cells, 2, &mib))
            nvidia_smi_processes_put_memory(p, mib);
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
        nvidia_smi_processes_put_memory(p, number);
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

/* ==== Nvidia smi ============================================================================== */

enum { NVIDIA_SMI_OPEN_MS = 10000, NVIDIA_SMI_MOST_DEVICES = 64 };

#define NVIDIA_SMI_MIB 1048576.0
#define NVIDIA_SMI_MHZ 1e6

static const struct smi_figure nvidia_smi_figures[] = {
    {"utilization.gpu", gpu_utilization_ratio, 0.01},
    {"utilization.memory", gpu_memory_controller_ratio, 0.01},
    {"memory.total", gpu_memory_total_bytes, NVIDIA_SMI_MIB},
    {"memory.used", gpu_memory_used_bytes, NVIDIA_SMI_MIB},
    {"memory.reserved", gpu_memory_reserved_bytes, NVIDIA_SMI_MIB},
    {"power.draw", gpu_power_watts, 1},
    {"enforced.power.limit", gpu_power_limit_watts, 1},
    {"temperature.gpu", gpu_temperature_celsius, 1},
    {"clocks.sm", gpu_clock_sm_hertz, NVIDIA_SMI_MHZ},
    {"clocks.mem", gpu_clock_memory_hertz, NVIDIA_SMI_MHZ},
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
    struct gpu_facts facts[NVIDIA_SMI_MOST_DEVICES];
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
static int nvidia_smi_query(struct nvidia_smi *n, unsigned deadline_ms, struct scan *ret_text)
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
static bool nvidia_smi_next_gpu(struct scan *text, const struct smi_cells *heading,
                                struct smi_cells *cells, char uuid[GPU_TEXT_BYTES])
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

static void nvidia_smi_learn_facts(struct gpu_facts *f, const struct smi_cells *heading,
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

static int nvidia_smi_find_devices(struct nvidia_smi *n, struct gpu_trouble *trouble)
{
    struct scan text = scan_string("");
    struct smi_cells heading, cells;
    char uuid[GPU_TEXT_BYTES];
    int r = nvidia_smi_query(n, NVIDIA_SMI_OPEN_MS, &text);
    struct scan rows = text, first;
    smi_cells_of_csv(scan_string(n->fields), &heading);
    while (r == 0 && n->count < NVIDIA_SMI_MOST_DEVICES &&
           nvidia_smi_next_gpu(&rows, &heading, &cells, uuid)) {
        nvidia_smi_learn_facts(&n->facts[n->count], &heading, &cells, uuid, n->count);
        n->count++;
    }
    if (n->count)
        return 0;
    struct scan words = text;
    if (!scan_line(&text, &first) || scan_word(&words, "No devices were found"))
        first = scan_string("");
    if (r == -ETIME)
        snprintf(trouble->sentence, sizeof trouble->sentence,
                 "nvidia-smi did not answer in %d seconds", NVIDIA_SMI_OPEN_MS / 1000);
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
        r = nvidia_smi_find_devices(n, trouble);
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
    bool is_there[NVIDIA_SMI_MOST_DEVICES] = {false}, has_any = false;
    int status = nvidia_smi_query(n, NVIDIA_SMI_MS, &text);
    if (status < 0)
        return status;
    smi_cells_of_csv(scan_string(n->fields), &heading);
    while (nvidia_smi_next_gpu(&text, &heading, &cells, uuid))
        for (size_t i = 0; i < n->count; i++) {
            if (strcmp(n->facts[i].uuid, uuid) != 0)
                continue;
            has_any = is_there[i] = true;
            smi_figures_put(&f->devices[i].row, &heading, &cells, nvidia_smi_figures,
                            ARRAY_LEN(nvidia_smi_figures));
        }
    for (size_t i = 0; has_any && i < n->count; i++)
        f->devices[i].is_lost = !is_there[i];
    return has_any ? 0 : -EIO;
}

static void nvidia_smi_tell(struct nvidia_smi *n, int status, struct gpu_trouble *trouble)
{
    if (n->has_told)
        return;
    n->has_told = true;
    snprintf(trouble->sentence, sizeof trouble->sentence,
             "nvidia-smi %s: as long as this lasts, nothing is known of NVIDIA's GPUs",
             status == -ETIME ? "does not answer" : "fails");
}

static void nvidia_smi_read_all(struct nvidia_smi *n, struct gpu_trouble *trouble)
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
        nvidia_smi_tell(n, status, trouble);
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
        nvidia_smi_read_all(n, trouble);
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
