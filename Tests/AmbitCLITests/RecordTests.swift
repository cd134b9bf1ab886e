import BluetoothInterface
import BluetoothWire
import Essentials
import Foundation
import PeripheralFiles
import Simulation
import Testing

@testable import AmbitCLI

@Suite("Recording and replaying")
struct RecordTests {
  private static func load(_ path: String) throws -> PeripheralFile {
    try PeripheralFile(contentsOf: path)
  }

  /// What must be equal in two recordings: all but times, strengths, and the number of notifications, which is a matter
  /// of a recording's end.
  private static func timeless(
    _ file: PeripheralFile, comparedWith other: PeripheralFile? = nil
  ) -> PeripheralFile {
    var file = file
    file.advertising?.interval = .zero
    file.advertising?.rssi = nil
    file.advertising?.duration = nil
    file.duration = nil
    for index in file.characteristicIndices {
      let isShared = other?.characteristicIndices.contains(index) == true
      let count = isShared ? other?[index].notifications.count : nil
      file[index].notifications = file[index].notifications.prefix(count ?? .max).map {
        .init(time: .zero, value: $0.value)
      }
      for answer in file[index].answers.indices {
        for number in file[index].answers[answer].notifications.indices {
          file[index].answers[answer].notifications[number].time = .zero
        }
      }
    }
    return file
  }

  private static func expectSame(_ one: PeripheralFile, _ two: PeripheralFile) {
    #expect(timeless(one, comparedWith: two) == timeless(two, comparedWith: one))
  }

  @Test("a device that is recorded, played and recorded again is the same")
  func roundTrip() async throws {
    let folder = try TestFolder()
    let (first, second) = (folder.path + "/first.json", folder.path + "/second.json")
    let options = ["--duration", "3", "--listen", "1", "--write", "2A39=1", "--write", "2A39=2"]
    for (radio, path) in [("sim", first), ("sim:\(first)", second)] {
      let record = try AmbitRun(["record", "Pulse strap", path, "--radio", radio] + options)
      record.closeInput()
      let end = await record.end()
      #expect(end.status == 0, "\(end)")
    }
    let (one, two) = try (Self.load(first), Self.load(second))
    Self.expectSame(one, two)
    #expect(one.name == "Pulse strap" && one.appearance == 0x0341)
    let control = try #require(one.services.flatMap(\.characteristics).first { $0.uuid == 0x2A39 })
    #expect(control.answers.map(\.error?.rawValue) == [nil, 0x80])
    let rate = try #require(one.services.flatMap(\.characteristics).first { $0.uuid == 0x2A37 })
    #expect(!rate.notifications.isEmpty)
  }

