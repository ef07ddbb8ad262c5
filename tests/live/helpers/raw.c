/* SPDX-License-Identifier: MIT
 * raw: behaves like an editor. Puts the terminal into raw mode, says "raw", reads keys one by one;
 * ^Z restores the terminal and stops the whole group as editors do; back again it says "back" and
 * goes on; q ends. */
#include <signal.h>
#include <stdio.h>
#include <termios.h>
#include <unistd.h>

static struct termios before;

static void enter(const char *word)
{
    struct termios raw = before;
    cfmakeraw(&raw);
    tcsetattr(0, TCSADRAIN, &raw);
    dprintf(1, "%s\r\n", word);
}

int main(void)
{
    char key;
    if (tcgetattr(0, &before) < 0)
        return 2;
    enter("raw");
    while (read(0, &key, 1) == 1 && key != 'q') {
        if (key == 26) {
            tcsetattr(0, TCSADRAIN, &before);
            kill(0, SIGTSTP);
            enter("back");
        } else {
            dprintf(1, "<%c>\r\n", key);
        }
    }
    tcsetattr(0, TCSADRAIN, &before);
    return 5;
}
