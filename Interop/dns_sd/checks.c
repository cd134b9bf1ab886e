/* What programs rely on beside what they are told, on a host where nobody else is: descriptors,
 * threads, references that end, misuse. Writes the name of each check that holds and ends with 1 at
 * the first that doesn't. */

#include <arpa/inet.h>
#include <dirent.h>
#include <dns_sd.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define EXPECT(condition)                                                     \
  do {                                                                        \
    if (!(condition)) {                                                       \
      fprintf(stderr, "%s:%d: not so: %s\n", __func__, __LINE__, #condition); \
      exit(1);                                                                \
    }                                                                         \
  } while (0)

static DNSServiceRef const invented = (DNSServiceRef)(uintptr_t)0x12345;

static int is_readable(int descriptor, int milliseconds) {
  struct pollfd wait = {.fd = descriptor, .events = POLLIN};
  return poll(&wait, 1, milliseconds) == 1;
}

/* What callbacks saw. */
struct seen {
  int count;
  DNSServiceErrorType error;
  DNSServiceFlags flags;
  pthread_t thread;
  char name[256];
  uint32_t interface;
  DNSServiceRef to_end;
  int last_flags_without_more;
};

static void note(
    struct seen *seen, DNSServiceFlags flags, DNSServiceErrorType error, const char *name) {
  seen->count++;
  seen->error = error;
  seen->flags = flags;
  seen->thread = pthread_self();
  if (!(flags & kDNSServiceFlagsMoreComing)) seen->last_flags_without_more++;
  snprintf(seen->name, sizeof seen->name, "%s", name ? name : "");
  if (seen->to_end) {
    DNSServiceRef ref = seen->to_end;
    seen->to_end = NULL;
    DNSServiceRefDeallocate(ref);
  }
}

static void DNSSD_API on_registered(
    DNSServiceRef ref, DNSServiceFlags flags, DNSServiceErrorType error, const char *name,
    const char *type, const char *domain, void *context) {
  EXPECT(ref && type && domain);
  note(context, flags, error, name);
}

static void DNSSD_API on_browsed(
    DNSServiceRef ref, DNSServiceFlags flags, uint32_t interface, DNSServiceErrorType error,
    const char *name, const char *type, const char *domain, void *context) {
  EXPECT(ref && type && domain && interface > 0);
  ((struct seen *)context)->interface = interface;
  note(context, flags, error, name);
}

static void DNSSD_API on_resolved(
    DNSServiceRef ref, DNSServiceFlags flags, uint32_t interface, DNSServiceErrorType error,
    const char *name, const char *host, uint16_t port, uint16_t length, const unsigned char *text,
    void *context) {
  (void)ref, (void)interface, (void)port, (void)length, (void)text;
  EXPECT(host);
  note(context, flags, error, name);
}

static void DNSSD_API on_found(
    DNSServiceRef ref, DNSServiceFlags flags, uint32_t interface, DNSServiceErrorType error,
    const char *host, const struct sockaddr *address, uint32_t ttl, void *context) {
  (void)ref, (void)interface, (void)address, (void)ttl;
  note(context, flags, error, host);
}

static void DNSSD_API on_told(
    DNSServiceRef ref, DNSServiceFlags flags, uint32_t interface, DNSServiceErrorType error,
    const char *name, uint16_t type, uint16_t class, uint16_t length, const void *data,
    uint32_t ttl, void *context) {
  (void)ref, (void)interface, (void)type, (void)class, (void)length, (void)data, (void)ttl;
  note(context, flags, error, name);
}

static void DNSSD_API on_domain(
    DNSServiceRef ref, DNSServiceFlags flags, uint32_t interface, DNSServiceErrorType error,
    const char *name, void *context) {
  (void)ref, (void)interface;
  note(context, flags, error, name);
}

static void DNSSD_API on_recorded(
    DNSServiceRef ref, DNSRecordRef record, DNSServiceFlags flags, DNSServiceErrorType error,
    void *context) {
  EXPECT(ref && record);
  note(context, flags, error, "");
}

static void DNSSD_API on_mapped(
    DNSServiceRef ref, DNSServiceFlags flags, uint32_t interface, DNSServiceErrorType error,
    uint32_t address, DNSServiceProtocol protocol, uint16_t internal, uint16_t external,
    uint32_t ttl, void *context) {
  (void)ref, (void)interface, (void)address, (void)protocol, (void)internal, (void)external;
  (void)ttl;
  note(context, flags, error, "");
}

static DNSServiceRef publish(
    const char *name, const char *type, DNSServiceFlags flags, struct seen *seen) {
  DNSServiceRef ref;
  EXPECT(
      DNSServiceRegister(
          &ref, flags, 0, name, type, NULL, NULL, htons(80), 0, NULL, on_registered, seen) == 0);
  return ref;
}

/* Whatever is wrong is said to be, and nothing traps. */
static void misuse(void) {
  const int bad = kDNSServiceErr_BadParam, unknown = kDNSServiceErr_BadReference;
  DNSServiceRef ref = invented;
  DNSRecordRef record = NULL;
  uint32_t version = 0, size = sizeof version;
  char full[kDNSServiceMaxDomainName], long_name[2000];
  memset(long_name, 'x', sizeof long_name - 1);
  long_name[sizeof long_name - 1] = 0;

  EXPECT(DNSServiceGetProperty(kDNSServiceProperty_DaemonVersion, &version, &size) == 0);
  EXPECT(version == _DNS_SD_H && size == 4);
  EXPECT(DNSServiceGetProperty("Else", &version, &size) == bad);
  EXPECT(DNSServiceGetProperty(NULL, &version, &size) == bad);
  EXPECT(DNSServiceGetProperty(kDNSServiceProperty_DaemonVersion, NULL, NULL) == bad);

  EXPECT(DNSServiceRefSockFD(NULL) == -1 && DNSServiceRefSockFD(invented) == -1);
  EXPECT(DNSServiceProcessResult(NULL) == bad && DNSServiceProcessResult(invented) == unknown);
  DNSServiceRefDeallocate(NULL);
  DNSServiceRefDeallocate(invented);

  EXPECT(DNSServiceBrowse(NULL, 0, 0, "_a._tcp", NULL, on_browsed, NULL) == bad);
  EXPECT(DNSServiceBrowse(&ref, 0, 0, NULL, NULL, on_browsed, NULL) == bad && !ref);
  EXPECT(DNSServiceBrowse(&ref, 0, 0, "_a._tcp", NULL, NULL, NULL) == bad);
  const char *types[] = {"", "a", "_a", "_a._sctp", "a._tcp", "_._tcp", "_a._tcp,",
                         "_a._tcp,,_b", "_a._tcp,_b,_c", long_name, "\377\376._tcp"};
  for (unsigned i = 0; i < sizeof types / sizeof *types; i++)
    EXPECT(DNSServiceBrowse(&ref, 0, 0, types[i], NULL, on_browsed, NULL) == bad);
  EXPECT(DNSServiceBrowse(&ref, 0, 0, "_a._tcp", long_name, on_browsed, NULL) == bad);
  EXPECT(
      DNSServiceBrowse(&ref, 0, 0, "_a._tcp", "example.com", on_browsed, NULL) ==
      kDNSServiceErr_Unsupported);
  EXPECT(DNSServiceBrowse(&ref, 0, 77777, "_a._tcp", NULL, on_browsed, NULL) == bad);
  const int share = kDNSServiceFlagsShareConnection;
  ref = NULL;
  EXPECT(DNSServiceBrowse(&ref, share, 0, "_a._tcp", NULL, on_browsed, NULL) == bad);
  ref = invented;
  EXPECT(DNSServiceBrowse(&ref, share, 0, "_a._tcp", NULL, on_browsed, NULL) == unknown);

  EXPECT(DNSServiceResolve(&ref, 0, 0, NULL, "_a._tcp", "local", on_resolved, NULL) == bad);
  EXPECT(DNSServiceResolve(&ref, 0, 0, "A", NULL, "local", on_resolved, NULL) == bad);
  EXPECT(DNSServiceResolve(&ref, 0, 0, "A", "_a._tcp", NULL, on_resolved, NULL) == bad);
  EXPECT(DNSServiceResolve(&ref, 0, 0, "A", "_a._tcp", "local", NULL, NULL) == bad);
  EXPECT(DNSServiceResolve(&ref, 0, 0, long_name, "_a._tcp", "local", on_resolved, NULL) == bad);

  EXPECT(DNSServiceQueryRecord(&ref, 0, 0, NULL, 1, 1, on_told, NULL) == bad);
  EXPECT(DNSServiceQueryRecord(&ref, 0, 0, "a..local", 1, 1, on_told, NULL) == bad);
  EXPECT(DNSServiceQueryRecord(&ref, 0, 0, "a.local", 1, 1, NULL, NULL) == bad);
  EXPECT(
      DNSServiceQueryRecord(&ref, 0, 0, "a.example.com", 1, 1, on_told, NULL) ==
      kDNSServiceErr_Unsupported);
  EXPECT(DNSServiceGetAddrInfo(&ref, 0, 0, 0, NULL, on_found, NULL) == bad);
  EXPECT(DNSServiceGetAddrInfo(&ref, 0, 0, 4, "a.local", on_found, NULL) == bad);
  EXPECT(DNSServiceEnumerateDomains(&ref, 0, 0, on_domain, NULL) == bad);
  EXPECT(DNSServiceEnumerateDomains(&ref, 0xC0, 0, on_domain, NULL) == bad);

  EXPECT(
      DNSServiceRegister(&ref, 0, 0, NULL, NULL, NULL, NULL, 0, 0, NULL, NULL, NULL) == bad);
  EXPECT(
      DNSServiceRegister(
          &ref, kDNSServiceFlagsNoAutoRename, 0, "A", "_a._tcp", NULL, NULL, 0, 0, NULL, NULL,
          NULL) == bad);
  long_name[64] = 0;
  EXPECT(
      DNSServiceRegister(
          &ref, 0, 0, long_name, "_a._tcp", NULL, NULL, 0, 0, NULL, NULL, NULL) == bad);
  EXPECT(
      DNSServiceRegister(&ref, 0, 0, "\1", "_a._tcp", NULL, NULL, 0, 0, NULL, NULL, NULL) == bad);
  EXPECT(
      DNSServiceRegister(
          &ref, 0, 0, "A", "_a._tcp", NULL, NULL, 0, 3, "\5ab", NULL, NULL) == bad);
  EXPECT(
      DNSServiceRegister(
          &ref, 0, 0, "A", "_a._tcp", NULL, NULL, 0, 3, NULL, NULL, NULL) == bad);
  EXPECT(
      DNSServiceRegisterRecord(
          invented, &record, kDNSServiceFlagsShared, 0, "a.local", 1, 1, 4, "abcd", 0,
          on_recorded, NULL) == unknown);
  EXPECT(DNSServiceAddRecord(NULL, &record, 0, 1, 4, "abcd", 0) == bad);
  EXPECT(DNSServiceUpdateRecord(invented, NULL, 0, 0, NULL, 0) == unknown);
  EXPECT(DNSServiceRemoveRecord(NULL, NULL, 0) == bad);
  EXPECT(DNSServiceReconfirmRecord(0, 0, NULL, 1, 1, 4, "abcd") == bad);
  EXPECT(DNSServiceReconfirmRecord(0, 0, "a.local", 1, 1, 3, "abc") == bad);
  EXPECT(DNSServiceSendQueuedRequests(NULL) == bad);
  EXPECT(DNSServiceSetDispatchQueue(NULL, NULL) == bad);
  EXPECT(
      DNSServiceNATPortMappingCreate(&ref, 0, 0, 0x10, 1, 2, 3, on_mapped, NULL) ==
      kDNSServiceErr_Unsupported);
  EXPECT(!ref);
  EXPECT(DNSServiceConstructFullName(full, "A", "_a._tcp", NULL) == bad);
  EXPECT(DNSServiceConstructFullName(NULL, "A", "_a._tcp", "local") == bad);

  DNSServiceAttributeRef attribute = DNSServiceAttributeCreate();
  EXPECT(attribute && DNSServiceAttributeSetTimestamp(attribute, 1) == 0);
  DNSServiceAttributeDeallocate(attribute);
  EXPECT(DNSServiceAttributeSetTimestamp(attribute, 1) == bad);
  TXTRecordCreate(NULL, 0, NULL);
  TXTRecordDeallocate(NULL);
  EXPECT(TXTRecordSetValue(NULL, NULL, 0, NULL) == bad && TXTRecordGetLength(NULL) == 0);
  EXPECT(!TXTRecordGetBytesPtr(NULL) && !TXTRecordContainsKey(9, NULL, "a"));
}

/* The descriptor is readable while there is something to tell, and callbacks come from nowhere but
 * DNSServiceProcessResult. */
static void descriptor(void) {
  struct seen seen = {0};
  DNSServiceRef ref = publish("Lamp", "_check._tcp", 0, &seen);
  int descriptor = DNSServiceRefSockFD(ref);
  EXPECT(descriptor >= 0);
  EXPECT(is_readable(descriptor, 60000) && is_readable(descriptor, 0) && seen.count == 0);
  EXPECT(DNSServiceProcessResult(ref) == 0);
  EXPECT(seen.count == 1 && seen.error == 0 && seen.flags == kDNSServiceFlagsAdd);
  EXPECT(!strcmp(seen.name, "Lamp") && pthread_equal(seen.thread, pthread_self()));
  EXPECT(!is_readable(descriptor, 100));

  /* Without anything to tell it waits; here until the service is found. */
  struct seen found = {0};
  DNSServiceRef browse;
  EXPECT(DNSServiceBrowse(&browse, 0, 0, "_check._tcp", NULL, on_browsed, &found) == 0);
  EXPECT(DNSServiceProcessResult(browse) == 0 && found.count == 1);
  EXPECT(!strcmp(found.name, "Lamp") && found.flags == kDNSServiceFlagsAdd);

  DNSServiceRefDeallocate(ref);
  EXPECT(DNSServiceRefSockFD(ref) == -1);
  EXPECT(DNSServiceProcessResult(browse) == 0 && found.count == 2 && found.flags == 0);
  DNSServiceRefDeallocate(browse);
  DNSServiceRefDeallocate(browse);
}

/* The name of another service is not taken, and refused where no other will do. */
static void conflict(void) {
  struct seen seen[3] = {{0}};
  DNSServiceRef refs[3];
  refs[0] = publish("Lamp", "_check._udp", 0, &seen[0]);
  EXPECT(DNSServiceProcessResult(refs[0]) == 0 && !strcmp(seen[0].name, "Lamp"));
  refs[1] = publish("Lamp", "_check._udp", 0, &seen[1]);
  EXPECT(DNSServiceProcessResult(refs[1]) == 0 && !strcmp(seen[1].name, "Lamp (2)"));
  refs[2] = publish("Lamp", "_check._udp", kDNSServiceFlagsNoAutoRename, &seen[2]);
  EXPECT(DNSServiceProcessResult(refs[2]) == 0);
  EXPECT(seen[2].error == kDNSServiceErr_NameConflict && !(seen[2].flags & kDNSServiceFlagsAdd));
  for (int i = 0; i < 3; i++) DNSServiceRefDeallocate(refs[i]);
}

/* All but the last of what comes at once say that more comes; a reference that ends in its own
 * callback is told nothing more. */
static void many(void) {
  enum { count = 40 };
  struct seen published = {0}, found = {0}, ended = {0};
  DNSServiceRef refs[count], browse;
  char name[32];
  for (int i = 0; i < count; i++) {
    snprintf(name, sizeof name, "Lamp %d", i);
    refs[i] = publish(name, "_many._tcp", 0, &published);
  }
  for (int i = 0; i < count; i++) EXPECT(DNSServiceProcessResult(refs[i]) == 0);
  EXPECT(DNSServiceBrowse(&browse, 0, 0, "_many._tcp", NULL, on_browsed, &found) == 0);
  while (found.count < count) EXPECT(DNSServiceProcessResult(browse) == 0);
  EXPECT(found.count == count && !(found.flags & kDNSServiceFlagsMoreComing));
  DNSServiceRefDeallocate(browse);

  /* Now that they are known, they come all at once. */
  found = (struct seen){0};
  EXPECT(DNSServiceBrowse(&browse, 0, 0, "_many._tcp", NULL, on_browsed, &found) == 0);
  EXPECT(DNSServiceProcessResult(browse) == 0);
  EXPECT(found.count == count && found.last_flags_without_more == 1);
  DNSServiceRefDeallocate(browse);
  EXPECT(DNSServiceBrowse(&browse, 0, 0, "_many._tcp", NULL, on_browsed, &ended) == 0);
  ended.to_end = browse;
  EXPECT(DNSServiceProcessResult(browse) == 0 && ended.count == 1);
  for (int i = 0; i < count; i++) DNSServiceRefDeallocate(refs[i]);
}

/* A subtype may be as long as a label can be. */
static void long_subtype(void) {
  struct seen published = {0}, found = {0};
  DNSServiceRef ref, browse;
  char type[10 + 64 + 1] = "_sub._tcp,";
  memset(type + 10, 's', 64);
  EXPECT(
      DNSServiceBrowse(&browse, 0, 0, type, NULL, on_browsed, &found) == kDNSServiceErr_BadParam);
  type[10 + 63] = 0;
  ref = publish("Lamp", type, 0, &published);
  EXPECT(DNSServiceBrowse(&browse, 0, 0, type, NULL, on_browsed, &found) == 0);
  EXPECT(DNSServiceProcessResult(ref) == 0 && published.error == 0);
  EXPECT(DNSServiceProcessResult(browse) == 0 && !strcmp(found.name, "Lamp"));
  DNSServiceRefDeallocate(browse);
  DNSServiceRefDeallocate(ref);
}

/* What stays on this machine is found on it, and says so. */
static void local_only(void) {
  const uint32_t local = kDNSServiceInterfaceIndexLocalOnly;
  struct seen published = {0}, found = {0}, resolved = {0};
  DNSServiceRef service, browse, resolve;
  EXPECT(
      DNSServiceRegister(
          &service, 0, local, "Inner lamp", "_inner._tcp", NULL, NULL, htons(7), 0, NULL,
          on_registered, &published) == 0);
  EXPECT(DNSServiceProcessResult(service) == 0 && published.error == 0);
  EXPECT(DNSServiceBrowse(&browse, 0, 0, "_inner._tcp", NULL, on_browsed, &found) == 0);
  EXPECT(DNSServiceProcessResult(browse) == 0 && !strcmp(found.name, "Inner lamp"));
  EXPECT(found.interface == local);
  EXPECT(
      DNSServiceResolve(
          &resolve, 0, local, "Inner lamp", "_inner._tcp", "local", on_resolved, &resolved) == 0);
  EXPECT(DNSServiceProcessResult(resolve) == 0 && resolved.error == 0);
  DNSServiceRefDeallocate(service);
  EXPECT(DNSServiceProcessResult(browse) == 0 && !(found.flags & kDNSServiceFlagsAdd));
  DNSServiceRefDeallocate(browse);
  DNSServiceRefDeallocate(resolve);
}

/* Who wants intermediate results hears of an alias, too; others of what is behind it only. */
static void aliases(void) {
  struct seen recorded = {0}, silent = {0}, all = {0};
  DNSServiceRef connection, one, other;
  DNSRecordRef record;
  const DNSServiceFlags share = kDNSServiceFlagsShareConnection;
  EXPECT(DNSServiceCreateConnection(&connection) == 0);
  EXPECT(
      DNSServiceRegisterRecord(
          connection, &record, kDNSServiceFlagsUnique, 0, "check-behind.local",
          kDNSServiceType_NULL, 1, 3, "abc", 0, on_recorded, &recorded) == 0);
  EXPECT(
      DNSServiceRegisterRecord(
          connection, &record, kDNSServiceFlagsUnique, 0, "check-alias.local",
          kDNSServiceType_CNAME, 1, 20, "\014check-behind\005local", 0, on_recorded,
          &recorded) == 0);
  one = other = connection;
  EXPECT(
      DNSServiceQueryRecord(
          &one, share, 0, "check-alias.local.", kDNSServiceType_NULL, 1, on_told, &silent) == 0);
  EXPECT(
      DNSServiceQueryRecord(
          &other, share | kDNSServiceFlagsReturnIntermediates, 0, "check-alias.local.",
          kDNSServiceType_NULL, 1, on_told, &all) == 0);
  while (!silent.count || strcmp(all.name, "check-behind.local."))
    EXPECT(DNSServiceProcessResult(connection) == 0);
  EXPECT(silent.count == 1 && !strcmp(silent.name, "check-behind.local."));
  EXPECT(all.count == 2 && all.error == 0);
  DNSServiceRefDeallocate(connection);
}

/* One descriptor for all that share a connection, and all of them end with it. */
static void shared_connection(void) {
  struct seen published = {0}, found = {0}, resolved = {0}, recorded = {0}, told = {0};
  DNSServiceRef connection, service, browse, resolve, query;
  DNSRecordRef record;
  const DNSServiceFlags share = kDNSServiceFlagsShareConnection;
  EXPECT(DNSServiceCreateConnection(&connection) == 0);
  service = browse = resolve = query = connection;
  EXPECT(
      DNSServiceRegister(
          &service, share, 0, "Desk. lamp", "_share._tcp", NULL, NULL, htons(7), 0, NULL,
          on_registered, &published) == 0);
  EXPECT(DNSServiceBrowse(&browse, share, 0, "_share._tcp", NULL, on_browsed, &found) == 0);
  EXPECT(
      DNSServiceResolve(
          &resolve, share, 0, "Desk. lamp", "_share._tcp", "local", on_resolved, &resolved) == 0);
  EXPECT(
      DNSServiceRegisterRecord(
          connection, &record, kDNSServiceFlagsUnique, 0, "check-alone.local", 10, 1, 3, "abc",
          0, on_recorded, &recorded) == 0);
  EXPECT(
      DNSServiceQueryRecord(
          &query, share, 0, "check-alone.local.", 10, 1, on_told, &told) == 0);
  EXPECT(browse != connection && resolve != browse && service != resolve);
  EXPECT(DNSServiceRefSockFD(browse) == DNSServiceRefSockFD(connection));
  EXPECT(DNSServiceProcessResult(browse) == kDNSServiceErr_BadReference);
  DNSServiceRef deeper = browse;
  EXPECT(
      DNSServiceBrowse(&deeper, share, 0, "_share._tcp", NULL, on_browsed, &found) ==
      kDNSServiceErr_BadReference);
  while (!published.count || !found.count || !resolved.count || !recorded.count || !told.count)
    EXPECT(DNSServiceProcessResult(connection) == 0);
  EXPECT(!strcmp(found.name, "Desk. lamp"));
  EXPECT(!strcmp(resolved.name, "Desk\\.\\032lamp._share._tcp.local."));
  EXPECT(!strcmp(told.name, "check-alone.local.") && recorded.error == 0);
  EXPECT(DNSServiceUpdateRecord(connection, record, 0, 1, "x", 0) == 0);
  int before = told.count;
  while (told.count == before) EXPECT(DNSServiceProcessResult(connection) == 0);
  EXPECT(DNSServiceRemoveRecord(connection, record, 0) == 0);
  EXPECT(DNSServiceRemoveRecord(connection, record, 0) == kDNSServiceErr_BadReference);

  DNSServiceRefDeallocate(browse);
  EXPECT(DNSServiceRefSockFD(browse) == -1 && DNSServiceRefSockFD(connection) >= 0);
  DNSServiceRefDeallocate(connection);
  EXPECT(DNSServiceRefSockFD(resolve) == -1 && DNSServiceRefSockFD(query) == -1);
}

static void *process(void *ref) { return (void *)(intptr_t)DNSServiceProcessResult(ref); }

/* A reference that ends lets go who waits on it, in whatever thread. */
static void ended_elsewhere(void) {
  struct seen seen = {0};
  DNSServiceRef ref;
  pthread_t thread;
  void *result;
  EXPECT(DNSServiceBrowse(&ref, 0, 0, "_nobody._tcp", NULL, on_browsed, &seen) == 0);
  EXPECT(pthread_create(&thread, NULL, process, ref) == 0);
  nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
  DNSServiceRefDeallocate(ref);
  EXPECT(pthread_join(thread, &result) == 0 && seen.count == 0);
  /* A thread that comes only then, as on a busy machine, finds no reference. */
  EXPECT(
      (intptr_t)result == kDNSServiceErr_ServiceNotRunning ||
      (intptr_t)result == kDNSServiceErr_BadReference);
}

static int descriptor_count(void) {
  DIR *folder = opendir("/proc/self/fd");
  int count = 0;
  while (readdir(folder)) count++;
  closedir(folder);
  return count;
}

static long resident_kilobytes(void) {
  long pages = 0;
  FILE *file = fopen("/proc/self/statm", "r");
  EXPECT(file && fscanf(file, "%*d %ld", &pages) == 1);
  fclose(file);
  return pages * (sysconf(_SC_PAGESIZE) / 1024);
}

static void begin_and_end(int count) {
  struct seen seen = {0};
  DNSServiceRef refs[7];
  DNSRecordRef record;
  for (int i = 0; i < count; i++) {
    EXPECT(DNSServiceCreateConnection(&refs[0]) == 0);
    refs[1] = refs[0];
    EXPECT(DNSServiceBrowse(&refs[1], 0x4000, 0, "_loop._tcp", NULL, on_browsed, &seen) == 0);
    EXPECT(
        DNSServiceRegisterRecord(
            refs[0], &record, kDNSServiceFlagsShared, 0, "loop.local", 10, 1, 1, "x", 0,
            on_recorded, &seen) == 0);
    refs[2] = publish("Loop", "_loop._tcp", 0, &seen);
    EXPECT(DNSServiceAddRecord(refs[2], &record, 0, 10, 1, "x", 0) == 0);
    EXPECT(
        DNSServiceResolve(
            &refs[3], 0, 0, "Loop", "_loop._tcp", "local", on_resolved, &seen) == 0);
    EXPECT(DNSServiceGetAddrInfo(&refs[4], 0, 0, 0, "loop.local", on_found, &seen) == 0);
    EXPECT(DNSServiceQueryRecord(&refs[5], 0, 0, "loop.local", 10, 1, on_told, &seen) == 0);
    EXPECT(DNSServiceEnumerateDomains(&refs[6], 0x40, 0, on_domain, &seen) == 0);
    DNSServiceRefDeallocate(refs[0]);
    for (int k = 2; k < 7; k++) DNSServiceRefDeallocate(refs[k]);
  }
  EXPECT(seen.count == 0);
}

static void *begin_and_end_some(void *unused) {
  begin_and_end(100);
  return unused;
}

/* What was there before, so that everything that was asked for earlier is done with. */
static void settle(void) {
  struct seen seen = {0};
  DNSServiceRef ref = publish("Settled", "_loop._tcp", 0, &seen);
  EXPECT(DNSServiceProcessResult(ref) == 0);
  DNSServiceRefDeallocate(ref);
  nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL);
}

