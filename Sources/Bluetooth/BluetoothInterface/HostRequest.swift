public import BluetoothWire
public import Essentials

/// A request from a client to its host.
///
/// A request with a token is answered by exactly one `HostEvent.completed` with that token, also
/// when the link drops, the radio is powered off or the request is invalid. Requests without a
/// token report no errors; their effects arrive as events.
///
/// Scans, advertisements, connections and services of a client persist while the radio is off: they
/// are resumed when a radio that was reset, unplugged or switched off is available again, until the
/// client cancels them. Links and operations end with errors before the new state is reported.
public enum HostRequest: Sendable, Hashable {
  // Observing and advertising.
  /// Starts this client's scan, or replaces its filter and options.
  case startScan(ScanOptions)
  /// Stops this client's scan. The radio continues to scan for other clients.
  case stopScan
  /// Advertises for this client until stopped.
  case startAdvertising(AdvertisingOptions, RequestToken)
  /// Ends this client's advertising.
  case stopAdvertising

  // Links.
  /// Requests a link to the peer; the request stays active until the link is up or `disconnect`.
  case connect(DeviceAddress, ConnectOptions)
  /// Releases this client's use of the link, which is disconnected when no client uses it any more.
  case disconnect(DeviceAddress)
  /// Reads the RSSI of the link.
  case readRSSI(DeviceAddress, RequestToken)
  /// Requests other connection parameters; in the peripheral role by a request to the central. This
  /// and the next two requests fail with `HostError.notConnected` unless this client uses the link: it
  /// has connected it, or the peer has, and the client advertises, publishes a service or listens for
  /// channels.
  case updateParameters(DeviceAddress, ConnectionParameters, RequestToken)
  /// Requests the fastest of these PHYs that the peer also accepts, for each direction; nil allows
  /// any. Completed when the controller has accepted the command; the outcome is in `linkUpdated`.
  /// A central requests LE 2M without this request if the peer supports it.
  case setPHY(DeviceAddress, PHYPreference, RequestToken)
  /// Requests connection subrating (Core 5.4, Vol 6, Part B, §4.5.1), which uses only a part of the
  /// connection events, so that an idle link costs little energy and still responds quickly.
  /// Completed when the controller has accepted the command; the outcome is in `linkUpdated`. Fails
  /// with `HostError.unsupported` for a controller without subrating.
  case setSubrate(DeviceAddress, SubrateRequest, RequestToken)

  // Security.
  /// Encrypts the link to a peer: with the keys of the bond, or by pairing. Requires a link, which
  /// may be another client's. A peer that refuses an operation because the link is not encrypted
  /// causes pairing without this request, unless the user or the peer has refused that on this link;
  /// this request begins a pairing again. Fails with `HostError.security`.
  case pair(DeviceAddress, RequestToken)
  /// Makes this client the pairing agent, which answers prompts, with this IO capability; nil ends
  /// that. If there are several agents, the latest is used. Without an agent, pairing uses Just
  /// Works.
  ///
  /// A client of a hub's program answers prompts of the pairings that its program causes: of links that
  /// the program requested, or whose protection it or one of its attributes or channels needs.
  case setPairingAgent(SMPIOCapability?)
  /// Lets a client of a hub's program answer and hear of all pairings of the host, as clients in the host's
  /// own process do. It answers where no program with an agent caused the pairing. Fails with
  /// `HostError.unauthorized` where the hub's rules don't allow that, also after a success: when the hub was
  /// restarted with other rules.
  case attendAllPairings(RequestToken)
  /// Answers a prompt; ignored unless it is the latest prompt of a pairing in progress.
  case answerPairing(PairingPromptID, PairingAnswer)
  /// Creates this host's out-of-band data for its next pairing, in `HostReply.outOfBandData`, and
  /// invalidates earlier data. A successful pairing in which the peer used the data consumes it.
  /// Fails with `HostError.unsupported` without LE Secure Connections.
  case createOutOfBandData(RequestToken)
  /// Sets the out-of-band data that this host received from a peer. It is used by pairings with the
  /// peer until one succeeds; nil removes it. Fails with `HostError.limitReached` for more than 64
  /// peers.
  case setOutOfBandData(DeviceAddress, OutOfBandData?, RequestToken)
  /// Removes the bond of a peer. A link that is encrypted with its keys stays up. Fails with
  /// `HostError.invalidArgument` if there is no bond.
  case removeBond(DeviceAddress, RequestToken)

