// A query for records by the C library's resolver (resolver(3)), whose names are macros and whose state is a structure
// of bit fields: Swift imports neither.
#pragma once
#include <arpa/nameser.h>
#include <netdb.h>
#include <netinet/in.h>
#include <resolv.h>
#include <string.h>

// Queries the records of an absolute name. Blocks until a name server has answered, or none does. Returns the number of
// bytes of the answer, which may be larger than `capacity`; otherwise -1, and the reason in `reason`: HOST_NOT_FOUND,
// NO_DATA, TRY_AGAIN, NO_RECOVERY. Every thread has a state of its own.
static inline int resolver_query(const char *name, int type, unsigned char *answer, int capacity, int *reason) {
  struct __res_state state;
  memset(&state, 0, sizeof state);
  if (res_ninit(&state) != 0) {
    *reason = NO_RECOVERY;
    return -1;
  }
  int count = res_nsearch(&state, name, ns_c_in, type, answer, capacity);
  *reason = count < 0 ? state.res_h_errno : 0;
  res_nclose(&state);
  return count;
}
