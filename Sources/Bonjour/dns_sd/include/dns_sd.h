/* Finding and publishing services with the functions of Apple's DNS Service Discovery, on Linux.
 *
 * Names, types and values are Apple's, so that programs need not be changed nor compiled anew; the
 * words are Ambit's. docs/dns_sd.md says what is not supported.
 *
 * Strings are UTF-8. Names of domains come with their dot at the end and may be given without it.
 * Ports are in network byte order. A function that starts something gives a DNSServiceRef; its
 * callback is called by DNSServiceProcessResult, on the caller's thread, or on the queue of
 * DNSServiceSetDispatchQueue, until DNSServiceRefDeallocate. Strings and data handed to a callback
 * are valid until it returns. All functions may be called from any thread and from callbacks.
 */

#ifndef _DNS_SD_H
#define _DNS_SD_H 16610000
/* Versions up to here are x * 10000 + y * 100 + z, later ones x * 1000000 + y * 1000 + z. */
#define DNS_SD_ORIGINAL_ENCODING_VERSION_NUMBER_MAX 16610000

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define DNSSD_API
#define DNSSD_EXPORT __attribute__((visibility("default")))

typedef int dnssd_sock_t;

/* An operation: a query, a registration, or a connection that others share. */
typedef struct _DNSServiceRef_t *DNSServiceRef;
/* One record of a registration or a connection. Ends with it. */
typedef struct _DNSRecordRef_t *DNSRecordRef;

typedef uint32_t DNSServiceFlags;
typedef uint32_t DNSServiceProtocol;
typedef int32_t DNSServiceErrorType;

/* ---- Flags ---- */

/* The last ones are larger than an int. */
__extension__ enum {
  /* To callbacks: more comes at once. */
  kDNSServiceFlagsMoreComing = 0x1,
  /* To DNSServiceRegisterRecord: wait for DNSServiceSendQueuedRequests. */
  kDNSServiceFlagsQueueRequest = 0x1,
  kDNSServiceFlagsAutoTrigger = 0x1,
  /* To callbacks: it is there now; without, it is no longer. */
  kDNSServiceFlagsAdd = 0x2,
  /* To callbacks of DNSServiceEnumerateDomains: the domain to take if there is no choice. */
  kDNSServiceFlagsDefault = 0x4,
  /* Where another host has the name: an error, and not another name. */
  kDNSServiceFlagsNoAutoRename = 0x8,
  /* Others may have records of the name and type. */
  kDNSServiceFlagsShared = 0x10,
  /* Only this host may have it: the name is probed. */
  kDNSServiceFlagsUnique = 0x20,
  kDNSServiceFlagsBrowseDomains = 0x40,
  kDNSServiceFlagsRegistrationDomains = 0x80,
  kDNSServiceFlagsLongLivedQuery = 0x100,
  kDNSServiceFlagsAllowRemoteQuery = 0x200,
  /* Ask by multicast for names outside of local., too. */
  kDNSServiceFlagsForceMulticast = 0x400,
  kDNSServiceFlagsForce = 0x800,
  /* Only this host may have it, as the caller knows already: the name is not probed. */
  kDNSServiceFlagsKnownUnique = 0x800,
  /* Also report that there is no such record. */
  kDNSServiceFlagsReturnIntermediates = 0x1000,
  /* The reference that is passed in holds a connection to share. */
  kDNSServiceFlagsShareConnection = 0x4000,
  kDNSServiceFlagsSuppressUnusable = 0x8000,
  /* End the query after 30 seconds with kDNSServiceErr_Timeout. */
  kDNSServiceFlagsTimeout = 0x10000,
  kDNSServiceFlagsIncludeP2P = 0x20000,
  kDNSServiceFlagsWakeOnResolve = 0x40000,
  kDNSServiceFlagsBackgroundTrafficClass = 0x80000,
  kDNSServiceFlagsIncludeAWDL = 0x100000,
  kDNSServiceFlagsEnableDNSSEC = 0x200000,
  kDNSServiceFlagsValidate = 0x200000,
  kDNSServiceFlagsSecure = 0x200010,
  kDNSServiceFlagsInsecure = 0x200020,
  kDNSServiceFlagsBogus = 0x200040,
  kDNSServiceFlagsIndeterminate = 0x200080,
  kDNSServiceFlagsUnicastResponse = 0x400000,
  kDNSServiceFlagsValidateOptional = 0x800000,
  kDNSServiceFlagsWakeOnlyService = 0x1000000,
  kDNSServiceFlagsThresholdOne = 0x2000000,
  kDNSServiceFlagsThresholdFinder = 0x4000000,
  kDNSServiceFlagsThresholdReached = kDNSServiceFlagsThresholdOne,
  kDNSServiceFlagsPrivateOne = 0x2000,
  kDNSServiceFlagsPrivateTwo = 0x8000000,
  kDNSServiceFlagsPrivateThree = 0x10000000,
  kDNSServiceFlagsPrivateFour = 0x20000000,
  kDNSServiceFlagsPrivateFive = 0x40000000,
  /* To callbacks of DNSServiceQueryRecord and DNSServiceGetAddrInfo: it was known already. */
  kDNSServiceFlagAnsweredFromCache = 0x40000000,
  kDNSServiceFlagsAllowExpiredAnswers = 0x80000000,
  kDNSServiceFlagsExpiredAnswer = 0x80000000
};

