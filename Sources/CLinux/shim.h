#pragma once
// First: defines the feature macros as Glibc's own module sees them.
#include <features.h>
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/stat.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <pthread.h>
#include <pwd.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

// These are declared only under _GNU_SOURCE, which must not be defined here (fd_set
// would clash).
extern int pthread_timedjoin_np(pthread_t thread, void **result, const struct timespec *until);
extern int accept4(int fd, struct sockaddr *address, socklen_t *length, int flags);
extern int pipe2(int ends[2], int flags);
extern ssize_t splice(int from, __off64_t *from_at, int to, __off64_t *to_at, size_t count,
                      unsigned flags);
// Moves what a pipe takes or has, without waiting (SPLICE_F_NONBLOCK is 2).
static inline ssize_t sallyport_splice(int from, int to, size_t count) {
    return splice(from, NULL, to, NULL, count, 2);
}
// POLLRDHUP, which <poll.h> declares only under _GNU_SOURCE.
static const short sallyport_pollrdhup = 0x2000;
// The milliseconds since bytes last came on a TCP connection, or since it was made; 0 if the kernel
// does not say.
static inline unsigned sallyport_milliseconds_since_data(int fd) {
    struct tcp_info info = {0};
    socklen_t byte_count = sizeof info;
    if (getsockopt(fd, IPPROTO_TCP, TCP_INFO, &info, &byte_count) != 0) return 0;
    return info.tcpi_last_data_recv;
}
// fcntl is variadic. F_SETPIPE_SZ is 1031; the kernel may refuse, and then the pipe stays as it is.
static inline void sallyport_set_pipe_capacity(int fd, int byte_count) {
    (void)fcntl(fd, 1031, byte_count);
}
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
// True if the file system of `path` is memory: tmpfs or ramfs (statfs(2)).
static inline int sallyport_is_in_memory(const char *path) {
    struct statfs status;
    if (statfs(path, &status) != 0) return 0;
    return status.f_type == 0x01021994 || status.f_type == 0x858458f6;
}
// <sys/stat.h> declares statx only under _GNU_SOURCE. Device, inode and time of birth in
// nanoseconds, 0 if the file system keeps none; returns 0 or an errno.
static inline int sallyport_birth(const char *path, uint64_t found[3]) {
    struct statx status = {0};
    unsigned wanted = STATX_INO | STATX_BTIME;
    if (syscall(SYS_statx, AT_FDCWD, path, 0, wanted, &status) != 0) return errno;
    found[0] = ((uint64_t)status.stx_dev_major << 32) | status.stx_dev_minor;
    found[1] = status.stx_ino;
    found[2] = (uint64_t)status.stx_btime.tv_sec * 1000000000u + status.stx_btime.tv_nsec;
    return 0;
}
// MAP_FAILED is a cast, which Swift cannot import: NULL here.
static inline void *sallyport_map_shared(int fd, size_t length) {
    void *memory = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, fd, 0);
    return memory == MAP_FAILED ? NULL : memory;
}
// SIG_IGN is a cast, which Swift cannot import.
static inline int sallyport_ignore_signal(int number) {
    return signal(number, SIG_IGN) == SIG_ERR ? errno : 0;
}
// So is SIG_DFL.
static inline int sallyport_default_signal(int number) {
    return signal(number, SIG_DFL) == SIG_ERR ? errno : 0;
}
// ioctl is variadic. The number of bytes that have come and were not read yet; 0 if it is unknown.
static inline int sallyport_unread(int fd) {
    int count = 0;
    return ioctl(fd, FIONREAD, &count) == 0 ? count : 0;
}

// The width of a terminal in columns; 0 if it is unknown.
static inline int sallyport_columns(int fd) {
    struct winsize size = {0};
    return ioctl(fd, TIOCGWINSZ, &size) == 0 ? size.ws_col : 0;
}

// The number of bytes that were written to a socket and that the other end has not taken; 0 if it
// is unknown.
static inline int sallyport_queued(int fd) {
    int count = 0;
    return ioctl(fd, TIOCOUTQ, &count) == 0 ? count : 0;
}
// fcntl is variadic.
static inline int sallyport_is_open(int fd) { return fcntl(fd, F_GETFD) >= 0; }
static inline int sallyport_duplicate(int fd) { return fcntl(fd, F_DUPFD_CLOEXEC, 0); }
// prctl is variadic. Forbids core dumps, and other processes of the same user to look inside.
static inline int sallyport_forbid_dumps(void) {
    return prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) < 0 ? errno : 0;
}
// prctl is variadic.
static inline void sallyport_name_thread(const char *name) { prctl(PR_SET_NAME, name, 0, 0, 0); }
// Makes reads of a descriptor wait until there is something to read.
static inline int sallyport_block(int fd) {
    int flags = fcntl(fd, F_GETFL);
    return flags < 0 || fcntl(fd, F_SETFL, flags & ~O_NONBLOCK) < 0 ? errno : 0;
}

// fcntl is variadic. True if writes to a descriptor wait for room.
static inline int sallyport_waits(int fd) {
    int flags = fcntl(fd, F_GETFL);
    return flags >= 0 && (flags & O_NONBLOCK) == 0;
}

