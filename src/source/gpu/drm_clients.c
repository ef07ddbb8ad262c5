/* SPDX-License-Identifier: MIT */
#include "base/io/file.h"
#include "base/memory.h"
#include "base/util.h"
#include "source/gpu/drm.h"
#include "source/pid_files.h"

#include <fcntl.h>
#include <stdio.h>

/* ==== Drm fdinfo ============================================================================== */

/* drm-driver: amdgpu
 * drm-client-id: 141
 * drm-pdev: 0000:03:00.0
 * drm-memory-vram: 2048 KiB
 * drm-engine-gfx: 28301 ns
 *
 * drm-driver: i915
 * drm-total-system0: 6044 KiB
 * drm-resident-system0: 0
 * drm-engine-video: 9288864723 ns
 * drm-engine-capacity-video: 2
 *
 * drm-driver: xe
 * drm-resident-vram0: 16 MiB
 * drm-cycles-rcs: 28257900
 * drm-total-cycles-rcs: 7655183225
 *
 * drm-memory-X is the older name of drm-resident-X. Sizes without a unit are bytes. A last line
 * without its newline was cut short, perhaps in its number: it is left out. */

/* Reads a word up to `until` or a blank; false for one that does not fit or has control characters.
 */
static bool drm_fdinfo_read_name(struct scan *s, char until, char ret[DRM_NAME_BYTES])
{
    const char *at = s->at;
    for (; at < s->end && *at != until && *at != ' ' && *at != '\t'; at++)
        if ((unsigned char)*at < ' ' || *at == 127)
            return false;
    size_t length = (size_t)(at - s->at);
    if (!length || length >= DRM_NAME_BYTES)
        return false;
    memcpy(ret, s->at, length);
    ret[length] = '\0';
    s->at = at;
    return true;
}

/* The value of a line without a unit: a word, or a number. */
static bool drm_fdinfo_read_word(struct scan *s, char ret[DRM_NAME_BYTES])
{
    scan_blanks(s);
    bool is_good = drm_fdinfo_read_name(s, '\n', ret);
    scan_blanks(s);
    return is_good && scan_done(s);
}

static bool drm_fdinfo_read_count(struct scan *s, uint64_t *ret)
{
    bool is_good = scan_u64(s, ret);
    scan_blanks(s);
    return is_good && scan_done(s);
}

static bool drm_fdinfo_read_bytes(struct scan *s, uint64_t *ret)
{
    static const char *const units[] = {"", " KiB", " MiB", " GiB"};
    uint64_t value;
    unsigned unit = 0;
    if (!scan_u64(s, &value))
        return false;
    for (unsigned u = 1; u < ARRAY_LEN(units); u++)
        if (scan_word(s, units[u]))
            unit = u;
    scan_blanks(s);
    return scan_done(s) && !__builtin_mul_overflow(value, UINT64_C(1) << 10 * unit, ret);
}

/* Finds or adds the engine; NULL when there are too many. */
static struct drm_engine *drm_fdinfo_engine(struct drm_fdinfo *d, const char *name)
{
    for (unsigned i = 0; i < d->engine_count; i++)
        if (strcmp(d->engines[i].name, name) == 0)
            return &d->engines[i];
    if (d->engine_count == DRM_ENGINES)
        return NULL;
    struct drm_engine *e = &d->engines[d->engine_count++];
    e->capacity = 1;
    memcpy(e->name, name, DRM_NAME_BYTES);
    return e;
}

static struct drm_region *drm_fdinfo_region(struct drm_fdinfo *d, const char *name)
{
    for (unsigned i = 0; i < d->region_count; i++)
        if (strcmp(d->regions[i].name, name) == 0)
            return &d->regions[i];
    if (d->region_count == DRM_REGIONS)
        return NULL;
    struct drm_region *r = &d->regions[d->region_count++];
    memcpy(r->name, name, DRM_NAME_BYTES);
    return r;
}

/* A line of an engine or a region, after "drm-". Values of one too many are checked and left out.
 */