#define kDNSServiceOutputFlags                                                       \
  (kDNSServiceFlagsValidate | kDNSServiceFlagsValidateOptional |                     \
   kDNSServiceFlagsMoreComing | kDNSServiceFlagsAdd | kDNSServiceFlagsDefault)

/* ---- Errors ---- */

enum {
  kDNSServiceErr_NoError = 0,
  kDNSServiceErr_Unknown = -65537,
  kDNSServiceErr_NoSuchName = -65538,
  kDNSServiceErr_NoMemory = -65539,
  kDNSServiceErr_BadParam = -65540,
  kDNSServiceErr_BadReference = -65541,
  kDNSServiceErr_BadState = -65542,
  kDNSServiceErr_BadFlags = -65543,
  kDNSServiceErr_Unsupported = -65544,
  kDNSServiceErr_NotInitialized = -65545,
  kDNSServiceErr_AlreadyRegistered = -65547,
  kDNSServiceErr_NameConflict = -65548,
  kDNSServiceErr_Invalid = -65549,
  kDNSServiceErr_Firewall = -65550,
  kDNSServiceErr_Incompatible = -65551,
  kDNSServiceErr_BadInterfaceIndex = -65552,
  kDNSServiceErr_Refused = -65553,
  kDNSServiceErr_NoSuchRecord = -65554,
  kDNSServiceErr_NoAuth = -65555,
  kDNSServiceErr_NoSuchKey = -65556,
  kDNSServiceErr_NATTraversal = -65557,
  kDNSServiceErr_DoubleNAT = -65558,
  kDNSServiceErr_BadTime = -65559,
  kDNSServiceErr_BadSig = -65560,
  kDNSServiceErr_BadKey = -65561,
  kDNSServiceErr_Transient = -65562,
  kDNSServiceErr_ServiceNotRunning = -65563,
  kDNSServiceErr_NATPortMappingUnsupported = -65564,
  kDNSServiceErr_NATPortMappingDisabled = -65565,
  kDNSServiceErr_NoRouter = -65566,
  kDNSServiceErr_PollingMode = -65567,
  kDNSServiceErr_Timeout = -65568,
  kDNSServiceErr_DefunctConnection = -65569,
  kDNSServiceErr_PolicyDenied = -65570,
  kDNSServiceErr_NotPermitted = -65571,
  kDNSServiceErr_StaleData = -65572
};

/* ---- Numbers ---- */

