#ifndef INSTRUCTION_COUNTER_H
#define INSTRUCTION_COUNTER_H

#include <stdint.h>

/// Begins to count the instructions of the calling thread and of those it starts, in user space.
/// Returns a counter, or -1 where the machine doesn't let its instructions be counted.
int instruction_counter_open(void);

/// How many instructions there have been since the counter was opened.
uint64_t instruction_counter_read(int counter);

#endif