  // The GATT client.
  /// Runs a procedure on the peer's server; procedures of one peer run one after the other.
  case gatt(DeviceAddress, GATTOperation, RequestToken)
  /// Subscribes to the characteristic's notifications or indications. The configuration descriptor
  /// is discovered if it isn't known, and written for the first subscribing client. Executed in
  /// order with this client's other requests to the peer.
  case subscribe(DeviceAddress, SubscriptionTarget, RequestToken)
  /// Unsubscribes; the descriptor is written when the last client has unsubscribed.
  case unsubscribe(DeviceAddress, SubscriptionTarget, RequestToken)

  // The GATT server.
  /// Publishes a service.
  case addService(ServiceDefinition, RequestToken)
  /// Removes one of this client's services, which is identified by its first handle.
  case removeService(UInt16)
  /// Removes all of this client's services.
  case removeAllServices
  /// Responds to a peer's request with the value for a read (ignored for a write), or with an
  /// error. After 20 s the host has answered with an error itself.
  case respond(ServerRequestID, Result<[UInt8], ATTErrorCode>)
  /// Sends a value to all subscribers of one of this client's characteristics, or to those listed.
  /// Completed when the last of them was sent to the controller (or, for indications, was
  /// confirmed).
  case updateValue(handle: UInt16, [UInt8], peers: [DeviceAddress]?, RequestToken)

  // Connection-oriented channels.
  /// Listens on the given PSM, or on one that the host chooses from 0x0080 ... 0x00FF.
  case publishChannel(psm: UInt16?, requiresEncryption: Bool, RequestToken)
  /// Stops listening; open channels stay open.
  case unpublishChannel(psm: UInt16)
  /// Opens a channel to a PSM of the peer.
  case openChannel(DeviceAddress, psm: UInt16, RequestToken)
  /// Sends bytes on a channel. Completed when the last byte was sent to the controller.
  case sendOnChannel(ChannelID, [UInt8], RequestToken)
  /// Reports that the client has consumed this number of received bytes, so that the peer may send
  /// more.
  case consumedFromChannel(ChannelID, byteCount: Int)
  /// Closes the channel.
  case closeChannel(ChannelID)

  /// Completed at once: after the delivery of all events that were queued before it, and before
  /// later requests are handled.
  case barrier(RequestToken)
}

/// The filter and the options of a client's scan.
public struct ScanOptions: Sendable, Hashable {
  /// Only peers that advertise one of these services; empty for all peers.
  public var services: [BluetoothUUID] = []
  /// Also peers that solicit one of these services.
  public var solicitedServices: [BluetoothUUID] = []
  /// Whether to report every advertisement instead of every change.
  public var allowsDuplicates = false
  /// Whether to request scan responses. The radio scans actively if any client's scan does.
  public var isActive = true
  /// Whether to receive also extended advertising on secondary channels, if the controller supports
  /// it.
  public var usesExtendedScanning = true
  /// Whether to receive also LE Coded advertising, if the controller supports it. It has two to
  /// four times the range, and takes half of the scan time of LE 1M.
  public var usesCodedPHY = false
  /// Whether the app that scans is in the background. The radio scans less often while that holds for all scans.
  package var isInBackground = false
  /// Whether reports of iBeacons are enough, and their presence is. A radio that filters may leave out other peers, and
  /// repeat a former RSSI.
  package var seeksBeacons = false