enum {
  kDNSServiceProtocol_IPv4 = 0x01,
  kDNSServiceProtocol_IPv6 = 0x02,
  kDNSServiceProtocol_UDP = 0x10,
  kDNSServiceProtocol_TCP = 0x20
};

enum { kDNSServiceClass_IN = 1 };

enum {
  kDNSServiceType_A = 1,
  kDNSServiceType_NS = 2,
  kDNSServiceType_MD = 3,
  kDNSServiceType_MF = 4,
  kDNSServiceType_CNAME = 5,
  kDNSServiceType_SOA = 6,
  kDNSServiceType_MB = 7,
  kDNSServiceType_MG = 8,
  kDNSServiceType_MR = 9,
  kDNSServiceType_NULL = 10,
  kDNSServiceType_WKS = 11,
  kDNSServiceType_PTR = 12,
  kDNSServiceType_HINFO = 13,
  kDNSServiceType_MINFO = 14,
  kDNSServiceType_MX = 15,
  kDNSServiceType_TXT = 16,
  kDNSServiceType_RP = 17,
  kDNSServiceType_AFSDB = 18,
  kDNSServiceType_X25 = 19,
  kDNSServiceType_ISDN = 20,
  kDNSServiceType_RT = 21,
  kDNSServiceType_NSAP = 22,
  kDNSServiceType_NSAP_PTR = 23,
  kDNSServiceType_SIG = 24,
  kDNSServiceType_KEY = 25,
  kDNSServiceType_PX = 26,
  kDNSServiceType_GPOS = 27,
  kDNSServiceType_AAAA = 28,
  kDNSServiceType_LOC = 29,
  kDNSServiceType_NXT = 30,
  kDNSServiceType_EID = 31,
  kDNSServiceType_NIMLOC = 32,
  kDNSServiceType_SRV = 33,
  kDNSServiceType_ATMA = 34,
  kDNSServiceType_NAPTR = 35,
  kDNSServiceType_KX = 36,
  kDNSServiceType_CERT = 37,
  kDNSServiceType_A6 = 38,
  kDNSServiceType_DNAME = 39,
  kDNSServiceType_SINK = 40,
  kDNSServiceType_OPT = 41,
  kDNSServiceType_APL = 42,
  kDNSServiceType_DS = 43,
  kDNSServiceType_SSHFP = 44,
  kDNSServiceType_IPSECKEY = 45,
  kDNSServiceType_RRSIG = 46,
  kDNSServiceType_NSEC = 47,
  kDNSServiceType_DNSKEY = 48,
  kDNSServiceType_DHCID = 49,
  kDNSServiceType_NSEC3 = 50,
  kDNSServiceType_NSEC3PARAM = 51,
  kDNSServiceType_HIP = 55,
  kDNSServiceType_SVCB = 64,
  kDNSServiceType_HTTPS = 65,
  kDNSServiceType_SPF = 99,
  kDNSServiceType_UINFO = 100,
  kDNSServiceType_UID = 101,
  kDNSServiceType_GID = 102,
  kDNSServiceType_UNSPEC = 103,
  kDNSServiceType_TKEY = 249,
  kDNSServiceType_TSIG = 250,
  kDNSServiceType_IXFR = 251,
  kDNSServiceType_AXFR = 252,
  kDNSServiceType_MAILB = 253,
  kDNSServiceType_MAILA = 254,
  kDNSServiceType_ANY = 255
};

/* The longest name of a service with its zero, and of a domain with escapes and its zero. */
#define kDNSServiceMaxServiceName 64
#define kDNSServiceMaxDomainName 1009

#define kDNSServiceInterfaceIndexAny 0
#define kDNSServiceInterfaceIndexLocalOnly 0xFFFFFFFFu
#define kDNSServiceInterfaceIndexUnicast 0xFFFFFFFEu
#define kDNSServiceInterfaceIndexP2P 0xFFFFFFFDu
#define kDNSServiceInterfaceIndexBLE 0xFFFFFFFCu
#define kDNSServiceInterfaceIndexInfra 0xFFFFFFFBu

