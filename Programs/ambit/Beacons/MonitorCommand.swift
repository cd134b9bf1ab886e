import ArgumentParser
import BeaconMachines
import BluetoothHost
import BluetoothInterface
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
      was received for 30 seconds, or for the time of --exit-delay, to which up to 7 s are added where \
      it is short and nothing else is received, because the radio may be dead. While the radio is off, \
      which is reported, no region is left. Which regions are entered outlives the process, unless the radio is \
      simulated: a new one of the same radio, regions and command goes on. The command's environment \
      has AMBIT_EVENT, which is enter or exit, AMBIT_REGION as given on the command line, and \
      AMBIT_BEACON_UUID, AMBIT_BEACON_MAJOR and AMBIT_BEACON_MINOR of the beacon that was received \
      last, as far as they are known. The commands of a region run one after the other; one that \
      goes on when the next event has come is ended after the time of --patience. SIGTERM ends the \
      commands, too.

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
    help: ArgumentHelp(
      "How long no beacon is received until a region is left; longer for rare beacons.",
      valueName: "time"))
  var exitDelay = Seconds(span: .seconds(30))

  @Option(
    help: ArgumentHelp(
      "How long a command may go on when the next event of its region waits for it.",
      valueName: "time"))
  var patience = Seconds(span: .seconds(30))

  /// `--` on the command line is replaced by it, see `Main.movingOptions`.
  @Option(
    name: .customLong("run"), parsing: .remaining,
    help: ArgumentHelp(
      "The command and its arguments; usually written after --.",
      valueName: "command"))
  var command: [String] = []

  /// How often the machine is woken; well within what it takes for a stall.
  private static let tick = Duration.milliseconds(500)
  /// How long the end waits for the disk.
  private static let storeTime = Duration.seconds(2)

  /// A reader that takes nothing doesn't delay the commands of regions.
  var waitsForReaders: Bool { false }

  func validate() throws {
    guard !command.isEmpty else {
      throw ValidationError("The command is missing; write it after --.")
    }
    guard Set(regions.map(\.text)).count == regions.count else {
      throw ValidationError("A region is given twice.")
    }
    _ = try monitor(entered: [], now: .zero)
  }

  /// - Parameter entered: The regions that were entered when the last process ended.
  private func monitor(entered: Set<BeaconRegion>, now: Instant) throws -> RegionMonitor {
    var settings = RegionMonitor.Settings()
    settings.exitDelay = exitDelay.span
    settings.receiverFailureTimeMax = ScanOptions.radioFailureTimeMax
    var monitor = RegionMonitor(settings: settings)
    for argument in regions {
      let region = BeaconRegion(identifier: argument.text, constraint: argument.constraint)
      do throws(RegionMonitorError) {
        try monitor.start(
          region, assuming: entered.contains(region) ? .inside : .unknown, now: now)
      } catch {
        throw ValidationError("\(regions.count) regions are too many; the limit is 20.")
      }
    }
    return monitor
  }

  func run(_ session: Session) async throws {
    let central = try await session.central()
    let clock = MonotonicClock()
    let store = MonitorStore(host: session.host, regions: regions, command: command)
    let entered = store?.load() ?? []
    let watch = RegionWatch(
      monitor: try monitor(entered: entered, now: clock.now), entered: entered, clock: clock,
      commands: RegionCommands(patience: patience.span), command: command, store: store,
      output: session.output)
    session.output.note("Monitoring \(regions.map(\.text).joined(separator: ", ")); Ctrl-C ends.")
    let result: Result<Void, any Error>
    do {
      try await session.untilTime { try await Self.follow(watch, central, session) }
      result = .success(())
    } catch {
      result = .failure(error)
    }
    // In a task that the signal didn't cancel.
    await Task {
      await watch.close(because: Interrupts.shared.received)
      _ = try? await race(Self.storeTime) { await store?.finish() }
    }.value
    try result.get()
  }

  private static func follow(
    _ watch: RegionWatch, _ central: Central, _ session: Session
  ) async throws {
    try await withThrowingTaskGroup(of: Void.self) { group in
      group.addTask { await session.reportRadioTroubles(central) }
      group.addTask {
        for await state in central.states() { watch.handle(.scanning(state == .poweredOn)) }
      }
      group.addTask {
        while true {
          try await Task.sleep(for: tick)
          watch.wake()
        }
      }
      group.addTask {
        var reader = BeaconReader()
        for await report in reports(of: session.host) {
          let sighting = reader.sighting(
            in: report.data, from: report.address, rssi: report.rssi)
          if reader.counters.malformed > 0 {
            reader = BeaconReader()
            watch.heardMalformed()
          }
          watch.handle(sighting.map { .sighted($0) } ?? .received)
        }
      }
      group.addTask { try await session.scanEnded(central) }
      defer { group.cancelAll() }
      try await group.next()
    }
  }

  /// The reports of a scan whose radio may leave out other peers than beacons. A slow consumer gets the latest ones.
  private static func reports(of host: CommandHost) -> AsyncStream<AdvertisingReport> {
    AsyncStream(bufferingPolicy: .bufferingNewest(1_024)) { continuation in
      let session = host.openSession { event in
        if case .discovered(let report) = event { continuation.yield(report) }
      }
      var options = ScanOptions()
      options.allowsDuplicates = true
      options.seeksBeacons = true
      session.send(.startScan(options))
      continuation.onTermination = { _ in session.close() }
    }
  }
}