// fcntl is variadic. Makes a descriptor that another program has opened non-blocking and closed on
// exec.
static inline int sallyport_adopt_descriptor(int fd) {
    int flags = fcntl(fd, F_GETFL);
    if (flags < 0 || fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0) return errno;
    return fcntl(fd, F_SETFD, FD_CLOEXEC) < 0 ? errno : 0;
}
static inline int sallyport_keep_on_exec(int fd, int keeps) {
    return fcntl(fd, F_SETFD, keeps ? 0 : FD_CLOEXEC) < 0 ? errno : 0;
}
// __environ is a variable that any thread may change. Starts a program with our environment, an
// empty standard input, `output` as its other streams, and no signal blocked or ignored.
static inline int sallyport_spawn(pid_t *id, char *const words[], int output) {
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none, all;
    int status = posix_spawn_file_actions_init(&actions);
    if (status != 0) return status;
    status = posix_spawnattr_init(&attributes);
    if (status != 0) {
        posix_spawn_file_actions_destroy(&actions);
        return status;
    }
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setsigdefault(&attributes, &all);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    status = posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    if (status == 0) status = posix_spawn_file_actions_adddup2(&actions, output, 1);
    if (status == 0) status = posix_spawn_file_actions_adddup2(&actions, output, 2);
    if (status == 0) status = posix_spawnp(id, words[0], &actions, &attributes, words, __environ);
    posix_spawnattr_destroy(&attributes);
    posix_spawn_file_actions_destroy(&actions);
    return status;
}
// The exit code, or 128 and the number of the signal that ended the program, as shells count.
static inline int sallyport_exit_code(int status) {
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
// Declared under _GNU_SOURCE only.
extern int execvpe(const char *file, char *const words[], char *const environment[]);
// Replaces this program. The new one has our environment with `added` before it; of two variables
// of one name, the first counts. setenv would change the environment while other threads read it.
// Returns an errno.
static inline int sallyport_become(char *const words[], char *const added[]) {
    size_t added_count = 0, count = 0;
    while (added[added_count] != NULL) added_count++;
    while (__environ[count] != NULL) count++;
    char **environment = (char **)calloc(added_count + count + 1, sizeof *environment);
    if (environment == NULL) return ENOMEM;
    memcpy(environment, added, added_count * sizeof *environment);
    memcpy(environment + added_count, __environ, count * sizeof *environment);
    execvpe(words[0], words, environment);
    int code = errno;
    free(environment);
    return code;
}

// Memory that a file is mapped into, for the handler of SIGBUS. The handler reads the table while
// other threads change it, so `start`, which is 0 in a free entry, is written last and read first.
// `lost` is shared by the regions that are given up together.
struct sallyport_region {
    uintptr_t start;
    size_t length;
    size_t offset;
    unsigned *lost;
};
static inline void sallyport_set_region(struct sallyport_region *region, uintptr_t start,
                                        size_t length, size_t offset, unsigned *lost) {
    region->length = length;
    region->offset = offset;
    region->lost = lost;
    __atomic_store_n(&region->start, start, __ATOMIC_SEQ_CST);
}
static inline void sallyport_clear_region(struct sallyport_region *region) {
    __atomic_store_n(&region->start, 0, __ATOMIC_SEQ_CST);
}
static inline unsigned sallyport_is_lost(const unsigned *lost) {
    return __atomic_load_n(lost, __ATOMIC_SEQ_CST);
}
// Puts empty memory in the place of the regions that share `lost`: those at the beginning of their
// file, or the others.
static inline int sallyport_replace_regions(struct sallyport_region *regions, size_t count,
                                            const unsigned *lost, int first) {
    for (size_t index = 0; index < count; index++) {
        uintptr_t start = __atomic_load_n(&regions[index].start, __ATOMIC_SEQ_CST);
        if (start == 0 || regions[index].lost != lost) continue;
        if ((regions[index].offset == 0) != first) continue;
        size_t length = regions[index].length;
        // Another region may have taken the entry in the meantime.
        if (__atomic_load_n(&regions[index].start, __ATOMIC_SEQ_CST) != start) continue;
        if (mmap((void *)start, length, PROT_READ | PROT_WRITE,
                 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE, -1, 0) == MAP_FAILED)
            return 0;
    }
    return 1;
}
// True if the fault lies in one of these regions. They are empty memory of the process then, and
// `lost` is set before. Calls only what is allowed in a signal handler.
static inline int sallyport_catch_fault(struct sallyport_region *regions, size_t count,
                                        const siginfo_t *information) {
    if (information == NULL || information->si_code <= 0) return 0;
    uintptr_t address = (uintptr_t)information->si_addr;
    for (size_t index = 0; index < count; index++) {
        uintptr_t start = __atomic_load_n(&regions[index].start, __ATOMIC_SEQ_CST);
        if (start == 0 || address < start || address - start >= regions[index].length) continue;
        unsigned *lost = regions[index].lost;
        int code = errno;
        __atomic_store_n(lost, 1, __ATOMIC_SEQ_CST);
        int done = sallyport_replace_regions(regions, count, lost, 1) &&
                   sallyport_replace_regions(regions, count, lost, 0);
        errno = code;
        return done;
    }
    return 0;
}
static inline int sallyport_handle_faults(void (*handler)(int, siginfo_t *, void *),
                                          struct sigaction *previous) {
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_sigaction = handler;
    action.sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART;
    sigemptyset(&action.sa_mask);
    return sigaction(SIGBUS, &action, previous) == 0 ? 0 : errno;
}
// Handles a signal as it would be handled without our handler.
static inline void sallyport_pass_on(const struct sigaction *previous, int number,
                                     siginfo_t *information, void *context) {
    if (previous->sa_flags & SA_SIGINFO) {
        previous->sa_sigaction(number, information, context);
    } else if (previous->sa_handler != SIG_DFL && previous->sa_handler != SIG_IGN) {
        previous->sa_handler(number);
    } else {
        // A fault happens again as soon as the handler returns; a signal from another process
        // does not.
        signal(number, SIG_DFL);
        if (information == NULL || information->si_code <= 0) raise(number);
    }
}