#define kDNSServiceProperty_DaemonVersion "DaemonVersion"

/* ---- References ---- */

/* The value of a property: for DaemonVersion a uint32_t, the _DNS_SD_H of the one who answers. */
DNSSD_EXPORT DNSServiceErrorType DNSSD_API DNSServiceGetProperty(
    const char *property, void *result, uint32_t *size);

/* A descriptor to wait on: readable while DNSServiceProcessResult has results. -1 if the
 * reference is not valid. Neither to be read nor to be closed. */
DNSSD_EXPORT dnssd_sock_t DNSSD_API DNSServiceRefSockFD(DNSServiceRef sdRef);

/* Calls callbacks with all pending results; waits if there is none. */
DNSSD_EXPORT DNSServiceErrorType DNSSD_API DNSServiceProcessResult(DNSServiceRef sdRef);

/* Ends the operation. No callback begins afterwards, but for one that another thread is about to
 * call: where callbacks are called, in one of them included, there is none. */
DNSSD_EXPORT void DNSSD_API DNSServiceRefDeallocate(DNSServiceRef sdRef);

/* ---- Domains ---- */

typedef void(DNSSD_API *DNSServiceDomainEnumReply)(
    DNSServiceRef sdRef, DNSServiceFlags flags, uint32_t interfaceIndex,
    DNSServiceErrorType errorCode, const char *replyDomain, void *context);

/* The domains to browse or to register in: one of kDNSServiceFlagsBrowseDomains and
 * kDNSServiceFlagsRegistrationDomains. */
DNSSD_EXPORT DNSServiceErrorType DNSSD_API DNSServiceEnumerateDomains(
    DNSServiceRef *sdRef, DNSServiceFlags flags, uint32_t interfaceIndex,
    DNSServiceDomainEnumReply callBack, void *context);

/* ---- Registering ---- */

typedef void(DNSSD_API *DNSServiceRegisterReply)(
    DNSServiceRef sdRef, DNSServiceFlags flags, DNSServiceErrorType errorCode, const char *name,
    const char *regtype, const char *domain, void *context);

/* Publishes a service. `name` may be NULL for the host's name, `regtype` is "_http._tcp", with
 * subtypes behind commas; `host` is NULL for this host; with `port` 0 the name is only held, and not
 * found by browsing; `callBack` may be NULL. */
DNSSD_EXPORT DNSServiceErrorType DNSSD_API DNSServiceRegister(
    DNSServiceRef *sdRef, DNSServiceFlags flags, uint32_t interfaceIndex, const char *name,
    const char *regtype, const char *domain, const char *host, uint16_t port, uint16_t txtLen,
    const void *txtRecord, DNSServiceRegisterReply callBack, void *context);

/* Gives a registered service one more record of its name. */
DNSSD_EXPORT DNSServiceErrorType DNSSD_API DNSServiceAddRecord(
    DNSServiceRef sdRef, DNSRecordRef *RecordRef, DNSServiceFlags flags, uint16_t rrtype,
    uint16_t rdlen, const void *rdata, uint32_t ttl);

/* Changes a record's data, or a service's text where `recordRef` is NULL. */
DNSSD_EXPORT DNSServiceErrorType DNSSD_API DNSServiceUpdateRecord(
    DNSServiceRef sdRef, DNSRecordRef recordRef, DNSServiceFlags flags, uint16_t rdlen,
    const void *rdata, uint32_t ttl);

/* Unregisters a record. */
DNSSD_EXPORT DNSServiceErrorType DNSSD_API DNSServiceRemoveRecord(
    DNSServiceRef sdRef, DNSRecordRef RecordRef, DNSServiceFlags flags);

/* ---- Finding ---- */

