/* Compiles where sizes, types and values are Apple's. Programs were compiled with those. */

#include <dns_sd.h>
#include <stddef.h>

#define VALUE(name, value) _Static_assert((uint32_t)(name) == (uint32_t)(value), #name)

_Static_assert(sizeof(TXTRecordRef) == 16, "the caller has it on the stack");
_Static_assert(_Alignof(TXTRecordRef) == _Alignof(char *), "TXTRecordRef");
_Static_assert(sizeof(DNSServiceFlags) == 4 && (DNSServiceFlags)-1 > 0, "DNSServiceFlags");
_Static_assert(sizeof(DNSServiceErrorType) == 4 && (DNSServiceErrorType)-1 < 0, "an int32_t");
_Static_assert(sizeof(DNSServiceProtocol) == 4, "DNSServiceProtocol");
_Static_assert(sizeof(DNSServiceRef) == sizeof(void *), "DNSServiceRef");
_Static_assert(sizeof(DNSRecordRef) == sizeof(void *), "DNSRecordRef");
_Static_assert(sizeof(kDNSServiceProperty_DaemonVersion) == 14, "\"DaemonVersion\"");

VALUE(kDNSServiceFlagsMoreComing, 0x1);
VALUE(kDNSServiceFlagsQueueRequest, 0x1);
VALUE(kDNSServiceFlagsAutoTrigger, 0x1);
VALUE(kDNSServiceFlagsAdd, 0x2);
VALUE(kDNSServiceFlagsDefault, 0x4);
VALUE(kDNSServiceFlagsNoAutoRename, 0x8);
VALUE(kDNSServiceFlagsShared, 0x10);
VALUE(kDNSServiceFlagsUnique, 0x20);
VALUE(kDNSServiceFlagsBrowseDomains, 0x40);
VALUE(kDNSServiceFlagsRegistrationDomains, 0x80);
VALUE(kDNSServiceFlagsLongLivedQuery, 0x100);
VALUE(kDNSServiceFlagsAllowRemoteQuery, 0x200);
VALUE(kDNSServiceFlagsForceMulticast, 0x400);
VALUE(kDNSServiceFlagsForce, 0x800);
VALUE(kDNSServiceFlagsKnownUnique, 0x800);
VALUE(kDNSServiceFlagsReturnIntermediates, 0x1000);
VALUE(kDNSServiceFlagsShareConnection, 0x4000);
VALUE(kDNSServiceFlagsSuppressUnusable, 0x8000);
VALUE(kDNSServiceFlagsTimeout, 0x10000);
VALUE(kDNSServiceFlagsIncludeP2P, 0x20000);
VALUE(kDNSServiceFlagsWakeOnResolve, 0x40000);
VALUE(kDNSServiceFlagsBackgroundTrafficClass, 0x80000);
VALUE(kDNSServiceFlagsIncludeAWDL, 0x100000);
VALUE(kDNSServiceFlagsEnableDNSSEC, 0x200000);
VALUE(kDNSServiceFlagsValidate, 0x200000);
VALUE(kDNSServiceFlagsSecure, 0x200010);
VALUE(kDNSServiceFlagsInsecure, 0x200020);
VALUE(kDNSServiceFlagsBogus, 0x200040);
VALUE(kDNSServiceFlagsIndeterminate, 0x200080);
VALUE(kDNSServiceFlagsUnicastResponse, 0x400000);
VALUE(kDNSServiceFlagsValidateOptional, 0x800000);
VALUE(kDNSServiceFlagsWakeOnlyService, 0x1000000);
VALUE(kDNSServiceFlagsThresholdOne, 0x2000000);
VALUE(kDNSServiceFlagsThresholdFinder, 0x4000000);
VALUE(kDNSServiceFlagsThresholdReached, 0x2000000);
VALUE(kDNSServiceFlagsPrivateOne, 0x2000);
VALUE(kDNSServiceFlagsPrivateTwo, 0x8000000);
VALUE(kDNSServiceFlagsPrivateThree, 0x10000000);
VALUE(kDNSServiceFlagsPrivateFour, 0x20000000);
VALUE(kDNSServiceFlagsPrivateFive, 0x40000000);
VALUE(kDNSServiceFlagAnsweredFromCache, 0x40000000);
VALUE(DNS_SD_ORIGINAL_ENCODING_VERSION_NUMBER_MAX, 16610000);
VALUE(kDNSServiceFlagsAllowExpiredAnswers, 0x80000000);
VALUE(kDNSServiceFlagsExpiredAnswer, 0x80000000);

