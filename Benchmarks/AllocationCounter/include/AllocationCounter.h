#ifndef ALLOCATION_COUNTER_H
#define ALLOCATION_COUNTER_H

#include <stdint.h>

/// How often the calling thread has taken memory from the heap.
uint64_t allocation_count(void);

/// The bytes that the calling thread took from the heap, less those that it gave back.
int64_t allocated_bytes(void);

#endif
