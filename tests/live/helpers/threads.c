/* SPDX-License-Identifier: MIT
 * threads fork COMMAND…    a worker thread, not the main one, starts the command and waits for it
 * threads leader COMMAND…  the main thread ends with pthread_exit, which leaves a leader that looks
 *                          like a zombie; another thread starts the command, waits, exits with 7
 * threads write FILE       a child is reaped; then 16 threads write 64 KiB each and end at once;
 * then the main thread writes 8 bytes */
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

static char **command;
static int leader_ends;

static void *work(void *unused)
{
    (void)unused;
    if (leader_ends)
        usleep(50000); /* until the leader has certainly gone */
    pid_t pid = fork();
    if (pid == 0) {
        execvp(command[0], command);
        _exit(127);
    }
    waitpid(pid, NULL, 0);
    if (leader_ends)
        exit(7);
    return NULL;
}

static void *write_much(void *file)
{
    static char bytes[65536];
    return write(*(int *)file, bytes, sizeof bytes) == sizeof bytes ? NULL : file;
}

static int write_in_threads(const char *path)
{
    int fd = open(path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
    if (fork() == 0)
        _exit(0);
    waitpid(-1, NULL, 0);
    for (int i = 0; i < 16; i++) {
        pthread_t id;
        void *failed = NULL;
        if (pthread_create(&id, NULL, write_much, &fd) != 0 || pthread_join(id, &failed) != 0 ||
            failed)
            return 2;
    }
    return write(fd, "12345678", 8) == 8 ? 0 : 2;
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    if (strcmp(argv[1], "write") == 0)
        return write_in_threads(argv[2]);
    pthread_t id;
    command = argv + 2;
    leader_ends = strcmp(argv[1], "leader") == 0;
    pthread_create(&id, NULL, work, NULL);
    if (leader_ends)
        pthread_exit(NULL);
    pthread_join(id, NULL);
    return 0;
}
