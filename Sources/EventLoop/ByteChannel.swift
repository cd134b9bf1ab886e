import Essentials
import Glibc

/// Reads and writes a non-blocking descriptor, such as a socket or a serial line. Used on its loop
/// only.
///
/// Bytes that can't be written at once are buffered, without a limit: the owner must bound
/// ``pendingByteCount``. The owner must call ``close()``, or wait for `onEnd`.
package final class ByteChannel {
  /// The unit of a write to the descriptor.
  package enum Framing: Sendable {
    /// Any portion of a stream of bytes.
    case stream
    /// One packet.
    case packets
  }

  /// More than the buffers of a socket hold.
  private static let lastByteCountMax = 8 << 20

  private let loop: EpollLoop
  private let framing: Framing
  private let readByteCountMax: Int
  private let isSocket: Bool
  private var watched: WatchedDescriptor?
  private var onRead: ([UInt8]) -> Void
  private var onEnd: (SystemError?) -> Void
  /// What waits to be written: bytes of a stream in one array, packets in one each, the first at
  /// `firstPending`.
  private var pending: [[UInt8]] = []
  private var firstPending = 0
  /// How much of the first array is written.
  private var writtenCount = 0
  /// Whether a turn of the loop is scheduled that reads what came before the end.
  private var isEndScheduled = false

  /// The number of bytes that are buffered until the descriptor accepts them.
  package private(set) var pendingByteCount = 0
  /// Called when the buffer becomes empty, also because writing has failed.
  package var onDrain: () -> Void = {}

  /// Whether the descriptor is read. If false, the system's buffers fill up, and flow control stops
  /// the peer. Its end, and that of a failed write, is reported once this is true again.
  package var isReading = true {
    didSet {
      guard isReading != oldValue else { return }
      updateInterest()
      if isReading, failure != nil { scheduleEnd() }
    }
  }

  /// The error of a write, after which the channel ends as soon as the bytes that have arrived are read.
  private var failure: SystemError?
  /// How much may be read after it.
  private var lastByteCount = ByteChannel.lastByteCountMax

  /// Takes ownership of a non-blocking descriptor, and starts reading. Closes it if that fails.
  ///
  /// - Parameters:
  ///   - descriptor: A socket, or another file that epoll(7) can watch.
  ///   - loop: The event loop on which the channel is used and calls its closures.
  ///   - framing: The unit of one write.
  ///   - readByteCountMax: How much is read before other descriptors are looked at. Less than the loop's maximum
  ///     is for peers whose bytes take long to handle, and which must not hold up others.
  ///   - expectsPromptEvents: See ``WatchedDescriptor/expectsPromptEvents``.
  ///   - onRead: Called with the bytes read: never empty, up to `readByteCountMax`.
  ///   - onEnd: Called once, after the descriptor was closed because the peer ended it (nil) or
  ///     because of an error, and after what had arrived was read; never from within a method of this
  ///     object, and not after ``close()``.
  package init(
    owning descriptor: Int32, on loop: EpollLoop, framing: Framing = .stream,
    readByteCountMax: Int = EpollLoop.readByteCountMax, expectsPromptEvents: Bool = false,
    onRead: @escaping ([UInt8]) -> Void,
    onEnd: @escaping (SystemError?) -> Void
  ) throws(SystemError) {
    self.loop = loop
    self.framing = framing
    self.readByteCountMax = readByteCountMax
    self.onRead = onRead
    self.onEnd = onEnd
    var type: Int32 = 0
    var size = socklen_t(MemoryLayout<Int32>.size)
    isSocket = unsafe getsockopt(descriptor, SOL_SOCKET, SO_TYPE, &type, &size) == 0
    watched = try WatchedDescriptor(owning: descriptor, on: loop) { [weak self] in
      self?.ready($0)
    }
    watched?.expectsPromptEvents = expectsPromptEvents
  }

  /// Whether the descriptor is open.
  package var isOpen: Bool { watched != nil }

  /// Writes bytes, at once or as soon as the descriptor accepts them. Ignored after the end.
  package func write(_ bytes: [UInt8]) {
    guard watched != nil, failure == nil, !bytes.isEmpty else { return }
    if pendingByteCount == 0 {
      let count = transmit(bytes, from: 0)
      guard count < bytes.count, failure == nil else { return }
      writtenCount = count
    }
    pendingByteCount += bytes.count - (pending.isEmpty ? writtenCount : 0)
    pending.append(bytes)
    updateInterest()
  }

  /// Ends both directions of a socket, also where other processes have it open, too. What has arrived is still
  /// read; then `onEnd` is called.
  package func shutDown() {
    if let watched { shutdown(watched.descriptor, Int32(SHUT_RDWR)) }
  }

  /// Closes the descriptor and drops unwritten bytes; `onEnd` is not called.
  package func close() {
    watched?.close()
    watched = nil
    (onRead, onEnd, onDrain) = ({ _ in }, { _ in }, {})
    pending = []
    pendingByteCount = 0
  }

  private func updateInterest() {
    var interest: Readiness = isReading ? .readable : []
    if pendingByteCount > 0 { interest.insert(.writable) }
    watched?.interest = failure == nil ? interest : []
  }

  private func ready(_ readiness: Readiness) {
    if readiness.contains(.writable) { writePending() }
    if readiness.contains(.readable), isReading, failure == nil { read() }
  }

  private func read() {
    guard let watched else { return }
    do throws(SystemError) {
      guard
        let bytes = try loop.read(watched.descriptor, byteCountMax: readByteCountMax)
      else { return }
      if bytes.isEmpty { end(nil) } else { onRead(bytes) }
    } catch { end(error) }
  }

  private func writePending() {
    while firstPending < pending.count {
      let bytes = pending[firstPending]
      let count = transmit(bytes, from: writtenCount)
      guard failure == nil else { return }
      writtenCount += count
      pendingByteCount -= count
      guard writtenCount == bytes.count else { return compact() }
      writtenCount = 0
      pending[firstPending] = []
      firstPending += 1
    }
    guard !pending.isEmpty else { return }
    pending.removeAll(keepingCapacity: true)
    firstPending = 0
    updateInterest()
    onDrain()
  }

  /// Removes the written arrays once they are more than half, so that this costs little for each
  /// array.
  private func compact() {
    guard firstPending * 2 > pending.count else { return }
    pending.removeFirst(firstPending)
    firstPending = 0
  }

  /// Writes what the descriptor takes now, and gives how many bytes that were.
  private func transmit(_ bytes: [UInt8], from start: Int) -> Int {
    guard let watched else { return 0 }
    var written = start
    while written < bytes.count {
      let count = unsafe bytes.withUnsafeBytes { all in
        let rest = unsafe UnsafeRawBufferPointer(rebasing: all[written...])
        // A peer that is gone is an error here, not a signal for the process.
        return isSocket
          ? unsafe send(watched.descriptor, rest.baseAddress, rest.count, Int32(MSG_NOSIGNAL))
          : unsafe Glibc.write(watched.descriptor, rest.baseAddress, rest.count)
      }
      if count > 0 {
        written += count
        if framing == .packets { break }
        continue
      }
      let error = SystemError.current
      if count < 0, error.number == EINTR { continue }
      if count < 0, error.number != EAGAIN { fail(error) }
      break
    }
    // A packet is taken whole or not at all.
    return framing == .packets && written > start ? bytes.count - start : written - start
  }

  /// Ends in a turn of its own, because the owner is just writing, and drops the bytes that wait.
  private func fail(_ error: SystemError) {
    failure = error
    let hadPending = pendingByteCount > 0
    (pending, firstPending, pendingByteCount) = ([], 0, 0)
    updateInterest()
    // An owner that does not read until the buffer is empty goes on.
    if hadPending { loop.schedule(in: .zero) { [weak self] in self?.onDrain() } }
    scheduleEnd()
  }

  private func scheduleEnd() {
    guard !isEndScheduled else { return }
    isEndScheduled = true
    loop.schedule(in: .zero) { [weak self] in
      self?.isEndScheduled = false
      self?.endAfterReading()
    }
  }

  /// Ends after what a peer sent before it was gone, such as its reason. A peer that isn't gone may go on
  /// sending, so the number of bytes is bounded. The rest waits for an owner that pauses.
  private func endAfterReading() {
    guard let watched, let failure, isReading else { return }
    guard lastByteCount > 0,
      let bytes = (try? loop.read(watched.descriptor, byteCountMax: readByteCountMax)) ?? nil,
      !bytes.isEmpty
    else { return end(failure) }
    lastByteCount -= bytes.count
    onRead(bytes)
    // Others have their turn in between.
    scheduleEnd()
  }

  private func end(_ error: SystemError?) {
    guard watched != nil else { return }
    let onEnd = onEnd
    close()
    onEnd(error)
  }
}
