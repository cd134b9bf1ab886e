import ArgumentParser
import BluetoothWire
import CoreBluetooth
import CoreBluetoothAsync
import Essentials
import Foundation
import JSONWire
import PeripheralFiles

/// Reads values.
struct Read: RadioCommand {
  static let configuration = CommandConfiguration(
    abstract: "Connect to a device and read characteristics.",
    discussion: """
      EXAMPLES:
        ambit read strap "battery level"
        ambit read thermostat 2A6E 2A29
        ambit read thermostat 181A/2A6E --json
      """)

  @OptionGroup var options: GlobalOptions

  @Argument(help: "The device: identifier or start of it, address, or name.")
  var id: String

  @Argument(help: "The characteristic to read: UUID, standard name, or SERVICE/CHARACTERISTIC.")
  var characteristic: [String]

  func run(_ session: Session) async throws {
    let names = try characteristic.map { try CharacteristicName($0) }
    let id = id
    try await session.withinTime("reading from \(id)") {
      try await Device.with(DeviceName(text: id), session) { device in
        var characteristics: [CBCharacteristic] = []
        for name in names { characteristics.append(try await device.characteristic(name)) }
        let report = ValueReport(device: device, output: session.output)
        try await characteristics.mapConcurrently(device.read) { characteristic, bytes in
          report.value(bytes, of: characteristic, showsName: names.count > 1, event: "value")
        }
      }
    }
  }
}

/// Writes a value.
struct Write: RadioCommand {
  static let configuration = CommandConfiguration(
    abstract: "Connect to a device and write a characteristic.",
    discussion: """
      The value has the form that "ambit read" prints, if the characteristic is a standard one with a \
      known format; the unit may be left out. Otherwise it is hexadecimal, or has the form of a \
      format option. Put other options before the value, and a negative number after --.

      EXAMPLES:
        ambit write strap 2A39 "reset energy expended"
        ambit write sensor 2A6E 25.5
        ambit write echo 6E400002-B5A3-F393-E0A9-E50E24DCCA9E --text "hello"
        ambit write sensor 2A6E -- -5.5
      """)

  @OptionGroup var options: GlobalOptions

  @Argument(help: "The device: identifier or start of it, address, or name.")
  var id: String

  @Argument(help: "The characteristic to write: UUID, standard name, or SERVICE/CHARACTERISTIC.")
  var characteristic: String

  @Argument(help: "The value.")
  var value: String

  @Flag(exclusivity: .exclusive, help: "How the value is written.")
  var format: ValueFormat?

  @Flag(help: "Do not request a response (Write Without Response).")
  var withoutResponse = false

  func run(_ session: Session) async throws {
    let name = try CharacteristicName(characteristic)
    let bytes = try ValueInput(text: value, format: format).bytes(for: name.characteristic)
    let (id, withoutResponse) = (id, withoutResponse)
    try await session.withinTime("writing to \(id)") {
      try await Device.with(DeviceName(text: id), session) { device in
        let characteristic = try await device.characteristic(name)
        let withResponse = !withoutResponse && characteristic.takesResponses
        try await device.write(bytes, to: characteristic, withResponse: withResponse)
        Self.report(bytes, characteristic, device, withResponse: withResponse)
      }
    }
  }

  private static func report(
    _ bytes: [UInt8], _ characteristic: CBCharacteristic, _ device: Device, withResponse: Bool
  ) {
    let output = device.session.output
    if output.isJSON {
      return ValueReport(device: device, output: output)
        .value(bytes, of: characteristic, showsName: false, event: "written")
    }
    let count = "\(bytes.count) byte\(bytes.count == 1 ? "" : "s")"
    output.note("Wrote \(count)\(withResponse ? "" : ", without response").")
  }
}

/// Follows values.
struct Subscribe: RadioCommand {
  static let configuration = CommandConfiguration(
    abstract: "Connect to a device and follow the notifications of characteristics.",
    discussion: """
      Runs until Ctrl-C, --count values or --timeout. Each line has the time, the name if several \
      are followed, the decoded value and the bytes.

      EXAMPLES:
        ambit subscribe strap "heart rate measurement"
        ambit subscribe strap 2A37 2A19
        ambit subscribe strap 2A37 --count 10 --json
      """)

  @OptionGroup var options: GlobalOptions

  @Argument(help: "The device: identifier or start of it, address, or name.")
  var id: String

  @Argument(help: "The characteristic to follow: UUID, standard name, or SERVICE/CHARACTERISTIC.")
  var characteristic: [String]

  @Option(help: ArgumentHelp("End after this number of values.", valueName: "number"))
  var count: Int?

  func validate() throws {
    if let count, count < 1 { throw ValidationError("--count takes a number from 1 on.") }
  }

