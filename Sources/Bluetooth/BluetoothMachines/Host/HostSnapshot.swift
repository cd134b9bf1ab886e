public import BluetoothInterface
import BluetoothWire

/// What a host is doing at one moment, for status displays, logs and tests.
///
/// It is a copy: reading it changes nothing, and it can be encoded. Addresses are written as text,
/// such as `C0:12:34:56:78:9A`.
public struct HostSnapshot: Sendable, Hashable, Codable {
  /// The controller and the conversation with it.
  public struct Controller: Sendable, Hashable, Codable {
    /// The radio's state, as clients were notified of it.
    public var state: RadioState
    /// How often the controller or its transport failed since it was last in good health.
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
    /// The longest link layer packet payload that the controller sends, in bytes.
    public var linkPacketLength: Int
    /// Whether the controller hands over data only while the host has buffers for it.
    public var usesHostFlowControl: Bool
    /// Advertising sets that the controller has.
    public var advertisingSetCount: Int
    /// The longest advertising data, in bytes.
    public var advertisingDataLength: Int
    /// Peers for which the controller's filter accept list has room.
    public var acceptListCapacity: Int
    /// Peers for which the controller's resolving list has room; 0 where it has none, or does nothing
    /// with it.
    public var resolvingListCapacity: Int
    /// Peers in that list.
    public var resolvedPeerCount: Int
    /// Whether the controller was seen to resolve an address.
    public var resolvesAddresses: Bool
    /// The longest ACL packet payload that the controller takes, in bytes.
    public var aclPacketLength: Int
    /// ACL packets that the controller buffers, and how many of them are in use.
    public var aclBufferCount: Int
    /// ACL packets that the controller has not completed yet.
    public var aclBuffersInUse: Int
    /// Commands that wait to be sent.
    public var waitingCommandCount: Int
  }

  /// A link, of either role.
  public struct Link: Sendable, Hashable, Codable {
    /// How far the connection is.
    public enum Stage: String, Sendable, Hashable, Codable {
      /// The controller reported it; the peer was not heard yet, and clients do not know of it.
      case unconfirmed
      /// It can be used.
      case open
      /// No client uses it any more; it ends when its queued data has left.
      case flushing
      /// Disconnect was sent to the controller.
      case closing
    }

    /// The connection handle, as in captures.
    public var handle: UInt16
    /// The other end's address.
    public var peer: String
    /// The other end's name, once it was read.
    public var name: String?
    /// This end's role.
    public var role: LinkInfo.Role
    /// How far the connection is.
    public var stage: Stage
    /// Whether the link is encrypted.
    public var isEncrypted: Bool
    /// How it is protected; nil where it is not encrypted.
    public var encryption: EncryptionInfo?
    /// The largest attribute PDU.
    public var mtu: Int
    /// Enhanced bearers of the attribute protocol besides the fixed channel.
    public var enhancedBearerCount: Int
    /// The connection interval in microseconds.
    public var intervalMicroseconds: Int
    /// Connection events that the peripheral may skip.
    public var latency: Int
    /// One of this number of connection events is used; 1: all of them.
    public var subrateFactor: Int
    /// The PHY on which this host sends.
    public var transmitPHY: String
    /// The PHY on which the peer sends.
    public var receivePHY: String
    /// The longest payload of a link layer packet that this host sends.
    public var sentPacketByteCountMax: Int
    /// The longest payload of one that the peer sends.
    public var receivedPacketByteCountMax: Int
    /// The supervision timeout in milliseconds.
    public var timeoutMilliseconds: Int
    /// Bytes that wait for room in the controller.
    public var queuedByteCount: Int
    /// The controller's ACL buffers that this link holds.
    public var aclBuffersInUse: Int
    /// GATT operations of this host that have not ended.
    public var pendingOperationCount: Int
    /// Whether the peer is held back because a client is behind with its events.
    public var isHeldBack: Bool
    /// What this host's clients subscribed to on the peer.
    public var subscriptions: [Subscription]
    /// Characteristics of this host that the peer subscribed to.
    public var peerSubscriptionCount: Int
    /// Clients that asked for the link and have it.
    public var clients: [UInt32]
  }