/* What ends leaves nothing behind, neither descriptors nor memory. */
static void nothing_is_left(void) {
  begin_and_end(1000);
  settle();
  long resident = resident_kilobytes();
  int descriptors = descriptor_count();
  for (int i = 0; i < 10; i++) {
    begin_and_end(500);
    settle();
  }
  printf("resident: %ld kB, after 5000 rounds %ld kB\n", resident, resident_kilobytes());
  /* What ends last may take longer on a busy machine. */
  for (int i = 0; i < 200 && descriptor_count() != descriptors; i++) settle();
  EXPECT(descriptor_count() == descriptors);
  EXPECT(resident_kilobytes() < resident + 2048);
}

static void threads(void) {
  pthread_t threads[8];
  for (int i = 0; i < 8; i++) pthread_create(&threads[i], NULL, begin_and_end_some, NULL);
  for (int i = 0; i < 8; i++) pthread_join(threads[i], NULL);
}

static volatile sig_atomic_t signalled_thread_is_main;
static pthread_t main_thread;

static void on_signal(int number) {
  (void)number;
  signalled_thread_is_main = pthread_equal(pthread_self(), main_thread) ? 1 : -1;
}

/* The process stays its owner's: its signals come to its threads, and what it does about SIGPIPE is
 * its own business. A child that was forked off ends without ado. */
