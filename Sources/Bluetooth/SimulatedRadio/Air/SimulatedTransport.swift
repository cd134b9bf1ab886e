import BluetoothHost
import BluetoothInterface
import BluetoothWire

/// The way to a simulated controller in this process.
final class SimulatedTransport: HCITransport {
  private let port: ControllerPort
  private var isOpen = false
  /// Without effect: simulated controllers know flow control, so that hosts never need this.
  var isReceiving = true
  private static let noPower = HostError.transport("The simulated controller has no power.")

  init(_ port: ControllerPort) { self.port = port }

  func open(_ receiver: any TransportReceiver) {
    guard port.connect() else {
      receiver.transport(self, closed: Self.noPower)
      return
    }
    isOpen = true
    port.onPackets = { [weak receiver, unowned self] packets in
      if isOpen { receiver?.transport(self, received: packets) }
    }
    port.onPowerLoss = { [weak receiver, unowned self] in
      close()
      receiver?.transport(self, closed: Self.noPower)
    }
    receiver.transportOpened(self)
  }

  func send(_ packet: HCIPacket) { port.send(packet) }
  func flush() { port.flush() }

  func close() {
    guard isOpen else { return }
    isOpen = false
    port.disconnect()
  }
}
