import BluetoothHost
import BluetoothWire
import Essentials
import Foundation
import Glibc
import Simulation

/// Writes what goes over the simulated air to a file that Wireshark opens, encrypted where it is.
final class AirRecorder: Sendable {
  private let file: Int32
  private let start: Int64

  /// Replaces the file.
  init(path: String) throws {
    do throws(CaptureError) { file = try CaptureFile.open(path) } catch {
      throw CommandFailure(error)
    }
    start = Int64(Date().timeIntervalSince1970 * 1_000_000)
    write(LinkLayerCapture.header)
  }

  deinit { close(file) }

  /// Records everything in a world from now on.
  func record(_ world: World) {
    world.onAirPacket = { [self] packet in
      write(
        LinkLayerCapture.record(
          LinkLayerPacket(
            microseconds: start + packet.time.nanoseconds / 1_000,
            accessAddress: packet.accessAddress, direction: packet.direction, phy: packet.phy,
            bytes: packet.bytes)))
    }
  }

  /// A record at a time, so that a radio that is ended leaves whole ones.
  private func write(_ bytes: [UInt8]) {
    _ = bytes.withUnsafeBytes { Glibc.write(file, $0.baseAddress, $0.count) }
  }
}
