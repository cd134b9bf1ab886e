/* What dns_sd.h offers, from a command line. Writes an object a line and goes on until it is ended:
 *
 *   tool register NAME TYPE PORT [KEY=VALUE ...]   a name of "-" is the host's
 *   tool insist NAME TYPE PORT                     no other name will do
 *   tool browse TYPE
 *   tool resolve NAME TYPE
 *   tool addresses HOST [PROTOCOL]
 *   tool query NAME TYPE                           TYPE is a number
 *   tool domains
 *   tool proxy NAME ADDRESS                        a host's name and its address, as single records
 *   tool extra NAME TYPE                           a record more, then another, then none
 */

#include <arpa/inet.h>
#include <dns_sd.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void check(const char *what, DNSServiceErrorType error) {
  if (error != kDNSServiceErr_NoError) {
    fprintf(stderr, "%s: %d\n", what, (int)error);
    exit(1);
  }
}

static void put(const char *name, const char *text) {
  printf("\"%s\": \"", name);
  for (const unsigned char *c = (const unsigned char *)text; *c; c++) {
    if (*c == '"' || *c == '\\')
      printf("\\%c", *c);
    else if (*c < ' ')
      printf("\\u%04x", *c);
    else
      putchar(*c);
  }
  printf("\", ");
}

static void end(DNSServiceFlags flags, uint32_t interface, DNSServiceErrorType error) {
  printf(
      "\"added\": %s, \"more\": %s, \"interface\": %u, \"error\": %d}\n",
      flags & kDNSServiceFlagsAdd ? "true" : "false",
      flags & kDNSServiceFlagsMoreComing ? "true" : "false", interface, (int)error);
  fflush(stdout);
}

static void DNSSD_API registered(
    DNSServiceRef ref, DNSServiceFlags flags, DNSServiceErrorType error, const char *name,
    const char *type, const char *domain, void *context) {
  (void)ref, (void)context;
  printf("{");
  put("name", name), put("type", type), put("domain", domain);
  end(flags, 0, error);
}

static void DNSSD_API browsed(
    DNSServiceRef ref, DNSServiceFlags flags, uint32_t interface, DNSServiceErrorType error,
    const char *name, const char *type, const char *domain, void *context) {
  (void)ref, (void)context;
  printf("{");
  put("name", name), put("type", type), put("domain", domain);
  end(flags, interface, error);
}

static void DNSSD_API resolved(
    DNSServiceRef ref, DNSServiceFlags flags, uint32_t interface, DNSServiceErrorType error,
    const char *name, const char *host, uint16_t port, uint16_t length, const unsigned char *text,
    void *context) {
  (void)ref, (void)context;
  printf("{");
  put("name", name), put("host", host);
  printf("\"port\": %d, \"text\": {", ntohs(port));
  for (uint16_t index = 0; index < TXTRecordGetCount(length, text); index++) {
    char key[256];
    uint8_t count;
    const void *value;
    check("item", TXTRecordGetItemAtIndex(length, text, index, sizeof key, key, &count, &value));
    printf("%s\"%s\": ", index ? ", " : "", key);
    value ? printf("\"%.*s\"", count, (const char *)value) : printf("null");
  }
  printf("}, ");
  end(flags, interface, error);
}

static void DNSSD_API found(
    DNSServiceRef ref, DNSServiceFlags flags, uint32_t interface, DNSServiceErrorType error,
    const char *host, const struct sockaddr *address, uint32_t ttl, void *context) {
  char text[INET6_ADDRSTRLEN];
  const struct sockaddr_in *v4 = (const struct sockaddr_in *)address;
  const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)address;
  int is_v4 = address->sa_family == AF_INET;
  (void)ref, (void)context;
  inet_ntop(
      address->sa_family, is_v4 ? (const void *)&v4->sin_addr : &v6->sin6_addr, text,
      sizeof text);
  printf("{");
  put("host", host), put("address", text);
  printf("\"ttl\": %u, \"scope\": %u, ", ttl, is_v4 ? 0 : v6->sin6_scope_id);
  end(flags, interface, error);
}

static void DNSSD_API told(
    DNSServiceRef ref, DNSServiceFlags flags, uint32_t interface, DNSServiceErrorType error,
    const char *name, uint16_t type, uint16_t class, uint16_t length, const void *data,
    uint32_t ttl, void *context) {
  (void)ref, (void)context, (void)ttl;
  printf("{");
  put("name", name);
  printf("\"type\": %d, \"class\": %d, \"data\": \"", type, class);
  for (int i = 0; i < length; i++) printf("%02x", ((const unsigned char *)data)[i]);
  printf("\", ");
  end(flags, interface, error);
}

