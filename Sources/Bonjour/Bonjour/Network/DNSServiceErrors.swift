// Table
// The errors of DNS Service Discovery, with the names and numbers that Apple's dns_sd.h gives them.

/// There is no error.
public let kDNSServiceErr_NoError = 0
/// Something went wrong.
public let kDNSServiceErr_Unknown = -65_537
/// There is no such name.
public let kDNSServiceErr_NoSuchName = -65_538
/// There is no room.
public let kDNSServiceErr_NoMemory = -65_539
/// A name, type or domain can't be one.
public let kDNSServiceErr_BadParam = -65_540
/// The reference does not exist.
public let kDNSServiceErr_BadReference = -65_541
/// Not possible in this state.
public let kDNSServiceErr_BadState = -65_542
/// The flags contradict each other.
public let kDNSServiceErr_BadFlags = -65_543
/// This is not supported.
public let kDNSServiceErr_Unsupported = -65_544
/// It was not set up.
public let kDNSServiceErr_NotInitialized = -65_545
/// It is registered already.
public let kDNSServiceErr_AlreadyRegistered = -65_547
/// Another service has the name.
public let kDNSServiceErr_NameConflict = -65_548
/// It is not valid.
public let kDNSServiceErr_Invalid = -65_549
/// A firewall prevents it.
public let kDNSServiceErr_Firewall = -65_550
/// Library and service don't fit together.
public let kDNSServiceErr_Incompatible = -65_551
/// There is no such interface.
public let kDNSServiceErr_BadInterfaceIndex = -65_552
/// It was refused.
public let kDNSServiceErr_Refused = -65_553
/// There is no such record.
public let kDNSServiceErr_NoSuchRecord = -65_554
/// The app may not do that.
public let kDNSServiceErr_NoAuth = -65_555
/// There is no such key.
public let kDNSServiceErr_NoSuchKey = -65_556
/// The router failed.
public let kDNSServiceErr_NATTraversal = -65_557
/// There is a router behind the router.
public let kDNSServiceErr_DoubleNAT = -65_558
/// The clocks differ.
public let kDNSServiceErr_BadTime = -65_559
/// A signature is wrong.
public let kDNSServiceErr_BadSig = -65_560
/// A key is wrong.
public let kDNSServiceErr_BadKey = -65_561
/// It fails for now.
public let kDNSServiceErr_Transient = -65_562
/// No Multicast DNS service is running.
public let kDNSServiceErr_ServiceNotRunning = -65_563
/// The router maps no ports.
public let kDNSServiceErr_NATPortMappingUnsupported = -65_564
/// The router is configured not to map ports.
public let kDNSServiceErr_NATPortMappingDisabled = -65_565
/// There is no router.
public let kDNSServiceErr_NoRouter = -65_566
/// Changes are polled instead of pushed.
public let kDNSServiceErr_PollingMode = -65_567
/// It took too long.
public let kDNSServiceErr_Timeout = -65_568
/// The connection to the service is dead.
public let kDNSServiceErr_DefunctConnection = -65_569
/// A policy forbids it.
public let kDNSServiceErr_PolicyDenied = -65_570
/// It is not permitted.
public let kDNSServiceErr_NotPermitted = -65_571
/// The data is out of date.
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
