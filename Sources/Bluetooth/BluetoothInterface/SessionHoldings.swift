package import BluetoothWire

/// What a session holds whose process ended while a hub kept it: what it wants of the radio, and what it got.
///
/// It is the state before the events that the hub kept; these follow, behind the links that were open then and the
/// radio's state.
package struct SessionHoldings: Sendable, Hashable {
  /// A requested link.
  package struct Link: Sendable, Hashable {
    package var peer: DeviceAddress
    package var options: ConnectOptions
    /// Whether the link is established.
    package var isConnected: Bool
    /// The peer's GAP device name, if it was read over this link or an earlier one.
    package var name: String?

    package init(
      peer: DeviceAddress, options: ConnectOptions, isConnected: Bool, name: String? = nil
    ) {
      self.peer = peer
      self.options = options
      self.isConnected = isConnected
      self.name = name
    }
  }

  /// A published service.
  package struct Service: Sendable, Hashable {
    package var definition: ServiceDefinition
    package var published: PublishedService

    package init(definition: ServiceDefinition, published: PublishedService) {
      self.definition = definition
      self.published = published
    }
  }

  /// A PSM that it listens on.
  package struct Listener: Sendable, Hashable {
    package var psm: UInt16
    package var requiresEncryption: Bool

    package init(psm: UInt16, requiresEncryption: Bool) {
      self.psm = psm
      self.requiresEncryption = requiresEncryption
    }
  }

  /// A subscription of the session to a peer's characteristic.
  package struct Subscription: Sendable, Hashable {
    package var peer: DeviceAddress
    package var target: SubscriptionTarget

    package init(peer: DeviceAddress, target: SubscriptionTarget) {
      self.peer = peer
      self.target = target
    }
  }

  /// A subscription of a peer to one of the session's characteristics, by its value handle.
  package struct Subscriber: Sendable, Hashable {
    package var peer: DeviceAddress
    package var handle: UInt16

    package init(peer: DeviceAddress, handle: UInt16) {
      self.peer = peer
      self.handle = handle
    }
  }

  package var scan: ScanOptions?
  package var advertising: AdvertisingOptions?
  /// By their peers' addresses.
  package var links: [Link] = []
  package var agent: SMPIOCapability?
  /// Whether it attends the pairings of all programs.
  package var attendsAllPairings = false
  /// In the order in which they were published.
  package var services: [Service] = []
  package var listeners: [Listener] = []
  package var subscriptions: [Subscription] = []
  package var subscribers: [Subscriber] = []
  /// The highest token of the ended process. Its requests may still be under way, so the next process numbers its
  /// own from here on.
  package var lastToken: UInt64 = 0
  /// How many events the ended process got and did not acknowledge. No process gets them again.
  package var unhandledCount = 0
  /// How many events the hub gave up because no process took them: those beyond its bounds, and requests of peers,
  /// which it has refused.
  package var droppedCount = 0
  /// What it has discovered of connected peers, by their addresses.
  package var attributes: [PeerAttributes] = []

  package init() {}
}
