#pragma once
// What is used of Intel's Cryptography Primitives Library (crypto_mb), as its documentation gives
// it. The library is looked for when the gateway starts, so neither its headers nor it are needed
// to build.
#include <features.h>
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// mbx_nistp256_ecdsa_verify_mb8: r, s and digests are 32 big-endian bytes; x and y are four words,
// the least significant one first; z is NULL for affine points, and so is the buffer. Each lane has
// four bits of the answer, lane 0 the lowest.
typedef uint32_t (*sallyport_mbx_verify)(
    const uint8_t *const r[8], const uint8_t *const s[8], const uint8_t *const digest[8],
    const uint64_t *const x[8], const uint64_t *const y[8], const uint64_t *const z[8],
    uint8_t *buffer);

// What one call is about. The numbers of lane i are number[i]; `big_endian` ones are r, s and the
// digest, byte for byte, `words` are x and y.
typedef struct {
    uint64_t big_endian[3][8][4];
    uint64_t words[2][8][4];
} sallyport_mbx_lanes;

static inline void sallyport_mbx_set(
    uint64_t number[8][4], int lane, uint64_t a, uint64_t b, uint64_t c, uint64_t d) {
    number[lane][0] = a;
    number[lane][1] = b;
    number[lane][2] = c;
    number[lane][3] = d;
}
// `number` counts r, s, digest, x, y; the words come in the order of the memory.
static inline void sallyport_mbx_set_lane(
    sallyport_mbx_lanes *lanes, int number, int lane, uint64_t a, uint64_t b, uint64_t c,
    uint64_t d) {
    if (lane < 0 || lane > 7 || number < 0 || number > 4) return;
    if (number < 3) sallyport_mbx_set(lanes->big_endian[number], lane, a, b, c, d);
    else sallyport_mbx_set(lanes->words[number - 3], lane, a, b, c, d);
}
static inline uint32_t sallyport_mbx_call(
    sallyport_mbx_verify verify, const sallyport_mbx_lanes *lanes) {
    const uint8_t *bytes[3][8];
    const uint64_t *words[2][8];
    for (int lane = 0; lane < 8; lane++) {
        for (int i = 0; i < 3; i++) bytes[i][lane] = (const uint8_t *)lanes->big_endian[i][lane];
        for (int i = 0; i < 2; i++) words[i][lane] = lanes->words[i][lane];
    }
    return verify(bytes[0], bytes[1], bytes[2], words[0], words[1], 0, 0);
}

// mbx_is_crypto_mb_applicable: 0 asks for the processor that runs this.
typedef int (*sallyport_mbx_is_applicable)(uint64_t features);

// mbx_getversion.
typedef struct {
    int major;
    int minor;
    int revision;
    const char *name;
    const char *build_date;
    const char *text;
} sallyport_mbx_version;
typedef const sallyport_mbx_version *(*sallyport_mbx_get_version)(void);

// True if the file contains all parts that the loader would map. A program that reads a missing
// part is ended by SIGBUS.
static inline int sallyport_mbx_has_parts(int file, uint64_t size) {
    Elf64_Ehdr head;
    if (pread(file, &head, sizeof head, 0) != (ssize_t)sizeof head) return 0;
    if (memcmp(head.e_ident, ELFMAG, SELFMAG) != 0) return 0;
    if (head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_phentsize != sizeof(Elf64_Phdr)) return 0;
    for (int i = 0; i < head.e_phnum; i++) {
        Elf64_Phdr part;
        off_t offset = (off_t)(head.e_phoff + (uint64_t)i * sizeof part);
        if (pread(file, &part, sizeof part, offset) != (ssize_t)sizeof part) return 0;
        if (part.p_offset > size || part.p_filesz > size - part.p_offset) return 0;
    }
    return head.e_phnum > 0;
}

enum { SALLYPORT_MBX_NOT_REGULAR = -1, SALLYPORT_MBX_NOT_WHOLE = -2 };

// 0 for a regular file that is a whole library, one of the above, or an errno.
static inline int sallyport_mbx_examine(const char *path) {
    int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (file < 0) return errno;
    struct stat status;
    int result = fstat(file, &status) < 0 ? errno : 0;
    if (result == 0 && !S_ISREG(status.st_mode)) result = SALLYPORT_MBX_NOT_REGULAR;
    if (result == 0 && !sallyport_mbx_has_parts(file, (uint64_t)status.st_size)) {
        result = SALLYPORT_MBX_NOT_WHOLE;
    }
    close(file);
    return result;
}

// dlsym gives an object pointer; ISO C has no cast from it to a function.
static inline sallyport_mbx_verify sallyport_mbx_find_verify(void *library) {
    return (sallyport_mbx_verify)dlsym(library, "mbx_nistp256_ecdsa_verify_mb8");
}
static inline sallyport_mbx_is_applicable sallyport_mbx_find_is_applicable(void *library) {
    return (sallyport_mbx_is_applicable)dlsym(library, "mbx_is_crypto_mb_applicable");
}
static inline sallyport_mbx_get_version sallyport_mbx_find_version(void *library) {
    return (sallyport_mbx_get_version)dlsym(library, "mbx_getversion");
}