typedef void(DNSSD_API *DNSServiceBrowseReply)(
    DNSServiceRef sdRef, DNSServiceFlags flags, uint32_t interfaceIndex,
    DNSServiceErrorType errorCode, const char *serviceName, const char *regtype,
    const char *replyDomain, void *context);

/* Services of a type, such as "_http._tcp", or of a subtype, such as "_http._tcp,_printer". */
DNSSD_EXPORT DNSServiceErrorType DNSSD_API DNSServiceBrowse(
    DNSServiceRef *sdRef, DNSServiceFlags flags, uint32_t interfaceIndex, const char *regtype,
    const char *domain, DNSServiceBrowseReply callBack, void *context);

typedef void(DNSSD_API *DNSServiceResolveReply)(
    DNSServiceRef sdRef, DNSServiceFlags flags, uint32_t interfaceIndex,
    DNSServiceErrorType errorCode, const char *fullname, const char *hosttarget, uint16_t port,
    uint16_t txtLen, const unsigned char *txtRecord, void *context);

/* Host, port and text of a service, and again whenever they change. */
DNSSD_EXPORT DNSServiceErrorType DNSSD_API DNSServiceResolve(
    DNSServiceRef *sdRef, DNSServiceFlags flags, uint32_t interfaceIndex, const char *name,
    const char *regtype, const char *domain, DNSServiceResolveReply callBack, void *context);

typedef void(DNSSD_API *DNSServiceQueryRecordReply)(
    DNSServiceRef sdRef, DNSServiceFlags flags, uint32_t interfaceIndex,
    DNSServiceErrorType errorCode, const char *fullname, uint16_t rrtype, uint16_t rrclass,
    uint16_t rdlen, const void *rdata, uint32_t ttl, void *context);

/* The records of a name. */
DNSSD_EXPORT DNSServiceErrorType DNSSD_API DNSServiceQueryRecord(
    DNSServiceRef *sdRef, DNSServiceFlags flags, uint32_t interfaceIndex, const char *fullname,
    uint16_t rrtype, uint16_t rrclass, DNSServiceQueryRecordReply callBack, void *context);

struct sockaddr;

typedef void(DNSSD_API *DNSServiceGetAddrInfoReply)(
    DNSServiceRef sdRef, DNSServiceFlags flags, uint32_t interfaceIndex,
    DNSServiceErrorType errorCode, const char *hostname, const struct sockaddr *address,
    uint32_t ttl, void *context);

/* The addresses of a host, of the versions of IP in `protocol`; 0 for both. */
DNSSD_EXPORT DNSServiceErrorType DNSSD_API DNSServiceGetAddrInfo(
    DNSServiceRef *sdRef, DNSServiceFlags flags, uint32_t interfaceIndex,
    DNSServiceProtocol protocol, const char *hostname, DNSServiceGetAddrInfoReply callBack,
    void *context);

/* ---- Connections and single records ---- */

/* A connection to share: pass it in with kDNSServiceFlagsShareConnection, or register records. Ends
 * with everything that shares it. */
DNSSD_EXPORT DNSServiceErrorType DNSSD_API DNSServiceCreateConnection(DNSServiceRef *sdRef);

typedef void(DNSSD_API *DNSServiceRegisterRecordReply)(
    DNSServiceRef sdRef, DNSRecordRef RecordRef, DNSServiceFlags flags,
    DNSServiceErrorType errorCode, void *context);

/* Publishes a record: one of kDNSServiceFlagsShared, kDNSServiceFlagsUnique and
 * kDNSServiceFlagsKnownUnique says who else may have records of the name. */
DNSSD_EXPORT DNSServiceErrorType DNSSD_API DNSServiceRegisterRecord(
    DNSServiceRef sdRef, DNSRecordRef *RecordRef, DNSServiceFlags flags, uint32_t interfaceIndex,
    const char *fullname, uint16_t rrtype, uint16_t rrclass, uint16_t rdlen, const void *rdata,
    uint32_t ttl, DNSServiceRegisterRecordReply callBack, void *context);

