import Dispatch
import Essentials
import EventLoop
import Glibc
import Testing

@testable import HubHost

@Suite("Reports to a service manager that an event loop works", .timeLimit(.minutes(5)))
struct ServiceWatchdogTests {
  /// The variables of a process that is watched for a time.
  private static func environment(
    _ microseconds: String?, process: String? = "\(getpid())", socket: String? = "/run/notify"
  ) -> (String) -> String? {
    let values = [
      "WATCHDOG_USEC": microseconds, "WATCHDOG_PID": process, "NOTIFY_SOCKET": socket,
    ]
    return { values[$0] ?? nil }
  }

  @Test("the limit is that of the environment, if the variables are this process's")
  func limit() {
    #expect(
      ServiceManager.watchdogLimit(Self.environment("20000000")) == .seconds(20))
    #expect(
      ServiceManager.watchdogLimit(Self.environment("20000000", process: nil)) == .seconds(20))
    #expect(ServiceManager.watchdogLimit(Self.environment("20000000", process: "1")) == nil)
    #expect(ServiceManager.watchdogLimit(Self.environment("20000000", process: "x")) == nil)
  }

  @Test(
    "without a valid limit, nothing is watched",
    arguments: [nil, "0", "-1", "1.5", " 1", "20s", "18446744073709551615", "99999999999999999999"])
  func noLimit(_ text: String?) {
    #expect(ServiceManager.watchdogLimit(Self.environment(text)) == nil)
    #expect(ServiceManager.watch(EpollLoop(), environment: Self.environment(text)) == nil)
  }

  @Test("without a socket of a service manager nothing is watched")
  func noSocket() {
    let environment = Self.environment("20000000", socket: nil)
    #expect(ServiceManager.watch(EpollLoop(), environment: environment) == nil)
  }

  @Test("an enormous limit is bounded instead of a trap")
  func enormous() {
    let limit = ServiceManager.watchdogLimit(Self.environment("18446744073709551614"))
    #expect(limit == TimeSpan(nanoseconds: .max))
  }

  @Test("a loop that works is reported again and again, at a path and at an abstract name")
  func works() throws {
    for isAbstract in [false, true] {
      let socket = try NotifySocket(isAbstract: isAbstract)
      let environment = Self.environment("2000", socket: socket.name)
      let watchdog = try #require(ServiceManager.watch(EpollLoop(), environment: environment))
      for _ in 0..<5 { #expect(socket.next() == "WATCHDOG=1") }
      withExtendedLifetime(watchdog) {}
    }
  }

  @Test("a loop that hangs is not reported while another one is")
  func hangs() throws {
    let (hanging, working) = (try NotifySocket(), try NotifySocket())
    let (loop, other) = (EpollLoop(), EpollLoop())
    let watchdog = ServiceManager.watch(
      loop, environment: Self.environment("2000", socket: hanging.name))
    #expect(hanging.next() == "WATCHDOG=1")
    let isBlocked = DispatchSemaphore(value: 0)
    let mayGoOn = DispatchSemaphore(value: 0)
    loop.execute {
      isBlocked.signal()
      mayGoOn.wait()
    }
    isBlocked.wait()
    hanging.drain()
    let control = ServiceManager.watch(
      other, environment: Self.environment("2000", socket: working.name))
    for _ in 0..<20 { #expect(working.next() == "WATCHDOG=1") }
    #expect(hanging.isEmpty)
    mayGoOn.signal()
    #expect(hanging.next() == "WATCHDOG=1")
    withExtendedLifetime((watchdog, control)) {}
  }

  @Test("a watchdog that is released reports no more, and its loop goes on")
  func released() throws {
    let socket = try NotifySocket()
    let loop = EpollLoop()
    var watchdog = ServiceManager.watch(
      loop, environment: Self.environment("2000", socket: socket.name))
    #expect(watchdog != nil && socket.next() == "WATCHDOG=1")
    watchdog = nil
    let isStopped = DispatchSemaphore(value: 0)
    let isLater = DispatchSemaphore(value: 0)
    loop.execute {
      socket.drain()
      isStopped.signal()
      // Later than the next report would be.
      loop.schedule(in: .milliseconds(10)) { isLater.signal() }
    }
    isStopped.wait()
    isLater.wait()
    #expect(socket.isEmpty)
  }
}

/// A datagram socket of a service manager.
private final class NotifySocket: Sendable {
  /// As `NOTIFY_SOCKET` has it.
  let name: String
  private let descriptor: Int32
  private let folder: String

  init(isAbstract: Bool = false) throws {
    var template = Array(("/tmp/ambit-notify-" + String(repeating: "X", count: 6)).utf8CString)
    let made = unsafe template.withUnsafeMutableBufferPointer { buffer -> String? in
      guard let start = buffer.baseAddress, unsafe mkdtemp(start) != nil else { return nil }
      return unsafe String(cString: start)
    }
    folder = try #require(made)
    name = (isAbstract ? "@" : "") + folder + "/notify"
    descriptor = socket(AF_UNIX, Int32(SOCK_DGRAM.rawValue | SOCK_CLOEXEC.rawValue), 0)
    try #require(descriptor >= 0)
    let path: [UInt8] = isAbstract ? [0] + (folder + "/notify").utf8 : Array(name.utf8) + [0]
    let address = unsafe withUnsafeBytes(of: sa_family_t(AF_UNIX)) { unsafe Array($0) } + path
    let status = unsafe address.withUnsafeBytes { bytes -> Int32 in
      guard let start = bytes.baseAddress else { return -1 }
      return unsafe bind(
        descriptor, start.assumingMemoryBound(to: sockaddr.self), socklen_t(bytes.count))
    }
    try #require(status == 0)
  }

  deinit {
    close(descriptor)
    unlink(folder + "/notify")
    rmdir(folder)
  }

  /// Waits for a datagram.
  func next() -> String { receive(0) ?? "" }

  /// Whether no datagram waits.
  var isEmpty: Bool { receive(Int32(MSG_DONTWAIT) | Int32(MSG_PEEK)) == nil }

  /// Drops the datagrams that wait.
  func drain() { while receive(Int32(MSG_DONTWAIT)) != nil {} }

  private func receive(_ flags: Int32) -> String? {
    var bytes = [UInt8](repeating: 0, count: 256)
    let count = unsafe recv(descriptor, &bytes, bytes.count, flags)
    return count < 0 ? nil : String(decoding: bytes.prefix(count), as: UTF8.self)
  }
}
