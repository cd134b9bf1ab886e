import BenchmarkSupport
import BluetoothHost
import BluetoothInterface
import BluetoothMachines
import BluetoothWire
import Essentials
import Foundation
import Glibc
import SimulatedRadio
import Simulation
import Synchronization

/// The rig of the side-by-side comparison: a controller without latency behind H4 over TCP, and two
/// hosts, each of the three a process.
enum Rig {
  // MARK: The three processes

  /// Serves ideal air until the process is ended; prints the address first.
  static func serveRadio() async throws {
    var radio = RadioModel.ideal
    // Advertise fast, or connecting would mostly wait for the next advertisement.
    radio.advertisingInterval = .microseconds(100)
    radio.advertisingDelayMax = .zero
    let model = radio
    let server = try await RadioServer.start(
      at: [.tcp(host: "127.0.0.1", port: 0)],
      makeWorld: { World(seed: 1, radio: model) })
    say("\(server.addresses[0])")
    try await sleepForEver()
    await server.close()
  }

  static func servePeripheral(radio: String) async throws {
    let host = try makeHost(radio)
    let runner = RoleRunner(ServingRole(), on: host)
    while !runner.withRole({ $0.isAdvertising }) { try await Task.sleep(for: .milliseconds(5)) }
    say("ready")
    try await sleepForEver()
    await host.close()
  }

  /// Does one job and prints `{"job": ..., "per_second": ...}`, as `bumble_host.py` does.
  static func measureCentral(radio: String, job name: String, seconds: Double) async throws {
    guard let job = Job(rawValue: name) else { throw RigError("There is no job \(name).") }
    let host = try makeHost(radio)
    let runner = RoleRunner(MeasuringRole(job, quota: 0), on: host)
    try await runner.wait { $0.isReady }
    let counted = job == .writes || job == .channel
    let before = counted ? try await received(runner) : runner.withRole { $0.count }
    let start = ContinuousClock.now
    runner.withRole { role, ask in
      role.quota = .max
      role.pump(ask)
    }
    try await Task.sleep(for: .seconds(seconds))
    if counted { runner.withRole { $0.quota = 0 } }
    let after = counted ? try await received(runner) : runner.withRole { $0.count }
    let elapsed = (ContinuousClock.now - start) / .seconds(1)
    if let failure = runner.withRole({ $0.failure }) { throw RigError("\(job): \(failure)") }
    runner.withRole { role, ask in role.disconnect(ask) }
    try await runner.wait { !$0.isConnected }
    say("{\"job\": \"\(name)\", \"per_second\": \(Double(after - before) / elapsed)}")
    await host.close()
  }

  private static func received(_ runner: RoleRunner<MeasuringRole>) async throws -> Int {
    runner.withRole { role, ask in role.askReceived(ask) }
    try await runner.wait { $0.received != nil }
    return runner.withRole { $0.received ?? 0 }
  }

  private static func makeHost(_ radio: String) throws -> BluetoothHost {
    var configuration = HostConfiguration()
    configuration.name = Agreed.name
    configuration.mtuMax = 23
    return try BluetoothHost(
      radio: RadioChoice(parsing: radio), configuration: configuration)
  }

  static func sleepForEver() async throws {
    while true { try await Task.sleep(for: .seconds(3_600)) }
  }
}

/// What went wrong on the rig, in one sentence.
struct RigError: Error, CustomStringConvertible {
  let description: String
  init(_ description: String) { self.description = description }
}

/// A role as a client of a running host.
final class RoleRunner<Role: HostRole & Sendable>: Sendable {
  private let box: RoleBox<Role>
  private let client: HostClient

  init(_ role: Role, on host: BluetoothHost) {
    let box = RoleBox(role)
    self.box = box
    client = host.makeClient { box.handle($0) }
    box.open(client)
  }

  func withRole<Result: Sendable>(_ body: (inout Role) -> Result) -> Result {
    box.role.withLock { body(&$0) }
  }

  func withRole(_ body: (inout Role, (HostRequest) -> Void) -> Void) {
    box.role.withLock { body(&$0) { client.send($0) } }
  }

  /// Waits until something holds, for ten seconds at most.
  func wait(_ condition: (Role) -> Bool) async throws {
    for _ in 0..<5_000 {
      if box.role.withLock({ condition($0) }) { return }
      try await Task.sleep(for: .milliseconds(2))
    }
    throw RigError("Waited in vain: \(box.role.withLock { "\($0)" })")
  }
}

private final class RoleBox<Role: HostRole & Sendable>: Sendable {
  let role: Mutex<Role>
  private let client = Mutex<HostClient?>(nil)
  private let early = Mutex<[HostEvent]>([])

  init(_ role: Role) { self.role = Mutex(role) }

  /// Events may come before `makeClient` has returned.
  func open(_ client: HostClient) {
    self.client.withLock { $0 = client }
    let events = early.withLock { early in
      defer { early = [] }
      return early
    }
    for event in events { handle(event) }
  }

  func handle(_ event: HostEvent) {
    guard let client = client.withLock({ $0 }) else {
      return early.withLock { $0.append(event) }
    }
    role.withLock { $0.handle(event) { client.send($0) } }
  }
}