/* Registers what was queued on a connection with kDNSServiceFlagsQueueRequest. */
DNSSD_EXPORT DNSServiceErrorType DNSSD_API DNSServiceSendQueuedRequests(DNSServiceRef sdRef);

/* Says that a record seems to be out of date: it is asked for again. */
DNSSD_EXPORT DNSServiceErrorType DNSSD_API DNSServiceReconfirmRecord(
    DNSServiceFlags flags, uint32_t interfaceIndex, const char *fullname, uint16_t rrtype,
    uint16_t rrclass, uint16_t rdlen, const void *rdata);

struct dispatch_queue_s;

/* Has the callbacks called on a queue (a dispatch_queue_t) instead of by DNSServiceProcessResult. */
DNSSD_EXPORT DNSServiceErrorType DNSSD_API DNSServiceSetDispatchQueue(
    DNSServiceRef service, struct dispatch_queue_s *queue);

/* ---- Not supported: give kDNSServiceErr_Unsupported ---- */

typedef void(DNSSD_API *DNSServiceNATPortMappingReply)(
    DNSServiceRef sdRef, DNSServiceFlags flags, uint32_t interfaceIndex,
    DNSServiceErrorType errorCode, uint32_t externalAddress, DNSServiceProtocol protocol,
    uint16_t internalPort, uint16_t externalPort, uint32_t ttl, void *context);

DNSSD_EXPORT DNSServiceErrorType DNSSD_API DNSServiceNATPortMappingCreate(
    DNSServiceRef *sdRef, DNSServiceFlags flags, uint32_t interfaceIndex,
    DNSServiceProtocol protocol, uint16_t internalPort, uint16_t externalPort, uint32_t ttl,
    DNSServiceNATPortMappingReply callBack, void *context);

typedef void(DNSSD_API *DNSServiceSleepKeepaliveReply)(
    DNSServiceRef sdRef, DNSServiceErrorType errorCode, void *context);

DNSSD_EXPORT DNSServiceErrorType DNSSD_API DNSServiceSleepKeepalive(
    DNSServiceRef *sdRef, DNSServiceFlags flags, int fd, unsigned int timeout,
    DNSServiceSleepKeepaliveReply callBack, void *context);

/* ---- Names ---- */

/* Joins a service's full name, with escapes, into a buffer of kDNSServiceMaxDomainName bytes.
 * `service` may be NULL. */
DNSSD_EXPORT DNSServiceErrorType DNSSD_API DNSServiceConstructFullName(
    char *const fullName, const char *const service, const char *const regtype,
    const char *const domain);

/* ---- TXT records ---- */

/* A record under construction; on the caller's stack. */
typedef union _TXTRecordRef_t {
  char PrivateData[16];
  char *ForceNaturalAlignment;
} TXTRecordRef;

/* Begins an empty record, in a buffer of the caller's while it suffices; NULL is no buffer. */
DNSSD_EXPORT void DNSSD_API TXTRecordCreate(
    TXTRecordRef *txtRecord, uint16_t bufferLen, void *buffer);

DNSSD_EXPORT void DNSSD_API TXTRecordDeallocate(TXTRecordRef *txtRecord);

/* Sets a key; a NULL `value` means that the key stands alone, without "=". */
DNSSD_EXPORT DNSServiceErrorType DNSSD_API TXTRecordSetValue(
    TXTRecordRef *txtRecord, const char *key, uint8_t valueSize, const void *value);

DNSSD_EXPORT DNSServiceErrorType DNSSD_API TXTRecordRemoveValue(
    TXTRecordRef *txtRecord, const char *key);

DNSSD_EXPORT uint16_t DNSSD_API TXTRecordGetLength(const TXTRecordRef *txtRecord);

DNSSD_EXPORT const void *DNSSD_API TXTRecordGetBytesPtr(const TXTRecordRef *txtRecord);

