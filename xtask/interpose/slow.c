/* A disk that takes longer to flush, under a real process: loaded before libc, it waits before every flush.
 *
 *   TENURE_FLUSH_US=n   for so many microseconds
 *
 * The system call itself is made directly, so that nothing here calls itself.
 */
#define _GNU_SOURCE
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void linger(void)
{
    const char *text = getenv("TENURE_FLUSH_US");
    long us = text ? atol(text) : 0;
    struct timespec left = { us / 1000000, us % 1000000 * 1000 };
    while (nanosleep(&left, &left) != 0) {}
}

int fsync(int fd)
{
    linger();
    return (int)syscall(SYS_fsync, fd);
}

int fdatasync(int fd)
{
    linger();
    return (int)syscall(SYS_fdatasync, fd);
}
