import BluetoothInterface
import BluetoothWire
import Essentials

/// A channel on a socket of the kernel's, open or about to be.
struct BlueZChannel: Sendable {
  struct Opening: Sendable {
    var token: RequestToken
    var deadline: Instant
  }

  struct Send: Sendable {
    var token: RequestToken
    /// The bytes that the kernel has not taken yet.
    var byteCount: Int
  }

  var client: BlueZSessionID
  var peer: DeviceAddress
  var psm: UInt16
  /// The request that opens it; nil when it is open.
  var opening: Opening?
  /// The requests that are not complete, in order.
  var sends: [Send] = []
  var unsentByteCount = 0
  /// Received bytes that the client has not consumed.
  var unconsumedByteCount = 0
  var isReading = true
}

/// A PSM on which a client listens.
struct BlueZListener: Sendable {
  var client: BlueZSessionID
  /// The request, until the socket listens.
  var token: RequestToken?
  var psm: UInt16?
  var requiresEncryption: Bool
}
