import BluetoothInterface
import EventLoop
import Foundation
import Glibc
import HubHost
import HubWire
import Logging
import Testing

@testable import HubClient
@testable import HubPlaces

@Suite("The hub that a program uses")
struct HubChoiceTests {
  private static let users = "/run/user/7/ambit/hub"
  private static let folder = ["XDG_RUNTIME_DIR": "/run/user/7"]

  /// The choice in an environment, with the paths at which a hub was looked for.
  private func choose(
    _ environment: [String: String], isTest: Bool = false,
    _ presences: [String: HubPresence] = [users: .listens, HubPath.system: .listens]
  ) -> (choice: HubChoice, looks: [String]) {
    var looks: [String] = []
    let setting = environment["AMBIT_HUB"].map(HubSetting.init)
    let choice = HubChoice(setting, { environment[$0] }, isTest: { isTest }) { path in
      looks.append(path)
      return presences[path] ?? .isAbsent
    }
    return (choice, looks)
  }

  @Test("AMBIT_HUB is followed without a look at the usual paths, also by tests")
  func setting() {
    for radio in [nil, "sim"] {
      for isTest in [false, true] {
        func choose(_ value: String) -> HubChoice {
          var environment = ["AMBIT_HUB": value]
          environment["AMBIT_RADIO"] = radio
          let result = self.choose(environment, isTest: isTest)
          #expect(result.looks.isEmpty)
          return result.choice
        }
        #expect(choose("/tmp/hub") == .named(path: "/tmp/hub"))
        #expect(choose("/tmp/hub").setting == .path("/tmp/hub"))
        #expect(choose("off") == .off)
        #expect(choose("off").setting == .off)
        let invalid = choose("hub")
        #expect(invalid.setting == .invalid(invalid.reason) && invalid.path == nil)
        #expect(invalid.reason.hasPrefix("AMBIT_HUB: "))
      }
    }
  }

  @Test("a named radio is used in the process, without a look for a hub")
  func namedRadio() {
    let result = choose(["AMBIT_RADIO": "hci0"])
    #expect(result.choice == .ownRadio && result.looks.isEmpty)
    #expect(result.choice.setting == nil)
  }

  @Test("a process that runs tests looks for no hub")
  func tests() {
    let result = choose(Self.folder, isTest: true)
    #expect(result.choice == .tests && result.looks.isEmpty)
    #expect(result.choice.setting == nil)
  }

  @Test("a user's hub is found first, then the system's")
  func order() {
    #expect(choose(Self.folder).choice == .found(path: Self.users))
    let system = choose(Self.folder, [HubPath.system: .listens])
    #expect(system.choice == .found(path: HubPath.system))
    #expect(system.looks == [Self.users, HubPath.system])
    #expect(system.choice.path == HubPath.system)
    #expect(choose([:]).looks == [HubPath.system])
    #expect(choose(["XDG_RUNTIME_DIR": "run"]).looks == [HubPath.system])
  }

  @Test("a program without a hub has a radio of its own, and the paths at which none listens")
  func nothing() {
    let choice = choose(Self.folder, [:]).choice
    #expect(choice.setting == nil && choice.path == nil)
    #expect(choice.reason == "No hub listens at \(Self.users) or \(HubPath.system).")
  }

  @Test("a hub that may not be used is passed over, and is the reason if there is no other")
  func refused() {
    let refused = HubPresence.isRefused("Another user runs it.")
    let other = choose(Self.folder, [Self.users: refused, HubPath.system: .listens])
    #expect(other.choice == .found(path: HubPath.system))
    let none = choose(Self.folder, [Self.users: refused])
    #expect(none.choice == .notFound(reason: "Another user runs it."))
    #expect(none.choice.setting == nil)
  }

