#pragma once
// First: defines the feature macros as Glibc's own module sees them.
#include <features.h>
#include <spawn.h>

// Declared under _GNU_SOURCE only, which must not be defined here (fd_set would clash).
extern int posix_spawn_file_actions_addclosefrom_np(posix_spawn_file_actions_t *actions, int from);
extern void *memmem(const void *place, size_t place_count, const void *bytes, size_t count);