VALUE(kDNSServiceErr_NoError, 0);
VALUE(kDNSServiceErr_Unknown, -65537);
VALUE(kDNSServiceErr_NoSuchName, -65538);
VALUE(kDNSServiceErr_NoMemory, -65539);
VALUE(kDNSServiceErr_BadParam, -65540);
VALUE(kDNSServiceErr_BadReference, -65541);
VALUE(kDNSServiceErr_BadState, -65542);
VALUE(kDNSServiceErr_BadFlags, -65543);
VALUE(kDNSServiceErr_Unsupported, -65544);
VALUE(kDNSServiceErr_NotInitialized, -65545);
VALUE(kDNSServiceErr_AlreadyRegistered, -65547);
VALUE(kDNSServiceErr_NameConflict, -65548);
VALUE(kDNSServiceErr_Invalid, -65549);
VALUE(kDNSServiceErr_Firewall, -65550);
VALUE(kDNSServiceErr_Incompatible, -65551);
VALUE(kDNSServiceErr_BadInterfaceIndex, -65552);
VALUE(kDNSServiceErr_Refused, -65553);
VALUE(kDNSServiceErr_NoSuchRecord, -65554);
VALUE(kDNSServiceErr_NoAuth, -65555);
VALUE(kDNSServiceErr_NoSuchKey, -65556);
VALUE(kDNSServiceErr_NATTraversal, -65557);
VALUE(kDNSServiceErr_DoubleNAT, -65558);
VALUE(kDNSServiceErr_BadTime, -65559);
VALUE(kDNSServiceErr_BadSig, -65560);
VALUE(kDNSServiceErr_BadKey, -65561);
VALUE(kDNSServiceErr_Transient, -65562);
VALUE(kDNSServiceErr_ServiceNotRunning, -65563);
VALUE(kDNSServiceErr_NATPortMappingUnsupported, -65564);
VALUE(kDNSServiceErr_NATPortMappingDisabled, -65565);
VALUE(kDNSServiceErr_NoRouter, -65566);
VALUE(kDNSServiceErr_PollingMode, -65567);
VALUE(kDNSServiceErr_Timeout, -65568);
VALUE(kDNSServiceErr_DefunctConnection, -65569);
VALUE(kDNSServiceErr_PolicyDenied, -65570);
VALUE(kDNSServiceErr_NotPermitted, -65571);
VALUE(kDNSServiceErr_StaleData, -65572);

VALUE(kDNSServiceInterfaceIndexAny, 0);
VALUE(kDNSServiceInterfaceIndexLocalOnly, 0xFFFFFFFF);
VALUE(kDNSServiceInterfaceIndexUnicast, 0xFFFFFFFE);
VALUE(kDNSServiceInterfaceIndexP2P, 0xFFFFFFFD);
VALUE(kDNSServiceInterfaceIndexBLE, 0xFFFFFFFC);
VALUE(kDNSServiceInterfaceIndexInfra, 0xFFFFFFFB);

VALUE(kDNSServiceProtocol_IPv4, 1);
VALUE(kDNSServiceProtocol_IPv6, 2);
VALUE(kDNSServiceProtocol_UDP, 0x10);
VALUE(kDNSServiceProtocol_TCP, 0x20);
VALUE(kDNSServiceClass_IN, 1);
VALUE(kDNSServiceType_A, 1);
VALUE(kDNSServiceType_NS, 2);
VALUE(kDNSServiceType_CNAME, 5);
VALUE(kDNSServiceType_SOA, 6);
VALUE(kDNSServiceType_PTR, 12);
VALUE(kDNSServiceType_HINFO, 13);
VALUE(kDNSServiceType_MX, 15);
VALUE(kDNSServiceType_TXT, 16);
VALUE(kDNSServiceType_AAAA, 28);
VALUE(kDNSServiceType_SRV, 33);
VALUE(kDNSServiceType_NAPTR, 35);
VALUE(kDNSServiceType_OPT, 41);
VALUE(kDNSServiceType_DS, 43);
VALUE(kDNSServiceType_RRSIG, 46);
VALUE(kDNSServiceType_NSEC, 47);
VALUE(kDNSServiceType_SVCB, 64);
VALUE(kDNSServiceType_HTTPS, 65);
VALUE(kDNSServiceType_ANY, 255);
VALUE(kDNSServiceMaxServiceName, 64);
VALUE(kDNSServiceMaxDomainName, 1009);

/* Its address is all that programs use of it. */
const DNSServiceAttribute *fallback(void);
const DNSServiceAttribute *fallback(void) { return &kDNSServiceAttributeAAAAFallback; }
