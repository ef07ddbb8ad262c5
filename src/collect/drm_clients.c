/* SPDX-License-Identifier: MIT */
#include "collect/drm_clients.h"

#include "base/file.h"
#include "parse/pid_stat.h"

#include <fcntl.h>
#include <stdio.h>

/* A client that was not seen is remembered for so many rounds: should it come back, what it has
 * used is booked already. Drivers do not give a number twice. */
enum { ROUNDS_KEPT = 16, TEXT_BYTES = 8192 };

#define WINDOW_NS NS_PER_SECOND

struct drm_client {
    unsigned card;
    uint64_t id;
    pid_t owner;           /* 0: it is new */
    pid_t candidate;       /* of this round: the first that has it … */
    bool owner_has_it;     /* … and whether the owner still does */
    uint64_t seen_round;   /* 0: never */
    uint64_t anchor_ns;    /* since when the cycles that go by are counted; 0: not yet */
    struct drm_fdinfo now; /* as read in this round */
    struct drm_engine booked[DRM_ENGINES]; /* what users have been charged with */
    unsigned booked_count;
};

/* One round of reading. */
struct round {
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

/* Room for one more, or NULL; what was there stays. */
static void *grow(void *items, size_t count, size_t *capacity, size_t size)
{
    if (count < *capacity)
        return items;
    size_t larger = *capacity ? 2 * *capacity : 8;
    void *moved = reallocarray(items, larger, size);
    if (moved)
        *capacity = larger;
    return moved;
}

static struct drm_client *client_of(struct drm_clients *c, unsigned card, uint64_t id)
{
    for (size_t i = 0; i < c->client_count; i++)
        if (c->clients[i].card == card && c->clients[i].id == id)
            return &c->clients[i];
    struct drm_client *items = grow(c->clients, c->client_count, &c->client_capacity,
                                    sizeof *items);
    if (!items)
        return NULL;
    c->clients = items;
    struct drm_client *client = &items[c->client_count++];
    *client = (struct drm_client){.card = card, .id = id};
    return client;
}

/* Other descriptors of the same client tell the same, some microseconds later. */
static void see(struct round *r, const struct drm_fdinfo *info)
{
    struct drm_clients *c = r->clients;
    const struct drm_card *card = drm_cards_at(r->cards, info->pci);
    if (!card || strcmp(card->driver, info->driver) != 0)
        return;
    struct drm_client *client = client_of(c, (unsigned)(card - r->cards->items), info->client);
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

/* Cheaper than to read what the kernel has to say of every file and pipe. A recorded machine has
 * files in the place of the links. */
static bool may_be_card(const struct round *r, const char *fd)
{
    char path[64], target[256];
    if (!r->root->live)
        return true;
    snprintf(path, sizeof path, "%d/fd/%.16s", (int)r->pid, fd);
    ssize_t n = readlinkat(r->root->pids, path, target, sizeof target - 1);
    if (n < 0)
        return errno == EACCES;
    target[n] = '\0';
    return strstr(target, "/dri/");
}

static void visit_fd(void *arg, const char *fd)
{
    struct round *r = arg;
    char path[64], text[TEXT_BYTES];
    if (!may_be_card(r, fd))
        return;
    snprintf(path, sizeof path, "%d/fdinfo/%.16s", (int)r->pid, fd);
    ssize_t n = file_read_at(r->root->pids, path, text, sizeof text);
    struct drm_fdinfo info;
    int code = n < 0 ? (int)n : parse_drm_fdinfo(scan_text(text, (size_t)n), &info);
    if (code == 0)
        see(r, &info);
    else if (code != -ENODATA && code != -ENOENT && code != -ESRCH) /* closed, or gone */
        r->clients->denied = r->pid;
}

static void look_at(struct round *r, pid_t pid)
{
    char path[32];
    snprintf(path, sizeof path, "%d/fdinfo", (int)pid);
    CLEANUP_CLOSE int dir = openat(r->root->pids, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    r->pid = pid;
    int code = dir < 0 ? -errno : file_each_entry(dir, visit_fd, r);
    if (code < 0 && code != -ENOENT && code != -ESRCH)
        r->clients->denied = pid;
}

static uint64_t start_ticks_of(const struct sysroot *root, pid_t pid)
{
    char path[32], text[1024];
    struct pid_stat st;
    snprintf(path, sizeof path, "%d/stat", (int)pid);
    ssize_t n = file_read_at(root->pids, path, text, sizeof text);
    return n > 0 && parse_pid_stat(scan_text(text, (size_t)n), &st) == 0 ? st.start_ticks : 0;
}

static int compare_pids(const void *a, const void *b)
{
    pid_t x = *(const pid_t *)a, y = *(const pid_t *)b;
    return (x > y) - (x < y);
}

/* Those who are left from the round before, with nothing seen of them yet. */
static void begin_users(struct drm_clients *c, const struct sysroot *root, const pid_t *pids,
                        size_t pid_count)
{
    size_t kept = 0;
    for (size_t i = 0; i < c->user_count; i++) {
        struct drm_user *u = &c->users[i];
        if (!pid_count || !bsearch(&u->pid, pids, pid_count, sizeof *pids, compare_pids) ||
            u->start_ticks != start_ticks_of(root, u->pid))
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

static struct drm_user *user_of(struct drm_clients *c, const struct sysroot *root, unsigned card,
                                pid_t pid)
{
    for (size_t i = 0; i < c->user_count; i++)
        if (c->users[i].card == card && c->users[i].pid == pid)
            return &c->users[i];
    struct drm_user *items = grow(c->users, c->user_count, &c->user_capacity, sizeof *items);
    if (!items)
        return NULL;
    c->users = items;
    struct drm_user *u = &items[c->user_count++];
    *u = (struct drm_user){
        .card = card,
        .pid = pid,
        .start_ticks = start_ticks_of(root, pid),
        .has_memory = true,
        .has_busy = true,
    };
    return u;
}

static struct drm_engine *booked_of(struct drm_client *client, const char *name)
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

/* How long a cycle is, is seen in how many go by: in a second well enough, in less for the time
 * being. A card that slept in between has counted fewer: the shortest is the true one. */
static void learn_cycles(struct drm_cycle *known, uint64_t window_ns, uint64_t cycles)
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

static bool is_anchor_due(const struct drm_client *client, uint64_t now_ns)
{
    return !client->anchor_ns || now_ns - client->anchor_ns >= WINDOW_NS;
}

/* What the engine has done for the client since it was booked last; *ret_known is left alone, or
 * false when it cannot be told. */
static uint64_t take_growth(struct drm_clients *c, struct drm_client *client,
                            const struct drm_engine *now, uint64_t now_ns, bool *ret_known)
{
    struct drm_engine *booked = booked_of(client, now->name);
    uint64_t growth = 0;
    if (!booked)
        return 0;
    if (now->has_busy) {
        growth = left_u64(now->busy_ns, booked->busy_ns);
        booked->busy_ns = max_u64(now->busy_ns, booked->busy_ns);
    } else if (now->has_cycles && now->has_total) {
        struct drm_cycle *cycle = &c->cycles[client->card];
        if (booked->has_total)
            learn_cycles(cycle, now_ns - client->anchor_ns,
                         left_u64(now->total_cycles, booked->total_cycles));
        if (is_anchor_due(client, now_ns)) {
            booked->has_total = true;
            booked->total_cycles = now->total_cycles;
        }
        double length_ns = cycle->length_ns;
        *ret_known &= length_ns > 0;
        if (length_ns > 0) {
            growth = (uint64_t)((double)left_u64(now->cycles, booked->cycles) * length_ns);
            booked->cycles = max_u64(now->cycles, booked->cycles);
        }
    } else {
        *ret_known = false;
    }
    return growth;
}

static void charge(struct drm_user *u, const struct drm_engine *now, uint64_t growth_ns)
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

static void book(struct drm_clients *c, struct drm_client *client, const struct sysroot *root,
                 uint64_t now_ns)
{
    if (!client->owner_has_it)
        client->owner = client->candidate;
    struct drm_user *u = user_of(c, root, client->card, client->owner);
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
        charge(u, now, take_growth(c, client, now, now_ns, &u->has_busy));
    }
    if (client->now.engine_count && is_anchor_due(client, now_ns))
        client->anchor_ns = now_ns;
}

void drm_clients_read(struct drm_clients *c, const struct sysroot *root,
                      const struct drm_cards *cards, const pid_t *pids, size_t pid_count,
                      uint64_t now_ns)
{
    struct round r = {.clients = c, .root = root, .cards = cards};
    c->round++;
    c->denied = 0;
    c->interval_ns = c->before_ns ? now_ns - c->before_ns : 0;
    c->before_ns = now_ns;
    begin_users(c, root, pids, pid_count);
    for (size_t i = 0; i < pid_count; i++)
        look_at(&r, pids[i]);
    size_t kept = 0;
    for (size_t i = 0; i < c->client_count; i++) {
        struct drm_client *client = &c->clients[i];
        if (client->seen_round == c->round)
            book(c, client, root, now_ns);
        if (client->seen_round + ROUNDS_KEPT > c->round)
            c->clients[kept++] = *client;
    }
    c->client_count = kept;
}

static void put_user(const struct drm_clients *c, const struct drm_user *u, struct gpu_process *p)
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
            put_user(c, &c->users[i], p);
    }
}

unsigned drm_clients_tell(const struct drm_clients *c)
{
    return c->denied ? 0 : GPU_TELLS_MEMORY | GPU_TELLS_SHARE | GPU_TELLS_BUSY;
}
