/* Callbacks on a dispatch queue, until one of them ends everything. */

#include <arpa/inet.h>
#include <dispatch/dispatch.h>
#include <dns_sd.h>
#include <stdio.h>
#include <stdlib.h>

static int key;
static DNSServiceRef connection, service, browse;
static dispatch_semaphore_t done;

static void expect(int condition, const char *text) {
  if (condition) return;
  fprintf(stderr, "not so: %s\n", text);
  exit(1);
}

#define EXPECT(condition) expect(condition, #condition)

static void finish(void *unused) {
  (void)unused;
  dispatch_semaphore_signal(done);
}

static void DNSSD_API on_browsed(
    DNSServiceRef ref, DNSServiceFlags flags, uint32_t interface, DNSServiceErrorType error,
    const char *name, const char *type, const char *domain, void *context) {
  (void)interface, (void)error, (void)name, (void)type, (void)domain;
  EXPECT(ref == browse && dispatch_get_specific(&key) == &key);
  if (!(flags & kDNSServiceFlagsAdd)) {
    printf("ended\n");
    DNSServiceRefDeallocate(connection);
    EXPECT(DNSServiceRefSockFD(browse) == -1);
    /* Whatever should not be told would be told before this. */
    dispatch_async_f(context, NULL, finish);
    return;
  }
  printf("found\n");
  DNSServiceRefDeallocate(service);
}

static void DNSSD_API on_registered(
    DNSServiceRef ref, DNSServiceFlags flags, DNSServiceErrorType error, const char *name,
    const char *type, const char *domain, void *context) {
  (void)flags, (void)name, (void)type, (void)domain;
  EXPECT(ref == service && error == 0 && dispatch_get_specific(&key) == &key);
  printf("registered\n");
  browse = connection;
  EXPECT(
      DNSServiceBrowse(
          &browse, kDNSServiceFlagsShareConnection, 0, "_queue._tcp", NULL, on_browsed,
          context) == 0);
}

int main(void) {
  dispatch_queue_t queue = dispatch_queue_create("test", NULL);
  dispatch_queue_set_specific(queue, &key, &key, NULL);
  done = dispatch_semaphore_create(0);
  EXPECT(DNSServiceCreateConnection(&connection) == 0);
  EXPECT(DNSServiceSetDispatchQueue(connection, NULL) == kDNSServiceErr_BadParam);
  EXPECT(DNSServiceSetDispatchQueue(connection, queue) == 0);
  EXPECT(DNSServiceSetDispatchQueue(connection, queue) == kDNSServiceErr_BadParam);
  EXPECT(DNSServiceProcessResult(connection) == kDNSServiceErr_BadReference);
  service = connection;
  EXPECT(
      DNSServiceRegister(
          &service, kDNSServiceFlagsShareConnection, 0, "Lamp", "_queue._tcp", NULL, NULL,
          htons(1), 0, NULL, on_registered, queue) == 0);
  dispatch_semaphore_wait(done, DISPATCH_TIME_FOREVER);
  dispatch_release(queue);
}
