import ArgumentParser
import BluetoothWire
import CoreBluetooth
import CoreBluetoothAsync
import Essentials
import Foundation

/// Lists nearby devices.
struct Scan: RadioCommand {
  static let configuration = CommandConfiguration(
    abstract: "List nearby devices, one per line.",
    discussion: """
      Scans for ten seconds, or for the time of --timeout. With --json, prints an object for the \
      first advertisement of a device ("discovered") and whenever its data changes ("updated"); \
      with --all, for every advertisement.

      EXAMPLES:
        ambit scan
        ambit scan --service "heart rate" --timeout 5
        ambit scan --service 180D --service 180F
        ambit scan --all --json | jq .rssi
      """)

  @OptionGroup var options: GlobalOptions

  @Option(
    name: .long,
    help: ArgumentHelp(
      "Only devices that advertise this service, by UUID or name; may be given several times.",
      valueName: "service"))
  var service: [String] = []

  @Flag(help: "A line for every advertisement instead of every device.")
  var all = false

  /// A name often comes a moment after the first advertisement, with the scan response.
  private static let nameTimeout = TimeSpan.milliseconds(700)

  func run(_ session: Session) async throws {
    let services = try service.map { try CharacteristicName.service($0) }
    let central = try await session.central()
    let clock = MonotonicClock()
    let list = ScanList(output: session.output, printsAll: all, nameTimeout: Self.nameTimeout)
    session.output.progress("Listening …")
    let wanted = services.isEmpty ? nil : services.map(\.coreBluetooth)
    try await session.untilTime(default: Session.searchTime.duration) {
      try await session.whileRadioWorks(central) {
        async let _: Void = Self.printNameless(list, clock)
        try await session.whileHubScans {
          for await discovery in central.scan(services: wanted, allowDuplicates: true) {
            list.hear(Sighting(discovery), now: clock.now)
          }
        }
        try await session.scanEnded(central)
      }
    }
    list.finish(now: clock.now)
  }

  /// Prints those whose name does not come, each when it was waited for long enough.
  private static func printNameless(_ list: ScanList, _ clock: MonotonicClock) async throws {
    for await _ in list.nameless {
      while let due = list.nextDue {
        // In a flood many are due one after the other, and are printed together.
        try await Task.sleep(for: max(.milliseconds(50), due - clock.now).duration)
        list.printDue(now: clock.now)
      }
    }
  }
}

extension TimeSpan {
  package var duration: Duration { .nanoseconds(nanoseconds) }
}

/// The lines of a scan: each device once, as soon as its name is known or was waited for.
final class ScanList: Sendable {
  private struct State {
    var table = NearbyTable()
    var printed: Set<String> = []
    var hasHeader = false
  }

  private let output: Output
  private let printsAll: Bool
  private let nameTimeout: TimeSpan
  private let state = Guarded(State())
  /// Signals a new device that has no name yet; its line is printed after `nameTimeout`.
  let nameless: AsyncStream<Void>
  private let namelessCame: AsyncStream<Void>.Continuation

  init(output: Output, printsAll: Bool, nameTimeout: TimeSpan) {
    (nameless, namelessCame) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1))
    self.output = output
    self.printsAll = printsAll
    self.nameTimeout = nameTimeout
  }

  func hear(_ sighting: Sighting, now: Instant) {
    state.update { state in
      let isFirst = state.table[sighting.identifier] == nil
      let isNews = state.table.hear(sighting, now: now)
      guard let device = state.table[sighting.identifier] else { return }
      if output.isJSON {
        guard isNews || printsAll else { return }
        output.object(device.sighting.json(event: isFirst ? "discovered" : "updated", at: Date()))
      } else if printsAll {
        var heard = device
        heard.strength = sighting.rssi.map { Strength(rssi: $0, now: now) }
        print(heard, &state, now)
      } else if device.sighting.name != nil {
        if state.printed.insert(device.sighting.identifier).inserted { print(device, &state, now) }
      } else if isFirst {
        namelessCame.yield()
      }
    }
  }

  /// When the next device without a name was waited for long enough; nil if none is waited for.
  var nextDue: Instant? {
    let state = state.value
    let waiting = state.table.byArrival.first { !state.printed.contains($0.sighting.identifier) }
    return waiting.map { $0.firstHeard + nameTimeout }
  }

  /// Prints the devices that were waited for long enough.
  func printDue(now: Instant, evenWithoutName: Bool = false) {
    guard !output.isJSON, !printsAll else { return }
    state.update { state in
      for device in state.table.byArrival
      where (evenWithoutName || now - device.firstHeard >= nameTimeout)
        && state.printed.insert(device.sighting.identifier).inserted
      {
        print(device, &state, now)
      }
      // Devices that made room for others are forgotten.
      if state.printed.count > 2 * NearbyTable.Limits.deviceCount {
        state.printed.formIntersection(state.table.byArrival.map(\.sighting.identifier))
      }
    }
  }

  func finish(now: Instant) {
    printDue(now: now, evenWithoutName: true)
    let table = state.value.table
    let isCrowded = table.overflowCount + table.displacedCount > 0
    guard !output.isJSON else {
      if isCrowded { output.object(table.overflowJSON) }
      return
    }
    let count = table.count
    output.note(count == 0 ? "No devices." : "\(count) device\(count == 1 ? "" : "s").")
    guard isCrowded else { return }
    output.note(
      "There was no room for more: \(NearbyTable.overflow(table.overflowCount)), and "
        + "\(table.displacedCount) devices made room for louder or steadier ones.")
  }

  private func print(_ device: NearbyTable.Device, _ state: inout State, _ now: Instant) {
    if !state.hasHeader { output.line(output.style.dim(NearbyScreen.plainHeader)) }
    state.hasHeader = true
    output.line(NearbyScreen.plainRow(device, now: now))
  }
}
