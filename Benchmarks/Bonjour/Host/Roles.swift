import BonjourHost
import DNSWire
import DiscoveryMachines
import Essentials
import HubPlaces
import Synchronization

extension Entry {
  /// `publish TYPE NAME COUNT`: registers COUNT services at the first line that it reads, or one at
  /// each line, and prints the time of the request and the time when all of them had their names.
  static func register(_ words: inout Words) async throws {
    let type = try ServiceType(text: try words.required())
    let name = try words.required()
    let count = try words.number()
    let host = BonjourHost { say("log", $0) }
    // Ready once it takes part, so that the start isn't measured.
    while await host.interfaces.isEmpty { await Task.yield() }
    say("ready")
    var registrations: [Registration] = []
    for round in 0... {
      guard awaitLine() == "go" else { break }
      let left = Mutex(count)
      let done = Gate()
      say("asked", "\(Clock.nanoseconds)")
      for number in 0..<count {
        let instance = "\(name) \(count == 1 ? round : number)"
        let service = try ServiceRegistration(
          ServiceName(instance: instance, type: type), port: 8080)
        registrations.append(
          host.register(service) { _ in
            let isLast = left.withLock { left in
              left -= 1
              return left == 0
            }
            if isLast {
              say("published", "\(Clock.nanoseconds)")
              done.open()
            }
          })
      }
      await done.wait()
    }
    await host.close()
    say("closed", "\(Clock.nanoseconds)")
  }

  /// `hub PATH`: runs Multicast DNS for the programs whose `AMBIT_HUB` is PATH, until the end of input.
  static func serve(_ words: inout Words) async throws {
    let hub = try BonjourHub.start(
      at: HubPath.bonjour(beside: try words.required()), admits: { _ in BonjourAdmission() },
      log: { say("log", $0) })
    say("ready")
    _ = awaitLine()
    await hub.close()
  }

  /// `browse TYPE COUNT [resolve]`: browses from the first line that it reads until the next, and
  /// prints when each service was found, when it was resolved, and when COUNT were found.
  static func browse(_ words: inout Words) async throws {
    let type = try ServiceType(text: try words.required())
    let count = try words.number()
    let resolves = words.next() == "resolve"
    let host = BonjourHost { say("log", $0) }
    while await host.interfaces.isEmpty { await Task.yield() }
    say("ready")
    while awaitLine() == "go" {
      let watcher = Watcher(host, count: count, resolves: resolves)
      say("asked", "\(Clock.nanoseconds)")
      let query = host.query(.browse(type)) { watcher.heard($0) }
      _ = awaitLine()
      query.cancel()
    }
    await host.close()
  }
}

/// Follows a browse.
private final class Watcher: Sendable {
  private struct State {
    var found: Set<ServiceName> = []
    var resolving: [ServiceName: Query] = [:]
  }

  private let host: BonjourHost
  private let count: Int
  private let resolves: Bool
  private let state = Mutex(State())

  init(_ host: BonjourHost, count: Int, resolves: Bool) {
    self.host = host
    self.count = count
    self.resolves = resolves
  }

  func heard(_ event: FoundEvent) {
    let now = Clock.nanoseconds
    switch event.event {
    case .serviceAdded(let name):
      let number = state.withLock { state in
        state.found.insert(name)
        return state.found.count
      }
      if resolves { resolve(name) }
      say("found", "\(now)", name.instanceText)
      if number == count { say("all", "\(now)") }
    case .serviceRemoved(let name):
      state.withLock { state in
        state.found.remove(name)
        state.resolving[name] = nil
      }
      say("gone", "\(now)", name.instanceText)
    default: break
    }
  }

  private func resolve(_ name: ServiceName) {
    let query = host.query(.resolve(name)) { found in
      guard case .resolved = found.event else { return }
      say("resolved", "\(Clock.nanoseconds)", name.instanceText)
    }
    state.withLock { state in state.resolving[name] = query }
  }
}

/// Lets tasks pass once it was opened.
final class Gate: Sendable {
  private enum State {
    case closed([CheckedContinuation<Void, Never>])
    case open
  }

  private let state = Mutex(State.closed([]))

  func open() {
    let waiting = state.withLock { state -> [CheckedContinuation<Void, Never>] in
      defer { state = .open }
      if case .closed(let waiting) = state { return waiting }
      return []
    }
    for continuation in waiting { continuation.resume() }
  }

  func wait() async {
    await withCheckedContinuation { continuation in
      let isOpen = state.withLock { state in
        guard case .closed(let waiting) = state else { return true }
        state = .closed(waiting + [continuation])
        return false
      }
      if isOpen { continuation.resume() }
    }
  }
}
