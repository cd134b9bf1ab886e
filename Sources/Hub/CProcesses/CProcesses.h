// Calls about processes that Swift's module of the C library leaves out: it can't have functions with variable
// arguments, and older C libraries have no functions for process descriptors (pidfd_open(2)).
#include <sys/resource.h>
#include <sys/types.h>

#define AMBIT_PIDFD_OPEN 434
#define AMBIT_PIDFD_SEND_SIGNAL 424
// PR_SET_CHILD_SUBREAPER of prctl(2).
#define AMBIT_SET_CHILD_SUBREAPER 36

// syscall(2) with four arguments, those of pidfd_open(2) and pidfd_send_signal(2). One declaration: Swift's compiler
// fails where two have one symbol.
long system_call(long number, long, long, long, long) __asm__("syscall");
// prctl(2) with one argument.
int set_process_attribute(int option, unsigned long value, unsigned long, unsigned long, unsigned long)
    __asm__("prctl");
// pipe2(2), which is hidden without _GNU_SOURCE.
int make_pipe(int *, int) __asm__("pipe2");
// posix_spawn_file_actions_addclosefrom_np(3) and posix_spawn_file_actions_addchdir_np(3), which are hidden; the first
// parameter is a posix_spawn_file_actions_t, whose header belongs to Swift's module.
int spawn_close_descriptors(void *, int) __asm__("posix_spawn_file_actions_addclosefrom_np");
int spawn_change_folder(void *, const char *) __asm__("posix_spawn_file_actions_addchdir_np");
