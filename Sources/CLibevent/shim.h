#pragma once
// First: <event2/event-config.h> defines _GNU_SOURCE, which changes fd_set and clashes with Glibc.
#include <features.h>
#include <event2/event.h>
