import BluetoothInterface
import BluetoothWire

extension GATTClient {
  /// What a procedure is run for.
  enum Purpose: Sendable {
    case operation(OperationID, GATTOperation, Requester)
    /// Writes these bits to a characteristic's configuration.
    case configuration(OperationID, SubscriptionTarget, bits: UInt8, Requester)
    case exchangeMTU
    /// Learns whether the peer takes enhanced bearers.
    case features
    case adoption(RemoteDatabase)
    /// Reads the Database Hash before the first discovery.
    case hash
    case watch
    /// Finds out what changed, after the hash showed that something did.
    case comparison

    /// The owner's name for it; nil for what the client does by itself.
    var id: OperationID? {
      switch self {
      case .operation(let id, _, _), .configuration(let id, _, _, _): id
      case .exchangeMTU, .features, .adoption, .hash, .watch, .comparison: nil
      }
    }

    /// The program that it is run for, whose operations end in their order.
    var requester: Requester {
      switch self {
      case .operation(_, _, let requester), .configuration(_, _, _, let requester): requester
      case .exchangeMTU, .features, .adoption, .hash, .watch, .comparison: .host
      }
    }

    /// Whether a refusal for want of security leads to pairing: only where a client waits. By UUID
    /// this host reads what it wants to know itself.
    var mayPair: Bool {
      switch self {
      case .operation(_, .readByUUID, _): false
      case .operation, .configuration: true
      case .exchangeMTU, .features, .adoption, .hash, .watch, .comparison: false
      }
    }

    /// Whether it changes nothing at the peer, so that it may run beside others of its kind.
    var isRead: Bool {
      switch self {
      case .operation(_, .read, _), .operation(_, .readByUUID, _), .operation(_, .readMultiple, _):
        true
      default: false
      }
    }

    /// Whether it is sent as a Write Command.
    var isCommand: Bool {
      guard case .operation(_, let operation, _) = self else { return false }
      return operation.commandValue != nil
    }

    var isSignedWrite: Bool {
      if case .operation(_, .signedWrite, _) = self { true } else { false }
    }

    /// The handle of the value whose configuration it writes.
    var configuredValue: UInt16? {
      if case .configuration(_, let target, _, _) = self { target.valueHandle } else { nil }
    }

    var isDiscovery: Bool {
      guard case .operation(_, let operation, _) = self else { return false }
      switch operation {
      case .discoverServices, .discoverIncludedServices, .discoverCharacteristics,
        .discoverDescriptors:
        return true
      case .read, .readByUUID, .readMultiple, .write, .reliableWrite, .writeWithoutResponse,
        .signedWrite:
        return false
      }
    }
  }
}

extension GATTOperation {
  /// What it writes, if that is by a Write Command: one that is signed needs no signature any more where
  /// the link was protected instead.
  var commandValue: (handle: UInt16, value: [UInt8])? {
    switch self {
    case .writeWithoutResponse(let handle, let value), .signedWrite(let handle, let value):
      (handle, value)
    default: nil
    }
  }
}

extension ATTErrorCode {
  /// Whether the operation may succeed over a link that is protected better.
  var isWantOfSecurity: Bool {
    self == .insufficientAuthentication || self == .insufficientEncryption
  }
}
