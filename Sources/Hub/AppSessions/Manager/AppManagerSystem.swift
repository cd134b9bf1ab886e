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
/// A thread reads; any thread may write. The process ends where the manager is gone: an app has no life of its own.
package final class AppManagerSystem: AppSystem {
  private let descriptor: Int32
  /// Where the manager listens.
  let path: String
  private let isWritable = Mutex(true)
  private let shared = Mutex(Shared())

  private struct Shared {
    var session: AppSession?
    var lastRequest: UInt64 = 0
    var waiting: [UInt64: Waiting] = [:]
  }

  private final class Waiting: Sendable {
    let answer = Mutex(AppManagerAnswer.reply(.refused(.unavailable)))
    let arriving = DispatchGroup()

    init() { arriving.enter() }
  }

  /// How long the manager's welcome is waited for.
  private static let welcomeSeconds = 10

  private init(owning descriptor: Int32, path: String) {
    self.descriptor = descriptor
    self.path = path
  }

  deinit { close(descriptor) }

  /// Connects to the manager at a path, and begins a session with it.
  ///
  /// - Throws: If no manager is there, or it hasn't started this process for an app.
  package static func session(at path: String) throws(AppManagerError) -> AppSession {
    let system = AppManagerSystem(owning: try connect(to: path), path: path)
    guard system.write(AppManagerGreeting.app(version: AppManagerGreeting.version)) else {
      throw .unreachable(path, SystemError.current.text)
    }
    var reader = AppFrame.Reader(byteCountMax: AppFrame.byteCountMax)
    let session = try system.begin(&reader, path)
    setTimeLimit(seconds: 0, of: system.descriptor)
    let rest = reader
    guard DetachedThread.start({ system.read(rest) }) else {
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

  /// Waits for the welcome.
  private func begin(
    _ reader: inout AppFrame.Reader, _ path: String
  ) throws(AppManagerError) -> AppSession {
    Self.setTimeLimit(seconds: Self.welcomeSeconds, of: descriptor)
    while true {
      let message: AppManagerMessage?
      do throws(AppFrameError) { message = try reader.next(AppManagerMessage.self) } catch {
        throw .violatesProtocol(path)
      }
      switch message {
      case .welcome(let infoPlist):
        let session = AppSession(system: self, infoPlist: infoPlist)
        shared.withLock { $0.session = session }
        return session
      case .refused(let sentence): throw .refused(sentence)
      case .instruct, .answer: throw .violatesProtocol(path)
      case nil: break
      }
      guard let bytes = readBytes() else { throw .unreachable(path, SystemError.current.text) }
      reader.append(bytes)
    }
  }

  static func setTimeLimit(seconds: Int, of descriptor: Int32) {
    var limit = timeval(tv_sec: seconds, tv_usec: 0)
    setsockopt(
      descriptor, SOL_SOCKET, SO_RCVTIMEO, &limit, socklen_t(MemoryLayout.size(ofValue: limit)))
  }

  // MARK: The reader's thread

  private func read(_ reader: AppFrame.Reader) {
    var reader = reader
    do throws(AppFrameError) {
      while true {
        while let message = try reader.next(AppManagerMessage.self) { handle(message) }
        guard let bytes = readBytes() else { break }
        reader.append(bytes)
      }
    } catch {
      NSLog("The manager of apps sent something that is no message. The app ends.")
    }
    _exit(0)
  }

  private func readBytes() -> [UInt8]? {
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

  // MARK: Any thread

  package func report(_ event: AppMachine.ProcessEvent) {
    switch event {
    case .beganBackgroundTask(let task): _ = request { .beginBackgroundTask($0, task) }
    // The manager learns of it by the end of the process, with its status.
    case .exited(let exit, _):
      if case .status(let status) = exit { Glibc.exit(status) } else { Glibc.exit(0) }
    case .launched, .opened, .closed, .acknowledged, .endedBackgroundTask, .completed, .gone,
      .reclaimed:
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

  /// Sends a request and waits for the answer. The process ends where the manager is gone.
  private func request(_ message: (UInt64) -> AppProcessMessage) -> AppManagerAnswer {
    let waiting = Waiting()
    let number = shared.withLock { shared in
      shared.lastRequest += 1
      shared.waiting[shared.lastRequest] = waiting
      return shared.lastRequest
    }
    write(message(number))
    waiting.arriving.wait()
    return waiting.answer.withLock { $0 }
  }

  @discardableResult
  private func write(_ message: some Encodable) -> Bool {
    let bytes = AppFrame.bytes(of: message)
    return isWritable.withLock { isWritable in
      guard isWritable else { return false }
      isWritable = send(bytes)
      return isWritable
    }
  }

  private func send(_ bytes: [UInt8]) -> Bool {
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
