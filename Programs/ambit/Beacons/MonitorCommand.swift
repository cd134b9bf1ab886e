import ArgumentParser
import BeaconMachines
import BluetoothWire
import CoreBluetooth
import CoreBluetoothAsync
import Essentials
import Foundation
import JSONWire

/// Monitors beacon regions, and runs a command when one is entered or left.
struct Monitor: RadioCommand {
  static let configuration = CommandConfiguration(
    abstract: "Run a command when a beacon region is entered or left.",
    discussion: """
      A region is entered with the first advertisement of one of its beacons and left when none \
      was received for 30 seconds, or for the time of --exit-delay. While the radio is off, no region \
      is left. The command's environment has AMBIT_EVENT, which is enter or exit, AMBIT_REGION as \
      given on the command line, and AMBIT_BEACON_UUID, AMBIT_BEACON_MAJOR and AMBIT_BEACON_MINOR \
      of the beacon that was received last. At most 16 commands run at once.

      EXAMPLES:
        ambit monitor E2C56DB5-DFFB-48D2-B060-D0F5A71096E0/1 -- ./greet
        ambit monitor E2C56DB5-DFFB-48D2-B060-D0F5A71096E0/1/7 \\
          -- sh -c 'echo "$AMBIT_EVENT $AMBIT_REGION" >> visits'
      """)

  @OptionGroup var options: GlobalOptions

  @Argument(
    help: ArgumentHelp("The regions, 20 at most.", valueName: "uuid[/major[/minor]]"))
  var regions: [BeaconRegionArgument]

  @Option(
    help: ArgumentHelp("How long no beacon is received until a region is left.", valueName: "time"))
  var exitDelay = Seconds(span: .seconds(30))

  /// `--` on the command line is replaced by it, see `Main.movingOptions`.
  @Option(
    name: .customLong("run"), parsing: .remaining,
    help: ArgumentHelp(
      "The command and its arguments; usually written after --.",
      valueName: "command"))
  var command: [String] = []

  /// How often the machine is woken; well within what it takes for a stall.
  private static let tick = Duration.milliseconds(500)

  func validate() throws {
    guard !command.isEmpty else {
      throw ValidationError("The command is missing; write it after --.")
    }
    guard Set(regions.map(\.text)).count == regions.count else {
      throw ValidationError("A region is given twice.")
    }
    _ = try monitor(now: .zero)
  }

  private func monitor(now: Instant) throws -> RegionMonitor {
    var settings = RegionMonitor.Settings()
    settings.exitDelay = exitDelay.span
    var monitor = RegionMonitor(settings: settings)
    for region in regions {
      do throws(RegionMonitorError) {
        try monitor.start(
          BeaconRegion(identifier: region.text, constraint: region.constraint), now: now)
      } catch {
        throw ValidationError("\(regions.count) regions are too many; the limit is 20.")
      }
    }
    return monitor
  }

  func run(_ session: Session) async throws {
    let central = try await session.central()
    let clock = MonotonicClock()
    let watch = RegionWatch(
      monitor: try monitor(now: clock.now), command: command, output: session.output)
    session.output.note("Monitoring \(regions.map(\.text).joined(separator: ", ")); Ctrl-C ends.")
    try await session.untilTime {
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask {
          for await state in central.states() {
            watch.handle(.scanning(state == .poweredOn), now: clock.now)
          }
        }
        group.addTask {
          while true {
            try await Task.sleep(for: Self.tick)
            watch.wake(now: clock.now)
          }
        }
        group.addTask {
          for await discovery in central.scan(allowDuplicates: true) {
            let sighting = Sighting(discovery)
            if sighting.beaconReading == .malformed { watch.heardMalformed() }
            guard let sighting = BeaconSighting(sighting) else { continue }
            watch.handle(.sighted(sighting), now: clock.now)
          }
        }
        defer { group.cancelAll() }
        try await group.next()
      }
    }
  }
}

extension BeaconSighting {
  /// The sighting of an iBeacon; nil for anything else.
  init?(_ sighting: Sighting) {
    guard case .iBeacon(let fields) = sighting.beacon, let address = sighting.address else {
      return nil
    }
    self.init(
      identity: BeaconIdentity(fields), address: address,
      rssi: sighting.rssi.flatMap { Int8(exactly: $0) } ?? Self.unknownRSSI,
      powerAtOneMetre: fields.powerAtOneMetre)
  }
}

/// A region monitor, and what happens when a region is entered or left.
final class RegionWatch: Sendable {
  private let monitor: Guarded<RegionMonitor>
  private let runner: CommandRunner
  private let output: Output
  private let malformed = Guarded((count: 0, reportedCount: 0))

  init(monitor: RegionMonitor, command: [String], output: Output) {
    self.monitor = Guarded(monitor)
    self.output = output
    runner = CommandRunner(command: command, output: output)
  }

  func handle(_ event: RegionMonitor.Event, now: Instant) {
    monitor.update { monitor in
      var actions: [RegionMonitor.Action] = []
      monitor.handle(event, now: now, into: &actions)
      perform(actions, monitor)
    }
  }

  /// Counts an advertisement that began as a beacon's and was malformed.
  func heardMalformed() { malformed.update { $0.count += 1 } }

  /// Reports malformed advertisements: as JSON each new count, as text only the first time.
  private func reportMalformed() {
    let (count, before) = malformed.update { malformed in
      defer { malformed.reportedCount = malformed.count }
      return malformed
    }
    guard count > before else { return }
    if output.isJSON {
      output.object(BeaconText.malformedJSON(count))
    } else if before == 0 {
      output.note("Ignoring malformed advertisements of beacons.")
    }
  }

  func wake(now: Instant) {
    reportMalformed()
    monitor.update { monitor in
      var actions: [RegionMonitor.Action] = []
      monitor.wake(now: now, into: &actions)
      perform(actions, monitor)
    }
  }

  /// Under the lock, so that commands begin in the order of what happened.
  private func perform(_ actions: [RegionMonitor.Action], _ monitor: RegionMonitor) {
    for action in actions {
      switch action {
      case .entered(let identifier, let beacon): crossed("enter", identifier, beacon)
      case .exited(let identifier):
        crossed("exit", identifier, monitor.lastIdentity(of: identifier))
      case .determined: break
      }
    }
  }

  private func crossed(_ event: String, _ region: String, _ beacon: BeaconIdentity?) {
    if output.isJSON {
      output.object(
        .object([
          "event": .string(event), "time": .time(Date()), "region": .string(region),
          "uuid": beacon.map { .string($0.uuid.fullDescription) },
          "major": beacon.map { .integer(Int64($0.major)) },
          "minor": beacon.map { .integer(Int64($0.minor)) },
        ]))
    } else {
      output.note("\(event == "enter" ? "Entered" : "Left") \(region).")
    }
    var environment = ["AMBIT_EVENT": event, "AMBIT_REGION": region]
    if let beacon {
      environment["AMBIT_BEACON_UUID"] = beacon.uuid.fullDescription
      environment["AMBIT_BEACON_MAJOR"] = String(beacon.major)
      environment["AMBIT_BEACON_MINOR"] = String(beacon.minor)
    }
    runner.run(environment)
  }
}
