import BluetoothInterface
import BluetoothMachines
package import EventLoop
import Synchronization

/// Creates transports, one for each attempt to reach a controller. Called on the host's loop.
package typealias TransportFactory = @Sendable () -> any HCITransport

/// The factory of transports to the simulated radio. This module doesn't depend on it: the module
/// `SimulatedRadio` installs itself here.
package enum SimulatedRadioPlugIn {
  package typealias Factory =
    @Sendable (RadioChoice.SimulatedAir, _ loop: EpollLoop) -> TransportFactory

  private static let factory = Mutex<Factory?>(nil)

  /// Makes the simulated radio available to all hosts created from now on.
  package static func install(_ new: @escaping Factory) { factory.withLock { $0 = new } }

  /// Whether this program has the simulated radio.
  package static var isInstalled: Bool { factory.withLock { $0 != nil } }

  static func transportFactory(
    _ choice: RadioChoice.SimulatedAir, on loop: EpollLoop
  ) -> TransportFactory? {
    factory.withLock { $0 }?(choice, loop)
  }
}

extension RadioChoice {
  /// Returns the factory of transports to this radio's controller.
  package func transportFactory(on loop: EpollLoop) -> TransportFactory {
    let connector: H4Transport.Connector
    switch self {
    case .simulated(let choice):
      return SimulatedRadioPlugIn.transportFactory(choice, on: loop) ?? Self.notSimulated
    case .tcp(let host, let port): connector = .tcp(host: host, port: port)
    case .unix(let path): connector = .unix(path: path)
    case .uart(let line): connector = .uart(line)
    case .hci(let index): connector = .userChannel(index)
    }
    return { H4Transport(on: loop, connector) }
  }

  private static let notSimulated: TransportFactory = {
    UnavailableTransport(
      .unsupported(
        "This program is built without the simulated radio; AMBIT_RADIO names another, as in hci0.")
    )
  }
}
