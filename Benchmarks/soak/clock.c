// Moves the wall clock of one program, for tests and for a soak: LD_PRELOAD=clock.so
// STEPPED_CLOCK=FILE. The file holds seconds as eight bytes of this machine, and may change at any
// time. Clocks that never step go on as they do.
//
// With STANDING_CLOCK=FILE it is stopped: the file holds the time itself, in milliseconds since
// 1970.
//
// libfaketime does the same, but sets variables before the program begins. That moves the
// environment, which the runtime of Swift then no longer finds the arguments beside.
#define _GNU_SOURCE
#include <fcntl.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

static volatile long long *offset;
static volatile long long *instant;

static volatile long long *number(const char *variable) {
    const char *path = getenv(variable);
    if (!path) return 0;
    int file = open(path, O_RDONLY | O_CLOEXEC);
    void *page = mmap(0, sizeof(long long), PROT_READ, MAP_SHARED, file, 0);
    close(file);
    // A clock that nobody moves unnoticed would test nothing.
    if (page == MAP_FAILED) abort();
    return page;
}

__attribute__((constructor)) static void start(void) {
    offset = number("STEPPED_CLOCK");
    instant = number("STANDING_CLOCK");
}

int clock_gettime(clockid_t clock, struct timespec *now) {
    int status = syscall(SYS_clock_gettime, clock, now);
    int isWall = clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE;
    if (status == 0 && offset && isWall) now->tv_sec += *offset;
    if (status == 0 && instant && isWall) {
        long long milliseconds = *instant;
        now->tv_sec = milliseconds / 1000;
        now->tv_nsec = milliseconds % 1000 * 1000000;
    }
    return status;
}

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
    (void)zone;
    struct timespec precise;
    int status = clock_gettime(CLOCK_REALTIME, &precise);
    now->tv_sec = precise.tv_sec;
    now->tv_usec = precise.tv_nsec / 1000;
    return status;
}

time_t time(time_t *result) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (result) *result = now.tv_sec;
    return now.tv_sec;
}