  @Test("a recorded value that took pairing takes pairing from the replay, too")
  func protectedValues() async throws {
    let folder = try TestFolder()
    let original = try folder.file(
      "safe.json",
      #"""
      {"name": "Safe", "services": [
        {"uuid": "180F", "characteristics": [{"uuid": "2A19", "value": {"uint8": 87}}]},
        {"uuid": "FFF0", "characteristics": [
          {"uuid": "FFF1", "value": {"hex": "2a"}, "readNeedsEncryption": true},
          {"uuid": "FFF2", "writeable": true, "writeNeedsEncryption": true}]}]}
      """#)
    let path = folder.path + "/again.json"
    let record = try await AmbitRun.end(
      "record", "Safe", path, "--radio", "sim:\(original)", "--listen", "1", "--duration", "300ms",
      "--write", "FFF2=0x01")
    #expect(record.status == 0, "\(record)")
    let characteristics = try Self.load(path).services.flatMap(\.characteristics)
    #expect(characteristics.map(\.readNeedsEncryption) == [false, true, false])
    #expect(characteristics.map(\.writeNeedsEncryption) == [false, false, true])
    #expect(characteristics.allSatisfy { !$0.readNeedsAuthentication })
    let refused = try await AmbitRun.end(
      "read", "Safe", "FFF1", "--radio", "sim:\(path)", "--pair", "never")
    #expect(refused.status == AmbitCLI.ExitStatus.failure.rawValue, "\(refused)")
    let open = try await AmbitRun.end(
      "read", "Safe", "2A19", "--radio", "sim:\(path)", "--pair", "never")
    #expect(open.status == 0, "\(open)")
    let paired = try await AmbitRun.end("read", "Safe", "FFF1", "--radio", "sim:\(path)")
    #expect(paired.status == 0, "\(paired)")
  }

  @Test("a capture gives the same as the recording that was captured")
  func fromCapture() async throws {
    let folder = try TestFolder()
    let (live, capture, converted) = (
      folder.path + "/live.json", folder.path + "/c.btsnoop", folder.path + "/converted.json"
    )
    let characteristic = "6E400002-B5A3-F393-E0A9-E50E24DCCA9E"
    let record = try await AmbitRun.end(
      "record", "UART echo", live, "--duration", "500ms", "--listen", "1", "--write",
      "\(characteristic)=0x6869", environment: ["AMBIT_CAPTURE": capture])
    #expect(record.status == 0, "\(record)")
    let conversion = try await AmbitRun.end("record", converted, "--from-capture", capture)
    #expect(conversion.status == 0, "\(conversion)")
    let (one, two) = try (Self.load(live), Self.load(converted))
    Self.expectSame(one, two)
    let answer = one.services.flatMap(\.characteristics).flatMap(\.answers).first
    #expect(answer?.notifications.map(\.value) == [Array("hi".utf8)])
  }

  @Test("included services, descriptors, properties and errors come through the air and back")
  func everything() async throws {
    let folder = try TestFolder()
    let all = try folder.file(
      "all.json",
      #"""
      {"name": "All", "appearance": 961, "address": "C0:12:34:56:78:9A",
       "advertising": {"interval": 0.1, "data": "020106", "scanResponse": "0409416c6c"},
       "services": [
        {"uuid": "180F", "primary": false, "characteristics": [
          {"uuid": "2A19", "properties": ["read"], "readError": 128}]},
        {"uuid": "1812", "includes": [0], "characteristics": [
          {"uuid": "2A4D", "properties": ["read", "notify"], "value": {"hex": "0102"},
           "descriptors": [{"uuid": "2908", "value": {"hex": "0001"}}]},
          {"uuid": "2A4D", "properties": ["read", "write-without-response"],
           "value": {"hex": "03"}}]}]}
      """#)
    let path = folder.path + "/again.json"
    let end = try await AmbitRun.end(
      "record", "All", path, "--radio", "sim:\(all)", "--listen", "1", "--duration", "300ms")
    #expect(end.status == 0, "\(end)")
    var (one, two) = try (Self.timeless(Self.load(all)), Self.timeless(Self.load(path)))
    // Services that are there to be included only are found last.
    #expect(two.services.map(\.uuid) == [0x1812, 0x180F])
    #expect(two.services[0].includedServices == [1])
    two.services.reverse()
    two.services[1].includedServices = [0]
    #expect(one.services == two.services)
    one.services = []
    two.services = []
    #expect(one == two)
  }

  @Test("a file that is no capture, or has no such device, is refused")
  func badCaptures() async throws {
    let folder = try TestFolder()
    let noise = try folder.file("noise", "this is no capture")
    let end = try await AmbitRun.end("record", folder.path + "/x.json", "--from-capture", noise)
    #expect(end.status == ExitStatus.badData.rawValue, "\(end)")
    let missing = try await AmbitRun.end(
      "record", folder.path + "/x.json", "--from-capture", folder.path + "/none")
    #expect(missing.status == ExitStatus.noInput.rawValue)
    #expect(!FileManager.default.fileExists(atPath: folder.path + "/x.json"))
  }

  @Test("a recording that is broken off is written as far as it went")
  func brokenOff() async throws {
    let folder = try TestFolder()
    let path = folder.path + "/strap.json"
    let end = try await AmbitRun.end(
      "record", "Pulse strap", path, "--listen", "500ms", "--duration", "1m", "--timeout", "10")
    #expect(end.status == ExitStatus.timedOut.rawValue, "\(end)")
    #expect(try Self.load(path).services.count == 3)
  }

  @Test("a file that cannot be written is reported, and never replaces a device")
  func unwritable() async throws {
    let missing = try await AmbitRun.end("record", "strap", "/nonexistent/x.json")
    #expect(missing.status == ExitStatus.cannotCreate.rawValue, "\(missing)")
    let folder = try TestFolder()
    let link = folder.path + "/latest.json"
    let target = try folder.file("strap.json", "")
    try FileManager.default.createSymbolicLink(atPath: link, withDestinationPath: target)
    // Before it looks for the device, which does not exist.
    let linked = try await AmbitRun.end("record", "No such device", link, "--listen", "300ms")
    #expect(linked.status == ExitStatus.cannotCreate.rawValue, "\(linked)")
    #expect(linked.complaints.joined().contains("it is a symbolic link"), "\(linked)")
    let full = try await AmbitRun.end(
      "record", "Pulse strap", "/dev/full", "--listen", "300ms", "--duration", "300ms")
    #expect(full.status == ExitStatus.cannotCreate.rawValue, "\(full)")
    let attributes = try FileManager.default.attributesOfItem(atPath: "/dev/full")
    #expect(attributes[.type] as? FileAttributeType == .typeCharacterSpecial)
    let scan = try await AmbitRun.end("scan", "--timeout", "1", shell: "exec >/dev/full")
    #expect(scan.status == ExitStatus.cannotCreate.rawValue, "\(scan)")
    #expect(scan.complaints.count == 1, "\(scan)")
  }

  @Test("a recording on standard output is a file that can be read")
  func standardOutput() async throws {
    let end = try await AmbitRun.end(
      "record", "Pulse strap", "-", "--json", "--listen", "300ms", "--duration", "300ms")
    #expect(end.status == 0, "\(end)")
    let file = try PeripheralFile(Array(end.output.joined(separator: "\n").utf8))
    #expect(file.name == "Pulse strap")
  }

  @Test("a text that would not be read as what it was made of is found before it is written")
  func readAgain() throws {
    let file = try PeripheralFile(
      Array(#"{"services": [{"uuid": "180F", "characteristics": []}]}"#.utf8))
    #expect(RecordingFile.unreadable(Array(file.json.utf8), file) == nil)
    var other = file
    other.name = "another"
    #expect(RecordingFile.unreadable(Array(file.json.utf8), other) != nil)
    other.name = String(repeating: "a", count: 249)
    let reason = RecordingFile.unreadable(Array(other.json.utf8), other)
    #expect(reason?.contains("a device name has 1 to 248 bytes") == true)
  }

  @Test("a file of a radio that is missing or wrong is its own error")
  func radioFiles() async throws {
    let folder = try TestFolder()
    let wrong = try folder.file("wrong.json", "{\"services\": 1}")
    let scan = try await AmbitRun.end("scan", "--radio", "sim:\(wrong)")
    #expect(scan.status == ExitStatus.badData.rawValue)
    #expect(scan.complaints.first?.contains("line 1, column 14") == true, "\(scan)")
    let missing = try await AmbitRun.end("scan", "--radio", "sim:/nonexistent.json")
    #expect(missing.status == ExitStatus.noInput.rawValue)
  }
}
