public import BluetoothWire
public import Essentials

/// What a client asks of its host.
///
/// A request with a token is answered by exactly one `HostEvent.completed` with that token, also
/// when the link drops, the radio goes off or the request makes no sense. The others never fail
/// visibly; what they lead to arrives as events.
///
/// Scans, advertisements, connections and services of a client outlive the radio: they are resumed
/// when a radio that was reset, unplugged or switched off is back, until the client cancels them.
/// Links and operations end with errors before the new state is reported.
public enum HostRequest: Sendable {
  // Observing and advertising.
  /// Starts this client's scan, or replaces its filter and options.
  case startScan(ScanOptions)
  /// Ends this client's scan; the radio goes on scanning for the others.
  case stopScan
  /// Advertises for this client until stopped.
  case startAdvertising(AdvertisingOptions, RequestToken)
  /// Ends this client's advertising.
  case stopAdvertising

  // Links.
  /// Wants a link to the peer, and goes on wanting it until it stands or `disconnect` is asked.
  case connect(DeviceAddress, ConnectOptions)
  /// Gives up this client's interest in the link; it drops when no client holds it any more.
  case disconnect(DeviceAddress)
  /// Reads the strength of the link.
  case readRSSI(DeviceAddress, RequestToken)
  /// Asks for other connection parameters; in the peripheral role by asking the central.
  case updateParameters(DeviceAddress, ConnectionParameters, RequestToken)
  /// Asks for the fastest of these PHYs that the peer wants, too, for each direction; nil: any. Completed
  /// when the controller has taken it; what comes of it is in `linkUpdated`. A central whose peer knows LE
  /// 2M asks for that by itself.
  case setPHY(DeviceAddress, PHYPreference, RequestToken)
  /// Asks for a part of the connection events to be used (Core 5.4, Vol 6, Part B, §4.5.1): an idle link
  /// then costs little and is still quick to wake. Completed when the controller has taken it; what comes
  /// of it is in `linkUpdated`. Fails with `HostError.unsupported` for a controller without subrating.
  case setSubrate(DeviceAddress, SubrateRequest, RequestToken)

  // Security.
  /// Encrypts the link to a peer: with the keys of the bond, or by pairing. Needs a link, which need
  /// not be this client's. Also without a request, what a peer refuses for want of encryption leads
  /// to pairing. Fails with `HostError.security`.
  case pair(DeviceAddress, RequestToken)
  /// Makes this client the one that answers prompts, with what it can show and let people enter;
  /// nil: no longer. Of several the last one counts. Without any, pairing is by Just Works.
  case setPairingAgent(SMPIOCapability?)
  /// Answers a prompt; ignored where it isn't the latest of a pairing that goes on.
  case answerPairing(PairingPromptID, PairingAnswer)
  /// Makes this host's out-of-band data for its next pairing, in `HostReply.outOfBandData`; what was
  /// made before holds no longer. It is spent by a pairing whose peer was told. Fails with
  /// `HostError.unsupported` without LE Secure Connections.
  case createOutOfBandData(RequestToken)
  /// What this host was told about a peer out of band, used by pairings with it until one succeeds;
  /// nil: nothing. Fails with `HostError.limitReached` for more than 64 peers.
  case setOutOfBandData(DeviceAddress, OutOfBandData?, RequestToken)
  /// Removes the bond of a peer. A link that is encrypted with its keys stays. Fails with
  /// `HostError.invalidArgument` where there is none.
  case removeBond(DeviceAddress, RequestToken)

  // The GATT client.
  /// Runs a procedure on the peer's server; procedures of one peer run one after the other.
  case gatt(DeviceAddress, GATTOperation, RequestToken)
  /// Wants the characteristic's notifications or indications: written when the first client asks,
  /// after its configuration descriptor was searched for where that isn't known. Keeps its place
  /// among this client's other requests to the peer.
  case subscribe(DeviceAddress, SubscriptionTarget, RequestToken)
  /// No longer wants them: written when the last client asks.
  case unsubscribe(DeviceAddress, SubscriptionTarget, RequestToken)

  // The GATT server.
  /// Publishes a service.
  case addService(ServiceDefinition, RequestToken)
  /// Withdraws one of this client's services, named by its first handle.
  case removeService(UInt16)
  /// Withdraws all of this client's services.
  case removeAllServices
  /// Answers a peer's request: the value that was read (ignored for a write), or the error.
  case respond(ServerRequestID, Result<[UInt8], ATTErrorCode>)
  /// Sends a value to subscribers of one of this client's characteristics: to all, or to those
  /// named. Completed when the last of them was handed to the controller (or, indicated, was
  /// confirmed).
  case updateValue(handle: UInt16, [UInt8], peers: [DeviceAddress]?, RequestToken)