  func run(_ session: Session) async throws {
    let names = try characteristic.map { try CharacteristicName($0) }
    let (id, count) = (id, count)
    let progress = Guarded((isFollowing: false, left: count ?? .max))
    try await session.checkRadio()
    try await session.untilTime {
      try await Device.with(DeviceName(text: id), session) { device in
        var characteristics: [CBCharacteristic] = []
        for name in names {
          let characteristic = try await device.characteristic(name)
          guard characteristic.canBeFollowed else {
            throw CommandFailure(
              .failure, "\(characteristic.uuid.uuidString) can be neither notified nor indicated")
          }
          characteristics.append(characteristic)
        }
        progress.update { $0.isFollowing = true }
        session.output.progress("Following \(device.title); Ctrl-C ends.")
        try await Self.follow(characteristics, of: device, progress)
      }
    }
    try Task.checkCancellation()
    let end = progress.value
    guard end.isFollowing, count == nil || end.left == 0 else {
      let limit = session.timeout.map(\.description) ?? "the time limit"
      throw CommandFailure(
        .timedOut,
        end.isFollowing
          ? "\(end.left) of \(count ?? 0) values were not received within \(limit)"
          : "connecting to \(id) took longer than \(limit)")
    }
    if end.left == .max, !session.output.isJSON { session.output.note("No values.") }
  }

  /// Prints what comes until enough came, or one of them fails.
  private static func follow(
    _ characteristics: [CBCharacteristic], of device: Device,
    _ progress: Guarded<(isFollowing: Bool, left: Int)>
  ) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      for characteristic in characteristics {
        group.addTask {
          try await follow(
            characteristic, of: device, progress, showsName: characteristics.count > 1)
        }
      }
      defer { group.cancelAll() }
      try await group.next()
    }
  }

  private static func follow(
    _ characteristic: CBCharacteristic, of device: Device,
    _ progress: Guarded<(isFollowing: Bool, left: Int)>, showsName: Bool
  ) async throws {
    let report = ValueReport(device: device, output: device.session.output)
    let subject = ValueReport.Subject(characteristic)
    do {
      for try await value in device.connection.values(of: characteristic) {
        let left = progress.update { progress in
          progress.left -= 1
          return progress.left
        }
        // Another characteristic's value was the last that was wanted.
        guard left >= 0 else { return }
        report.value(
          Array(value), of: subject, showsName: showsName, event: "value", at: Date())
        if left == 0 { return }
      }
    } catch let error as BluetoothError {
      throw device.session.failure(error, device.title)
    }
  }
}

extension CBCharacteristic {
  /// Whether it can be notified or indicated.
  var canBeFollowed: Bool { !properties.isDisjoint(with: [.notify, .indicate]) }

  /// Whether a write is answered; one that takes only the other kind of write gets that.
  var takesResponses: Bool {
    properties.contains(.write) || !properties.contains(.writeWithoutResponse)
  }
}

/// Prints values that were read, written or notified.
struct ValueReport {
  let device: Device
  let output: Output
  private let identifier: String

  init(device: Device, output: Output) {
    self.device = device
    self.output = output
    identifier = device.connection.identifier.uuidString
  }

  /// A characteristic in the texts that each of its values has.
  struct Subject {
    let uuid: BluetoothUUID
    let text: String
    let service: String?
    let name: String?

    init(_ characteristic: CBCharacteristic) {
      uuid = BluetoothUUID(characteristic.uuid)
      text = uuid.description
      service = characteristic.service?.uuid.uuidString
      name = AssignedNumbers.characteristicName(uuid)
    }
  }

  func value(
    _ bytes: [UInt8], of characteristic: CBCharacteristic, showsName: Bool, event: String,
    at time: Date? = nil
  ) {
    value(bytes, of: Subject(characteristic), showsName: showsName, event: event, at: time)
  }

  func value(
    _ bytes: [UInt8], of subject: Subject, showsName: Bool, event: String, at time: Date? = nil
  ) {
    Self.write(
      bytes, of: subject, identifier, output, showsName: showsName, event: event, at: time)
  }

  static func write(
    _ bytes: [UInt8], of subject: Subject, _ identifier: String, _ output: Output,
    showsName: Bool, event: String, at time: Date?
  ) {
    let text = ValueText(bytes, characteristic: subject.uuid)
    if output.isJSON {
      let head: KeyValuePairs<String, JSON?> = [
        "event": .string(event),
        "id": .string(identifier),
        "time": .time(time ?? Date()),
        "service": subject.service.map { .string($0) },
        "characteristic": .string(subject.text),
        "name": subject.name.map { .string($0) },
      ]
      return output.object(.object(head).adding(text.members))
    }
    var parts: [String] = []
    if let time { parts.append(output.style.dim(clock(time))) }
    if showsName { parts.append("\(subject.name ?? subject.text):") }
    parts.append(text.line(output.style))
    output.line(parts.joined(separator: "  "))
  }

  /// `14:03:59.125`, local time.
  static func clock(_ time: Date) -> String {
    var verbatim = Date.VerbatimFormatStyle(
      format: """
        \(hour: .twoDigits(clock: .twentyFourHour, hourCycle: .zeroBased)):\
        \(minute: .twoDigits):\(second: .twoDigits).\(secondFraction: .fractional(3))
        """,
      timeZone: .current, calendar: Calendar(identifier: .gregorian))
    verbatim.locale = Locale(identifier: "en_US_POSIX")
    return time.formatted(verbatim)
  }
}
