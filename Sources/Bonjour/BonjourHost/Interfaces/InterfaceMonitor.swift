import Essentials
import Glibc
import HostEssentials

/// Follows the interfaces and addresses of this host through rtnetlink(7). On one event loop.
final class InterfaceMonitor {
  private let loop: EpollLoop
  private let onChange: ([SystemInterface]) -> Void
  private var socket: WatchedDescriptor?
  private var table = InterfaceTable()
  /// What was told last; nil before the first time.
  private var told: [SystemInterface]?
  private var isStopped = false

  /// What the kernel was asked for and has not answered to the end.
  private var pending: RouteMessage.Request?
  private var sequence: UInt32 = 0

  // RTMGRP_LINK, RTMGRP_IPV4_IFADDR, RTMGRP_IPV6_IFADDR
  private static let groups: UInt32 = 0x1 | 0x10 | 0x100
  /// How long to wait before another socket is tried.
  private static let reopenDelay = TimeSpan.seconds(1)

  /// - Parameters:
  ///   - loop: Where everything happens.
  ///   - onChange: Told all interfaces once they are known and whenever something about them changed.
  init(on loop: EpollLoop, onChange: @escaping ([SystemInterface]) -> Void) {
    self.loop = loop
    self.onChange = onChange
  }

  /// Starts to follow them.
  func start() { open() }

  /// Tells nothing any more.
  func stop() {
    isStopped = true
    socket?.close()
    socket = nil
  }

  // MARK: The socket

  private func open() {
    guard !isStopped else { return }
    do throws(SystemError) {
      let descriptor = try NetlinkSocket.open(.route, groups: Self.groups)
      socket = try WatchedDescriptor(owning: descriptor, on: loop) { [weak self] _ in
        self?.read()
      }
    } catch { return reopenLater() }
    askForEverything()
  }

  /// The kernel had more to say than the socket could hold, or had nothing to give just now.
  private func reopenLater() {
    socket?.close()
    socket = nil
    guard !isStopped else { return }
    loop.schedule(in: Self.reopenDelay) { [weak self] in self?.open() }
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
      // Cut short: what else it said is lost.
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
    guard pending == nil, told != table.interfaces else { return }
    told = table.interfaces
    onChange(table.interfaces)
  }
}
