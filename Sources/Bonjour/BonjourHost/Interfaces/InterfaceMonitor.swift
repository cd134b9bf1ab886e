import Essentials
import Glibc
import EventLoop

/// Follows the interfaces and addresses of this host through rtnetlink(7). On one event loop.
final class InterfaceMonitor {
  private let loop: EpollLoop
  private let openSocket: () throws(SystemError) -> Int32
  private let onTrouble: (SystemError) -> Void
  private let onChange: ([SystemInterface]) -> Void
  private var pauses: RetryPauses
  private var socket: WatchedDescriptor?
  private var table = InterfaceTable()
  /// The last report; nil before the first one.
  private var reported: [SystemInterface]?
  private var isStopped = false

  /// The request to which the kernel has not replied completely.
  private var pending: RouteMessage.Request?
  private var sequence: UInt32 = 0

  /// - Parameters:
  ///   - loop: The event loop of everything here.
  ///   - pauses: How long to wait before another socket is tried.
  ///   - openSocket: Returns the descriptor of a socket.
  ///   - onTrouble: Called once when no socket can be opened; it is tried again.
  ///   - onChange: Called with all interfaces, first when they are known and then after each
  ///     change.
  init(
    on loop: EpollLoop, pauses: RetryPauses = RetryPauses(),
    openSocket: @escaping () throws(SystemError) -> Int32 = InterfaceMonitor.openSystemSocket,
    onTrouble: @escaping (SystemError) -> Void = { _ in },
    onChange: @escaping ([SystemInterface]) -> Void
  ) {
    self.loop = loop
    self.pauses = pauses
    self.openSocket = openSocket
    self.onTrouble = onTrouble
    self.onChange = onChange
  }

  /// Starts to monitor the interfaces.
  func start() { open() }

  /// Ends. No callback is called afterwards.
  func stop() {
    isStopped = true
    socket?.close()
    socket = nil
  }

  // MARK: The socket

  private func open() {
    guard !isStopped else { return }
    do throws(SystemError) {
      let descriptor = try openSocket()
      socket = try WatchedDescriptor(owning: descriptor, on: loop) { [weak self] _ in
        self?.read()
      }
    } catch { return reopenLater(error) }
    askForEverything()
  }

  /// Opens another socket later, after the kernel's messages overflowed this one, or after an
  /// error.
  private func reopenLater(_ error: SystemError? = nil) {
    socket?.close()
    socket = nil
    guard !isStopped else { return }
    var pause = pauses.shortest
    if let error {
      let failure = pauses.failed()
      pause = failure.pause
      if failure.isFirst { onTrouble(error) }
    }
    loop.schedule(in: pause) { [weak self] in self?.open() }
  }

  /// A socket that receives changes of interfaces and addresses.
  static func openSystemSocket() throws(SystemError) -> Int32 {
    try Netlink.openRoute([.interfaces, .addresses])
  }

  // MARK: Questions and answers

  private func askForEverything() {
    table = InterfaceTable()
    ask(.links)
  }

  private func ask(_ request: RouteMessage.Request) {
    sequence &+= 1
    pending = request
    guard let socket else { return }
    let bytes = RouteMessage.encode(request, sequence: sequence)
    let count = unsafe send(socket.descriptor, bytes, bytes.count, 0)
    if count != bytes.count { reopenLater() }
  }

  private func read() {
    guard let socket else { return }
    var buffer = [UInt8](repeating: 0, count: NetlinkSocket.readByteCount)
    let count = unsafe recv(socket.descriptor, &buffer, buffer.count, 0)
    if count >= 0 { return received(Array(buffer.prefix(count))) }
    if errno != EAGAIN && errno != EINTR { reopenLater() }
  }

  private func received(_ bytes: [UInt8]) {
    let messages: [RouteMessage]
    do throws(Truncated) { messages = try RouteMessage.decode(bytes[...]) } catch {
      // Truncated: the rest of the message is lost.
      return askForEverything()
    }
    for message in messages {
      table.apply(message)
      switch message {
      case .done(sequence, let isConsistent):
        guard isConsistent else { return askForEverything() }
        pending = pending == .links ? .addresses : nil
        if let pending { ask(pending) }
      case .failed(_, sequence):
        return reopenLater()
      default: break
      }
    }
    if pending == nil { pauses.succeeded() }
    guard pending == nil, reported != table.interfaces else { return }
    reported = table.interfaces
    onChange(table.interfaces)
  }
}
