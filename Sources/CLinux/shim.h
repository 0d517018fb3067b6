#pragma once
// First: defines the feature macros as Glibc's own module sees them.
#include <features.h>
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

// accept4 is declared only under _GNU_SOURCE, which must not be defined here (fd_set would clash).
extern int accept4(int fd, struct sockaddr *address, socklen_t *length, int flags);
// SO_REUSEPORT and friends are plain macros; O_TMPFILE is an expression Swift cannot import.
static inline int sallyport_o_tmpfile(void) {
#ifdef O_TMPFILE
    return O_TMPFILE;
#else
    return 020000000 | O_DIRECTORY;
#endif
}
// errno is a macro over a function call; variadic calls cannot be made from Swift either.
static inline int sallyport_errno(void) { return errno; }
static inline int sallyport_open(const char *path, int flags, mode_t mode) {
    return open(path, flags, mode);
}
// <sched.h> declares sched_setaffinity only under _GNU_SOURCE. Binds the calling thread to one
// processor below 1024; returns 0 or an errno.
static inline int sallyport_bind_to_processor(unsigned processor) {
    unsigned long mask[1024 / (8 * sizeof(unsigned long))] = {0};
    unsigned bits = 8 * sizeof(unsigned long);
    if (processor >= 1024) return EINVAL;
    mask[processor / bits] = 1ul << (processor % bits);
    return syscall(SYS_sched_setaffinity, 0, sizeof mask, mask) < 0 ? errno : 0;
}
// SIG_IGN is a cast, which Swift cannot import.
static inline int sallyport_ignore_signal(int number) {
    return signal(number, SIG_IGN) == SIG_ERR ? errno : 0;
}
static inline int sallyport_duplicate(int fd) { return fcntl(fd, F_DUPFD_CLOEXEC, 0); }
// prctl is variadic.
static inline void sallyport_name_thread(const char *name) { prctl(PR_SET_NAME, name, 0, 0, 0); }
