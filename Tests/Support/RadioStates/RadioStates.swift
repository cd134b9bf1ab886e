import CoreBluetooth
import Foundation

/// A program of Core Bluetooth that knows of no hub: it prints each state of its radio, until its input ends.
@main
final class RadioStates: NSObject, CBCentralManagerDelegate, Sendable {
  static func main() {
    let program = RadioStates()
    let manager = CBCentralManager(delegate: program, queue: DispatchQueue(label: "radio-states"))
    while readLine() != nil {}
    withExtendedLifetime((program, manager)) {}
  }

  func centralManagerDidUpdateState(_ central: CBCentralManager) {
    FileHandle.standardOutput.write(Data("\(central.state)\n".utf8))
  }
}
