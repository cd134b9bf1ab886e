public import BluetoothInterface
import BluetoothWire

/// The state of a host at one moment, for status displays, logs and tests.
///
/// It is a copy, and can be encoded. Addresses are written as text, such as `C0:12:34:56:78:9A`.
public struct HostSnapshot: Sendable, Hashable, Codable {
  /// The controller and the communication with it.
  public struct Controller: Sendable, Hashable, Codable {
    /// The state of the radio that was last reported to clients.
    public var state: RadioState
    /// The number of failures of the controller or its transport since it last worked.
    public var failureCount: Int
    /// The address that this host uses; nil while the controller is not started.
    public var address: String?
    /// The company identifier of the controller's maker; nil if it did not report one.
    public var company: UInt16?
    /// The HCI version, as assigned by the Bluetooth SIG; nil if it did not report one.
    public var hciVersion: UInt8?
    /// Whether the host uses the extended commands to advertise, scan and connect.
    public var usesExtendedCommands: Bool
    /// Whether links may use the LE 2M PHY.
    public var supports2M: Bool
    /// The maximum payload of link layer packets that the controller sends, in bytes.
    public var linkPacketLength: Int
    /// Whether controller-to-host flow control is used.
    public var usesHostFlowControl: Bool
    /// The number of advertising sets.
    public var advertisingSetCount: Int
    /// The maximum length of advertising data, in bytes.
    public var advertisingDataLength: Int
    /// The size of the controller's filter accept list.
    public var acceptListCapacity: Int
    /// The size of the controller's resolving list; 0 if it has none, or ignores it.
    public var resolvingListCapacity: Int
    /// The number of peers in the resolving list.
    public var resolvedPeerCount: Int
    /// Whether the controller has resolved an address.
    public var resolvesAddresses: Bool
    /// The maximum payload of an ACL packet that the controller accepts, in bytes.
    public var aclPacketLength: Int
    /// The number of ACL packets that the controller can buffer.
    public var aclBufferCount: Int
    /// The number of ACL packets that the controller has not completed yet.
    public var aclBuffersInUse: Int
    /// The number of commands that wait to be sent.
    public var waitingCommandCount: Int
  }

  /// A link, of either role.
  public struct Link: Sendable, Hashable, Codable {
    /// The state of the connection.
    public enum Stage: String, Sendable, Hashable, Codable {
      /// The controller reported the link, but no packet of the peer was received yet. Clients are
      /// not notified of it.
      case unconfirmed
      /// The link is open.
      case open
      /// No client uses the link any more. It is disconnected when its queued data was sent.
      case flushing
      /// A Disconnect command was sent to the controller.
      case closing
    }

    /// The connection handle.
    public var handle: UInt16
    /// The address of the peer.
    public var peer: String
    /// The name of the peer, once it was read.
    public var name: String?
    /// The role of this host.
    public var role: LinkInfo.Role
    /// The state of the connection.
    public var stage: Stage
    /// Whether the link is encrypted.
    public var isEncrypted: Bool
    /// The encryption of the link; nil if it is not encrypted.
    public var encryption: EncryptionInfo?
    /// The ATT MTU in bytes.
    public var mtu: Int
    /// The number of enhanced ATT bearers.
    public var enhancedBearerCount: Int
    /// The connection interval in microseconds.
    public var intervalMicroseconds: Int
    /// The peripheral latency: the number of connection events that the peripheral may skip.
    public var latency: Int
    /// The subrate factor: one of this number of connection events is used.
    public var subrateFactor: Int
    /// The PHY on which this host sends.
    public var transmitPHY: String
    /// The PHY on which the peer sends.
    public var receivePHY: String
    /// The maximum payload of link layer packets that this host sends.
    public var sentPacketByteCountMax: Int
    /// The maximum payload of link layer packets that the peer sends.
    public var receivedPacketByteCountMax: Int
    /// The supervision timeout in milliseconds.
    public var timeoutMilliseconds: Int
    /// The number of bytes that wait for buffers of the controller.
    public var queuedByteCount: Int
    /// The number of the controller's ACL buffers that this link uses.
    public var aclBuffersInUse: Int
    /// The number of pending GATT operations of this host.
    public var pendingOperationCount: Int
    /// Whether flow control stops the peer because a client handles its events too slowly.
    public var isHeldBack: Bool
    /// The subscriptions of this host's clients to characteristics of the peer.
    public var subscriptions: [Subscription]
    /// The number of this host's characteristics to which the peer is subscribed.
    public var peerSubscriptionCount: Int
    /// The clients that requested the link and use it.
    public var clients: [UInt32]
  }

  /// A characteristic of a peer that clients of this host subscribed to.
  public struct Subscription: Sendable, Hashable, Codable {
    /// The value handle of the characteristic.
    public var valueHandle: UInt16
    /// Whether indications are used instead of notifications.
    public var usesIndications: Bool
    /// Whether the peer confirmed the subscription.
    public var isOn: Bool
    /// The clients that get the values.
    public var clients: [UInt32]
  }

