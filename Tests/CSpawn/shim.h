#pragma once
// First: defines the feature macros as Glibc's own module sees them.
#include <features.h>
#include <spawn.h>

// Declared under _GNU_SOURCE only, which must not be defined here (fd_set would clash).
extern int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *actions, int from);
extern void *memmem(const void *place, size_t place_count, const void *bytes, size_t count);

#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

extern long syscall(long number, ...);
// Sends the calling thread what it gets when the system cannot bring the page at `address`: a
// process may send itself any reason for a signal. Returns 0 if it was sent.
static inline long sallyport_send_fault(void *address) {
    siginfo_t information;
    memset(&information, 0, sizeof information);
    information.si_signo = SIGBUS;
    information.si_code = BUS_ADRERR;
    information.si_addr = address;
    return syscall(SYS_rt_tgsigqueueinfo, getpid(), syscall(SYS_gettid), SIGBUS, &information);
}
