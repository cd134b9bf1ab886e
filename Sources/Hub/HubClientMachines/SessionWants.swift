import BluetoothInterface
import BluetoothWire
import Essentials
import HubWire

/// What a session wants of the radio beyond a connection with the hub: asked for again when a hub is back, as a
/// host in the process does when its radio is.
struct SessionWants: Sendable {
  var scan: ScanOptions?
  /// The advertising that is on the air.
  var advertising: AdvertisingOptions? { didSet { advertisingVersion += 1 } }
  /// Changes with it.
  private(set) var advertisingVersion: UInt64 = 0
  /// Requested links, also those that are up.
  var links: [DeviceAddress: ConnectOptions] = [:]
  var agent: SMPIOCapability?
  /// Nil if the client doesn't attend all pairings of the hub.
  var attendance: Attendance?
  var outOfBandData: [DeviceAddress: OutOfBandData] = [:]
  /// By PSM, whether a link must be encrypted.
  var channels: [UInt16: Bool] = [:]
  var services = ServiceHandles()

  struct Attendance: Hashable, Sendable {
    /// The client's token of its request; nil if its former process made it.
    var token: RequestToken?
  }

  /// Counts `startAdvertising` and `stopAdvertising`: the start that is completed may be out of date.
  private(set) var advertisingChangeCount: UInt64 = 0
  /// Counts `removeAllServices`.
  private(set) var removalCount: UInt64 = 0
  /// The counts at the last withdrawal, which the client has not requested.
  private var withdrawn: (advertisingChangeCount: UInt64, removalCount: UInt64) = (0, 0)

  /// Whether the client wants nothing that has events. An agent and out-of-band data are for links.
  var isEmpty: Bool {
    scan == nil && advertising == nil && links.isEmpty && channels.isEmpty
      && services.services.isEmpty
  }

  /// Notes a request when it is sent, or would be if there were a hub.
  mutating func record(_ request: HostRequest) {
    switch request {
    case .startScan(let options): scan = options
    case .stopScan: scan = nil
    case .startAdvertising: advertisingChangeCount += 1
    case .stopAdvertising:
      advertising = nil
      advertisingChangeCount += 1
    case .connect(let peer, let options): links[peer] = options
    case .disconnect(let peer): links[peer] = nil
    case .setPairingAgent(let capability): agent = capability
    case .removeService(let handle): services.remove(handle)
    case .removeAllServices:
      services.removeAll()
      removalCount += 1
    case .unpublishChannel(let psm): channels[psm] = nil
    default: break
    }
  }

  /// Forgets services and advertising when the client is reset, and its requests for them that are under way. Returns the
  /// requests that withdraw them in the hub.
  mutating func withdraw() -> [HostRequest] {
    let requests: [HostRequest] = [.stopAdvertising, .removeAllServices]
    for request in requests { record(request) }
    withdrawn = (advertisingChangeCount, removalCount)
    return requests
  }

  /// Whether advertising that was requested after this number of changes was withdrawn since.
  func isWithdrawn(advertisingChangeCount count: UInt64) -> Bool {
    count < withdrawn.advertisingChangeCount
  }

  /// Whether a service that was requested after this number of removals was withdrawn since.
  func isWithdrawn(removalCount count: UInt64) -> Bool { count < withdrawn.removalCount }
}

/// A request with a token that the hub has not completed.
struct PendingRequest: Sendable {
  enum Kind: Sendable {
    case other
    /// Answered at once by every host.
    case barrier
    /// Counts changes of the advertising up to this one.
    case advertising(AdvertisingOptions, changeCount: UInt64)
    case service(ServiceDefinition, removalCount: UInt64)
    case channel(requiresEncryption: Bool)
    case outOfBandData(DeviceAddress, OutOfBandData?)
    /// The library's own, after the hub has come back.
    case restoringAdvertising(version: UInt64)
    case restoringService(UInt16, removalCount: UInt64)
    case restoringChannel(psm: UInt16)
    case restoringOutOfBandData(DeviceAddress)
    case attendance
  }

  /// The client's token; nil for a request of the library.
  var token: RequestToken?
  var kind: Kind
}

/// What a session has the machine do.
struct SessionOutputs: Sendable {
  /// Events for the client, in order.
  var events: [HostEvent] = []
  /// Requests for the hub, in order.
  var requests: [HostRequest] = []
  /// What a hub doesn't do, or couldn't be restored after its restart; one sentence for each.
  var losses: [String] = []
  /// The pause after which the session requests again what the hub has refused; nil if none begins.
  var retryPause: TimeSpan?
  /// The hub's answer to the opening; it precedes the events.
  var attachment: SessionAttachment?
}
