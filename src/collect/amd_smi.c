/* SPDX-License-Identifier: MIT
 * AMD's GPUs by the commands amd-smi or rocm-smi, where the files of the driver are not to be seen:
 * devices only, nothing of processes.
 *
 * amd-smi monitor -p -t -u -m -v --csv
 *     gpu,power_usage,hotspot_temperature,memory_temperature,gfx_util,gfx_clock,mem_util,…
 *     0,61,41,38,37,1310,4,1600,…
 * rocm-smi --showuse --showmeminfo vram --showpower --showtemp --showuniqueid --showbus --csv
 *     device,Unique ID,Temperature (Sensor edge) (C),…,GPU use (%),…,PCI Bus
 *     card0,0x7f9c3a5d1e2b4c68,41.0,…,37,…,0000:C1:00.0
 */
#include "collect/gpu_vendors.h"

#include "base/clock.h"
#include "base/util.h"
#include "collect/smi_command.h"
#include "collect/smi_figures.h"
#include "collect/smi_pace.h"

#include <fcntl.h>
#include <stdio.h>

enum { OPEN_MS = 10000, READ_MS = 5000, MOST_DEVICES = 64 };

#define MB  1048576.0 /* what amd-smi calls so */
#define MHZ 1e6

static const struct smi_figure figures[] = {
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
    {"gfx_clock|gfx_clk", gpu_clock_sm_hertz, MHZ},
    {"mem_clock|mem_clk", gpu_clock_memory_hertz, MHZ},
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
    struct gpu_facts facts[MOST_DEVICES];
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
static bool next_gpu(struct scan *text, struct smi_cells *heading, struct smi_cells *cells,
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

static void learn_facts(struct gpu_facts *f, const struct smi_cells *heading,
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

static int find_devices(struct amd_smi *a, struct gpu_trouble *trouble)
{
    struct scan text = scan_string("");
    struct smi_cells heading = {.count = 0}, cells;
    unsigned index;
    int r = smi_command_run(&a->command, a->arguments, OPEN_MS, &text);
    while (r == 0 && a->count < MOST_DEVICES && next_gpu(&text, &heading, &cells, &index))
        learn_facts(&a->facts[a->count++], &heading, &cells, index);
    if (a->count)
        return 0;
    if (r == -ETIME)
        snprintf(trouble->sentence, sizeof trouble->sentence, "%s did not answer in %d seconds",
                 a->name, OPEN_MS / 1000);
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
        r = find_devices(a, trouble);
    if (r < 0) {
        amd_smi_close(a);
        return r;
    }
    *ret_state = a;
    return 0;
}

static void tell(struct amd_smi *a, int status, struct gpu_trouble *trouble)
{
    if (a->has_told)
        return;
    a->has_told = true;
    snprintf(trouble->sentence, sizeof trouble->sentence,
             "%s %s: as long as this lasts, nothing is known of AMD's GPUs", a->name,
             status == -ETIME ? "does not answer" : "fails");
}

static void read_all(struct amd_smi *a, struct gpu_trouble *trouble)
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
        tell(a, r, trouble);
        return;
    }
    while (next_gpu(&text, &heading, &cells, &index))
        for (size_t i = 0; i < a->count; i++)
            if (a->facts[i].index == index)
                smi_figures_put(&f->devices[i].row, &heading, &cells, figures, ARRAY_LEN(figures));
}

static void amd_smi_read(void *state, struct gpu_frame *f, const pid_t *pids, size_t pid_count,
                         struct gpu_trouble *trouble)
{
    (void)pids, (void)pid_count;
    struct amd_smi *a = state;
    uint64_t now_ns = clock_mono(NULL);
    if (smi_pace_is_due(&a->pace, now_ns)) {
        read_all(a, trouble);
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
