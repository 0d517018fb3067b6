#pragma once

// Undefined behaviour of C for the largest number, as it would be in a shim.
static inline int sallyport_canary_increment(int number) { return number + 1; }