  /// A client's request for a link that is not established, or no longer used.
  public struct LinkRequest: Sendable, Hashable, Codable {
    /// The state of a request.
    public enum State: String, Sendable, Hashable, Codable {
      /// The client waits for the link.
      case pending
      /// The client released the link and waits for its end.
      case cancelling
    }

    /// The client that made the request.
    public var client: UInt32
    /// The peer's address.
    public var peer: String
    /// The state of the request.
    public var state: State
  }

  /// An open connection-oriented channel, or one that is being opened.
  public struct Channel: Sendable, Hashable, Codable {
    /// The number in its `ChannelID`.
    public var id: UInt64
    /// The client of the channel.
    public var client: UInt32
    /// The handle of its link.
    public var link: UInt16
    /// Whether the peer has accepted it.
    public var isOpen: Bool
  }

  /// Counters of discarded items since the host was created.
  public struct Counters: Sendable, Hashable, Codable {
    /// Malformed packets of the controller.
    public var malformedPackets = 0
    /// Events and data for links that don't exist.
    public var strayPackets = 0
    /// Second links with the address of an already connected bonded peer that were ended because
    /// they did not prove the bond.
    public var unprovenLinks = 0
    /// Bonds of successful pairings that were not stored, for example because a limit was reached.
    public var unkeptBonds = 0
    /// Bonds of peers that never reconnected, which were evicted for others.
    public var evictedBonds = 0
    /// Answers of the controller to commands that were not sent, or that had timed out.
    public var strayAnswers = 0
    /// Completed ACL packets that the controller reported but had not been sent.
    public var bogusCompletions = 0
    /// L2CAP frames that were incomplete, too long, or on channels that don't exist.
    public var droppedFrames = 0
    /// L2CAP signalling commands that were invalid or answered no request.
    public var pointlessSignals = 0
    /// ATT PDUs of peers that were invalid or answered no request.
    public var ignoredPDUs = 0
    /// Notifications and indications of characteristics without a subscription.
    public var unsolicitedValues = 0
    /// Notifications and writes without response that a slow client missed.
    public var droppedValues = 0
    /// Advertising reports that a slow client missed.
    public var droppedReports = 0
    /// Requests of peers that the host answered with an error because a client did not answer them.
    public var expiredRequests = 0

    /// Creates counters with the value 0.
    public init() {}
  }

  /// The controller and the communication with it.
  public var controller: Controller
  /// Clients of the host.
  public var clients: [UInt32]
  /// Clients that have not handled their events in time, so that nothing waits for them.
  public var lateClients: [UInt32]
  /// Clients that scan.
  public var scans: [UInt32]
  /// The number of advertisers that are stored for the scans.
  public var advertiserCount: Int
  /// Clients that advertise.
  public var advertisements: [UInt32]
  /// Links that the controller has reported.
  public var links: [Link]
  /// Requests for links that are not established, or about to end.
  public var linkRequests: [LinkRequest]
  /// The number of connection handles that the controller still reports although the host gave up
  /// the links.
  public var orphanedLinkCount: Int
  /// The channels of all links.
  public var channels: [Channel]
  /// PSMs that clients listen on.
  public var publishedPSMs: [UInt16]
  /// The number of values of this host that have not been sent to all subscribers.
  public var pendingUpdateCount: Int
  /// The number of peers whose attributes are stored for their next link.
  public var rememberedPeerCount: Int
  /// The number of bonds.
  public var bondCount: Int
  /// The number of successful pairings since the host was created.
  public var pairingCount: Int
  /// The number of failed pairings.
  public var failedPairingCount: Int
  /// The discarded items.
  public var counters: Counters
}

extension HostMachine {
  /// The host's current state. The cost is proportional to the number of links and channels.
  public var snapshot: HostSnapshot {
    HostSnapshot(
      controller: controllerSnapshot,
      clients: clients.map(\.rawValue), lateClients: backlog.lateClients.map(\.rawValue),
      scans: scanner.clients.map(\.rawValue),
      advertiserCount: scanner.advertiserCount,
      advertisements: advertiser.clients.map(\.rawValue),
      links: links.map { linkSnapshot($0) },
      linkRequests: linkRequests.requests.compactMap { HostSnapshot.LinkRequest($0) },
      orphanedLinkCount: links.orphans.count,
      channels: channels.channels.map { HostSnapshot.Channel($0) },
      publishedPSMs: channels.listeners.map(\.psm),
      pendingUpdateCount: server.updates.count,
      rememberedPeerCount: peerCache.count,
      bondCount: security.bonds.bonds.count, pairingCount: security.counters.pairings,
      failedPairingCount: security.counters.failedPairings, counters: counters)
  }

