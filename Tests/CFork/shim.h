#pragma once
#include <features.h>
#include <sys/types.h>
#include <unistd.h>

// Swift hides fork, which a program with threads has no use for.
static inline pid_t sallyport_fork(void) { return fork(); }
