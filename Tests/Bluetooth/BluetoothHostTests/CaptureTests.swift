import BluetoothWire
import Foundation
import Testing

@testable import BluetoothHost

@Suite("Captures")
struct CaptureTests {
  @Test("a capture can be read before the file is closed")
  func readable() throws {
    let path = Self.temporaryPath()
    defer { try? FileManager.default.removeItem(atPath: path) }
    let capture = try Capture(path: path)
    let command = HCIPacket(kind: .command, bytes: [0x03, 0x0C, 0x00])
    let event = HCIPacket(kind: .event, bytes: [0x0E, 0x04, 0x01, 0x03, 0x0C, 0x00])
    capture.record(command, .hostToController)
    capture.record(event, .controllerToHost)
    #expect(try Self.records(path).isEmpty)
    capture.flush()
    let records = try Self.records(path)
    #expect(records.map(\.packet) == [command, event])
    #expect(records.map(\.direction) == [.hostToController, .controllerToHost])
    #expect(records.allSatisfy { $0.microseconds > 1_577_836_800_000_000 })

    for _ in 0..<10_000 { capture.record(event, .controllerToHost) }
    #expect(try Self.records(path).count > 2)
    capture.close()
    #expect(try Self.records(path).count == 10_002)
    #expect(capture.failure == nil)
  }

  @Test("a path that cannot be written is refused in one sentence")
  func unwritable() {
    do {
      _ = try Capture(path: "/nonexistent/capture.btsnoop")
      Issue.record("it was opened")
    } catch {
      #expect(
        error.description
          == "The capture \"/nonexistent/capture.btsnoop\" cannot be written: no such file or "
          + "directory.")
    }
  }

  @Test("a full disk is reported")
  func fullDisk() {
    do {
      _ = try Capture(path: "/dev/full")
      Issue.record("it was written")
    } catch {
      #expect(error.reason == "no space left on device")
    }
  }

  static func temporaryPath() -> String {
    FileManager.default.temporaryDirectory.appending(path: "\(UUID()).btsnoop").path
  }

  static func records(_ path: String) throws -> [BTSnoop.Record] {
    let file = try Array(Data(contentsOf: URL(filePath: path)))
    var reader = try BTSnoop.Reader(file[...])
    var records: [BTSnoop.Record] = []
    while let record = try reader.next() { records.append(record) }
    return records
  }
}
