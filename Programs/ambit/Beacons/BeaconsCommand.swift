import ArgumentParser
import BeaconMachines
import BluetoothWire
import CoreBluetooth
import CoreBluetoothAsync
import Essentials
import Foundation
import Glibc
import JSONWire

/// Ranges beacons.
struct Beacons: RadioCommand {
  static let configuration = CommandConfiguration(
    abstract: "Show beacons and their distances, live.",
    discussion: """
      iBeacons, AltBeacons and Eddystone beacons, the nearest first. A distance is an interval \
      that contains the true distance in two of three cases: one link gives no better estimate, \
      because bodies and walls affect the signal as much as distance does. Malformed advertisements \
      of beacons are counted. On a terminal, a screen until Ctrl-C; otherwise the same table every \
      five seconds; with --json, an object for each beacon every second.

      EXAMPLES:
        ambit beacons
        ambit beacons E2C56DB5-DFFB-48D2-B060-D0F5A71096E0/1
        ambit beacons --timeout 10 --json
      """)

  @OptionGroup var options: GlobalOptions

  @Argument(
    help: ArgumentHelp(
      "Only these iBeacons and AltBeacons; all beacons without any.",
      valueName: "uuid[/major[/minor]]"))
  var regions: [BeaconRegionArgument] = []

  /// Reports between two tables in plain output.
  private static let plainReports = 5
  /// How often it is looked whether a report is due.
  private static let tick = Duration.milliseconds(100)

  func run(_ session: Session) async throws {
    let central = try await session.central()
    let clock = MonotonicClock()
    let survey = Guarded(BeaconSurvey(constraints: regions.map(\.constraint), now: clock.now))
    let isFullScreen =
      Terminal.isTerminal(STDOUT_FILENO) && !session.output.isJSON
      && ProcessInfo.processInfo.environment["TERM"] != "dumb"
    session.output.progress("Listening …")
    let isPrinted = Guarded(false)
    try await session.untilTime {
      try await session.whileRadioWorks(central) {
        async let _: Void = Self.show(survey, clock, session.output, isFullScreen, isPrinted)
        try await session.whileHubScans {
          for await discovery in central.scan(allowDuplicates: true) {
            survey.update { $0.hear(Sighting(discovery), now: clock.now) }
          }
        }
        try await session.scanEnded(central)
      }
    }
    if isFullScreen { Terminal.restore() }
    if !session.output.isJSON, survey.value.report.isEmpty {
      session.output.note("No beacons were ranged.")
    } else if !isFullScreen, !session.output.isJSON, !isPrinted.value {
      Self.printTable(survey.value.report, session.output)
    }
    let refused = survey.value.refusedCount
    let malformed = survey.value.malformedCount
    if malformed > 0, !session.output.isJSON {
      session.output.note(BeaconText.malformed(malformed))
    }
    if refused > 0 {
      session.output.note(
        "\(refused) advertisements were ignored because too many beacons are tracked.")
    }
  }

  private static func show(
    _ survey: Guarded<BeaconSurvey>, _ clock: MonotonicClock, _ output: Output,
    _ isFullScreen: Bool, _ isPrinted: Guarded<Bool>
  ) async throws {
    if isFullScreen { Terminal.enterFullScreen(readsKeys: false) }
    // The first table soon, so that a short look shows something.
    var reportsUntilTable = 2
    var reportedMalformed = 0
    var tickCount = 0
    while true {
      try await Task.sleep(for: tick)
      let (rows, malformed) = survey.update { ($0.wake(now: clock.now), $0.malformedCount) }
      tickCount += 1
      // Once a second, also where there is nothing to range.
      if output.isJSON, malformed > reportedMalformed, tickCount % 10 == 0 {
        output.object(BeaconText.malformedJSON(malformed))
        reportedMalformed = malformed
      }
      guard let rows else { continue }
      if output.isJSON {
        for row in rows { output.object(BeaconText.json(row)) }
      } else if isFullScreen {
        let width = Terminal.size.columns
        let remarks = [
          malformed == 0 ? nil : BeaconText.malformed(malformed),
          Output.isSimulated.value ? "All devices are simulated." : nil,
        ].compactMap(\.self)
        let footer =
          remarks.isEmpty ? [] : [""] + remarks.map { output.style.dim(Fit.truncated($0, width)) }
        let height = max(0, Terminal.size.rows - 1 - footer.count)
        let columns = BeaconText.Columns(of: width)
        let lines = rows.map { Fit.truncated(BeaconText.line($0, columns), width) }
        let header = output.style.dim(Fit.truncated(BeaconText.header(columns), width))
        Terminal.draw([header] + lines.prefix(height) + footer, isAnew: false)
      } else {
        reportsUntilTable -= 1
        guard reportsUntilTable == 0 else { continue }
        reportsUntilTable = plainReports
        isPrinted.update { $0 = true }
        printTable(rows, output)
      }
    }
  }