  /// How long a radio that dies while it scans may go unnoticed: from its last report, or its last
  /// answer, to its new state. Until then its silence looks like the absence of all peers.
  public static let radioFailureTimeMax = TimeSpan.seconds(7)

  /// Creates options that report all peers, without duplicates.
  public init() {}
}

/// The data and the options of a client's advertising.
public struct AdvertisingOptions: Sendable, Hashable {
  /// Advertising data, at most 31 bytes in legacy advertising.
  public var data: [UInt8] = []
  /// Scan response data, at most 31 bytes in legacy advertising.
  public var scanResponse: [UInt8] = []
  /// Whether the advertising is connectable.
  public var isConnectable = true
  /// The advertising interval, without the random delay.
  public var interval: TimeSpan = .milliseconds(100)
  /// Whether to use extended advertising on a secondary channel, which the controller must support.
  public var usesExtendedAdvertising = false
  /// Whether to advertise on LE Coded, which has two to four times the range, but which few
  /// scanners receive. Extended advertising only, if the controller supports it.
  public var usesCodedPHY = false
  /// The only peer that may connect, by the address that clients know: directed advertising, which
  /// carries no data (Core 5.4, Vol 6, Part B, §4.4.2.4). For a bonded peer with private addresses,
  /// the controller must resolve addresses; otherwise the request fails with
  /// `HostError.unsupported`.
  public var target: DeviceAddress?

  /// Creates options for connectable legacy advertising without data, ten times a second.
  public init() {}
}

/// The options of a connection.
public struct ConnectOptions: Sendable, Hashable {
  /// The connection parameters to request.
  public var parameters: ConnectionParameters = .default
  /// Whether to reconnect when the link ends without a request of a client.
  public var reconnectsAutomatically = false
  /// The delay before the connection is started.
  public var startDelay: TimeSpan = .zero
  /// Whether to search for the peer also on LE Coded, if the controller supports it, and to keep
  /// using that PHY, for range instead of speed.
  public var usesCodedPHY = false
  /// The alerts for the user while the client's app is suspended or not running. Hosts show none: they are for a
  /// manager of apps.
  public var alerts: ConnectionAlerts = []

  /// Creates the options that Apple's central uses by default.
  public init() {}
}

/// The events of a peer for which an app that is suspended requests an alert.
public struct ConnectionAlerts: OptionSet, Sendable, Hashable {
  /// The bits.
  public let rawValue: UInt8

  /// Creates a set from its bits.
  public init(rawValue: UInt8) { self.rawValue = rawValue }

  /// The link is established.
  public static let connection = ConnectionAlerts(rawValue: 0x01)
  /// The link has ended.
  public static let disconnection = ConnectionAlerts(rawValue: 0x02)
  /// A notification was received.
  public static let notification = ConnectionAlerts(rawValue: 0x04)
}

/// The connection parameters of a link (Core 5.4, Vol 6, Part B, §4.5.1).
public struct ConnectionParameters: Sendable, Hashable {
  /// The range of the connection interval in units of 1.25 ms, 6 ... 3200.
  public var intervalUnits: ClosedRange<UInt16>
  /// The peripheral latency: the number of connection events that the peripheral may skip, 0 ...
  /// 499.
  public var latency: UInt16
  /// The supervision timeout in units of 10 ms, 10 ... 3200.
  public var timeoutUnits: UInt16

  /// Creates parameters.
  public init(intervalUnits: ClosedRange<UInt16>, latency: UInt16, timeoutUnits: UInt16) {
    self.intervalUnits = intervalUnits
    self.latency = latency
    self.timeoutUnits = timeoutUnits
  }

  /// 30 ms, no latency, supervision timeout 720 ms: the values that iOS requests.
  public static let `default` = ConnectionParameters(
    intervalUnits: 24...24, latency: 0, timeoutUnits: 72)
}