  private var controllerSnapshot: HostSnapshot.Controller {
    HostSnapshot.Controller(
      state: state, failureCount: recovery.failureCount,
      address: session.isReady ? abilities.address.description : nil,
      company: abilities.version?.company, hciVersion: abilities.version?.hciVersion,
      usesExtendedCommands: abilities.usesExtendedCommands, supports2M: abilities.canUse2M,
      linkPacketLength: abilities.canLengthenPackets ? abilities.linkDataByteCountMax : 27,
      usesHostFlowControl: abilities.usesHostFlowControl,
      advertisingSetCount: abilities.advertisingSetCount,
      advertisingDataLength: abilities.advertisingDataByteCountMax,
      acceptListCapacity: abilities.acceptListCapacity,
      resolvingListCapacity: resolvingList.trust == .fails ? 0 : resolvingList.capacity,
      resolvedPeerCount: resolvingList.entries.count,
      resolvesAddresses: resolvingList.trust == .resolves,
      aclPacketLength: abilities.aclByteCountMax, aclBufferCount: abilities.aclPacketCount,
      aclBuffersInUse: scheduler.buffersInUse, waitingCommandCount: session.waitingCount)
  }

  private func linkSnapshot(_ link: Link) -> HostSnapshot.Link {
    HostSnapshot.Link(
      handle: link.handle, peer: link.peer.description, name: link.info.name,
      role: link.info.role, stage: HostSnapshot.Link.Stage(link.stage),
      isEncrypted: link.info.isEncrypted, encryption: link.info.encryption, mtu: link.info.mtu,
      enhancedBearerCount: link.bearers.open.count,
      intervalMicroseconds: Int(link.info.intervalUnits) * 1_250,
      latency: Int(link.info.latency),
      subrateFactor: Int(link.info.subrateFactor), transmitPHY: link.info.transmitPHY.name,
      receivePHY: link.info.receivePHY.name,
      sentPacketByteCountMax: link.info.sentPacketByteCountMax,
      receivedPacketByteCountMax: link.info.receivedPacketByteCountMax,
      timeoutMilliseconds: Int(link.info.timeoutUnits) * 10,
      queuedByteCount: scheduler.queuedByteCount(handle: link.handle),
      aclBuffersInUse: scheduler.buffersInUse(handle: link.handle),
      pendingOperationCount: link.gatt.operationCount,
      isHeldBack: backlog.isHeldBack(link.handle),
      subscriptions: link.gatt.subscriptions.subscriptions.map { HostSnapshot.Subscription($0) },
      peerSubscriptionCount: server.subscriptionCount(of: link.peer),
      clients: linkRequests.connectedClients(link.peer).map(\.rawValue))
  }

  /// What every machine has counted.
  private var counters: HostSnapshot.Counters {
    var total = routing.closedLinks
    for index in links.indices { total.add(links.entries[index]) }
    var counters = HostSnapshot.Counters()
    counters.malformedPackets = routing.malformedPackets
    counters.strayPackets = routing.strayPackets
    counters.unprovenLinks = routing.unprovenLinks
    counters.unkeptBonds = security.counters.unkeptBonds
    counters.evictedBonds = security.counters.evictedBonds
    counters.strayAnswers = session.strayAnswerCount
    counters.bogusCompletions = scheduler.bogusCompletions
    counters.droppedFrames = total.frames.frameCount
    counters.pointlessSignals = total.frames.pointlessSignals
    counters.ignoredPDUs = total.attributes.ignoredPDUs + server.ignoredCount
    counters.unsolicitedValues = total.attributes.unsolicitedValues
    counters.droppedValues = backlog.droppedValueCount
    counters.droppedReports = backlog.droppedReportCount
    counters.expiredRequests = backlog.expiredRequestCount
    return counters
  }
}

extension HostSnapshot.Link.Stage {
  init(_ stage: Link.Stage) {
    switch stage {
    case .unconfirmed: self = .unconfirmed
    case .open: self = .open
    case .flushing: self = .flushing
    case .closing: self = .closing
    }
  }
}

extension HostSnapshot.Subscription {
  init(_ subscription: SubscriptionTable.Subscription) {
    valueHandle = subscription.target.valueHandle
    usesIndications = subscription.target.usesIndications
    isOn = subscription.isOn
    clients = subscription.clients.map(\.rawValue)
  }
}

extension HostSnapshot.LinkRequest {
  /// Nil for the request of a client that has its link, which is among the link's clients.
  init?(_ request: LinkRequests.LinkRequest) {
    switch request.state {
    case .connected: return nil
    case .pending: state = .pending
    case .cancelling: state = .cancelling
    }
    client = request.client.rawValue
    peer = request.peer.description
  }
}

extension HostSnapshot.Channel {
  init(_ channel: ChannelTable.Channel) {
    id = channel.id.rawValue
    client = channel.client.rawValue
    link = channel.link
    isOpen = channel.opening == nil
  }
}

extension PHY {
  /// As specifications write it.
  fileprivate var name: String {
    switch self {
    case .le1M: "LE 1M"
    case .le2M: "LE 2M"
    case .leCoded: "LE Coded"
    }
  }
}
