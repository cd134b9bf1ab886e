import BluetoothInterface
import BluetoothWire
import Essentials
import L2CAPMachines

extension GATTServer {
  /// What the server keeps of one link.
  package struct Session: Sendable {
    let peer: DeviceAddress
    /// What requests come over; the fixed channel is the first.
    var bearers = [Bearer(id: .fixed, mtu: ATTPDU.mtuMin)]
    /// How the link is protected; nil: not at all.
    var encryption: EncryptionInfo?
    /// Whether the link could be encrypted with a key from an earlier pairing.
    var hasKey = false
    /// The client's configuration bits that are not 0, by the handle of the descriptor.
    var configurations: [(handle: UInt16, bits: UInt16)] = []
    /// The descriptors that the client has written on this link.
    var writtenConfigurations: Set<UInt16> = []
    /// The first octet of Client Supported Features (Core 5.4, Vol 3, Part G, §7.2).
    var clientFeatures: UInt8 = 0
    var awareness = Awareness.aware
    /// Whether the client's configuration of earlier links has been restored.
    var isRestored = false
    /// The client's prepared writes, over any bearer (Part F, §3.4.6).
    var preparedWrites: [ServerRequest.Write] = []
    /// Updates whose notifications are on their way to the controller, in order.
    var notifications = FIFO<(tag: UInt64, update: UInt64)>()
    /// The indication that waits for its confirmation.
    var indication: (update: Indication, deadline: Instant)?
    var waitingIndications: [Indication] = []
    /// An indication was not confirmed in time: nothing more may be sent.
    var isFailed = false

    /// Values that wait until others have left, to be sent together.
    var waitingNotifications: [(update: UInt64, handle: UInt16, value: ArraySlice<UInt8>)] = []

    init(peer: DeviceAddress) { self.peer = peer }

    /// The MTU of the fixed channel, which values are sent over.
    var mtu: Int { bearers[0].mtu }

    /// Whether the client takes several values in one notification (Core 5.4, Vol 3, Part G, §7.2).
    var takesMultipleValues: Bool { clientFeatures & 4 != 0 }

    func configuration(_ handle: UInt16) -> UInt16 {
      for configuration in configurations where configuration.handle == handle {
        return configuration.bits
      }
      return 0
    }

    mutating func setConfiguration(_ handle: UInt16, _ bits: UInt16) {
      configurations.removeAll { $0.handle == handle }
      if bits != 0 { configurations.append((handle, bits)) }
    }

    var preparedByteCount: Int { preparedWrites.reduce(0) { $0 + $1.value.count } }

    /// Whether the client asked for robust caching and doesn't know the database (§2.5.2.1).
    var isOutOfSync: Bool { clientFeatures & 1 != 0 && awareness != .aware }
  }

  /// One bearer of a session.
  struct Bearer: Sendable {
    let id: ATTBearer
    var mtu: Int
    /// The request that waits for a client's answer; there is one at most (Part F, §3.3.2).
    var pending: UnansweredRequest?
  }

  /// Where a request came from and its response goes to: a session and one of its bearers.
  struct RequestContext: Sendable {
    let session: Int
    let bearer: Int
  }

  /// Whether a client knows the database as it is (Core 5.4, Vol 3, Part G, §2.5.2.1).
  enum Awareness: Sendable, Equatable {
    case aware
    case unaware
    /// It was sent an error, or, nil, read the hash; its next request shows that it knows. Over another
    /// bearer than the error that may have been sent before it.
    case notified(over: ATTBearer?)
  }

  /// A value to be confirmed by a client.
  enum Indication: Sendable {
    case update(UInt64, handle: UInt16, value: ArraySlice<UInt8>)
    case serviceChanged(HandleRange)
  }

  /// A request that a client of this host has to answer first.
  struct UnansweredRequest: Sendable {
    let id: ServerRequestID
    let owner: ClientID
    let deadline: Instant
    let opcode: ATTOpcode
    /// The handle that an Error Response names.
    let handle: UInt16
    let step: Step

    enum Step: Sendable {
      case read
      case readByType
      case readMultiple(MultipleRead)
      case write
      case execute(Execution)
    }
  }

  /// How far a Read Multiple got.
  struct MultipleRead: Sendable {
    let handles: [UInt16]
    let isVariable: Bool
    var position = 0
    var collected: [UInt8] = []

    mutating func collect(_ value: some Collection<UInt8>) {
      if isVariable {
        collected.append(UInt8(truncatingIfNeeded: value.count))
        collected.append(UInt8(truncatingIfNeeded: value.count >> 8))
      }
      collected.append(contentsOf: value)
      position += 1
    }
  }

  /// Prepared writes that are being done.
  struct Execution: Sendable {
    /// What clients are still to be asked, each for all of its writes.
    var batches: [(owner: ClientID, writes: [ServerRequest.Write])] = []
    /// What the server writes itself at the end.
    var own: [(handle: UInt16, value: [UInt8])] = []
  }

  /// A value that a client sends to its subscribers.
  package struct Update: Sendable {
    let owner: ClientID
    let token: RequestToken
    /// Links on which it hasn't been handed over or confirmed.
    var remaining = 0
    var error: HostError?
  }
}