static void process_of_others(void) {
  struct sigaction pipe_action;
  main_thread = pthread_self();
  EXPECT(sigaction(SIGPIPE, NULL, &pipe_action) == 0 && pipe_action.sa_handler == SIG_DFL);
  signal(SIGUSR1, on_signal);
  sigset_t set, old;
  sigemptyset(&set);
  sigaddset(&set, SIGUSR1);
  pthread_sigmask(SIG_BLOCK, &set, &old);
  kill(getpid(), SIGUSR1);
  nanosleep(&(struct timespec){.tv_nsec = 50000000}, NULL);
  EXPECT(signalled_thread_is_main == 0);
  pthread_sigmask(SIG_SETMASK, &old, NULL);
  EXPECT(signalled_thread_is_main == 1);

  /* A busy machine may need longer now and then. */
  struct timespec before, after;
  int attempts = 0;
  do {
    clock_gettime(CLOCK_MONOTONIC, &before);
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
      DNSServiceRef ref;
      exit(
          DNSServiceBrowse(&ref, 0, 0, "_a._tcp", NULL, on_browsed, NULL) ==
                  kDNSServiceErr_ServiceNotRunning
              ? 0
              : 1);
    }
    int status;
    EXPECT(waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0);
    clock_gettime(CLOCK_MONOTONIC, &after);
  } while (after.tv_sec - before.tv_sec >= 2 && ++attempts < 10);
  EXPECT(attempts < 10);
}