  // Connection-oriented channels.
  /// Listens on a PSM that the host picks from 0x0080 ... 0x00FF, or on a given one.
  case publishChannel(psm: UInt16?, requiresEncryption: Bool, RequestToken)
  /// Stops listening; open channels stay open.
  case unpublishChannel(psm: UInt16)
  /// Opens a channel to a PSM of the peer.
  case openChannel(DeviceAddress, psm: UInt16, RequestToken)
  /// Sends bytes; completed when the last was handed to the controller.
  case sendOnChannel(ChannelID, [UInt8], RequestToken)
  /// Reports that the client has consumed so many received bytes, so that the peer may send more.
  case consumedFromChannel(ChannelID, byteCount: Int)
  /// Closes the channel.
  case closeChannel(ChannelID)

  /// Completed at once: the events before its completion were delivered before the requests after it
  /// were served.
  case barrier(RequestToken)
}

/// What a client's scan looks for.
public struct ScanOptions: Sendable, Hashable {
  /// Only peers that advertise one of these services; empty means all advertisers.
  public var services: [BluetoothUUID] = []
  /// Also peers that solicit one of these services.
  public var solicitedServices: [BluetoothUUID] = []
  /// Report every advertisement instead of every change.
  public var allowsDuplicates = false
  /// Ask for scan responses. The radio scans actively if any client wants it.
  public var isActive = true
  /// Also hear extended advertising on secondary channels, where the controller can.
  public var usesExtendedScanning = true
  /// Also hear who advertises on LE Coded, where the controller can: twice to four times as far away. It
  /// takes half of the time from LE 1M.
  public var usesCodedPHY = false

  /// Options that report all advertisers, coalesced.
  public init() {}
}

/// What and how a client advertises.
public struct AdvertisingOptions: Sendable, Hashable {
  /// Advertising data, at most 31 bytes in legacy advertising.
  public var data: [UInt8] = []
  /// Scan response data, at most 31 bytes in legacy advertising.
  public var scanResponse: [UInt8] = []
  /// Whether centrals may connect.
  public var isConnectable = true
  /// Time between advertising events, without the random delay.
  public var interval: TimeSpan = .milliseconds(100)
  /// Extended advertising on a secondary channel; needs a controller that can.
  public var usesExtendedAdvertising = false
  /// On LE Coded, which reaches twice to four times as far and which few scanners hear; extended
  /// advertising only, and with a controller that can.
  public var usesCodedPHY = false
  /// Only this peer, by the address that clients know it by, may connect: directed advertising, which
  /// carries no data (Core 5.4, Vol 6, Part B, §4.4.2.4). A bonded peer with private addresses is called
  /// by one of them, which takes a controller that resolves addresses, else the request fails with
  /// `HostError.unsupported`.
  public var target: DeviceAddress?

  /// Options for connectable legacy advertising of nothing, ten times a second.
  public init() {}
}

/// How a link is made.
public struct ConnectOptions: Sendable, Hashable {
  /// The parameters to ask for.
  public var parameters: ConnectionParameters = .default
  /// Make the link again whenever it drops without anybody having asked.
  public var reconnectsAutomatically = false
  /// Wait so long before starting.
  public var startDelay: TimeSpan = .zero
  /// Also look for the peer on LE Coded, where the controller can, and stay on that: for range in place of
  /// speed.
  public var usesCodedPHY = false

  /// The options that Apple's central uses by default.
  public init() {}
}

/// The timing of a link (Core 5.4, Vol 6, Part B, §4.5.1).
public struct ConnectionParameters: Sendable, Hashable {
  /// Shortest and longest connection interval in units of 1.25 ms, 6 ... 3200.
  public var intervalUnits: ClosedRange<UInt16>
  /// How many connection events the peripheral may skip, 0 ... 499.
  public var latency: UInt16
  /// Supervision timeout in units of 10 ms, 10 ... 3200.
  public var timeoutUnits: UInt16

  /// Parameters as they go over the wire.
  public init(intervalUnits: ClosedRange<UInt16>, latency: UInt16, timeoutUnits: UInt16) {
    self.intervalUnits = intervalUnits
    self.latency = latency
    self.timeoutUnits = timeoutUnits
  }

  /// 30 ms without latency, dropped after 720 ms of silence, as iOS asks for.
  public static let `default` = ConnectionParameters(
    intervalUnits: 24...24, latency: 0, timeoutUnits: 72)
}
