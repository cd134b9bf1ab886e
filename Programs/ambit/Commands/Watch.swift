import ArgumentParser
import BonjourHost
import CoreBluetooth
import CoreBluetoothAsync
import Dispatch
import Essentials
import Foundation
import Glibc

/// The live view: what `ambit` does without a command.
struct Watch: RadioCommand {
  static let configuration = CommandConfiguration(
    abstract: "Show everything nearby, live. (The default command.)",
    discussion: """
      On a terminal, a screen to work in: select a device with the arrows, Enter connects and \
      shows its services, / filters, ? lists the keys, q or Ctrl-C quits. Devices are listed in \
      three groups, near, around and far, each in the order of discovery; then the services of the \
      local network, a row for each name; silent devices are listed last. Otherwise, prints the \
      same table every five seconds; with --json, an object whenever the data of a device changes \
      or a service is added or removed.

      EXAMPLES:
        ambit
        ambit --radio tcp:localhost:9100
        ambit watch --timeout 20 --json
        ambit --no-network
      """)

  @OptionGroup var options: GlobalOptions

  /// Keys are commands here.
  var pairingInput: PairingInput { .command }
  var ownsScreen: Bool { Terminal.isTerminal(STDOUT_FILENO) }

  @Flag(inversion: .prefixedNo, help: "Services of the local network beside Bluetooth devices.")
  var network = true

  /// Time between two tables in plain output.
  private static let plainInterval = Duration.seconds(5)

  func run(_ session: Session) async throws {
    let central = try await session.central()
    let clock = MonotonicClock()
    let surroundings = Surroundings(now: clock.now)
    let isFullScreen =
      Terminal.isTerminal(STDOUT_FILENO) && !session.output.isJSON
      && ProcessInfo.processInfo.environment["TERM"] != "dumb"
    let isPrinted = Guarded(isFullScreen || session.output.isJSON)
    try await session.untilTime {
      try await withThrowingTaskGroup(of: Void.self) { group in
        group.addTask {
          try await Self.listen(
            central, session, surroundings.devices, isFullScreen ? surroundings.beacons : nil, clock
          )
        }
        if network {
          group.addTask { await Self.listen(session, surroundings.network, isFullScreen) }
        }
        if isFullScreen {
          group.addTask {
            try await LiveScreen(central, session, surroundings, clock).run()
          }
        } else {
          group.addTask { await session.reportRadioTroubles(central) }
          if session.output.isJSON {
            group.addTask { try await Self.reportOverflow(session.output, surroundings.devices) }
          } else {
            group.addTask {
              try await Self.printTables(session, surroundings, clock, isPrinted)
            }
          }
        }
        // The first to end — the q key, the end of the radio — ends the others.
        defer { group.cancelAll() }
        try await group.next()
      }
    }
    // A look that was shorter than the time of the first table shows what it found, too.
    if !isPrinted.value { Self.printTable(session, surroundings, clock) }
  }

  /// Listens as long as the command runs, also after the radio went and came back.
  private static func listen(
    _ central: Central, _ session: Session, _ table: Guarded<NearbyTable>,
    _ beacons: Guarded<BeaconSurvey>?, _ clock: MonotonicClock
  ) async throws {
    try await session.whileHubScans {
      for await discovery in central.scan(allowDuplicates: true) {
        let sighting = Sighting(discovery)
        let now = clock.now
        beacons?.update { $0.hear(sighting, now: now) }
        let (isNews, merged, isFirst) = table.update { table in
          let isFirst = table[sighting.identifier] == nil
          let isNews = table.hear(sighting, now: now)
          return (isNews, table[sighting.identifier]?.sighting ?? sighting, isFirst)
        }
        if session.output.isJSON, isNews {
          session.output.object(merged.json(event: isFirst ? "discovered" : "updated", at: Date()))
        }
      }
    }
    try await session.scanEnded(central)
  }

  /// Follows the services of the network as long as the command runs.
  private static func listen(
    _ session: Session, _ table: Guarded<NetworkTable>, _ isFullScreen: Bool
  ) async {
    let output = session.output
    var configuration = BonjourConfiguration()
    configuration.notesAbsentHub = false
    let host = BonjourHost(
      configuration: configuration, log: { if !isFullScreen { output.note($0) } })
    await NetworkListener(host: host).listen { change in
      table.update { $0.take(change) }
      guard output.isJSON else { return }
      let event = change.isFound ? "found" : "gone"
      output.object(Browse.json(event, change.service, change.interface), isOfRadio: false)
    }
    await host.close()
  }

  /// Reports the count of advertisements without room whenever it has grown.
  private static func reportOverflow(
    _ output: Output, _ table: Guarded<NearbyTable>
  ) async throws {
    var reportedCount = 0
    while true {
      try await Task.sleep(for: .seconds(1))
      let table = table.value
      guard table.overflowCount + table.displacedCount > reportedCount else { continue }
      reportedCount = table.overflowCount + table.displacedCount
      output.object(table.overflowJSON)
    }
  }

  private static func printTables(
    _ session: Session, _ surroundings: Surroundings, _ clock: MonotonicClock,
    _ isPrinted: Guarded<Bool>
  ) async throws {
    // The first one soon, so that a short look shows something.
    var pause = Duration.seconds(2)
    while true {
      try await Task.sleep(for: pause)
      pause = plainInterval
      isPrinted.update { $0 = true }
      printTable(session, surroundings, clock)
    }
  }

  private static func printTable(
    _ session: Session, _ surroundings: Surroundings, _ clock: MonotonicClock
  ) {
    let now = clock.now
    let (devices, overflowCount) = surroundings.devices.update { table in
      table.forget(now: now)
      return (table.ordered(now: now), table.overflowCount)
    }
    session.output.line(NearbyScreen.plainHeader)
    for device in devices { session.output.line(NearbyScreen.plainRow(device, now: now)) }
    for service in surroundings.network.value.ordered {
      session.output.line(NearbyScreen.plainRow(service))
    }
    if overflowCount > 0 { session.output.line("  \(NearbyTable.overflow(overflowCount))") }
    session.output.line("")
  }
}
