public import BluetoothHost
import Logging
public import PeripheralFiles
public import Simulation

extension RadioChoice.SimulatedAir {
  /// Creates a world with this air and its devices. Text on the devices' displays is logged. Blocks
  /// until the peripheral files are read.
  public func makeWorld() throws(PeripheralFileFailure) -> World {
    var radio = RadioModel()
    if isLossless { (radio.advertisementLoss, radio.packetLoss) = (0, 0) }
    let world = World(seed: seed, radio: radio)
    SimulatedRadio.installKeyAgreement()
    world.keyAgreement = KeyAgreementPlugIn.current
    world.onDisplay = { device, text in
      Logger(label: "ambit.simulation").notice("The display of \"\(device)\" shows \(text).")
    }
    if isPopulated { world.populate(with: .home) }
    for (index, path) in files.enumerated() {
      switch try SimulationFile(contentsOf: path) {
      case .device(let file): world.addDevice(file, at: Position(x: 1 + Double(index) / 2, y: 1))
      case .floor(let floor): world.add(floor)
      }
    }
    return world
  }
}

extension VirtualRadio {
  /// Adds the device that a file describes: a recorded device, for example. Its times pass as
  /// those of this radio do.
  ///
  /// - Parameters:
  ///   - file: What it is and does.
  ///   - position: Where it is.
  public func addDevice(_ file: PeripheralFile, at position: Position = Position(x: 1, y: 0)) {
    withWorld { _ = $0.addDevice(file, at: position) }
  }
}
