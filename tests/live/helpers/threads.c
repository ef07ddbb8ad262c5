/* SPDX-License-Identifier: MIT
 * threads fork COMMAND…    a worker thread, not the main one, starts the command and waits for it
 * threads leader COMMAND…  the main thread ends with pthread_exit, which leaves a leader that looks
 *                          like a zombie; another thread starts the command, waits, exits with 7 */
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

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    pthread_t id;
    command = argv + 2;
    leader_ends = strcmp(argv[1], "leader") == 0;
    pthread_create(&id, NULL, work, NULL);
    if (leader_ends)
        pthread_exit(NULL);
    pthread_join(id, NULL);
    return 0;
}
