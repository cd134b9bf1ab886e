import BluetoothHost
import BluetoothInterface
import Essentials
import EventLoop
import Foundation
import HubHost
import HubMachines
import HubWire
import SimulatedRadio
import Testing

@Suite("Virtual time that waits for programs of a hub", .timeLimit(.minutes(5)))
struct VirtualTimeTests {
  private let path = FileManager.default.temporaryDirectory.appending(path: "\(UUID()).hub").path

  /// Advances the time of a hub with a program that does something when the time waits for it. Returns what came last.
  private func advance(
    _ limits: HubLimits = HubLimits(), _ body: (TestProgram) async throws -> HubMessage?
  ) async throws -> HubMessage? {
    let radio = VirtualRadio(seed: 3)
    let host = radio.makeHost(name: "phone")
    let server = try await HubServer.start(at: .path(path), host, limits: limits, on: EpollLoop())
    let program = try await TestProgram(at: path)
    let opening = SessionOpening(id: TestProgram.session, acknowledgesEvents: true)
    try await program.send(
      .greeting(
        HubGreeting(app: "app", abilities: [.bluetooth, .virtualTime], openings: [opening])))
    guard case .welcome(let welcome)? = await program.next() else {
      Issue.record("not welcome")
      return nil
    }
    #expect(welcome.abilities.contains(.virtualTime))
    let advancing = Task.detached { radio.advance(by: .seconds(5)) }
    var hasTime = false
    while let message = await program.next() {
      if case .time = message { hasTime = true }
      if case .settle = message { break }
    }
    #expect(hasTime)
    let last = try await body(program)
    await advancing.value
    #expect(radio.now == .zero + .seconds(5))
    await server.close()
    try? FileManager.default.removeItem(atPath: path + ".lock")
    return last
  }

  @Test("a program that ends while time waits for it holds it no longer")
  func ended() async throws {
    _ = try await advance {
      await $0.close()
      return nil
    }
  }

  @Test("a program that does not answer is left in time, with the reason")
  func silent() async throws {
    var limits = HubLimits()
    limits.settlingTime = .milliseconds(50)
    let last = try await advance(limits) { program in
      var last: HubMessage?
      while let message = await program.next() { last = message }
      return last
    }
    guard case .refusal(let refusal)? = last else {
      Issue.record("\(String(describing: last)) is no refusal")
      return
    }
    #expect(refusal.reason == .limitReached && refusal.text.contains("Virtual time has waited"))
  }
}
