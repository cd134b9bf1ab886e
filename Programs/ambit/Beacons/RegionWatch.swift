import BeaconMachines
import BluetoothWire
import Essentials
import Foundation
import JSONWire

/// A region monitor, and what happens when a region is entered or left.
final class RegionWatch: Sendable {
  private struct State {
    var monitor: RegionMonitor
    var commands: RegionCommands
    /// The regions whose last command that was started is the one for entering: what outlives the
    /// process, so that an event whose command it didn't start comes again.
    var entered: Set<String>
    /// Whether no more commands are started.
    var isClosed = false
  }

  private let state: Guarded<State>
  private let clock: MonotonicClock
  private let runner: CommandRunner
  private let store: MonitorStore?
  private let output: Output
  private let malformed = Guarded((count: 0, reportedCount: 0))

  /// - Parameters:
  ///   - entered: The regions whose command for entering an earlier process started.
  ///   - store: Where the regions that are entered are kept; nil: nowhere.
  init(
    monitor: RegionMonitor, entered: Set<BeaconRegion>, clock: MonotonicClock,
    commands: RegionCommands, command: [String], store: MonitorStore?, output: Output
  ) {
    state = Guarded(
      State(monitor: monitor, commands: commands, entered: Set(entered.map(\.identifier))))
    self.clock = clock
    self.store = store
    self.output = output
    runner = CommandRunner(command: command, output: output)
    state.update { keep($0) }
  }

  /// Starts no more commands; their events come again when the program begins anew. Those that run go on
  /// unless a signal ends the program: SIGTERM ends them, too, others are passed on as a terminal would.
  func close(because signal: Int32?) async {
    state.update { $0.isClosed = true }
    guard let signal else { return }
    if signal == SIGTERM { await runner.endAll() } else { runner.forward(signal) }
  }

  func handle(_ event: RegionMonitor.Event) {
    let now = clock.now
    state.update { state in
      var actions: [RegionMonitor.Action] = []
      state.monitor.handle(event, now: now, into: &actions)
      perform(actions, &state, now)
    }
  }

  func wake() {
    reportMalformed()
    let now = clock.now
    state.update { state in
      var actions: [RegionMonitor.Action] = []
      state.monitor.wake(now: now, into: &actions)
      perform(actions, &state, now)
      perform(state.commands.wake(now: now), &state, now)
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

  /// Under the lock, so that commands begin in the order of what happened.
  private func perform(_ actions: [RegionMonitor.Action], _ state: inout State, _ now: Instant) {
    for action in actions {
      let crossing: RegionCommands.Crossing
      switch action {
      case .entered(let region, let beacon):
        crossing = .init(region: region, event: .enter, beacon: beacon)
      case .exited(let region):
        crossing = .init(
          region: region, event: .exit, beacon: state.monitor.lastIdentity(of: region))
      case .determined: continue
      }
      report(crossing)
      perform(state.commands.crossed(crossing, now: now), &state, now)
    }
  }

  private func perform(_ actions: [RegionCommands.Action], _ state: inout State, _ now: Instant) {
    for action in actions {
      switch action {
      case .start(let crossing): start(crossing, &state, now)
      case .end(let region, let isForced): runner.end(region: region, isForced: isForced)
      case .skipped(let region, let count):
        if output.isJSON {
          output.object(
            .object([
              "event": .string("skipped"), "time": .time(Date()), "region": .string(region),
              "count": .integer(Int64(count)),
            ]))
        }
        output.warn("\(count) events of \(Fit.safe(region)) got no command: too many waited")
      }
    }
  }

  private func start(_ crossing: RegionCommands.Crossing, _ state: inout State, _ now: Instant) {
    guard !state.isClosed else { return }
    let region = crossing.region
    let start = runner.start(environment(of: crossing, state), for: region) { [weak self] in
      self?.ended(region)
    }
    switch start {
    case .noRoom: state.commands.hadNoRoom(region: region, now: now)
    // Such a crossing isn't kept, so that it comes again when the program begins anew.
    case .failed: perform(state.commands.ended(region: region, now: now), &state, now)
    case .started:
      switch crossing.event {
      case .enter: state.entered.insert(region)
      case .exit: state.entered.remove(region)
      }
      keep(state)
    }
  }

  private func ended(_ region: String) {
    let now = clock.now
    state.update { state in
      perform(state.commands.ended(region: region, now: now), &state, now)
    }
  }

  private func keep(_ state: State) {
    store?.keep(state.monitor.regions, entered: state.entered)
  }

  private func report(_ crossing: RegionCommands.Crossing) {
    let (event, beacon) = (crossing.event, crossing.beacon)
    if output.isJSON {
      output.object(
        .object([
          "event": .string(event.rawValue), "time": .time(Date()),
          "region": .string(crossing.region),
          "uuid": beacon.map { .string($0.uuid.fullDescription) },
          "major": beacon.map { .integer(Int64($0.major)) },
          "minor": beacon.map { .integer(Int64($0.minor)) },
        ]))
    } else {
      output.note("\(event == .enter ? "Entered" : "Left") \(crossing.region).")
    }
  }

  private func environment(
    of crossing: RegionCommands.Crossing, _ state: State
  ) -> [String: String] {
    let region = state.monitor.regions.first { $0.identifier == crossing.region }
    let (beacon, constraint) = (crossing.beacon, region?.constraint)
    var variables = ["AMBIT_EVENT": crossing.event.rawValue, "AMBIT_REGION": crossing.region]
    variables["AMBIT_BEACON_UUID"] = (beacon?.uuid ?? constraint?.uuid)?.fullDescription
    variables["AMBIT_BEACON_MAJOR"] = (beacon?.major ?? constraint?.major)?.description
    variables["AMBIT_BEACON_MINOR"] = (beacon?.minor ?? constraint?.minor)?.description
    return variables
  }
}