static bool drm_fdinfo_take_value(struct drm_fdinfo *d, struct scan *line)
{
    enum key { CAPACITY, BUSY, TOTAL_CYCLES, CYCLES, TOTAL, RESIDENT, MEMORY, KEYS };
    /* A longer prefix is before one that it begins with. */
    static const char *const prefixes[KEYS] = {
        [CAPACITY] = "engine-capacity-",
        [BUSY] = "engine-",
        [TOTAL_CYCLES] = "total-cycles-",
        [CYCLES] = "cycles-",
        [TOTAL] = "total-",
        [RESIDENT] = "resident-",
        [MEMORY] = "memory-",
    };
    char name[DRM_NAME_BYTES] = "";
    unsigned key = 0;
    while (key < KEYS && !scan_word(line, prefixes[key]))
        key++;
    if (key == KEYS)
        return true; /* a key that is not used here */
    if (!drm_fdinfo_read_name(line, ':', name) || !scan_word(line, ":"))
        return false;
    struct drm_engine no_engine, *e = &no_engine;
    struct drm_region no_region, *r = &no_region;
    if (key < TOTAL && !(e = drm_fdinfo_engine(d, name)))
        e = &no_engine;
    if (key >= TOTAL && !(r = drm_fdinfo_region(d, name)))
        r = &no_region;
    uint64_t value;
    switch (key) {
    case CAPACITY:
        if (!drm_fdinfo_read_count(line, &value) || !value)
            return false;
        e->capacity = value;
        return true;
    case BUSY:
        e->has_busy = scan_u64(line, &e->busy_ns) && scan_word(line, " ns");
        scan_blanks(line);
        return e->has_busy = e->has_busy && scan_done(line);
    case TOTAL_CYCLES: return e->has_total = drm_fdinfo_read_count(line, &e->total_cycles);
    case CYCLES: return e->has_cycles = drm_fdinfo_read_count(line, &e->cycles);
    case TOTAL: return r->has_total = drm_fdinfo_read_bytes(line, &r->total_bytes);
    default: return r->has_resident = drm_fdinfo_read_bytes(line, &r->resident_bytes);
    }
}

int parse_drm_fdinfo(struct scan text, struct drm_fdinfo *ret)
{
    struct drm_fdinfo d = {0};
    bool has_client = false, is_good = true;
    struct scan line;
    while (is_good && scan_line(&text, &line) && line.end < text.at) {
        if (!scan_word(&line, "drm-"))
            continue;
        if (scan_word(&line, "driver:"))
            is_good = drm_fdinfo_read_word(&line, d.driver);
        else if (scan_word(&line, "pdev:"))
            is_good = drm_fdinfo_read_word(&line, d.pci);
        else if (scan_word(&line, "client-id:"))
            is_good = has_client = drm_fdinfo_read_count(&line, &d.client);
        else
            is_good = drm_fdinfo_take_value(&d, &line);
    }
    if (!is_good)
        return -EBADMSG;
    if (!*d.driver || !has_client)
        return -ENODATA;
    drm_lower(d.pci);
    *ret = d;
    return 0;
}

/* The sum over regions whose name begins with one of both words; false when there is none. */
static bool drm_fdinfo_sum(const struct drm_fdinfo *d, const char *one, const char *other,
                           uint64_t *ret_bytes)
{
    uint64_t sum = 0;
    bool has_sum = false;
    for (unsigned i = 0; i < d->region_count; i++) {
        const struct drm_region *r = &d->regions[i];
        if (strncmp(r->name, one, strlen(one)) != 0 && strncmp(r->name, other, strlen(other)) != 0)
            continue;
        sum = sum_u64(sum, r->has_resident ? r->resident_bytes : r->total_bytes);
        has_sum = true;
    }
    if (has_sum)
        *ret_bytes = sum;
    return has_sum;
}

bool drm_fdinfo_memory(const struct drm_fdinfo *d, uint64_t *ret_bytes)
{
    return drm_fdinfo_sum(d, "vram", "local", ret_bytes) ||
           drm_fdinfo_sum(d, "system", "gtt", ret_bytes);
}

/* ==== Drm clients ============================================================================= */

/* A client that was not seen is remembered for this many rounds: when it comes back, what it used
 * before is booked already. Drivers do not use a client number twice. */
enum { ROUNDS_KEPT = 16, TEXT_BYTES = 8192 };

#define WINDOW_NS NS_PER_SECOND

