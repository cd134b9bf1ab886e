package import BluetoothInterface
package import BluetoothWire

/// A connection to a controller. It is opened once and closed once, and used on its host's loop
/// only.
package protocol HCITransport: AnyObject {
  /// Starts to open the connection. Afterwards the receiver's `transportOpened` or `closed` is
  /// called, possibly before this returns.
  func open(_ receiver: any TransportReceiver)
  /// Sends a packet. It may be buffered until the next `flush`.
  func send(_ packet: HCIPacket)
  /// Sends the buffered packets.
  func flush()
  /// Whether packets are read. If false, the controller must keep them.
  var isReceiving: Bool { get set }
  /// Closes the connection. The receiver is not called afterwards.
  func close()
}

/// The receiver of a transport's events, which are delivered on its host's loop.
package protocol TransportReceiver: AnyObject {
  /// The connection is open.
  func transportOpened(_ source: any HCITransport)
  /// Packets arrived, in order.
  func transport(_ source: any HCITransport, received packets: [HCIPacket])
  /// The connection could not be opened, or it broke. No other call follows.
  func transport(_ source: any HCITransport, closed error: HostError)
}

/// The transport of a radio that can't be used; opening it fails with the reason.
package final class UnavailableTransport: HCITransport {
  private let error: HostError
  package var isReceiving = true

  package init(_ error: HostError) { self.error = error }

  package func open(_ receiver: any TransportReceiver) { receiver.transport(self, closed: error) }
  package func send(_ packet: HCIPacket) {}
  package func flush() {}
  package func close() {}
}

extension HostError {
  /// A description of the error in one sentence, for users.
  package var sentence: String {
    switch self {
    case .transport(let text), .unsupported(let text), .unauthorized(let text): text
    case .radioNotReady: "The radio is not ready."
    case .controller(let status): "The controller reports status \(status)."
    default: "The radio failed: \(self)."
    }
  }
}