  @Test("settings that a hub's radio doesn't have are reported where a hub is used, and only there")
  func settingsWithoutEffect() throws {
    let values = ["AMBIT_CAPTURE": "/tmp/x", "AMBIT_BONDS": "/tmp/b", "AMBIT_LOCATIONS": "/tmp/l"]
    for choice in [HubChoice.named(path: "/hub"), .found(path: "/hub")] {
      let warning = try #require(choice.warning { values[$0] })
      #expect(warning.contains("hub at /hub, without these settings: AMBIT_BONDS, AMBIT_CAPTURE."))
      #expect(choice.warning { _ in nil } == nil)
    }
    for choice in [HubChoice.off, .ownRadio, .tests, .notFound(reason: "none")] {
      #expect(choice.warning { values[$0] } == nil)
    }
  }

  @Test("a program with neither a host nor a hub has an unsupported radio, and logs the reason")
  func noHost() async throws {
    let choices: [(HubChoice, reason: String)] = [
      (.notFound(reason: "No hub listens at /hub."), "No hub listens at /hub."),
      (.off, "AMBIT_HUB is \"off\"."), (.ownRadio, "AMBIT_RADIO names a radio."),
    ]
    for (choice, reason) in choices {
      let (lines, logger) = Logger.recording()
      let provider = HubChoice.onlyProvider(refusal: nil, choice: { choice }, logger: logger)
      #expect(await SessionLog(provider).next() == .stateChanged(.unsupported))
      let problem = try #require(provider.problem)
      #expect(problem.contains("uses no hub: \(reason) Start a hub with"))
      #expect(problem.contains("the trait BluetoothHost"))
      var line = lines.makeAsyncIterator()
      #expect(await line.next() == "error: \(problem)")
      #expect(!provider.isSimulated && !provider.isDenied)
    }
  }

  @Test("a program without a host of its own looks for no hub if it may not use Bluetooth")
  func noHostAndNoPermission() async throws {
    let refusal = try #require(BluetoothAuthorization.refusal(named: "denied"))
    let (lines, logger) = Logger.recording()
    let provider = HubChoice.onlyProvider(
      refusal: refusal,
      choice: {
        Issue.record("a hub was chosen")
        return .off
      }, logger: logger)
    #expect(await SessionLog(provider).next() == .stateChanged(.unauthorized))
    var line = lines.makeAsyncIterator()
    #expect(await line.next() == "error: \(refusal)")
  }

  @Test("a program without a host of its own uses the hub that was found")
  func noHostButHub() async throws {
    let path = TestHub.makePath()
    let hub = try await TestHub.start(at: path) { message, connection in
      guard case .greeting(let greeting) = message else { return }
      connection.send(.accepted)
      let on = HubEvents([.stateChanged(.poweredOn)])
      for opening in greeting.openings { connection.send(.events(opening.id, on)) }
    }
    let provider = HubChoice.onlyProvider(
      refusal: nil, choice: { .found(path: path) }, logger: .silent)
    #expect(await SessionLog(provider).wait(for: .stateChanged(.poweredOn)))
    await hub.kill()
  }

  // MARK: This process

  @Test("a process of tests is recognised by its executable and by the libraries of tests")
  func testProcess() {
    #expect(TestProcess.isCurrent)
    #expect(TestProcess.isName(ofTests: "ambitPackageTests.xctest"))
    #expect(!TestProcess.isName(ofTests: "guide"))
    #expect(TestProcess.isLoaded("libTesting.so"))
    #expect(!TestProcess.isLoaded("libTestingOfNobody.so"))
  }

  @Test(
    "this process, which runs tests, uses no hub",
    .enabled(if: ["AMBIT_HUB", "AMBIT_RADIO"].allSatisfy { ProcessEnvironment.value($0) == nil }))
  func thisProcess() {
    #expect(HubChoice.current == .tests)
  }
}

@Suite("Looking for a hub at a path", .timeLimit(.minutes(5)))
struct HubPresenceTests {
  private let path = TestHub.makePath()