struct drm_client {
    unsigned card;
    uint64_t id;
    pid_t owner;           /* 0: it is new */
    pid_t candidate;       /* the first process that has it in this round */
    bool owner_has_it;     /* the owner still has it in this round */
    uint64_t seen_round;   /* 0: never */
    uint64_t anchor_ns;    /* since then the cycles that go by are counted; 0: not yet */
    struct drm_fdinfo now; /* as read in this round */
    struct drm_engine booked[DRM_ENGINES]; /* what was charged to users */
    unsigned booked_count;
};

/* One round of reading. */
struct drm_round {
    struct drm_clients *clients;
    const struct sysroot *root;
    const struct drm_cards *cards;
    pid_t pid;
};

int drm_clients_init(struct drm_clients *c, size_t cards)
{
    *c = (struct drm_clients){.cards = cards};
    c->cycles = calloc(cards ? cards : 1, sizeof *c->cycles);
    return c->cycles ? 0 : -ENOMEM;
}

void drm_clients_done(struct drm_clients *c)
{
    free(c->users);
    free(c->clients);
    free(c->cycles);
    *c = (struct drm_clients){0};
}

static struct drm_client *drm_clients_find(struct drm_clients *c, unsigned card, uint64_t id)
{
    for (size_t i = 0; i < c->client_count; i++)
        if (c->clients[i].card == card && c->clients[i].id == id)
            return &c->clients[i];
    if (!ARRAY_RESERVE(c->clients, c->client_capacity, c->client_count + 1))
        return NULL;
    struct drm_client *client = &c->clients[c->client_count++];
    *client = (struct drm_client){.card = card, .id = id};
    return client;
}

/* The first descriptor of a client in a round counts: others show the same, microseconds later. */
static void drm_clients_see(struct drm_round *r, const struct drm_fdinfo *info)
{
    struct drm_clients *c = r->clients;
    const struct drm_card *card = drm_cards_at(r->cards, info->pci);
    if (!card || strcmp(card->driver, info->driver) != 0)
        return;
    struct drm_client *client = drm_clients_find(c, (unsigned)(card - r->cards->items),
                                                 info->client);
    if (!client) {
        c->denied = r->pid;
        return;
    }
    if (client->seen_round != c->round) {
        client->seen_round = c->round;
        client->candidate = r->pid;
        client->owner_has_it = false;
        client->now = *info;
    }
    client->owner_has_it |= client->owner == r->pid;
}

/* The link of a descriptor is cheaper to read than its fdinfo. A recorded machine has files in
 * place of the links. */
static void drm_clients_visit_fd(void *arg, const char *fd)
{
    struct drm_round *r = arg;
    char path[64], text[TEXT_BYTES];
    struct drm_fdinfo info;
    if (r->root->live) {
        char target[256];
        snprintf(path, sizeof path, "%d/fd/%.16s", (int)r->pid, fd);
        ssize_t n = readlinkat(r->root->pids, path, target, sizeof target - 1);
        target[n > 0 ? n : 0] = '\0';
        if (n < 0 ? errno != EACCES : !strstr(target, "/dri/"))
            return;
    }
    snprintf(path, sizeof path, "%d/fdinfo/%.16s", (int)r->pid, fd);
    ssize_t n = file_read_at(r->root->pids, path, text, sizeof text);
    int code = n < 0 ? (int)n : parse_drm_fdinfo(scan_text(text, (size_t)n), &info);
    if (code == 0)
        drm_clients_see(r, &info);
    else if (code != -ENODATA && code != -ENOENT && code != -ESRCH) /* closed, or gone */
        r->clients->denied = r->pid;
}

