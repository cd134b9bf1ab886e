// Table
// The errors of DNS Service Discovery, with the names and numbers that Apple's dns_sd.h gives them.

/// No error.
public let kDNSServiceErr_NoError = 0
/// An unknown error.
public let kDNSServiceErr_Unknown = -65_537
/// The name does not exist.
public let kDNSServiceErr_NoSuchName = -65_538
/// Out of memory.
public let kDNSServiceErr_NoMemory = -65_539
/// An argument, such as a name, type or domain, is not valid.
public let kDNSServiceErr_BadParam = -65_540
/// The reference does not exist.
public let kDNSServiceErr_BadReference = -65_541
/// The operation is not possible in this state.
public let kDNSServiceErr_BadState = -65_542
/// The flags are not valid.
public let kDNSServiceErr_BadFlags = -65_543
/// The operation is not supported.
public let kDNSServiceErr_Unsupported = -65_544
/// The reference is not initialized.
public let kDNSServiceErr_NotInitialized = -65_545
/// The service or record is already registered.
public let kDNSServiceErr_AlreadyRegistered = -65_547
/// Another service has the name.
public let kDNSServiceErr_NameConflict = -65_548
/// A value is not valid.
public let kDNSServiceErr_Invalid = -65_549
/// A firewall prevents the operation.
public let kDNSServiceErr_Firewall = -65_550
/// The client library is incompatible with the daemon.
public let kDNSServiceErr_Incompatible = -65_551
/// The interface does not exist.
public let kDNSServiceErr_BadInterfaceIndex = -65_552
/// The request was refused.
public let kDNSServiceErr_Refused = -65_553
/// The record does not exist.
public let kDNSServiceErr_NoSuchRecord = -65_554
/// The app is not authorized.
public let kDNSServiceErr_NoAuth = -65_555
/// The key does not exist.
public let kDNSServiceErr_NoSuchKey = -65_556
/// NAT traversal failed.
public let kDNSServiceErr_NATTraversal = -65_557
/// There are two NAT routers in a row.
public let kDNSServiceErr_DoubleNAT = -65_558
/// The clocks differ too much.
public let kDNSServiceErr_BadTime = -65_559
/// A signature is not valid.
public let kDNSServiceErr_BadSig = -65_560
/// A key is not valid.
public let kDNSServiceErr_BadKey = -65_561
/// A transient error.
public let kDNSServiceErr_Transient = -65_562
/// No Multicast DNS service is running.
public let kDNSServiceErr_ServiceNotRunning = -65_563
/// The router doesn't support port mapping.
public let kDNSServiceErr_NATPortMappingUnsupported = -65_564
/// Port mapping is disabled in the router.
public let kDNSServiceErr_NATPortMappingDisabled = -65_565
/// No router is configured.
public let kDNSServiceErr_NoRouter = -65_566
/// The server must be polled for changes.
public let kDNSServiceErr_PollingMode = -65_567
/// The operation timed out.
public let kDNSServiceErr_Timeout = -65_568
/// The connection to the daemon is lost.
public let kDNSServiceErr_DefunctConnection = -65_569
/// A policy forbids the operation.
public let kDNSServiceErr_PolicyDenied = -65_570
/// The operation is not permitted.
public let kDNSServiceErr_NotPermitted = -65_571
/// The data is stale.
public let kDNSServiceErr_StaleData = -65_572

/// What the errors are called.
enum DNSServiceErrorName {
  static func text(_ code: DNSServiceErrorType) -> String { names[Int(code)] ?? "Unknown" }

  private static let names: [Int: String] = [
    kDNSServiceErr_NoError: "NoError",
    kDNSServiceErr_Unknown: "Unknown",
    kDNSServiceErr_NoSuchName: "NoSuchName",
    kDNSServiceErr_NoMemory: "NoMemory",
    kDNSServiceErr_BadParam: "BadParam",
    kDNSServiceErr_BadReference: "BadReference",
    kDNSServiceErr_BadState: "BadState",
    kDNSServiceErr_BadFlags: "BadFlags",
    kDNSServiceErr_Unsupported: "Unsupported",
    kDNSServiceErr_NotInitialized: "NotInitialized",
    kDNSServiceErr_AlreadyRegistered: "AlreadyRegistered",
    kDNSServiceErr_NameConflict: "NameConflict",
    kDNSServiceErr_Invalid: "Invalid",
    kDNSServiceErr_Firewall: "Firewall",
    kDNSServiceErr_Incompatible: "Incompatible",
    kDNSServiceErr_BadInterfaceIndex: "BadInterfaceIndex",
    kDNSServiceErr_Refused: "Refused",
    kDNSServiceErr_NoSuchRecord: "NoSuchRecord",
    kDNSServiceErr_NoAuth: "NoAuth",
    kDNSServiceErr_NoSuchKey: "NoSuchKey",
    kDNSServiceErr_NATTraversal: "NATTraversal",
    kDNSServiceErr_DoubleNAT: "DoubleNAT",
    kDNSServiceErr_BadTime: "BadTime",
    kDNSServiceErr_BadSig: "BadSig",
    kDNSServiceErr_BadKey: "BadKey",
    kDNSServiceErr_Transient: "Transient",
    kDNSServiceErr_ServiceNotRunning: "ServiceNotRunning",
    kDNSServiceErr_NATPortMappingUnsupported: "NATPortMappingUnsupported",
    kDNSServiceErr_NATPortMappingDisabled: "NATPortMappingDisabled",
    kDNSServiceErr_NoRouter: "NoRouter",
    kDNSServiceErr_PollingMode: "PollingMode",
    kDNSServiceErr_Timeout: "Timeout",
    kDNSServiceErr_DefunctConnection: "DefunctConnection",
    kDNSServiceErr_PolicyDenied: "PolicyDenied",
    kDNSServiceErr_NotPermitted: "NotPermitted",
    kDNSServiceErr_StaleData: "StaleData",
  ]
}
