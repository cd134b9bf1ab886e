// The kernel's numbers for interfaces, addresses, sockets and packet filters (netlink(7)). None of the
// C library's headers: where a module with those is imported before Glibc, their names are taken for its.
#include <linux/netfilter/nf_tables.h>
#include <linux/netfilter/nfnetlink.h>
#include <linux/netlink.h>
#include <linux/rtnetlink.h>
#include <linux/sock_diag.h>
