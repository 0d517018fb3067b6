#pragma once
// First: defines the feature macros as Glibc's own module sees them.
#include <features.h>
#include <sqlite3.h>
#include <sys/uio.h>

// preadv2 and RWF_NOWAIT are declared only under _GNU_SOURCE, which must not be defined here.
// Reads what the system has in memory. Fails with EAGAIN if it would have to wait for the disk, and
// with EOPNOTSUPP if the file system cannot tell (preadv2(2)).
extern ssize_t preadv64v2(int fd, const struct iovec *parts, int count, __off64_t offset,
                          int flags);
static inline ssize_t sallyport_read_what_is_there(int fd, void *bytes, size_t count,
                                                   __off64_t offset) {
    const int rwf_nowait = 8;
    struct iovec part = {bytes, count};
    return preadv64v2(fd, &part, 1, offset, rwf_nowait);
}

// sqlite3_db_config takes a list of arguments, which Swift cannot call.
static inline int sallyport_leave_log(sqlite3 *connection) {
    return sqlite3_db_config(connection, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, (int *)0);
}

// MAP_FAILED is a cast, which Swift cannot import.
static inline void *sallyport_map_failed(void) { return (void *)-1; }
