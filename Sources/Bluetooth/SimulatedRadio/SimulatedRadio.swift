import BluetoothHost
import BluetoothInterface
import BluetoothWire
import EventLoop
import PeripheralFiles
import Simulation

#if SecureConnections
  import SecureConnections
#endif

/// The simulated radio for hosts of this program.
public enum SimulatedRadio {
  /// Makes the simulated radio available to hosts that are created from now on. `CoreBluetooth`
  /// does this automatically, unless its package is used without the trait `SimulatedRadio`;
  /// programs that use `BluetoothHost` directly must call it before they create a host. May be
  /// called from any thread, and repeatedly.
  public static func install() { _ = isInstalled }

  private static let isInstalled: Bool = {
    installKeyAgreement()
    SimulatedRadioPlugIn.install { choice, loop in
      // All attempts lead to the same controller in the same world, made at the first.
      let embedded = LoopConfined(EmbeddedRadio(choice, on: loop), to: loop)
      return { embedded.value.makeTransport() }
    }
    return true
  }()
}

extension SimulatedRadio {
  /// Enables LE Secure Connections for devices of this radio if the program has it, also if the
  /// radio is created before any host installs it.
  static func installKeyAgreement() {
    #if SecureConnections
      SecureConnections.install()
    #endif
  }
}

/// A world in real time with one controller, for a host of the same process. Used on its loop only.
private final class EmbeddedRadio {
  private let choice: RadioChoice.SimulatedAir
  private let loop: EpollLoop
  /// The world and this host's port to it, once they were made.
  private var made: (air: RealTimeAir, port: ControllerPort)?

  init(_ choice: RadioChoice.SimulatedAir, on loop: EpollLoop) {
    self.choice = choice
    self.loop = loop
  }

  /// A way to the controller. Files that cannot be read are read again at the next attempt.
  func makeTransport() -> any HCITransport {
    do throws(PeripheralFileFailure) {
      return SimulatedTransport(try port())
    } catch {
      return UnavailableTransport(.transport("\(error)."))
    }
  }

  private func port() throws(PeripheralFileFailure) -> ControllerPort {
    if let made { return made.port }
    let air = RealTimeAir(world: try choice.makeWorld(), on: loop)
    let place = air.air.world.hostPlaces.first
    let port = air.air.makePort(
      name: "host", address: DeviceAddress(bits: 0xA0B0_0000_0001, kind: .public),
      at: place ?? HostPlace(name: "host", motion: .still(.origin)))
    made = (air, port)
    return port
  }
}
