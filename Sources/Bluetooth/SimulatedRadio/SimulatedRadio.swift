import BluetoothHost
import BluetoothWire
import EventLoop
import Simulation

/// The simulated radio for hosts of this program.
public enum SimulatedRadio {
  /// Makes the simulated radio available to the hosts that are made from now on. `CoreBluetooth` does
  /// this itself, unless its package is used without the trait `SimulatedRadio`; programs that use
  /// `BluetoothHost` directly call it before they make a host. From any thread, any number of times.
  public static func install() { _ = isInstalled }

  private static let isInstalled: Bool = {
    SimulatedRadioPlugIn.install { choice, loop in
      // All attempts lead to the same controller in the same world, made at the first.
      let embedded = LoopConfined(EmbeddedRadio(choice, on: loop), to: loop)
      return { embedded.value.makeTransport() }
    }
    return true
  }()
}

/// A world in real time with one controller, for a host of the same process. Used on its loop only.
private final class EmbeddedRadio {
  private let choice: RadioChoice.SimulatedAir
  private let loop: EpollLoop
  private lazy var realTime: RealTimeAir = {
    let world = World(seed: choice.seed)
    if choice.isPopulated { world.populate(with: .home) }
    return RealTimeAir(world: world, on: loop)
  }()
  private lazy var port = realTime.air.makePort(
    name: "host", address: DeviceAddress(bits: 0xA0B0_0000_0001, kind: .public), at: Position())

  init(_ choice: RadioChoice.SimulatedAir, on loop: EpollLoop) {
    self.choice = choice
    self.loop = loop
  }

  func makeTransport() -> any HCITransport { SimulatedTransport(port) }
}
