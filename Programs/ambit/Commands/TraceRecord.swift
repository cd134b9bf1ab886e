import ArgumentParser
import BeaconMachines
import BluetoothHost
import Essentials
import Foundation
import Glibc
import JSONWire

/// Writes down what receivers hear.
struct TraceRecord: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "record",
    abstract: "Record the iBeacon advertisements that receivers hear.",
    discussion: """
      Runs until Ctrl-C or --timeout. Writes a line for each reception: time, receiver, beacon, RSSI; \
      with --at, the position of the beacon. Without --receiver there is one, called "here", with \
      the radio of --radio, or the hub's. A file whose name ends in .btsnoop gets all traffic with the radio; with \
      several receivers each has its own file, with its name before the extension.

      EXAMPLES:
        ambit trace record day.csv
        ambit trace record day.csv --receiver hall=tcp:pi-1:9100 --receiver cellar=tcp:pi-2:9100
        ambit trace record survey.csv --at 3.5,2 --timeout 30
        ambit trace record day.btsnoop
        ambit trace record - | ambit locate --map map.json -
      """)

  @OptionGroup var options: GlobalOptions

  @Option(
    help: ArgumentHelp(
      "A receiver and its radio; may be given several times.", valueName: "name=radio")
  )
  var receiver: [ReceiverArgument] = []

  @Option(
    help: ArgumentHelp(
      "Only this beacon; may be given several times.", valueName: "uuid[/major[/minor]]"))
  var beacon: [BeaconRegionArgument] = []

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp("Where the beacon is, in metres: a survey.", valueName: "x,y[,z]"))
  var at: SurveyPlace?

  @Argument(help: "The file to write, or - for standard output.", completion: .file())
  var file: String

  /// The receivers that are named, or one called "here" without any.
  static func receivers(
    _ named: [ReceiverArgument], _ options: GlobalOptions, isCaptured: Bool = false
  ) throws -> [ReceiverArgument] {
    guard Set(named.map(\.name)).count == named.count else {
      throw CommandFailure(.usage, "two receivers have one name")
    }
    if !named.isEmpty { return named }
    // A mistake is reported before a file is replaced.
    if try options.hubPath() != nil {
      try options.checkHub(isCaptured: isCaptured)
    } else {
      _ = try options.radioSelection()
    }
    return [ReceiverArgument(name: "here", radio: nil)]
  }

  func run() async throws {
    let isCapture = file.hasSuffix(".btsnoop")
    let receivers = try Self.receivers(receiver, options, isCaptured: isCapture)
    let stem = file.dropLast(".btsnoop".count)
    let isOne = receivers.count == 1
    let path = file
    let writer = isCapture ? nil : try TraceWriter(path)
    let count = Guarded(0)
    let (constraints, place) = (beacon.map(\.constraint), at)
    let result: Result<Void, any Error>
    do {
      try await ReceiverRadios.with(
        receivers, options,
        capturePath: { isCapture ? (isOne ? path : "\(stem)-\($0.name).btsnoop") : nil }
      ) { radios in
        let output = radios.output
        try await radios.receivers.first?.session.untilTime {
          try await withThrowingTaskGroup(of: Void.self) { group in
            group.addTask {
              await radios.hear { heard in
                let identity = heard.beacon.iBeacon.map { BeaconIdentity($0) }
                guard
                  constraints.isEmpty
                    || constraints.contains(where: { identity.map($0.matches) ?? false })
                else { return }
                writer?.add(heard, by: radios.receivers[heard.receiver].name, place)
                let total = count.update { count in
                  count += 1
                  return count
                }
                if total % 50 == 1 { output?.progress("\(total) receptions …") }
              } onChange: { _, _ in
              }
            }
            if let writer { group.addTask { try await writer.flushEachSecond() } }
            try await group.next()
            group.cancelAll()
          }
        }
      }
      result = .success(())
    } catch { result = .failure(error) }
    try writer?.flush()
    let output = Output(isJSON: options.json)
    if file == "-" { return try result.get() }
    if output.isJSON {
      output.object(
        .object([
          "event": .string("traced"), "file": .string(file),
          "receptions": .integer(Int64(count.value)),
        ]))
    } else {
      output.note("\(file) holds \(count.value) receptions.")
    }
    try result.get()
  }
}

