package import AppMachines
internal import Dispatch
package import Essentials
internal import EventLoop
internal import Foundation
internal import Glibc
internal import InfoPlists
internal import Synchronization

/// The manager of apps, as a process that it has started sees it: a socket.
///
/// A thread reads; any thread may write. If the manager is gone, the process waits for the next one, which knows it by the
/// credentials of its socket, and reports to it what it has open. It ends if none comes: an app has no life of its own.
package final class AppManagerSystem: AppSystem {
  /// Where the manager listens.
  let path: String
  private let output: Mutex<Output>
  private let shared = Mutex(Shared())

  /// The connection as threads write to it. Reports for a manager that is gone are dropped.
  private struct Output {
    var descriptor: Int32
    var isWritable = true
  }

  private struct Shared {
    var session: AppSession?
    var lastRequest: UInt64 = 0
    var waiting: [UInt64: Waiting] = [:]
  }

  private final class Waiting: Sendable {
    let message: AppProcessMessage
    let answer = Mutex(AppManagerAnswer.reply(.refused(.unavailable)))
    let arriving = DispatchGroup()

    init(_ message: AppProcessMessage) {
      self.message = message
      arriving.enter()
    }
  }

  /// How long the manager's welcome is waited for.
  private static let welcomeSeconds = 10

  private init(owning descriptor: Int32, path: String) {
    output = Mutex(Output(descriptor: descriptor))
    self.path = path
  }

  deinit { close(output.withLock(\.descriptor)) }

  /// Connects to the manager at a path, and begins a session with it.
  ///
  /// - Throws: If no manager is there, or it hasn't started this process for an app.
  package static func session(at path: String) throws(AppManagerError) -> AppSession {
    let descriptor = try connect(to: path)
    let system = AppManagerSystem(owning: descriptor, path: path)
    var reader = AppFrame.Reader(byteCountMax: AppFrame.byteCountMax)
    let infoPlist = try greet(descriptor, &reader, path)
    let session = AppSession(system: system, infoPlist: infoPlist)
    system.shared.withLock { $0.session = session }
    let rest = reader
    guard DetachedThread.start({ system.read(rest, from: descriptor) }) else {
      throw .unreachable(path, SystemError.current.text)
    }
    return session
  }

  static func connect(to path: String) throws(AppManagerError) -> Int32 {
    guard let address = SocketAddress(path: path) else {
      throw .unreachable(path, SystemError(number: ENAMETOOLONG).text)
    }
    let descriptor: Int32
    do throws(SystemError) { descriptor = try address.makeSocket() } catch {
      throw .unreachable(path, error.text)
    }
    let flags = fcntl(descriptor, F_GETFL)
    guard fcntl(descriptor, F_SETFL, flags & ~O_NONBLOCK) == 0,
      address.with({ Glibc.connect(descriptor, $0, $1) }) == 0
    else {
      let error = SystemError.current
      close(descriptor)
      throw .unreachable(path, error.text)
    }
    return descriptor
  }

  /// Greets the manager, and waits for the welcome.
  private static func greet(
    _ descriptor: Int32, _ reader: inout AppFrame.Reader, _ path: String
  ) throws(AppManagerError) -> InfoPlist {
    setTimeLimit(seconds: welcomeSeconds, of: descriptor)
    defer { setTimeLimit(seconds: 0, of: descriptor) }
    let greeting = AppManagerGreeting.app(version: AppManagerGreeting.version)
    guard send(AppFrame.bytes(of: greeting), on: descriptor) else {
      throw .unreachable(path, SystemError.current.text)
    }
    while true {
      let message: AppManagerMessage?
      do throws(AppFrameError) { message = try reader.next(AppManagerMessage.self) } catch {
        throw .violatesProtocol(path)
      }
      switch message {
      case .welcome(let infoPlist): return infoPlist
      case .refused(let sentence): throw .refused(sentence)
      case .instruct, .answer: throw .violatesProtocol(path)
      case nil: break
      }
      guard let bytes = readBytes(from: descriptor) else {
        throw .unreachable(path, SystemError.current.text)
      }
      reader.append(bytes)
    }
  }

  static func setTimeLimit(seconds: Int, of descriptor: Int32) {
    var limit = timeval(tv_sec: seconds, tv_usec: 0)
    setsockopt(
      descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout.size(ofValue: limit)))
  }

  // MARK: The reader's thread

  private func read(_ reader: AppFrame.Reader, from descriptor: Int32) {
    var (reader, descriptor) = (reader, descriptor)
    while true {
      do throws(AppFrameError) { try readMessages(&reader, from: descriptor) } catch {
        NSLog("The manager of apps sent something that is no message. The app ends.")
        _exit(0)
      }
      output.withLock { $0.isWritable = false }
      guard let next = connectAgain() else { _exit(0) }
      (reader, descriptor) = next
    }
  }

  /// Handles messages until the connection ends.
  private func readMessages(
    _ reader: inout AppFrame.Reader, from descriptor: Int32
  ) throws(AppFrameError) {
    while true {
      while let message = try reader.next(AppManagerMessage.self) { handle(message) }
      guard let bytes = Self.readBytes(from: descriptor) else { return }
      reader.append(bytes)
    }
  }

  private static func readBytes(from descriptor: Int32) -> [UInt8]? {
    while true {
      let bytes = [UInt8](unsafeUninitializedCapacity: Self.readByteCount) { buffer, count in
        count = max(0, recv(descriptor, buffer.baseAddress, buffer.count, 0))
      }
      if !bytes.isEmpty { return bytes }
      if errno != EINTR { return nil }
      errno = 0
    }
  }

  private static let readByteCount = 1 << 16

  private func handle(_ message: AppManagerMessage) {
    switch message {
    case .instruct(let instruction): shared.withLock { $0.session }?.receive(instruction)
    case .answer(let number, let answer):
      guard let waiting = shared.withLock({ $0.waiting.removeValue(forKey: number) }) else {
        return
      }
      waiting.answer.withLock { $0 = answer }
      waiting.arriving.leave()
    case .welcome, .refused: break
    }
  }

  // MARK: The next manager

  /// Waits for the next manager, and reports what this process has open. Attempts are counted and not the time, which
  /// passes while the process is frozen.
  ///
  /// - Returns: The new connection; nil if no manager comes, or if it ends this process.
  private func connectAgain() -> (AppFrame.Reader, Int32)? {
    guard let session = shared.withLock({ $0.session }), session.canResume else { return nil }
    var pause = Self.pauseMin
    for _ in 0..<Self.attemptCountMax {
      var reader = AppFrame.Reader(byteCountMax: AppFrame.byteCountMax)
      if let descriptor = try? Self.connect(to: path) {
        do throws(AppManagerError) {
          _ = try Self.greet(descriptor, &reader, path)
          resume(session, on: descriptor)
          return (reader, descriptor)
        } catch {
          close(descriptor)
          if case .refused(let sentence) = error {
            NSLog("%@ The app ends.", sentence)
            return nil
          }
        }
      }
      poll(nil, 0, pause)
      pause = min(2 * pause, Self.pauseMax)
    }
    NSLog("No manager of apps is at %@ any more. The app ends.", path)
    return nil
  }

  /// In milliseconds.
  private static let pauseMin: Int32 = 10
  private static let pauseMax: Int32 = 1_000
  /// Half a minute, in which a service manager has started it again.
  private static let attemptCountMax = 36

  private func resume(_ session: AppSession, on descriptor: Int32) {
    session.holdSocketsAgain()
    output.withLock { output in
      close(output.descriptor)
      output = Output(descriptor: descriptor)
      // No other thread writes before the reports are sent.
      let waiting = shared.withLock { shared in
        shared.waiting.sorted { $0.key < $1.key }.map(\.value.message)
      }
      let messages = session.resumptionReports().map(AppProcessMessage.report) + waiting
      for message in messages where output.isWritable {
        output.isWritable = Self.send(AppFrame.bytes(of: message), on: descriptor)
      }
    }
  }

  // MARK: Any thread

  package func report(_ event: AppMachine.ProcessEvent) {
    switch event {
    case .beganBackgroundTask(let task): _ = request { .beginBackgroundTask($0, task) }
    // The manager learns of it by the end of the process, with its status.
    case .exited(let exit, _):
      if case .status(let status) = exit { Glibc.exit(status) } else { Glibc.exit(0) }
    case .launched, .resumed, .opened, .closed, .acknowledged, .endedBackgroundTask, .completed,
      .gone, .reclaimed:
      write(AppProcessMessage.report(event))
    }
  }

  package func request(_ request: AppRequest) -> AppReply {
    if case .reply(let reply) = self.request({ .request($0, request) }) { return reply }
    return .refused(.unavailable)
  }

  package var backgroundTimeRemaining: TimeSpan? {
    guard case .timeRemaining(let nanoseconds?) = request({ .timeRemaining($0) }) else {
      return nil
    }
    return .nanoseconds(nanoseconds)
  }

  /// Sends a request and waits for the answer, also that of the next manager. The process ends where there is none.
  private func request(_ message: (UInt64) -> AppProcessMessage) -> AppManagerAnswer {
    let waiting = output.withLock { output in
      // With the output's lock: the connection with the next manager begins before both steps or after them.
      let waiting = shared.withLock { shared in
        shared.lastRequest += 1
        let waiting = Waiting(message(shared.lastRequest))
        shared.waiting[shared.lastRequest] = waiting
        return waiting
      }
      Self.write(AppFrame.bytes(of: waiting.message), to: &output)
      return waiting
    }
    waiting.arriving.wait()
    return waiting.answer.withLock { $0 }
  }

  private func write(_ message: AppProcessMessage) {
    let bytes = AppFrame.bytes(of: message)
    output.withLock { output in Self.write(bytes, to: &output) }
  }

  private static func write(_ bytes: [UInt8], to output: inout Output) {
    guard output.isWritable else { return }
    output.isWritable = send(bytes, on: output.descriptor)
  }

  private static func send(_ bytes: [UInt8], on descriptor: Int32) -> Bool {
    bytes.withUnsafeBytes { buffer in
      var sent = 0
      while sent < buffer.count {
        let rest = UnsafeRawBufferPointer(rebasing: buffer[sent...])
        let count = Glibc.send(descriptor, rest.baseAddress, rest.count, Int32(MSG_NOSIGNAL))
        if count < 0, errno == EINTR { continue }
        guard count > 0 else { return false }
        sent += count
      }
      return true
    }
  }
}

/// Why a process has no session with a manager of apps.
package enum AppManagerError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The path, and the reason.
  case unreachable(String, String)
  /// A sentence of the manager.
  case refused(String)
  case violatesProtocol(String)

  /// A sentence.
  package var description: String {
    switch self {
    case .unreachable(let path, let reason):
      "The manager of apps can't be reached at \(path): \(reason)."
    case .refused(let sentence): sentence
    case .violatesProtocol(let path):
      "The program at \(path) is no manager of apps, or one of another version."
    }
  }
}

extension AppSession {
  /// The session with the manager of apps that has started this process; nil in other programs, whose environment
  /// doesn't name a manager, or which the manager doesn't know.
  package static func withManager() -> AppSession? {
    guard let path = ProcessEnvironment.value(AppManagerPlace.variable), !path.isEmpty else {
      return nil
    }
    do throws(AppManagerError) {
      let session = try AppManagerSystem.session(at: path)
      StandardOutput.divideIntoLines()
      return session
    } catch {
      NSLog("%@ The program runs in the foreground, as one that isn't installed.", "\(error)")
      return nil
    }
  }
}