  /// A characteristic of a peer that clients of this host subscribed to.
  public struct Subscription: Sendable, Hashable, Codable {
    /// The handle of the characteristic's value.
    public var valueHandle: UInt16
    /// Whether indications are asked for, instead of notifications.
    public var usesIndications: Bool
    /// Whether the peer confirmed the subscription.
    public var isOn: Bool
    /// The clients that get the values.
    public var clients: [UInt32]
  }

  /// A client's request for a link that is not, or no longer, its own.
  public struct LinkRequest: Sendable, Hashable, Codable {
    /// How far a request is.
    public enum State: String, Sendable, Hashable, Codable {
      /// The client waits for the link.
      case pending
      /// The client gave the link up and waits for its end.
      case cancelling
    }

    /// The client that asked.
    public var client: UInt32
    /// The peer's address.
    public var peer: String
    /// How far it is.
    public var state: State
  }

  /// An open connection-oriented channel, or one that is being opened.
  public struct Channel: Sendable, Hashable, Codable {
    /// Its number, as in `ChannelID`.
    public var id: UInt64
    /// The client whose channel it is.
    public var client: UInt32
    /// The handle of its link.
    public var link: UInt16
    /// Whether the peer has accepted it.
    public var isOpen: Bool
  }

  /// Received or reported items that were discarded since the host was created.
  public struct Counters: Sendable, Hashable, Codable {
    /// Packets of the controller that could not be read.
    public var malformedPackets = 0
    /// Events and data about links that don't exist.
    public var strayPackets = 0
    /// Second links with the address of an already connected bonded peer that were ended because
    /// they did not prove the bond.
    public var unprovenLinks = 0
    /// Bonds of pairings that succeeded which were not kept: there was no room, for example.
    public var unkeptBonds = 0
    /// Bonds of peers that never came back which made room for others.
    public var evictedBonds = 0
    /// Answers of the controller to commands that were not sent, or not waited for any more.
    public var strayAnswers = 0
    /// Completed ACL packets that the controller reported without having got them.
    public var bogusCompletions = 0
    /// L2CAP frames that stopped in the middle, were too long, or were on channels that don't exist.
    public var droppedFrames = 0
    /// L2CAP signalling commands that made no sense or answered nothing.
    public var pointlessSignals = 0
    /// Attribute PDUs of peers that made no sense or answered nothing.
    public var ignoredPDUs = 0
    /// Notifications and indications of characteristics without a subscription.
    public var unsolicitedValues = 0
    /// Notifications and writes without response that a client was too slow for.
    public var droppedValues = 0
    /// Reports of advertising that a client was too slow for.
    public var droppedReports = 0

    /// Nothing thrown away yet.
    public init() {}
  }

  /// The controller and the conversation with it.
  public var controller: Controller
  /// Clients of the host.
  public var clients: [UInt32]
  /// Clients that scan.
  public var scans: [UInt32]
  /// Advertisers that are remembered for the scans.
  public var advertiserCount: Int
  /// Clients that advertise.
  public var advertisements: [UInt32]
  /// Links that the controller has reported.
  public var links: [Link]
  /// Requests for links that are not there, or about to end.
  public var linkRequests: [LinkRequest]
  /// Connection handles that the controller keeps although the host gave the links up.
  public var orphanedLinkCount: Int
  /// Channels of all links.
  public var channels: [Channel]
  /// PSMs that clients listen on.
  public var publishedPSMs: [UInt16]
  /// Values of this host that have not been handed over to all their subscribers.
  public var pendingUpdateCount: Int
  /// Peers whose attributes are remembered for their next link.
  public var rememberedPeerCount: Int
  /// Bonds with peers.
  public var bondCount: Int
  /// Pairings that succeeded since the host was made.
  public var pairingCount: Int
  /// Pairings that failed.
  public var failedPairingCount: Int
  /// The discarded items.
  public var counters: Counters
}

extension HostMachine {
  /// The host's current state. Its cost grows with the number of links and channels.
  public var snapshot: HostSnapshot {
    HostSnapshot(
      controller: controllerSnapshot,
      clients: clients.map(\.rawValue),
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
