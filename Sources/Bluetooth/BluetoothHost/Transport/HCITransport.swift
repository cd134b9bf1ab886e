import BluetoothMachines
import BluetoothWire

/// One attempt at a way to a controller: opened once, closed once. Used on its host's loop only.
protocol HCITransport: AnyObject {
  /// Starts to open the way; the receiver hears `transportOpened` or `closed`, not before this
  /// returns... unless the answer is known at once.
  func open(_ receiver: any TransportReceiver)
  /// Sends a packet, at the latest at the next `flush`.
  func send(_ packet: HCIPacket)
  /// Sends off what was gathered.
  func flush()
  /// Closes the way; the receiver hears nothing more.
  func close()
}

/// Who hears what comes over a transport.
protocol TransportReceiver: AnyObject {
  /// The way is open.
  func transportOpened(_ source: any HCITransport)
  /// Packets arrived, in order.
  func transport(_ source: any HCITransport, received packets: [HCIPacket])
  /// The way could not be opened or broke; the last that is heard.
  func transport(_ source: any HCITransport, closed error: HostError)
}

/// A radio that cannot be used at all, and why.
final class UnavailableTransport: HCITransport {
  private let error: HostError

  init(_ error: HostError) { self.error = error }

  func open(_ receiver: any TransportReceiver) { receiver.transport(self, closed: error) }
  func send(_ packet: HCIPacket) {}
  func flush() {}
  func close() {}
}

extension HostError {
  /// What went wrong with a radio, for people.
  var sentence: String {
    switch self {
    case .transport(let text), .unsupported(let text), .unauthorized(let text): text
    case .radioNotReady: "The radio is not ready."
    case .controller(let status): "The controller reports status \(status)."
    default: "The radio failed: \(self)."
    }
  }
}