static void drm_clients_look_at(struct drm_round *r, pid_t pid)
{
    char path[32];
    snprintf(path, sizeof path, "%d/fdinfo", (int)pid);
    CLEANUP_CLOSE int dir = openat(r->root->pids, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    r->pid = pid;
    int code = dir < 0 ? -errno : file_each_entry(dir, drm_clients_visit_fd, r);
    if (code < 0 && code != -ENOENT && code != -ESRCH)
        r->clients->denied = pid;
}

static uint64_t drm_start_ticks(const struct sysroot *root, pid_t pid)
{
    char path[32], text[1024];
    struct pid_stat st;
    snprintf(path, sizeof path, "%d/stat", (int)pid);
    ssize_t n = file_read_at(root->pids, path, text, sizeof text);
    return n > 0 && parse_pid_stat(scan_text(text, (size_t)n), &st) == 0 ? st.start_ticks : 0;
}

static int drm_compare_pids(const void *a, const void *b)
{
    pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;
    return (x > y) - (x < y);
}

/* Keeps users of the round before that still exist, with nothing seen of them yet. */
static void drm_clients_begin_users(struct drm_clients *c, const struct sysroot *root,
                                    const pid_t *pids, size_t pid_count)
{
    size_t kept = 0;
    for (size_t i = 0; i < c->user_count; i++) {
        struct drm_user *u = &c->users[i];
        if (!pid_count || !bsearch(&u->pid, pids, pid_count, sizeof *pids, drm_compare_pids) ||
            u->start_ticks != drm_start_ticks(root, u->pid))
            continue;
        u->memory_bytes = 0;
        u->clients = 0;
        u->has_memory = u->has_busy = u->was_here = true;
        for (unsigned e = 0; e < u->engine_count; e++)
            u->engines[e].before_ns = u->engines[e].busy_ns;
        c->users[kept++] = *u;
    }
    c->user_count = kept;
}

static struct drm_user *drm_clients_user(struct drm_clients *c, const struct sysroot *root,
                                         unsigned card, pid_t pid)
{
    for (size_t i = 0; i < c->user_count; i++)
        if (c->users[i].card == card && c->users[i].pid == pid)
            return &c->users[i];
    if (!ARRAY_RESERVE(c->users, c->user_capacity, c->user_count + 1))
        return NULL;
    struct drm_user *u = &c->users[c->user_count++];
    *u = (struct drm_user){
        .card = card,
        .pid = pid,
        .start_ticks = drm_start_ticks(root, pid),
        .has_memory = true,
        .has_busy = true,
    };
    return u;
}

static struct drm_engine *drm_client_booked(struct drm_client *client, const char *name)
{
    for (unsigned i = 0; i < client->booked_count; i++)
        if (strcmp(client->booked[i].name, name) == 0)
            return &client->booked[i];
    if (client->booked_count == DRM_ENGINES)
        return NULL;
    struct drm_engine *e = &client->booked[client->booked_count++];
    memcpy(e->name, name, DRM_NAME_BYTES);
    return e;
}

/* The length of a cycle follows from how many go by: well enough in a second, roughly in less. A
 * card that slept in between has counted fewer, so the shortest length is the true one. */
static void drm_cycle_learn(struct drm_cycle *known, uint64_t window_ns, uint64_t cycles)
{
    if (!window_ns || !cycles)
        return;
    double length_ns = (double)window_ns / (double)cycles;
    window_ns = min_u64(window_ns, WINDOW_NS);
    bool is_better = window_ns > known->window_ns ||
                     (window_ns == WINDOW_NS && length_ns < known->length_ns);
    if (is_better)
        *known = (struct drm_cycle){length_ns, window_ns};
}

static bool drm_client_is_anchor_due(const struct drm_client *client, uint64_t now_ns)
{
    return !client->anchor_ns || now_ns - client->anchor_ns >= WINDOW_NS;
}

/* The time that the engine worked for the client since it was booked last. *ret_known becomes false
 * when that is not known. */
static uint64_t drm_client_growth(struct drm_clients *c, struct drm_client *client,
                                  const struct drm_engine *now, uint64_t now_ns, bool *ret_known)
{
    struct drm_engine *booked = drm_client_booked(client, now->name);
    uint64_t growth = 0;
    if (!booked)
        return 0;
    if (now->has_busy) {
        growth = counter_growth(&booked->busy_ns, now->busy_ns);
    } else if (now->has_cycles && now->has_total) {
        struct drm_cycle *cycle = &c->cycles[client->card];
        if (booked->has_total)
            drm_cycle_learn(cycle, now_ns - client->anchor_ns,
                            left_u64(now->total_cycles, booked->total_cycles));
        if (drm_client_is_anchor_due(client, now_ns)) {
            booked->has_total = true;
            booked->total_cycles = now->total_cycles;
        }
        double length_ns = cycle->length_ns;
        *ret_known &= length_ns > 0;
        if (length_ns > 0) {
            growth = (uint64_t)((double)counter_growth(&booked->cycles, now->cycles) * length_ns);
        }
    } else {
        *ret_known = false;
    }
    return growth;
}

static void drm_clients_charge(struct drm_user *u, const struct drm_engine *now, uint64_t growth_ns)
{
    unsigned i = 0;
    while (i < u->engine_count && strcmp(u->engines[i].name, now->name) != 0)
        i++;
    if (i == DRM_ENGINES)
        return;
    if (i == u->engine_count) {
        memcpy(u->engines[i].name, now->name, DRM_NAME_BYTES);
        u->engine_count++;
    }
    u->engines[i].capacity = now->capacity;
    u->engines[i].busy_ns += growth_ns;
}

static void drm_clients_book(struct drm_clients *c, struct drm_client *client,
                             const struct sysroot *root, uint64_t now_ns)
{
    if (!client->owner_has_it)
        client->owner = client->candidate;
    struct drm_user *u = drm_clients_user(c, root, client->card, client->owner);
    if (!u) {
        c->denied = client->owner;
        return;
    }
    uint64_t bytes;
    u->clients++;
    if (drm_fdinfo_memory(&client->now, &bytes))
        u->memory_bytes = sum_u64(u->memory_bytes, bytes);
    else
        u->has_memory = false;
    /* xe is silent about the engines of a card that sleeps. */
    u->has_busy &= client->now.engine_count || client->booked_count;
    for (unsigned i = 0; i < client->now.engine_count; i++) {
        const struct drm_engine *now = &client->now.engines[i];
        drm_clients_charge(u, now, drm_client_growth(c, client, now, now_ns, &u->has_busy));
    }
    if (client->now.engine_count && drm_client_is_anchor_due(client, now_ns))
        client->anchor_ns = now_ns;
}

void drm_clients_read(struct drm_clients *c, const struct sysroot *root,
                      const struct drm_cards *cards, const pid_t *pids, size_t pid_count,
                      uint64_t now_ns)
{
    struct drm_round r = {.clients = c, .root = root, .cards = cards};
    c->round++;
    c->denied = 0;
    c->interval_ns = c->before_ns ? now_ns - c->before_ns : 0;
    c->before_ns = now_ns;
    drm_clients_begin_users(c, root, pids, pid_count);
    for (size_t i = 0; i < pid_count; i++)
        drm_clients_look_at(&r, pids[i]);
    size_t kept = 0;
    for (size_t i = 0; i < c->client_count; i++) {
        struct drm_client *client = &c->clients[i];
        if (client->seen_round == c->round)
            drm_clients_book(c, client, root, now_ns);
        if (client->seen_round + ROUNDS_KEPT > c->round)
            c->clients[kept++] = *client;
    }
    c->client_count = kept;
}

static void drm_user_put(const struct drm_clients *c, const struct drm_user *u,
                         struct gpu_process *p)
{
    uint64_t busiest_ns = 0;
    double share = 0;
    for (unsigned e = 0; e < u->engine_count; e++) {
        uint64_t busy_ns = u->engines[e].busy_ns;
        double grown_ns = (double)(busy_ns - u->engines[e].before_ns);
        busiest_ns = max_u64(busiest_ns, busy_ns);
        if (c->interval_ns) {
            double of_all = grown_ns / (double)c->interval_ns / (double)u->engines[e].capacity;
            share = of_all > share ? of_all : share;
        }
    }
    p->has_left = !u->clients;
    p->has_memory = u->has_memory;
    p->memory_bytes = u->memory_bytes;
    p->has_busy = u->has_busy;
    p->busy_ns = busiest_ns;
    p->has_share = u->has_busy && u->was_here && c->interval_ns;
    p->share = share < 1 ? share : 1;
}

void drm_clients_put(const struct drm_clients *c, struct gpu_frame *f, unsigned first)
{
    for (size_t i = 0; i < c->user_count; i++) {
        struct gpu_process *p = gpu_frame_process(f, first + c->users[i].card, c->users[i].pid);
        if (p)
            drm_user_put(c, &c->users[i], p);
    }
}
