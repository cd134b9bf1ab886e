import AppSessions
import Essentials
import EventLoop
import Glibc

/// A connection of a process of an app for one request about a held socket. Used on the manager's loop only.
final class HeldSocketConnection {
  let processID: pid_t
  private var watched: WatchedDescriptor?
  private var deadline: (any LoopTimer)?
  private var reader = AppFrame.Reader(byteCountMax: HeldSocketRequest.byteCountMax)
  private var descriptor: Int32?
  private var onRequest: ((HeldSocketRequest?, Int32?) -> Void)?
  private let onEnd: (HeldSocketConnection) -> Void

  /// How long a process may take for its request.
  private static let requestTime = TimeSpan.seconds(10)

  /// - Parameters:
  ///   - onRequest: Called once with the request, or nil for one that isn't known, and with its descriptor, which the
  ///     receiver owns.
  ///   - onEnd: Called once when the connection has ended without a request, or with its reply.
  init(
    owning socket: Int32, of processID: pid_t, on loop: EpollLoop,
    onRequest: @escaping (HeldSocketRequest?, Int32?) -> Void,
    onEnd: @escaping (HeldSocketConnection) -> Void
  ) throws(SystemError) {
    self.processID = processID
    self.onRequest = onRequest
    self.onEnd = onEnd
    watched = try WatchedDescriptor(owning: socket, on: loop) { [weak self] _ in
      self?.read(socket)
    }
    deadline = loop.makeTimer { [weak self] in self?.close() }
    deadline?.set(.now + Self.requestTime)
  }

  private func read(_ socket: Int32) {
    guard let part = DescriptorMessage.receive(HeldSocketRequest.byteCountMax, from: socket) else {
      if errno != EAGAIN { close() }
      return
    }
    if part.isTruncated, part.descriptors.isEmpty { DescriptorShortage.report(EMFILE) }
    for new in part.descriptors {
      if descriptor == nil { descriptor = new } else { Glibc.close(new) }
    }
    guard !part.bytes.isEmpty else { return close() }
    // After its request, a process has nothing more to send.
    guard onRequest != nil else { return }
    reader.append(part.bytes)
    do throws(AppFrameError) {
      if let request = try reader.next(HeldSocketRequest.self) { requested(request) }
    } catch { requested(nil) }
  }

  private func requested(_ request: HeldSocketRequest?) {
    let onRequest = onRequest
    self.onRequest = nil
    let descriptor = descriptor
    self.descriptor = nil
    onRequest?(request, descriptor)
  }

  /// Sends the reply, and ends. It fits into the buffer of a new socket.
  func finish(_ reply: HeldSocketReply, with descriptor: Int32? = nil) -> Bool {
    guard let watched else { return false }
    let isSent = DescriptorMessage.send(
      AppFrame.bytes(of: reply), with: descriptor, on: watched.descriptor)
    close()
    return isSent
  }

  /// Ends without a reply.
  func close() {
    guard let watched else { return }
    deadline?.cancel()
    watched.close()
    self.watched = nil
    onRequest = nil
    if let descriptor { Glibc.close(descriptor) }
    descriptor = nil
    onEnd(self)
  }
}