/* A process that may open too little gets an error from each call, and can go on afterwards. */
static void few_descriptors(void) {
  struct rlimit limits;
  EXPECT(getrlimit(RLIMIT_NOFILE, &limits) == 0);
  /* Numbers above the limit may be open; none below it is free with the first. */
  for (rlim_t count = 0; count <= 8; count += 8) {
    struct rlimit few = {count, limits.rlim_max};
    EXPECT(setrlimit(RLIMIT_NOFILE, &few) == 0);
    DNSServiceRef ref = invented;
    const int none = kDNSServiceErr_NoMemory;
    EXPECT(DNSServiceBrowse(&ref, 0, 0, "_a._tcp", NULL, on_browsed, NULL) == none && !ref);
    EXPECT(
        DNSServiceResolve(&ref, 0, 0, "A", "_a._tcp", "local", on_resolved, NULL) == none && !ref);
    EXPECT(DNSServiceQueryRecord(&ref, 0, 0, "a.local", 1, 1, on_told, NULL) == none && !ref);
    EXPECT(DNSServiceGetAddrInfo(&ref, 0, 0, 1, "a.local", on_found, NULL) == none && !ref);
    EXPECT(DNSServiceEnumerateDomains(&ref, 0x40, 0, on_domain, NULL) == none && !ref);
    EXPECT(
        DNSServiceRegister(
            &ref, 0, 0, "A", "_a._tcp", NULL, NULL, 1, 0, NULL, NULL, NULL) == none && !ref);
  }
  EXPECT(setrlimit(RLIMIT_NOFILE, &limits) == 0);
}

