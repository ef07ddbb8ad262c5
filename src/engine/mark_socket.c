/* SPDX-License-Identifier: MIT */
#include "engine/mark_socket.h"

#include "base/util.h"

#include <dirent.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/stat.h>

static const char socket_name[] = "/marks";
static const char prefix[] = "toll-";
enum { NAME_LENGTH = sizeof prefix - 1 + 6 }; /* toll-XXXXXX */

/* A directory below this one, when a socket in it has a name that is short enough. */
static int make_directory(struct mark_socket *s, const char *parent)
{
    if (!parent || *parent != '/')
        return -ENOENT;
    int length = snprintf(s->directory, sizeof s->directory, "%s/toll-XXXXXX", parent);
    if ((size_t)length + sizeof socket_name > sizeof s->address.sun_path)
        return -ENAMETOOLONG;
    return mkdtemp(s->directory) ? 0 : -errno;
}

static int make_socket(struct mark_socket *s)
{
    const int on = 1;
    s->address.sun_family = AF_UNIX;
    snprintf(s->address.sun_path, sizeof s->address.sun_path, "%s%s", s->directory, socket_name);
    s->fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (s->fd < 0 || setsockopt(s->fd, SOL_SOCKET, SO_PASSCRED, &on, sizeof on) < 0 ||
        bind(s->fd, (struct sockaddr *)&s->address, sizeof s->address) < 0)
        return -errno;
    return 0;
}

/* In memory where there is such a place: on a disk, a directory and a socket that are made and
 * removed again take milliseconds, which is more than all the rest. */
int mark_socket_open(struct mark_socket *s)
{
    const char *parents[] = {getenv("XDG_RUNTIME_DIR"), "/dev/shm", getenv("TMPDIR"), "/tmp"};
    int r = -ENOENT;
    *s = (struct mark_socket){.fd = -1, .owner = getpid()};
    for (size_t i = 0; i < ARRAY_LEN(parents) && r < 0; i++) {
        r = make_directory(s, parents[i]);
        if (r < 0) {
            s->directory[0] = '\0';
            continue;
        }
        r = make_socket(s);
        if (r < 0)
            mark_socket_close(s);
    }
    return r;
}

/* Whether it is a directory of this user with a socket that nobody listens on any more. */
static bool is_stale(const char *directory, struct sockaddr_un *address)
{
    struct stat st;
    if (lstat(directory, &st) < 0 || !S_ISDIR(st.st_mode) || st.st_uid != geteuid() ||
        (st.st_mode & 07777) != 0700)
        return false;
    CLEANUP_CLOSE int fd = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    return fd >= 0 && connect(fd, (struct sockaddr *)address, sizeof *address) < 0 &&
           errno == ECONNREFUSED;
}

/* What a toll that was killed has left where this one had its socket. */
static void remove_stale(const char *own)
{
    enum { REMOVED_AT_MOST = 16, SEEN_AT_MOST = 4096 };
    char parent[sizeof((struct mark_socket *)0)->directory];
    size_t length = strlen(own) - NAME_LENGTH;
    memcpy(parent, own, length);
    parent[length] = '\0';
    DIR *d = opendir(parent);
    const struct dirent *e;
    unsigned removed = 0;
    for (unsigned seen = 0; d && seen < SEEN_AT_MOST && (e = readdir(d)); seen++) {
        struct sockaddr_un address = {.sun_family = AF_UNIX};
        char directory[sizeof parent];
        if (strncmp(e->d_name, prefix, sizeof prefix - 1) != 0 || strlen(e->d_name) != NAME_LENGTH)
            continue;
        memcpy(directory, parent, length);
        memcpy(directory + length, e->d_name, NAME_LENGTH + 1);
        memcpy(address.sun_path, directory, length + NAME_LENGTH);
        memcpy(address.sun_path + length + NAME_LENGTH, socket_name, sizeof socket_name);
        if (!is_stale(directory, &address))
            continue;
        unlink(address.sun_path);
        rmdir(directory);
        if (++removed == REMOVED_AT_MOST)
            break;
    }
    if (d)
        closedir(d);
}

void mark_socket_close(struct mark_socket *s)
{
    bool is_owner = *s->directory && s->owner == getpid();
    if (is_owner && *s->address.sun_path)
        unlink(s->address.sun_path);
    if (is_owner)
        rmdir(s->directory);
    if (is_owner && s->fd >= 0)
        remove_stale(s->directory);
    s->directory[0] = s->address.sun_path[0] = '\0';
    close_p(&s->fd);
}

int mark_socket_tell(const struct mark_socket *s, struct environment *e)
{
    char variable[sizeof MARK_SOCKET_VARIABLE "=" + sizeof s->address.sun_path];
    snprintf(variable, sizeof variable, MARK_SOCKET_VARIABLE "=%s", s->address.sun_path);
    return environment_add(e, variable);
}

/* Room for the sender's credentials and nothing else: descriptors that somebody sends along are
 * closed by the kernel. */
union control {
    char room[CMSG_SPACE(sizeof(struct ucred))];
    struct cmsghdr aligned;
};

ssize_t mark_socket_receive(const struct mark_socket *s, char *text, size_t capacity,
                            pid_t *ret_sender)
{
    union control control;
    struct iovec to = {.iov_base = text, .iov_len = capacity};
    struct msghdr message = {
        .msg_iov = &to,
        .msg_iovlen = 1,
        .msg_control = &control,
        .msg_controllen = sizeof control,
    };
    ssize_t n = recvmsg(s->fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (n < 0)
        return -errno;
    struct cmsghdr *c = CMSG_FIRSTHDR(&message);
    struct ucred sender = {.uid = (uid_t)-1};
    if (c && c->cmsg_level == SOL_SOCKET && c->cmsg_type == SCM_CREDENTIALS)
        memcpy(&sender, CMSG_DATA(c), sizeof sender);
    if (!c || sender.uid != geteuid())
        return -EPERM;
    *ret_sender = sender.pid;
    return message.msg_flags & MSG_TRUNC ? -EMSGSIZE : n;
}