static void DNSSD_API domain(
    DNSServiceRef ref, DNSServiceFlags flags, uint32_t interface, DNSServiceErrorType error,
    const char *name, void *context) {
  (void)ref, (void)context;
  printf("{");
  put("domain", name);
  printf("\"default\": %s, ", flags & kDNSServiceFlagsDefault ? "true" : "false");
  end(flags, interface, error);
}

static void DNSSD_API recorded(
    DNSServiceRef ref, DNSRecordRef record, DNSServiceFlags flags, DNSServiceErrorType error,
    void *context) {
  (void)ref, (void)context;
  printf("{\"has_record\": %s, ", record ? "true" : "false");
  end(flags, 0, error);
}

/* Waits until there is something to tell, and has it told; so often. */
static void serve(DNSServiceRef ref, int count) {
  struct pollfd wait = {.fd = DNSServiceRefSockFD(ref), .events = POLLIN};
  while (count-- != 0) {
    if (poll(&wait, 1, -1) < 0) exit(1);
    check("process", DNSServiceProcessResult(ref));
  }
}

static DNSServiceRef publish(int count, char **words, DNSServiceFlags flags) {
  DNSServiceRef ref;
  TXTRecordRef text;
  TXTRecordCreate(&text, 0, NULL);
  for (int i = 5; i < count; i++) {
    char *value = strchr(words[i], '=');
    if (value) *value++ = 0;
    check("text", TXTRecordSetValue(&text, words[i], value ? strlen(value) : 0, value));
  }
  check(
      "register", DNSServiceRegister(
                      &ref, flags, 0, strcmp(words[2], "-") ? words[2] : NULL, words[3], NULL,
                      NULL, htons(count > 4 ? atoi(words[4]) : 9), TXTRecordGetLength(&text),
                      TXTRecordGetBytesPtr(&text), registered, NULL));
  TXTRecordDeallocate(&text);
  return ref;
}

int main(int count, char **words) {
  DNSServiceRef ref;
  const char *command = count > 1 ? words[1] : "";
  if (!strcmp(command, "register") && count > 4) {
    ref = publish(count, words, 0);
  } else if (!strcmp(command, "insist") && count > 4) {
    ref = publish(count, words, kDNSServiceFlagsNoAutoRename);
  } else if (!strcmp(command, "browse") && count > 2) {
    check("browse", DNSServiceBrowse(&ref, 0, 0, words[2], NULL, browsed, NULL));
  } else if (!strcmp(command, "resolve") && count > 3) {
    check("resolve", DNSServiceResolve(&ref, 0, 0, words[2], words[3], "local.", resolved, NULL));
  } else if (!strcmp(command, "addresses") && count > 2) {
    check(
        "addresses", DNSServiceGetAddrInfo(
                         &ref, kDNSServiceFlagsReturnIntermediates, 0,
                         count > 3 ? atoi(words[3]) : 0, words[2], found, NULL));
  } else if (!strcmp(command, "query") && count > 3) {
    check(
        "query", DNSServiceQueryRecord(
                     &ref, kDNSServiceFlagsForceMulticast, 0, words[2], atoi(words[3]),
                     kDNSServiceClass_IN, told, NULL));
  } else if (!strcmp(command, "domains")) {
    check(
        "domains",
        DNSServiceEnumerateDomains(&ref, kDNSServiceFlagsBrowseDomains, 0, domain, NULL));
  } else if (!strcmp(command, "proxy") && count > 3) {
    DNSRecordRef record;
    struct in_addr address;
    inet_pton(AF_INET, words[3], &address);
    check("connection", DNSServiceCreateConnection(&ref));
    check(
        "record", DNSServiceRegisterRecord(
                      ref, &record, kDNSServiceFlagsUnique | kDNSServiceFlagsQueueRequest, 0,
                      words[2], kDNSServiceType_A, kDNSServiceClass_IN, 4, &address, 240,
                      recorded, NULL));
    check("send", DNSServiceSendQueuedRequests(ref));
  } else if (!strcmp(command, "extra") && count > 3) {
    DNSRecordRef record;
    ref = publish(count, words, 0);
    check("add", DNSServiceAddRecord(ref, &record, 0, kDNSServiceType_NULL, 2, "\1\2", 0));
    serve(ref, 1);
    if (getchar() == EOF) return 0;
    check("update", DNSServiceUpdateRecord(ref, record, 0, 1, "\3", 0));
    if (getchar() == EOF) return 0;
    check("remove", DNSServiceRemoveRecord(ref, record, 0));
  } else {
    fprintf(stderr, "There is no such command.\n");
    return 2;
  }
  serve(ref, -1);
}
