package import BluetoothInterface
package import BluetoothWire

/// One attempt to reach a controller: opened once, closed once. Used on its host's loop only.
package protocol HCITransport: AnyObject {
  /// Starts to open the connection. Then the receiver's `transportOpened` or `closed` is called, before
  /// this returns where the outcome is known at once.
  func open(_ receiver: any TransportReceiver)
  /// Sends a packet, at the latest at the next `flush`.
  func send(_ packet: HCIPacket)
  /// Sends the buffered packets.
  func flush()
  /// Whether packets are read. While they are not, the controller has to keep them.
  var isReceiving: Bool { get set }
  /// Closes the connection; the receiver is not called any more.
  func close()
}

/// What a transport calls, on its host's loop.
package protocol TransportReceiver: AnyObject {
  /// The connection is open.
  func transportOpened(_ source: any HCITransport)
  /// Packets arrived, in order.
  func transport(_ source: any HCITransport, received packets: [HCIPacket])
  /// The connection could not be opened or broke; the last call.
  func transport(_ source: any HCITransport, closed error: HostError)
}

/// A radio that cannot be used at all, and why.
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
  /// What went wrong with a radio, in one sentence for people.
  package var sentence: String {
    switch self {
    case .transport(let text), .unsupported(let text), .unauthorized(let text): text
    case .radioNotReady: "The radio is not ready."
    case .controller(let status): "The controller reports status \(status)."
    default: "The radio failed: \(self)."
    }
  }
}
