import Essentials
import Glibc
import EventLoop
import PortSharing

/// One end of a connection between an owner and a client: messages in, messages out. On one event
/// loop, until it is closed.
final class MessageConnection<Incoming: PortSharingMessage> {
  /// An event of the connection.
  enum Event {
    /// A message arrived.
    case message(Incoming)
    /// The number of bytes that wait for the rest of their message changed.
    case incomplete(byteCount: Int)
    /// The bytes that arrived are not a valid message; nothing more is read.
    case invalidMessage(PortSharingError)
    /// The other end has closed it. Nothing follows.
    case closed
  }

  private let loop: EpollLoop
  private let transmit: (Int32, UnsafeRawBufferPointer) -> Int
  private let onEvent: (MessageConnection, Event) -> Void
  private var watched: WatchedDescriptor?
  private var frames = FrameReader()
  private var isTakingMessages = false
  private var isUnderstood = true
  private var reportedByteCount = 0
  /// What waits for the next ``flush()``, after what the system did not take yet.
  private var outgoing = OutgoingBytes()
  private var isRetrying = false
  /// How many bytes the other end has not taken yet.
  private(set) var backlogByteCount = 0
  /// Called with the difference when that changes.
  var onBacklogChange: ((Int) -> Void)?

  private static var readByteCount: Int { 65_536 }
  /// How often ``readNow()`` reads: more than a socket's buffer holds.
  private static var readCountMax: Int { 16 }
  /// How long to wait when the system has no memory for sent bytes.
  private static var retryPause: TimeSpan { .milliseconds(100) }

  /// Owns a connected socket that does not block; nil, and the socket is closed, if the loop cannot
  /// look at it.
  ///
  /// - Parameters:
  ///   - descriptor: The socket.
  ///   - loop: The event loop of everything here.
  ///   - transmit: Sends bytes over the socket and returns how many, or -1 with `errno`.
  ///   - onEvent: Called on the event loop.
  init?(
    _ descriptor: Int32, on loop: EpollLoop,
    transmit: @escaping (Int32, UnsafeRawBufferPointer) -> Int = { descriptor, bytes in
      unsafe Glibc.send(descriptor, bytes.baseAddress, bytes.count, Int32(MSG_NOSIGNAL))
    },
    onEvent: @escaping (MessageConnection, Event) -> Void
  ) {
    self.loop = loop
    unsafe self.transmit = transmit
    self.onEvent = onEvent
    watched = try? WatchedDescriptor(owning: descriptor, on: loop) { [weak self] in
      self?.ready($0)
    }
    if watched == nil { return nil }
  }

  var isClosing: Bool { watched?.isOpen != true }

  /// Closes the connection once everything was sent that the system takes at once. No callback is
  /// called afterwards.
  func close() {
    flush()
    watched?.close()
    discardOutgoing()
  }

  // MARK: Sending

  /// Sends a message with the next ``flush()``; false if it is longer than any may be.
  func send(_ message: some PortSharingMessage) -> Bool {
    guard !isClosing else { return true }
    guard let frame = message.frame else { return false }
    outgoing.append(frame)
    noteBacklog()
    return true
  }

  /// Sends the messages given to `send` in one system call.
  func flush() {
    guard let watched, watched.isOpen, !outgoing.isEmpty else { return }
    let count = unsafe outgoing.withUnsafeBytes { unsafe transmit(watched.descriptor, $0) }
    let error = count < 0 ? errno : 0
    switch error {
    case 0: outgoing.removeFirst(count)
    case EAGAIN, EINTR: break
    case ENOBUFS, ENOMEM: retryLater()
    default:
      // Lost bytes leave a gap, so nothing may follow. Reading reports the end, after what the peer
      // sent before.
      outgoing = OutgoingBytes()
      shutdown(watched.descriptor, Int32(SHUT_RDWR))
    }
    watched.interest = outgoing.isEmpty || isRetrying ? .readable : [.readable, .writable]
    noteBacklog()
  }

  /// The socket may be writable meanwhile, which would be reported again and again.
  private func retryLater() {
    guard !isRetrying else { return }
    isRetrying = true
    loop.schedule(in: Self.retryPause) { [weak self] in
      self?.isRetrying = false
      self?.flush()
    }
  }

  private func discardOutgoing() {
    outgoing = OutgoingBytes()
    noteBacklog()
  }

  private func noteBacklog() {
    let change = outgoing.count - backlogByteCount
    backlogByteCount = outgoing.count
    if change != 0 { onBacklogChange?(change) }
  }

  // MARK: Receiving

  private func ready(_ readiness: Readiness) {
    if readiness.contains(.writable) { flush() }
    if readiness.contains(.readable) { read() }
  }

  /// Reads what has arrived, before the loop reports it.
  ///
  /// - Parameter isNested: Whether that is done from within a message, too. Those that follow it are
  ///   then reported before its handling is done.
  func readNow(withinMessages isNested: Bool = false) {
    guard isNested || !isTakingMessages else { return }
    for _ in 0..<Self.readCountMax where !read() { return }
  }

  /// Reads once; false if nothing was there, or the connection has ended.
  @discardableResult
  private func read() -> Bool {
    guard let watched, watched.isOpen else { return false }
    let count = unsafe withUnsafeTemporaryAllocation(
      byteCount: Self.readByteCount, alignment: 1
    ) { buffer in
      let count = unsafe recv(watched.descriptor, buffer.baseAddress, buffer.count, 0)
      if count > 0, isUnderstood { unsafe frames.append(buffer.prefix(count)) }
      return count
    }
    if count > 0 {
      takeMessages()
      return true
    }
    if count < 0, errno == EAGAIN || errno == EINTR { return false }
    watched.close()
    discardOutgoing()
    onEvent(self, .closed)
    return false
  }

  private func takeMessages() {
    let wasTakingMessages = isTakingMessages
    isTakingMessages = true
    defer { isTakingMessages = wasTakingMessages }
    do throws(PortSharingError) {
      while isUnderstood, !isClosing, let message = try frames.next(Incoming.self) {
        onEvent(self, .message(message))
      }
      guard isUnderstood, !isClosing, frames.byteCount != reportedByteCount else { return }
      reportedByteCount = frames.byteCount
      onEvent(self, .incomplete(byteCount: reportedByteCount))
    } catch {
      isUnderstood = false
      onEvent(self, .invalidMessage(error))
    }
  }
}
