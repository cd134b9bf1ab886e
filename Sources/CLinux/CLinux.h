// What Linux has and Swift's module of the C library leaves out.
#include <sys/eventfd.h>
#include <sys/timerfd.h>
#include <sys/epoll.h>
