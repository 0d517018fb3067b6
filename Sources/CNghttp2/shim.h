#pragma once
#include <features.h>
#include <nghttp2/nghttp2.h>
#include <stdlib.h>

// Without memory nghttp2 loses frames, so that a peer waits for ever, and frees an item twice if
// there is none for its place in a queue. So no allocation of a session may fail; the process ends
// instead, as it does for Swift's own.
static inline void *sallyport_http2_checked(void *memory, size_t size) {
    if (memory == NULL && size > 0) abort();
    return memory;
}

static inline void *sallyport_http2_malloc(size_t size, void *context) {
    (void)context;
    return sallyport_http2_checked(malloc(size), size);
}

static inline void *sallyport_http2_calloc(size_t count, size_t size, void *context) {
    (void)context;
    return sallyport_http2_checked(calloc(count, size), size);
}

static inline void *sallyport_http2_realloc(void *memory, size_t size, void *context) {
    (void)context;
    return sallyport_http2_checked(realloc(memory, size), size);
}

static inline void sallyport_http2_free(void *memory, void *context) {
    (void)context;
    free(memory);
}

static inline nghttp2_mem sallyport_http2_memory(void) {
    nghttp2_mem memory = {
        NULL, sallyport_http2_malloc, sallyport_http2_free, sallyport_http2_calloc,
        sallyport_http2_realloc,
    };
    return memory;
}
