import ArgumentParser
import BluetoothHost
import BluetoothWire
import CoreBluetooth
import CoreBluetoothAsync
import Essentials
import Foundation
import Glibc
import JSONWire
import PeripheralFiles

/// Records a device.
struct Record: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "Connect to a device and record it in a peripheral file.",
    discussion: """
      Records its advertising, connects, reads all values, subscribes to all characteristics, and \
      records notifications for --duration; then performs the writes of --write, one after another, \
      and records the responses. "--radio sim:FILE", "ambit peripheral FILE" and VirtualRadio in \
      tests play the file. Only the writes of --write are sent to the device. Values are stored \
      unchanged: a file may contain secrets. An existing file is replaced; "-" writes to standard \
      output.

      With --from-capture, no connection is made: the device is taken from a btsnoop file, as far \
      as that contains it.

      EXAMPLES:
        ambit record "Pulse strap" strap.json
        ambit record strap strap.json --duration 30 --write 2A39=1
        ambit record strap.json --from-capture capture.btsnoop
        ambit --radio sim:strap.json inspect strap
      """)

  @OptionGroup var options: GlobalOptions

  @Argument(
    help: "The device, which may be left out with --from-capture, and the file to write.")
  var arguments: [String]

  @Option(
    help: ArgumentHelp("How long to follow notifications.", valueName: "time"),
    transform: Self.time)
  var duration = Seconds(span: .seconds(10))

  @Option(
    help: ArgumentHelp("How long to listen to advertisements.", valueName: "time"),
    transform: Self.time)
  var listen = Seconds(span: .seconds(3))

  @Option(
    name: .long,
    help: ArgumentHelp(
      "Write a value, as \"ambit write\" takes it, or bytes after 0x; several are done in turn.",
      valueName: "characteristic=value"))
  var write: [String] = []

  @Option(
    help: ArgumentHelp("Take the device from a btsnoop file.", valueName: "file"),
    completion: .file())
  var fromCapture: String?

  private static func time(_ text: String) throws -> Seconds {
    guard let seconds = Seconds(text), seconds.span <= PeripheralFile.Limits.longestTime else {
      throw ValidationError("\"\(text)\" is not a time like 10, 500ms or 2m, of a day at most.")
    }
    return seconds
  }

  func validate() throws {
    let counts = fromCapture == nil ? 2...2 : 1...2
    guard counts.contains(arguments.count) else {
      throw ValidationError("Name the device and the file to write: ambit record DEVICE FILE.")
    }
  }

  func run() async throws {
    let output = Output(isJSON: options.json)
    // A file that cannot be written fails before anything is recorded.
    guard let target = try arguments.last.map(RecordingFile.init) else { return }
    if let fromCapture {
      let name = arguments.count == 2 ? arguments[0] : nil
      let recorded = try CaptureConversion(path: fromCapture).recorded(name, output)
      try target.write(recorded.file)
      return Self.report(recorded, target, output)
    }
    let name = DeviceName(text: arguments[0])
    let writes = try write.map(PlannedWrite.init)
    let plan = DeviceRecording.Plan(
      duration: duration.duration, listening: listen.duration, writes: writes)
    try await options.withRadio { session in
      try await session.checkRadio()
      let recording = DeviceRecording(name, plan, session)
      let result: Result<Void, any Error>
      do {
        let isDone: Void? = try await race(session.remaining ?? .seconds(366 * 24 * 3600)) {
          try await recording.run()
        }
        result =
          isDone == nil
          ? .failure(CommandFailure(.timedOut, "recording exceeded the time limit"))
          : .success(())
      } catch {
        result = .failure(error)
      }
      // Everything recorded until now is written, also after an error.
      if let recorded = recording.recorded {
        try target.write(recorded.file)
        Self.report(recorded, target, output)
      }
      try result.get()
    }
  }

  private static func report(
    _ recorded: PeripheralRecording, _ target: RecordingFile, _ output: Output
  ) {
    let file = recorded.file
    let all = file.services.flatMap(\.characteristics)
    let notificationCount = all.reduce(0) { $0 + $1.notifications.count }
    let answerCount = all.reduce(0) { $0 + $1.answers.count }
    if output.isJSON, !target.isStandardOutput {
      return output.object(
        .object([
          "event": .string("recorded"), "file": .string(target.path),
          "name": file.name.map { .string($0) },
          "services": .integer(Int64(file.services.count)),
          "characteristics": .integer(Int64(all.count)),
          "notifications": .integer(Int64(notificationCount)),
          "answers": .integer(Int64(answerCount)),
          "dropped": recorded.droppedCount == 0 ? nil : .integer(Int64(recorded.droppedCount)),
        ]))
    }
    output.note(
      "\(target.path): \(file.name.map(Fit.safe) ?? "no name"), \(file.services.count) services, "
        + "\(all.count) characteristics, \(notificationCount) notifications, "
        + "\(answerCount) answers.")
    if recorded.droppedCount > 0 {
      output.note(
        "Left out, because a peripheral file cannot contain them: "
          + "\(recorded.droppedCount) values or events.")
    }
  }
}

