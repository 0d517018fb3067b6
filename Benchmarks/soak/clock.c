// Moves the wall clock of one program, for a soak: LD_PRELOAD=clock.so CLOCK_OFFSET=FILE. The file
// holds seconds as an int64_t of this machine, and may change at any time.
//
// libfaketime does the same, but sets variables before the program begins. That moves the
// environment, which the runtime of Swift then no longer finds the arguments beside.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

typedef int (*gettime)(clockid_t, struct timespec *);

static gettime real;
static const volatile int64_t *offset;

__attribute__((constructor)) static void start(void) {
    real = (gettime)dlsym(RTLD_NEXT, "clock_gettime");
    const char *path = getenv("CLOCK_OFFSET");
    int file = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
    void *memory = mmap(NULL, sizeof(int64_t), PROT_READ, MAP_SHARED, file, 0);
    close(file);
    if (memory == MAP_FAILED) abort();
    offset = memory;
}

int clock_gettime(clockid_t clock, struct timespec *time) {
    // Constructors of other libraries may ask earlier.
    if (!real) start();
    int result = real(clock, time);
    if (result == 0 && (clock == CLOCK_REALTIME || clock == CLOCK_REALTIME_COARSE))
        time->tv_sec += *offset;
    return result;
}

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
    struct timespec now;
    (void)zone;
    int result = clock_gettime(CLOCK_REALTIME, &now);
    *time = (struct timeval){now.tv_sec, now.tv_nsec / 1000};
    return result;
}

time_t time(time_t *result) {
    struct timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    if (result) *result = now.tv_sec;
    return now.tv_sec;
}
