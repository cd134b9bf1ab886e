package import BluetoothInterface
package import BluetoothWire

/// An address of the kernel's L2CAP sockets: `struct sockaddr_l2` (the kernel's include/net/bluetooth/l2cap.h).
package struct L2CAPSocketAddress: Sendable, Hashable {
  package static let byteCount = 14
  /// AF_BLUETOOTH.
  package static let family: UInt16 = 31

  package var device: DeviceAddress
  /// The number of the service; 0 for the end that opens a channel.
  package var psm: UInt16

  package init(_ device: DeviceAddress, psm: UInt16) {
    self.device = device
    self.psm = psm
  }

  /// The structure on a little-endian machine.
  package var bytes: [UInt8] {
    let address = (0..<6).map { UInt8(truncatingIfNeeded: device.bits >> (8 * $0)) }
    // No channel identifier, the type of the address (BDADDR_LE_PUBLIC, BDADDR_LE_RANDOM), and a byte of padding.
    return Self.little(Self.family) + Self.little(psm) + address
      + [0, 0, device.kind == .public ? 1 : 2, 0]
  }

  private static func little(_ number: UInt16) -> [UInt8] {
    [UInt8(truncatingIfNeeded: number), UInt8(number >> 8)]
  }

  /// Decodes the structure; nil for an incomplete one, and for one of another family or of Bluetooth classic.
  package init?(bytes: ArraySlice<UInt8>) {
    let bytes = Array(bytes.prefix(Self.byteCount))
    guard bytes.count >= Self.byteCount - 1,
      UInt16(bytes[0]) | UInt16(bytes[1]) << 8 == Self.family
    else { return nil }
    let kind: DeviceAddress.Kind
    switch bytes[12] {
    case 1: kind = .public
    case 2: kind = .random
    default: return nil
    }
    psm = UInt16(bytes[2]) | UInt16(bytes[3]) << 8
    device = DeviceAddress(
      bits: bytes[4..<10].reversed().reduce(0) { $0 << 8 | UInt64($1) }, kind: kind)
  }
}

/// What the driver does with a socket of L2CAP. A channel and its socket have one identifier.
package enum ChannelAction: Sendable, Equatable {
  /// Open a channel; `opened` or `ended` follows.
  case open(ChannelID, from: DeviceAddress, to: L2CAPSocketAddress)
  /// Listen on a PSM, or on the first free one of 0x0080 ... 0x00FF; `listening` or `ended` follows.
  case listen(ChannelID, on: DeviceAddress, psm: UInt16?, requiresEncryption: Bool)
  /// Send bytes, in as many SDUs as they need; `sent` follows, once or in parts.
  case send(ChannelID, [UInt8])
  /// Read received bytes, or leave them to the kernel. Kernels before 6.9 keep giving credits to the peer, so that
  /// their sockets are read all the same.
  case setReading(ChannelID, Bool)
  /// Close a socket when the kernel has sent its bytes. No event follows.
  case close(ChannelID)
}

/// What a socket of L2CAP reports.
package enum ChannelSocketEvent: Sendable, Equatable {
  case opened(peerMTU: Int)
  case listening(psm: UInt16)
  /// A peer has opened a channel, whose identifier the driver has chosen.
  case accepted(ChannelID, peer: DeviceAddress, peerMTU: Int)
  case received([UInt8])
  /// The kernel has taken this number of bytes.
  case sent(Int)
  /// The socket is closed.
  case ended(ChannelSocketFailure)
}

/// Why a socket of L2CAP has ended, or could not be made.
package enum ChannelSocketFailure: Error, Sendable, Hashable {
  /// The peer has closed the channel.
  case closedByPeer
  /// The peer has refused the channel; the kernel keeps its result.
  case refused
  /// The link is not encrypted enough, and could not be.
  case needsSecurity
  case timedOut
  case linkLost
  /// The PSM is another program's.
  case isInUse
  /// The kernel or a rule of the machine has no such sockets for this program; the text has the reason.
  case isUnavailable(String)
  case other(String)

  /// The error for clients.
  var hostError: HostError {
    switch self {
    // Remote User Terminated Connection (Core 5.4, Vol 1, Part F, §2.19), as in the own host.
    case .closedByPeer: .disconnected(HCIStatus(rawValue: 0x13))
    case .refused: .channelRefused(Self.unknownResult)
    // Insufficient encryption (Core 5.4, Vol 3, Part A, §4.23).
    case .needsSecurity: .channelRefused(0x0008)
    case .timedOut: .connectionFailed(HCIStatus(rawValue: 0x08))
    case .linkLost: .notConnected
    case .isInUse: .invalidArgument("Another program of this machine listens on this PSM.")
    case .isUnavailable(let reason):
      .unsupported("The kernel gives this program no L2CAP channels: \(reason).")
    case .other(let reason): .transport("The kernel's channel has failed: \(reason).")
    }
  }

  /// No result of the Core Specification.
  private static let unknownResult: UInt16 = 0xFFFF
}
