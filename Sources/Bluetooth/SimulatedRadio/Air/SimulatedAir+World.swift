public import BluetoothHost
import Logging
public import PeripheralFiles
public import Simulation

extension RadioChoice.SimulatedAir {
  /// Creates a world with these settings and its devices. Texts on the devices' displays are
  /// logged. Blocks until the peripheral files are read.
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
  /// Adds the device of a peripheral file, such as a recorded one. Its times follow the time of
  /// this radio.
  ///
  /// - Parameters:
  ///   - file: The peripheral file.
  ///   - position: The position of the device.
  public func addDevice(_ file: PeripheralFile, at position: Position = Position(x: 1, y: 0)) {
    withWorld { _ = $0.addDevice(file, at: position) }
  }
}