/* So does one whose host runs already. */
static void no_descriptors(void) {
  struct rlimit limits;
  EXPECT(getrlimit(RLIMIT_NOFILE, &limits) == 0);
  struct rlimit none = {0, limits.rlim_max};
  EXPECT(setrlimit(RLIMIT_NOFILE, &none) == 0);
  DNSServiceRef ref = invented;
  EXPECT(
      DNSServiceResolve(&ref, 0, 0, "A", "_a._tcp", "local", on_resolved, NULL) ==
          kDNSServiceErr_NoMemory &&
      !ref);
  EXPECT(DNSServiceCreateConnection(&ref) == kDNSServiceErr_NoMemory && !ref);
  EXPECT(setrlimit(RLIMIT_NOFILE, &limits) == 0);
}

int main(void) {
  const struct {
    const char *name;
    void (*check)(void);
  } checks[] = {
      {"few descriptors", few_descriptors},
      {"misuse", misuse},
      {"descriptor", descriptor},
      {"conflict", conflict},
      {"many", many},
      {"long subtype", long_subtype},
      {"local only", local_only},
      {"shared connection", shared_connection},
      {"aliases", aliases},
      {"ended elsewhere", ended_elsewhere},
      {"threads", threads},
      {"no descriptors", no_descriptors},
      {"nothing is left", nothing_is_left},
      {"process of others", process_of_others},
  };
  for (unsigned i = 0; i < sizeof checks / sizeof *checks; i++) {
    checks[i].check();
    printf("%s\n", checks[i].name);
    fflush(stdout);
  }
}
