// What Linux has and Swift's module of the C library leaves out.
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/timerfd.h>

// Declared by <sys/socket.h> only with _GNU_SOURCE, which a module's user can't set.
int accept4(int, struct sockaddr *, socklen_t *, int);

// struct mmsghdr and recvmmsg(2), which are hidden in the same way.
struct received_message {
  struct msghdr header;
  unsigned int byte_count;
};
int receive_messages(int, struct received_message *, unsigned int, int, struct timespec *)
    __asm__("recvmmsg");
