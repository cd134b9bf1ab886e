package import BluetoothInterface
import BluetoothWire
import GATTMachines
import L2CAPMachines
import PairingMachines

/// The state of a host at one moment, for status displays, logs and tests.
///
/// It is a copy, and can be encoded. Addresses are written as text, such as `C0:12:34:56:78:9A`.
package struct HostSnapshot: Sendable, Hashable, Codable {
  /// The controller and the communication with it.
  package struct Controller: Sendable, Hashable, Codable {
    /// The state of the radio that was last reported to clients.
    package var state: RadioState
    /// The number of failures of the controller or its transport since it last worked.
    package var failureCount: Int
    /// The address that this host uses; nil while the controller is not started.
    package var address: String?
    /// The company identifier of the controller's maker; nil if it did not report one.
    package var company: UInt16?
    /// The HCI version, as assigned by the Bluetooth SIG; nil if it did not report one.
    package var hciVersion: UInt8?
    /// Whether the host uses the extended commands to advertise, scan and connect.
    package var usesExtendedCommands: Bool
    /// Whether links may use the LE 2M PHY.
    package var supports2M: Bool
    /// The maximum payload of link layer packets that the controller sends, in bytes.
    package var linkPacketLength: Int
    /// Whether controller-to-host flow control is used.
    package var usesHostFlowControl: Bool
    /// The number of advertising sets.
    package var advertisingSetCount: Int
    /// The maximum length of advertising data, in bytes.
    package var advertisingDataLength: Int
    /// The size of the controller's filter accept list.
    package var acceptListCapacity: Int
    /// The size of the controller's resolving list; 0 if it has none, or ignores it.
    package var resolvingListCapacity: Int
    /// The number of peers in the resolving list.
    package var resolvedPeerCount: Int
    /// Whether the controller has resolved an address.
    package var resolvesAddresses: Bool
    /// The maximum payload of an ACL packet that the controller accepts, in bytes.
    package var aclPacketLength: Int
    /// The number of ACL packets that the controller can buffer.
    package var aclBufferCount: Int
    /// The number of ACL packets that the controller has not completed yet.
    package var aclBuffersInUse: Int
    /// The number of commands that wait to be sent.
    package var waitingCommandCount: Int
  }

  /// A link, of either role.
  package struct Link: Sendable, Hashable, Codable {
    /// The state of the connection.
    package enum Stage: String, Sendable, Hashable, Codable {
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
    package var handle: UInt16
    /// The address of the peer.
    package var peer: String
    /// The name of the peer, once it was read.
    package var name: String?
    /// The role of this host.
    package var role: LinkInfo.Role
    /// The state of the connection.
    package var stage: Stage
    /// Whether the link is encrypted.
    package var isEncrypted: Bool
    /// The encryption of the link; nil if it is not encrypted.
    package var encryption: EncryptionInfo?
    /// The ATT MTU in bytes.
    package var mtu: Int
    /// The number of enhanced ATT bearers.
    package var enhancedBearerCount: Int
    /// The connection interval in microseconds.
    package var intervalMicroseconds: Int
    /// The peripheral latency: the number of connection events that the peripheral may skip.
    package var latency: Int
    /// The subrate factor: one of this number of connection events is used.
    package var subrateFactor: Int
    /// The PHY on which this host sends.
    package var transmitPHY: String
    /// The PHY on which the peer sends.
    package var receivePHY: String
    /// The maximum payload of link layer packets that this host sends.
    package var sentPacketByteCountMax: Int
    /// The maximum payload of link layer packets that the peer sends.
    package var receivedPacketByteCountMax: Int
    /// The supervision timeout in milliseconds.
    package var timeoutMilliseconds: Int
    /// The number of bytes that wait for buffers of the controller.
    package var queuedByteCount: Int
    /// The number of the controller's ACL buffers that this link uses.
    package var aclBuffersInUse: Int
    /// The number of pending GATT operations of this host.
    package var pendingOperationCount: Int
    /// Whether flow control stops the peer because a client handles its events too slowly.
    package var isHeldBack: Bool
    /// The subscriptions of this host's clients to characteristics of the peer.
    package var subscriptions: [Subscription]
    /// The number of this host's characteristics to which the peer is subscribed.
    package var peerSubscriptionCount: Int
    /// The clients that requested the link and use it.
    package var clients: [UInt32]
  }

  /// A characteristic of a peer that clients of this host subscribed to.
  package struct Subscription: Sendable, Hashable, Codable {
    /// The value handle of the characteristic.
    package var valueHandle: UInt16
    /// Whether indications are used instead of notifications.
    package var usesIndications: Bool
    /// Whether the peer confirmed the subscription.
    package var isOn: Bool
    /// The clients that get the values.
    package var clients: [UInt32]
  }

  /// A client's request for a link that is not established, or no longer used.
  package struct LinkRequest: Sendable, Hashable, Codable {
    /// The state of a request.
    package enum State: String, Sendable, Hashable, Codable {
      /// The client waits for the link.
      case pending
      /// The client released the link and waits for its end.
      case cancelling
    }

    /// The client that made the request.
    package var client: UInt32
    /// The peer's address.
    package var peer: String
    /// The state of the request.
    package var state: State
  }

  /// An open connection-oriented channel, or one that is being opened.
  package struct Channel: Sendable, Hashable, Codable {
    /// The number in its `ChannelID`.
    package var id: UInt64
    /// The client of the channel.
    package var client: UInt32
    /// The handle of its link.
    package var link: UInt16
    /// Whether the peer has accepted it.
    package var isOpen: Bool
  }

  /// Counters of discarded items since the host was created.
  package struct Counters: Sendable, Hashable, Codable {
    /// Malformed packets of the controller.
    package var malformedPackets = 0
    /// Events and data for links that don't exist.
    package var strayPackets = 0
    /// Second links with the address of an already connected bonded peer that were ended because
    /// they did not prove the bond.
    package var unprovenLinks = 0
    /// Bonds of successful pairings that were not stored, for example because a limit was reached.
    package var unkeptBonds = 0
    /// Bonds of peers that never reconnected, which were evicted for others.
    package var evictedBonds = 0
    /// Answers of the controller to commands that were not sent, or that had timed out.
    package var strayAnswers = 0
    /// Completed ACL packets that the controller reported but had not been sent.
    package var bogusCompletions = 0
    /// L2CAP frames that were incomplete, too long, or on channels that don't exist.
    package var droppedFrames = 0
    /// L2CAP signalling commands that were invalid or answered no request.
    package var pointlessSignals = 0
    /// ATT PDUs of peers that were invalid or answered no request.
    package var ignoredPDUs = 0
    /// Notifications and indications of characteristics without a subscription.
    package var unsolicitedValues = 0
    /// Notifications and writes without response that a slow client missed.
    package var droppedValues = 0
    /// Advertising reports that a slow client missed.
    package var droppedReports = 0
    /// Requests of peers that the host answered with an error because a client did not answer them.
    package var expiredRequests = 0

    /// Creates counters with the value 0.
    package init() {}
  }

  /// The controller and the communication with it.
  package var controller: Controller
  /// Clients of the host.
  package var clients: [UInt32]
  /// Clients that have not handled their events in time, so that nothing waits for them.
  package var lateClients: [UInt32]
  /// Clients that scan.
  package var scans: [UInt32]
  /// The number of advertisers that are stored for the scans.
  package var advertiserCount: Int
  /// Clients that advertise.
  package var advertisements: [UInt32]
  /// Links that the controller has reported.
  package var links: [Link]
  /// Requests for links that are not established, or about to end.
  package var linkRequests: [LinkRequest]
  /// The number of connection handles that the controller still reports although the host gave up
  /// the links.
  package var orphanedLinkCount: Int
  /// The channels of all links.
  package var channels: [Channel]
  /// PSMs that clients listen on.
  package var publishedPSMs: [UInt16]
  /// The number of values of this host that have not been sent to all subscribers.
  package var pendingUpdateCount: Int
  /// The number of peers whose attributes are stored for their next link.
  package var rememberedPeerCount: Int
  /// The number of bonds.
  package var bondCount: Int
  /// The number of successful pairings since the host was created.
  package var pairingCount: Int
  /// The number of failed pairings.
  package var failedPairingCount: Int
  /// The discarded items.
  package var counters: Counters
}

extension HostMachine {
  /// The host's current state. The cost is proportional to the number of links and channels.
  package var snapshot: HostSnapshot {
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
