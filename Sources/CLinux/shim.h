#pragma once
// First: defines the feature macros as Glibc's own module sees them.
#include <features.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/prctl.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/un.h>
#include <unistd.h>

// accept4 is declared only under _GNU_SOURCE, which must not be defined here (fd_set would clash).
extern int accept4(int fd, struct sockaddr *address, socklen_t *length, int flags);
// SO_REUSEPORT and friends are plain macros; O_TMPFILE expands to an expression Swift cannot import.
static inline int sallyport_o_tmpfile(void) {
#ifdef O_TMPFILE
    return O_TMPFILE;
#else
    return 020000000 | O_DIRECTORY;
#endif
}
