import BluetoothInterface
import Essentials

@testable import HubWire

// What was added to the programs in the state of a hub.
extension Version1 {
  static var radioUses: [String: HubMessage] {
    var status = HubStatus(
      version: "", processID: 0, uptime: .zero,
      radio: HubStatus.Radio(name: "none", state: .poweredOff, isSimulated: true))
    status.programs = [program(300, "Lamp", 77), program(301, "Strap", 78)]
    status.programs[0].lastUse = RadioUse(.scan, age: .milliseconds(1_500))
    status.programs[1].lastUse = RadioUse(.link, age: .zero)
    return ["statusOfProgramsThatUsedTheRadio": .status(1, status)]
  }

  private static func program(
    _ connection: UInt64, _ app: String, _ process: Int
  ) -> HubStatus.Program {
    HubStatus.Program(
      connection: connection, app: app, processID: process, userID: 1_000, age: .zero)
  }
}