/// Where a recording goes: a file, or standard output for `-`.
struct RecordingFile: Sendable {
  let path: String

  var isStandardOutput: Bool { path == "-" }

  /// - Throws: `CommandFailure` where it is clear already that the file cannot be written.
  init(_ path: String) throws {
    self.path = path
    guard !isStandardOutput else { return }
    do throws(CaptureError) {
      try CaptureFile.checkReplaceable(path)
    } catch {
      throw failure(error.reason)
    }
  }

  /// Reads the file's text as a check, and writes it.
  /// - Throws: `CommandFailure` where the file cannot be written, or could not be read again. What
  ///   was recorded is written then, too: it cannot be had a second time.
  func write(_ file: PeripheralFile) throws {
    let text = Array(file.json.utf8)
    let reason = Self.unreadable(text, file)
    try write(text)
    if let reason {
      throw CommandFailure(
        .failure,
        "internal error: \(path) was written, but cannot be read as a peripheral file: \(reason)")
    }
  }

  /// Why a text does not give the file that it was made of; nil where it does.
  static func unreadable(_ text: [UInt8], _ file: PeripheralFile) -> String? {
    do throws(PeripheralFileError) {
      return try PeripheralFile(text) == file ? nil : "it reads back differently"
    } catch {
      return error.description
    }
  }

  private func write(_ bytes: [UInt8]) throws {
    if isStandardOutput { return Output.write(bytes, to: STDOUT_FILENO) }
    do throws(CaptureError) {
      try CaptureFile.replace(path, with: bytes)
    } catch {
      throw failure(error.reason)
    }
  }

  private func failure(_ reason: String) -> CommandFailure {
    CommandFailure(.cannotCreate, "\(path) cannot be written: \(reason)")
  }
}

/// A write that the user asked for: `2A39=1`.
struct PlannedWrite: Sendable {
  var name: CharacteristicName
  var bytes: [UInt8]

  /// - Throws: `CommandFailure` where the text is no such write.
  init(_ text: String) throws {
    guard let equals = text.firstIndex(of: "=") else {
      throw CommandFailure(.usage, "\"\(text)\" is not CHARACTERISTIC=VALUE")
    }
    name = try CharacteristicName(String(text[..<equals]))
    let value = String(text[text.index(after: equals)...])
    bytes = try ValueInput(typed: value).bytes(for: name.characteristic, choice: nil)
  }
}

/// A device in a capture file.
struct CaptureConversion {
  /// A day of a busy radio; the whole file is read into memory.
  private static let byteCountMax = 256 << 20

  let path: String

  /// The device that a name means, or the only one with a link.
  func recorded(_ name: String?, _ output: Output) throws -> PeripheralRecording {
    let bytes: [UInt8]
    do {
      let handle = try FileHandle(forReadingFrom: URL(fileURLWithPath: path))
      bytes = Array(try handle.read(upToCount: Self.byteCountMax + 1) ?? Data())
    } catch {
      throw CommandFailure(
        .noInput, "\(path) cannot be read: \(error.localizedDescription.trimmingSuffix("."))")
    }
    guard bytes.count <= Self.byteCountMax else {
      throw CommandFailure(.badData, "\(path) is larger than \(Self.byteCountMax >> 20) MB")
    }
    let capture: CaptureRecorder
    do throws(WireError) {
      capture = try CaptureRecorder(bytes[...])
    } catch {
      throw CommandFailure(.badData, "\(path) is no btsnoop capture of H4 packets")
    }
    if capture.skippedCount > 0 {
      output.note(
        "Malformed packets of the capture, or packets beyond the limit: \(capture.skippedCount).")
    }
    let device = try pick(name, capture.devices)
    guard let recording = capture.recording(of: device.address) else {
      throw CommandFailure(.notFound, "\(path) contains no packets of \(device.address)")
    }
    if recording.file.services.isEmpty {
      output.note("The capture has no discovery of its services: only advertising is written.")
    }
    return recording
  }

  private func pick(
    _ name: String?, _ devices: [CaptureRecorder.Device]
  ) throws -> CaptureRecorder.Device {
    if let name {
      let sightings = devices.map { device in
        var sighting = Sighting(identifier: device.address.description)
        sighting.address = device.address
        sighting.name = device.name
        return sighting
      }
      let picked = try DeviceName(text: name).pick(from: sightings)
      if let device = devices.first(where: { $0.address == picked?.address }) { return device }
      throw CommandFailure(.notFound, "\(path) has no device called \"\(name)\"")
    }
    let connected = devices.filter(\.wasConnected)
    if connected.count == 1 { return connected[0] }
    if devices.count == 1 { return devices[0] }
    let list = (connected.isEmpty ? devices : connected).prefix(8).map {
      "\($0.address) (\($0.name.map(Fit.safe) ?? "no name"))"
    }
    throw CommandFailure(
      .notFound,
      devices.isEmpty
        ? "\(path) has no device"
        : "\(path) has several devices; name one of them before the file: "
          + list.joined(separator: ", "))
  }
}
