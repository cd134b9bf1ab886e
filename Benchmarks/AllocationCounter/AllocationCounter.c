// Stands in front of the C library's allocator and counts, for each thread by itself, so that
// counting costs next to nothing and other threads don't disturb.

#include "AllocationCounter.h"

#include <errno.h>
#include <malloc.h>
#include <stddef.h>

extern void *__libc_malloc(size_t);
extern void *__libc_calloc(size_t, size_t);
extern void *__libc_realloc(void *, size_t);
extern void *__libc_memalign(size_t, size_t);
extern void __libc_free(void *);

#define PER_THREAD static __thread __attribute__((tls_model("initial-exec")))
PER_THREAD uint64_t count;
PER_THREAD int64_t live_bytes;

uint64_t allocation_count(void) { return count; }
int64_t allocated_bytes(void) { return live_bytes; }

static void *taken(void *memory) {
  if (memory) {
    count++;
    live_bytes += (int64_t)malloc_usable_size(memory);
  }
  return memory;
}

void *malloc(size_t size) { return taken(__libc_malloc(size)); }

void *calloc(size_t number, size_t size) { return taken(__libc_calloc(number, size)); }

void *realloc(void *old, size_t size) {
  int64_t before = old ? (int64_t)malloc_usable_size(old) : 0;
  void *memory = __libc_realloc(old, size);
  if (memory || size == 0) live_bytes -= before;
  return taken(memory);
}

void *memalign(size_t alignment, size_t size) {
  return taken(__libc_memalign(alignment, size));
}

void *aligned_alloc(size_t alignment, size_t size) { return memalign(alignment, size); }

int posix_memalign(void **result, size_t alignment, size_t size) {
  void *memory = memalign(alignment, size);
  if (!memory) return ENOMEM;
  *result = memory;
  return 0;
}

void free(void *memory) {
  if (memory) live_bytes -= (int64_t)malloc_usable_size(memory);
  __libc_free(memory);
}
