// What the Swift runtime needs of a C library, in a page, where there is none. A page has one thread.
// Compiled by scripts/build-cover-flow; SwiftPM leaves it out.

#include <stddef.h>
#include <stdint.h>

#define PAGE 65536u
#define ENOMEM 12
// A block's head holds its class, and keeps what follows aligned.
#define HEAD 16u
#define SMALLEST 5u
#define CLASSES 32u
// What a cover flow holds is bounded by its number of elements and images; this is several times as much.
#define HEAP_MAX (1024u * 1024u)

extern unsigned char __heap_base;

// Memory comes in blocks of powers of two. Freed ones are kept for the next of their size.
static uintptr_t next;
static uintptr_t free_blocks[CLASSES];

int posix_memalign(void **result, size_t alignment, size_t size) {
  if (alignment > HEAD || size >= HEAP_MAX) return ENOMEM;
  uint32_t kind = SMALLEST;
  while ((1u << kind) < size + HEAD) kind++;
  uintptr_t block = free_blocks[kind];
  if (block != 0) {
    free_blocks[kind] = *(uintptr_t *)block;
  } else {
    uintptr_t start = ((uintptr_t)&__heap_base + HEAD - 1) & ~(uintptr_t)(HEAD - 1);
    if (next == 0) next = start;
    uintptr_t end = next + (1u << kind);
    if (end > start + HEAP_MAX) return ENOMEM;
    size_t pages = __builtin_wasm_memory_size(0), wanted = (end + PAGE - 1) / PAGE;
    if (wanted > pages && __builtin_wasm_memory_grow(0, wanted - pages) == (size_t)-1) return ENOMEM;
    block = next;
    next = end;
  }
  *(uintptr_t *)block = kind;
  *result = (void *)(block + HEAD);
  return 0;
}

void free(void *pointer) {
  if (pointer == NULL) return;
  uintptr_t block = (uintptr_t)pointer - HEAD;
  uintptr_t kind = *(uintptr_t *)block;
  *(uintptr_t *)block = free_blocks[kind];
  free_blocks[kind] = block;
}

// Seeds hash tables, whose keys are numbers that the page itself gives out.
void arc4random_buf(void *bytes, size_t count) {
  for (size_t offset = 0; offset < count; offset++)
    ((unsigned char *)bytes)[offset] = (unsigned char)(offset * 151 + 57);
}

uintptr_t __stack_chk_guard = 0x5CA1AB1E;
void __stack_chk_fail(void) { __builtin_trap(); }