DNSSD_EXPORT int DNSSD_API TXTRecordContainsKey(
    uint16_t txtLen, const void *txtRecord, const char *key);

/* The value of a key, inside the record; NULL where the key is missing or stands alone. */
DNSSD_EXPORT const void *DNSSD_API TXTRecordGetValuePtr(
    uint16_t txtLen, const void *txtRecord, const char *key, uint8_t *valueLen);

DNSSD_EXPORT uint16_t DNSSD_API TXTRecordGetCount(uint16_t txtLen, const void *txtRecord);

DNSSD_EXPORT DNSServiceErrorType DNSSD_API TXTRecordGetItemAtIndex(
    uint16_t txtLen, const void *txtRecord, uint16_t itemIndex, uint16_t keyBufLen, char *key,
    uint8_t *valueLen, const void **value);

/* ---- Attributes: accepted and without effect ---- */

typedef struct _DNSServiceAttribute_t DNSServiceAttribute;
typedef DNSServiceAttribute *DNSServiceAttributeRef;

typedef uint32_t DNSServiceAAAAPolicy;
enum { kDNSServiceAAAAPolicyNone = 0, kDNSServiceAAAAPolicyFallback = 1 };
/* For its address: no attribute, which has the same effect. */
#define kDNSServiceAttributeAAAAFallback (*(const DNSServiceAttribute *)0)

DNSSD_EXPORT DNSServiceAttributeRef DNSSD_API DNSServiceAttributeCreate(void);

DNSSD_EXPORT DNSServiceErrorType DNSSD_API DNSServiceAttributeSetAAAAPolicy(
    DNSServiceAttributeRef attr, DNSServiceAAAAPolicy policy);

DNSSD_EXPORT DNSServiceErrorType DNSSD_API DNSServiceAttributeSetTimestamp(
    DNSServiceAttributeRef attr, uint32_t timestamp);

DNSSD_EXPORT DNSServiceErrorType DNSSD_API DNSServiceAttributeSetHostKeyHash(
    DNSServiceAttributeRef attr, uint32_t hostkeyhash);

DNSSD_EXPORT void DNSSD_API DNSServiceAttributeDeallocate(DNSServiceAttributeRef attr);

DNSSD_EXPORT DNSServiceErrorType DNSSD_API DNSServiceQueryRecordWithAttribute(
    DNSServiceRef *sdRef, DNSServiceFlags flags, uint32_t ifindex, const char *name,
    uint16_t rrtype, uint16_t rrclass, const DNSServiceAttribute *attr,
    DNSServiceQueryRecordReply callback, void *context);

DNSSD_EXPORT DNSServiceErrorType DNSSD_API DNSServiceRegisterWithAttribute(
    DNSServiceRef *sdRef, DNSServiceFlags flags, uint32_t interfaceIndex, const char *name,
    const char *regtype, const char *domain, const char *host, uint16_t portInNetworkByteOrder,
    uint16_t txtLen, const void *txtRecord, const DNSServiceAttributeRef attr,
    DNSServiceRegisterReply callBack, void *context);

DNSSD_EXPORT DNSServiceErrorType DNSSD_API DNSServiceRegisterRecordWithAttribute(
    DNSServiceRef sdRef, DNSRecordRef *recordRef, DNSServiceFlags flags, uint32_t interfaceIndex,
    const char *fullname, uint16_t rrtype, uint16_t rrclass, uint16_t rdlen, const void *rdata,
    uint32_t ttl, const DNSServiceAttributeRef attr, DNSServiceRegisterRecordReply callBack,
    void *context);

DNSSD_EXPORT DNSServiceErrorType DNSSD_API DNSServiceUpdateRecordWithAttribute(
    DNSServiceRef sdRef, DNSRecordRef recordRef, DNSServiceFlags flags, uint16_t rdlen,
    const void *rdata, uint32_t ttl, const DNSServiceAttributeRef attr);

#ifdef __cplusplus
}
#endif

#endif
