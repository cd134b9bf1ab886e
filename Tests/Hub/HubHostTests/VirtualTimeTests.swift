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
    _ limits: HubLimits = HubLimits(), sessions: [UInt64] = [1],
    _ body: (TestProgram) async throws -> HubMessage?
  ) async throws -> HubMessage? {
    let radio = VirtualRadio(seed: 3)
    let host = radio.makeHost(name: "phone")
    let server = try await HubServer.start(at: .path(path), host, limits: limits, on: EpollLoop())
    let program = try await TestProgram(at: path)
    try await Self.greet(program, sessions)
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

  private static func greet(_ program: TestProgram, _ sessions: [UInt64] = [1]) async throws {
    let openings = sessions.map {
      SessionOpening(id: HubSessionID(rawValue: $0), acknowledgesEvents: true)
    }
    try await program.send(
      .greeting(
        HubGreeting(app: "app", abilities: [.bluetooth, .virtualTime], openings: openings)))
    guard case .welcome(let welcome)? = await program.next() else {
      Issue.record("not welcome")
      return
    }
    #expect(welcome.abilities.contains(.virtualTime))
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

  @Test("a program whose timers have always passed already does not stop the time")
  func pastTimer() async throws {
    var limits = HubLimits()
    limits.pastWakeCountMax = 5
    let last = try await advance(limits) { program in
      var last: HubMessage?
      try await program.send(.settled(1, wake: .zero))
      while let message = await program.next() {
        last = message
        if case .settle(let number) = message {
          try await program.send(.settled(number, wake: .zero))
        }
      }
      return last
    }
    guard case .refusal(let refusal)? = last else {
      Issue.record("\(String(describing: last)) is no refusal")
      return
    }
    #expect(refusal.text.contains("a virtual time that has passed"))
  }

  @Test("a program is asked at the time of its timer although the session asked before was closed")
  func closedSession() async throws {
    let due = Instant.zero + .seconds(3)
    _ = try await advance(sessions: [1, 2]) { program in
      // The first question is for the first session.
      try await program.send(.closeSession(HubSessionID(rawValue: 1)))
      try await program.send(.settled(1, wake: due))
      var time: Instant?
      while let message = await program.next() {
        if case .time(let new) = message { time = new }
        guard case .settle(let number) = message else { continue }
        let isDue = time.map { $0 >= due } ?? false
        try await program.send(.settled(number, wake: isDue ? nil : due))
        if isDue { break }
      }
      #expect(time == due)
      return nil
    }
  }

  @Test("programs are asked one after the other, in their order")
  func order() async throws {
    let host = VirtualRadio(seed: 3).makeHost(name: "phone")
    let server = try await HubServer.start(at: .path(path), host, on: EpollLoop())
    var programs: [TestProgram] = []
    for _ in 0..<4 {
      let program = try await TestProgram(at: path)
      try await Self.greet(program)
      programs.append(program)
    }
    async let settled: Void = server.settle()
    for (index, program) in programs.enumerated() {
      var question: UInt64?
      while question == nil, let message = await program.next() {
        if case .settle(let number) = message { question = number }
      }
      for later in programs[(index + 1)...] {
        try await later.send(.ping(7))
        var messages: [HubMessage] = []
        while messages.last != .pong(7), let message = await later.next() {
          messages.append(message)
        }
        #expect(!messages.contains { if case .settle = $0 { true } else { false } })
      }
      try await program.send(.settled(try #require(question), wake: nil))
    }
    await settled
    await server.close()
    try? FileManager.default.removeItem(atPath: path + ".lock")
  }
}
