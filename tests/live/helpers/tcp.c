/* SPDX-License-Identifier: MIT
 * tcp MB [wait]: MB over a TCP connection of the loopback interface, from the process itself to a
 * child; `wait`: when a line comes on stdin. Both stay until all has arrived, and a while after
 * that: however busy the machine, somebody who looks now and then has seen the end of it.
 * tcp MB to ADDRESS PORT: sent to somebody who listens there. */
#include <arpa/inet.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

static char chunk[65536];

static int open_socket(struct sockaddr_in *address, const char *host, int port)
{
    memset(address, 0, sizeof *address);
    address->sin_family = AF_INET;
    address->sin_port = htons((unsigned short)port);
    inet_pton(AF_INET, host, &address->sin_addr);
    return socket(AF_INET, SOCK_STREAM, 0);
}

static int receive(int fd)
{
    while (read(fd, chunk, sizeof chunk) > 0)
        ;
    return 0;
}

static int send_all(int fd, long long bytes)
{
    while (bytes > 0) {
        ssize_t n = write(fd, chunk,
                          bytes < (long long)sizeof chunk ? (size_t)bytes : sizeof chunk);
        if (n <= 0)
            return 1;
        bytes -= n;
    }
    shutdown(fd, SHUT_WR);
    return receive(fd); /* until the other side has had all and closes */
}

int main(int argc, char **argv)
{
    if (argc < 2)
        return 2;
    long long bytes = atoll(argv[1]) << 20;
    int waits = argc == 3;
    struct sockaddr_in address;
    socklen_t length = sizeof address;
    if (argc == 5) {
        int fd = open_socket(&address, argv[3], atoi(argv[4]));
        return connect(fd, (struct sockaddr *)&address, length) < 0 ? 3 : send_all(fd, bytes);
    }
    int listening = open_socket(&address, "127.0.0.1", 0);
    if (bind(listening, (struct sockaddr *)&address, length) < 0 || listen(listening, 1) < 0 ||
        getsockname(listening, (struct sockaddr *)&address, &length) < 0)
        return 3;
    pid_t child = fork();
    if (child == 0) {
        int r = receive(accept(listening, NULL, NULL));
        usleep(300000);
        return r;
    }
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    if (connect(fd, (struct sockaddr *)&address, length) < 0)
        return 3;
    if (waits && read(0, chunk, 1) < 0)
        return 3;
    int r = send_all(fd, bytes);
    waitpid(child, NULL, 0);
    return r;
}
