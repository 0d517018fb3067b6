#pragma once
#include <features.h>
#include <jansson.h>
#include <stdlib.h>

// jansson's lexer does not look whether there was memory for a character: the string that it
// returns lacks it, or an assertion fails. So no allocation of it may fail; the process ends
// instead, as it does for Swift's own.
static inline void *sallyport_json_allocate(size_t size) {
    void *memory = malloc(size);
    if (memory == NULL) abort();
    return memory;
}

static inline void sallyport_json_set_allocator(void) {
    json_set_alloc_funcs(sallyport_json_allocate, free);
}