/// Where a beacon lies during a survey: `3.5,2` or `3.5,2,1`.
struct SurveyPlace: Hashable, Sendable, ExpressibleByArgument {
  /// As a trace has it.
  var text: String
  var point: FloorPoint
  /// Whether its height was given; it is 0 if not.
  private let hasHeight: Bool

  /// Two or three numbers, with commas or spaces between them.
  init?(argument: String) {
    let fields =
      argument.contains(",")
      ? argument.split(separator: ",", omittingEmptySubsequences: false)
      : argument.split(separator: " ")
    let texts = fields.map { $0.trimmingCharacters(in: .whitespaces) }
    let numbers = texts.compactMap { Double($0) }.filter { $0.magnitude <= 1_000 }
    guard 2...3 ~= texts.count, numbers.count == texts.count else { return nil }
    hasHeight = numbers.count == 3
    text = texts.joined(separator: ",") + (hasHeight ? "" : ",0")
    point = FloorPoint(x: numbers[0], y: numbers[1], z: hasHeight ? numbers[2] : 0)
  }

  /// The place at this height in metres, if it was given without one.
  func atHeight(_ height: Double) -> SurveyPlace {
    guard !hasHeight else { return self }
    return SurveyPlace(argument: "\(point.x),\(point.y),\(height)") ?? self
  }
}

/// Lines of a trace on their way into a file.
final class TraceWriter: Sendable {
  private let descriptor: Int32
  private let path: String
  private let waiting = Guarded<[UInt8]>([])
  /// Bytes that may wait for a slow disk. Receptions beyond that are dropped and counted.
  private static let waitingMax = 16 << 20
  private let lostCount = Guarded(0)

  /// Replaces the file: its places and times are for this user only.
  init(_ path: String) throws {
    self.path = path
    do throws(CaptureError) {
      descriptor = path == "-" ? STDOUT_FILENO : try CaptureFile.open(path)
    } catch {
      throw Self.failure(path, error.reason)
    }
  }

  deinit { if descriptor > STDOUT_FILENO { close(descriptor) } }

  func add(_ heard: HeardBeacon, by receiver: String, _ place: SurveyPlace?) {
    let time = String(format: "%.6f", Date().timeIntervalSince1970)
    let line =
      "\(time),\(receiver),\(heard.beacon.name),\(heard.rssi)"
      + (place.map { ",\($0.text)" } ?? "") + "\n"
    let hasRoom = waiting.update { waiting in
      guard waiting.count < Self.waitingMax else { return false }
      waiting += Array(line.utf8)
      return true
    }
    if !hasRoom { lostCount.update { $0 += 1 } }
  }

  func flushEachSecond() async throws {
    while true {
      try await Task.sleep(for: .seconds(1))
      try flush()
    }
  }

  /// Writes what waits.
  func flush() throws {
    var rest = waiting.update { waiting in
      defer { waiting = [] }
      return waiting[...]
    }
    while !rest.isEmpty {
      let count = rest.withUnsafeBytes { write(descriptor, $0.baseAddress, $0.count) }
      if count < 0, errno == EINTR { continue }
      guard count > 0 else { throw Self.failure(path, String(cString: strerror(errno))) }
      rest = rest.dropFirst(count)
    }
    let lost = lostCount.update { count in
      defer { count = 0 }
      return count
    }
    if lost > 0 {
      throw CommandFailure(
        .cannotCreate, "\(path) is written too slowly: \(lost) receptions are lost")
    }
  }

  /// A length that the file had.
  struct Mark: Sendable {
    fileprivate var length: off_t
  }

  /// The end of what is written, so far. Nil if what follows can't be taken back, as from a pipe.
  var mark: Mark? {
    // Not the offset, which is 0 until the first write of a file that is appended to.
    let length = lseek(descriptor, 0, SEEK_END)
    return length < 0 ? nil : Mark(length: length)
  }

  /// Removes the records after a mark, from the file, too.
  func takeBack(to mark: Mark) throws {
    waiting.update { $0 = [] }
    guard ftruncate(descriptor, mark.length) == 0, lseek(descriptor, mark.length, SEEK_SET) >= 0
    else { throw Self.failure(path, String(cString: strerror(errno))) }
  }

  private static func failure(_ path: String, _ reason: String) -> CommandFailure {
    CommandFailure(.cannotCreate, "\(path) cannot be written: \(reason.lowercased())")
  }
}
