#pragma once
#include <features.h>
#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

// Takes the place of the C library's allocator for one shared library alone: wherever that library
// keeps the address of malloc and its kin, it finds the address of a function below instead.

// What the program does in their place; `caller` is the place in the library that asked.
extern void *sallyport_import_allocate(size_t size, void *caller);
extern void *sallyport_import_reallocate(void *memory, size_t size, void *caller);
extern void sallyport_import_release(void *memory);

static inline void *sallyport_import_malloc(size_t size) {
    return sallyport_import_allocate(size, __builtin_return_address(0));
}

static inline void *sallyport_import_calloc(size_t count, size_t size) {
    size_t total = 0;
    if (__builtin_mul_overflow(count, size, &total)) return NULL;
    void *memory = sallyport_import_allocate(total, __builtin_return_address(0));
    return memory == NULL ? NULL : memset(memory, 0, total);
}

static inline void *sallyport_import_realloc(void *memory, size_t size) {
    return sallyport_import_reallocate(memory, size, __builtin_return_address(0));
}

static inline char *sallyport_import_strdup(const char *text) {
    size_t size = strlen(text) + 1;
    char *copy = (char *)sallyport_import_allocate(size, __builtin_return_address(0));
    return copy == NULL ? NULL : (char *)memcpy(copy, text, size);
}

static inline void sallyport_import_free(void *memory) { sallyport_import_release(memory); }

// Where a library lies in memory. Nothing if it is not loaded.
typedef struct {
    uintptr_t start;
    uintptr_t end;
} sallyport_import_extent;

static inline sallyport_import_extent sallyport_import_find(const struct link_map *map) {
    sallyport_import_extent extent = {map->l_addr, map->l_addr};
    const ElfW(Ehdr) *file = (const ElfW(Ehdr) *)map->l_addr;
    const ElfW(Phdr) *part = (const ElfW(Phdr) *)(map->l_addr + file->e_phoff);
    for (int i = 0; i < file->e_phnum; i++) {
        uintptr_t end = map->l_addr + part[i].p_vaddr + part[i].p_memsz;
        if (part[i].p_type == PT_LOAD && end > extent.end) extent.end = end;
    }
    return extent;
}

// Whether an entry stands for the address of its symbol.
static inline int sallyport_import_is_address(const ElfW(Rela) *entry) {
    switch (ELF64_R_TYPE(entry->r_info)) {
#if defined(__x86_64__)
    case R_X86_64_JUMP_SLOT:
    case R_X86_64_GLOB_DAT: return 1;
    case R_X86_64_64: return entry->r_addend == 0;
#elif defined(__aarch64__)
    case R_AARCH64_JUMP_SLOT:
    case R_AARCH64_GLOB_DAT: return 1;
    case R_AARCH64_ABS64: return entry->r_addend == 0;
#endif
    default: return 0;
    }
}

static inline void *sallyport_import_replacement(const char *name) {
    if (strcmp(name, "malloc") == 0) return (void *)sallyport_import_malloc;
    if (strcmp(name, "calloc") == 0) return (void *)sallyport_import_calloc;
    if (strcmp(name, "realloc") == 0) return (void *)sallyport_import_realloc;
    if (strcmp(name, "strdup") == 0) return (void *)sallyport_import_strdup;
    if (strcmp(name, "free") == 0) return (void *)sallyport_import_free;
    return NULL;
}

static inline int sallyport_import_write(uintptr_t place, void *value) {
    uintptr_t page = place & ~((uintptr_t)sysconf(_SC_PAGESIZE) - 1);
    size_t length = place + sizeof value - page;
    // The table of a library that was bound at once can only be read.
    if (mprotect((void *)page, length, PROT_READ | PROT_WRITE) != 0) return 0;
    *(void **)place = value;
    return 1;
}

// An address of the dynamic section, which the loader has made one of the memory.
static inline uintptr_t sallyport_import_at(const struct link_map *map, uintptr_t address) {
    return address < map->l_addr ? address + map->l_addr : address;
}

static inline int sallyport_import_replace_in(
    const struct link_map *map, uintptr_t table, size_t size, const ElfW(Sym) *symbols,
    const char *names) {
    const ElfW(Rela) *entry = (const ElfW(Rela) *)table;
    int count = 0;
    for (size_t i = 0; i < size / sizeof *entry; i++) {
        if (!sallyport_import_is_address(&entry[i])) continue;
        const ElfW(Sym) *symbol = &symbols[ELF64_R_SYM(entry[i].r_info)];
        void *value = sallyport_import_replacement(names + symbol->st_name);
        if (value != NULL) count += sallyport_import_write(map->l_addr + entry[i].r_offset, value);
    }
    return count;
}

// The loaded library whose file is called `name`, whatever follows: "libyaml" is libyaml-0.so.2.
static inline const struct link_map *sallyport_import_loaded(const char *name) {
    // What dlopen returns is a link_map; _GNU_SOURCE, which has a function for it, must not be set.
    const struct link_map *map = (const struct link_map *)dlopen(NULL, RTLD_LAZY);
    for (; map != NULL; map = map->l_next) {
        const char *file = strrchr(map->l_name, '/');
        if (file != NULL && strncmp(file + 1, name, strlen(name)) == 0) return map;
    }
    return NULL;
}

// Replaces the allocator of a library that the program is linked with, and says how many of its
// addresses were replaced.
static inline int sallyport_import_replace(const char *name, sallyport_import_extent *extent) {
    const struct link_map *map = sallyport_import_loaded(name);
    if (map == NULL) return 0;
    *extent = sallyport_import_find(map);
    uintptr_t symbols = 0, names = 0, calls = 0, others = 0;
    size_t calls_size = 0, others_size = 0;
    for (const ElfW(Dyn) *entry = map->l_ld; entry->d_tag != DT_NULL; entry++) {
        switch (entry->d_tag) {
        case DT_SYMTAB: symbols = sallyport_import_at(map, entry->d_un.d_ptr); break;
        case DT_STRTAB: names = sallyport_import_at(map, entry->d_un.d_ptr); break;
        case DT_JMPREL: calls = sallyport_import_at(map, entry->d_un.d_ptr); break;
        case DT_PLTRELSZ: calls_size = entry->d_un.d_val; break;
        case DT_RELA: others = sallyport_import_at(map, entry->d_un.d_ptr); break;
        case DT_RELASZ: others_size = entry->d_un.d_val; break;
        default: break;
        }
    }
    if (symbols == 0 || names == 0) return 0;
    return sallyport_import_replace_in(
               map, calls, calls_size, (const ElfW(Sym) *)symbols, (const char *)names) +
           sallyport_import_replace_in(
               map, others, others_size, (const ElfW(Sym) *)symbols, (const char *)names);
}