  /// Binds a socket of a type to the path, and listens if it can.
  private func makeSocket(_ type: __socket_type, backlog: Int32 = 8) throws -> Int32 {
    let descriptor = socket(AF_UNIX, Int32(type.rawValue | SOCK_CLOEXEC.rawValue), 0)
    let address = try #require(SocketAddress(path: path))
    try #require(address.with { unsafe bind(descriptor, $0, $1) } == 0)
    if type == SOCK_STREAM { try #require(listen(descriptor, backlog) == 0) }
    return descriptor
  }

  @Test("a hub that listens is found, and notices nothing but a connection that ends")
  func listening() async throws {
    let (ends, continuation) = AsyncStream.makeStream(of: Int.self)
    let hub = try await TestHub.start(at: path, onEnd: { continuation.yield($0.number) }) {
      message, _ in Issue.record("the look sent \(message)")
    }
    #expect(HubPresence(at: path) == .listens)
    var iterator = ends.makeAsyncIterator()
    #expect(await iterator.next() == 1)
    await hub.kill()
    #expect(HubPresence(at: path) == .isAbsent)
  }

  @Test("a path without a file, in no folder, and too long for a socket has no hub")
  func noSocket() {
    #expect(HubPresence(at: path) == .isAbsent)
    #expect(HubPresence(at: path + "/ambit/hub") == .isAbsent)
    #expect(HubPresence(at: "/" + String(repeating: "x", count: 200)) == .isAbsent)
  }

  @Test("the socket of a hub that has ended, and a file that is no socket, are no hub")
  func stale() throws {
    close(try makeSocket(SOCK_STREAM))
    defer { unlink(path) }
    try #require(access(path, F_OK) == 0)
    #expect(HubPresence(at: path) == .isAbsent)
    unlink(path)
    try Data().write(to: URL(fileURLWithPath: path))
    #expect(HubPresence(at: path) == .isAbsent)
  }

  @Test("a hub that accepts no connections at the moment is found at once")
  func fullQueue() throws {
    let listener = try makeSocket(SOCK_STREAM, backlog: 0)
    defer { close(listener); unlink(path) }
    let address = try #require(SocketAddress(path: path))
    var clients: [Int32] = []
    defer { for client in clients { close(client) } }
    var error: Int32 = 0
    while error == 0, clients.count < 10_000 {
      let client = try address.makeSocket()
      clients.append(client)
      if address.with({ unsafe connect(client, $0, $1) }) != 0 { error = errno }
    }
    #expect(error == EAGAIN)
    #expect(HubPresence(at: path) == .listens)
  }

  @Test("a hub of a user who is not believed is refused with its path and the user")
  func disbelief() throws {
    let listener = try makeSocket(SOCK_STREAM)
    defer { close(listener); unlink(path) }
    #expect(
      HubPresence(at: path, believes: { _ in false })
        == .isRefused(
          "The hub at \(path) is not used because another user runs it, with the ID \(geteuid())."))
    var asked: [UInt32] = []
    _ = HubPresence(at: path) {
      asked.append($0)
      return true
    }
    #expect(asked == [geteuid()])
  }

  @Test("a hub of a believed user that is closed to this one is used, and denies the program")
  func closedToUser() {
    func presence(_ error: Int32, _ owner: UInt32?) -> HubPresence {
      HubPresence.presence(
        at: path, SystemError(number: error), socketOwner: owner, believes: { $0 == 0 })
    }
    for error in [EACCES, EPERM] { #expect(presence(error, 0) == .listens) }
    #expect(presence(ECONNREFUSED, 0) == .isAbsent)
    // Of another user, and in a folder of which nothing can be seen.
    for owner in [7, nil] as [UInt32?] {
      #expect(
        presence(EACCES, owner) == .isRefused("This user may not look for a hub at \(path)."))
    }
  }

  @Test(
    "a socket whose permissions keep this user out is a hub that denies it",
    .enabled(if: geteuid() != 0, "root may connect to any socket"))
  func permissions() throws {
    let listener = try makeSocket(SOCK_STREAM)
    defer { close(listener); unlink(path) }
    try #require(chmod(path, 0) == 0)
    #expect(HubPresence(at: path) == .listens)
    #expect(
      HubPresence(at: path, believes: { _ in false })
        == .isRefused("This user may not connect to the hub at \(path)."))
  }

  @Test("a socket of another type is refused as no hub's")
  func otherType() throws {
    let socket = try makeSocket(SOCK_DGRAM)
    defer { close(socket); unlink(path) }
    #expect(HubPresence(at: path) == .isRefused("The socket at \(path) is not a hub's."))
  }
}