  private static func printTable(_ rows: [BeaconSurvey.Row], _ output: Output) {
    output.line(BeaconText.header())
    for row in rows { output.line(BeaconText.line(row)) }
    output.line("")
  }
}

/// Beacons that this host is.
struct BeaconGroup: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "beacon", abstract: "Be a beacon.",
    discussion: """
      EXAMPLES:
        ambit beacon advertise E2C56DB5-DFFB-48D2-B060-D0F5A71096E0 1 7
      """,
    subcommands: [AdvertiseBeacon.self])
}

/// Advertises an iBeacon.
struct AdvertiseBeacon: RadioCommand {
  static let configuration = CommandConfiguration(
    commandName: "advertise",
    abstract: "Advertise an iBeacon.",
    discussion: """
      Advertises until Ctrl-C or --timeout, ten times a second.

      EXAMPLES:
        ambit beacon advertise E2C56DB5-DFFB-48D2-B060-D0F5A71096E0 1 7
        ambit beacon advertise E2C56DB5-DFFB-48D2-B060-D0F5A71096E0 1 7 --power=-65
      """)

  @OptionGroup var options: GlobalOptions

  @Argument(help: "The UUID of the beacon.")
  var uuid: String

  @Argument(help: "The major value, 0 to 65535.")
  var major: UInt16

  @Argument(help: "The minor value, 0 to 65535.")
  var minor: UInt16

  @Option(
    parsing: .unconditional,
    help: ArgumentHelp(
      "Strength one metre away, as measured; -100 to -10, others give no distance.",
      valueName: "dBm"))
  var power: Int8 = -59

  /// A sentence about a measured power from which no receiver can estimate a distance.
  static func powerRemark(_ power: Int8) -> String? {
    guard MeasuredStrength.power(power) == nil else { return nil }
    let range = MeasuredStrength.powerRange
    return "A measured power of \(power) dBm gives no distance: "
      + "at one metre it is from \(range.lowerBound) to \(range.upperBound) dBm."
  }

  private func beacon() throws -> IBeacon {
    guard uuid.utf8.count == 36, let uuid = BluetoothUUID(uuid) else {
      throw ValidationError("\"\(uuid)\" is not a UUID like E2C56DB5-DFFB-48D2-B060-D0F5A71096E0.")
    }
    return IBeacon(uuid: uuid, major: major, minor: minor, powerAtOneMetre: power)
  }

  func validate() throws { _ = try beacon() }

  func run(_ session: Session) async throws {
    let beacon = try beacon()
    let role = PeripheralRole(session.host)
    try await role.ready(session)
    if let remark = Self.powerRemark(power) { session.output.warn(remark) }
    let events = role.events()
    try await role.advertise(beacon)
    if session.output.isJSON {
      session.output.object(
        .object([
          "event": .string("advertising"), "time": .time(Date()),
          "uuid": .string(beacon.uuid.fullDescription), "major": .integer(Int64(major)),
          "minor": .integer(Int64(minor)), "power": .integer(Int64(power)),
          "givesDistance": .bool(MeasuredStrength.power(power) != nil),
        ]))
    } else {
      session.output.note("Advertising \(Beacon.iBeacon(beacon)); Ctrl-C ends.")
    }
    try await session.untilTime {
      for await case .stateChanged(let state) in events where state != .poweredOn {
        throw role.radioFailure(state)
      }
    }
    role.manager.stopAdvertising()
  }
}
