internal import BluetoothInterface
internal import BluetoothWire
internal import RunLoopSupport
internal import Synchronization

/// The bytes of a channel between the host and the two streams.
///
/// Inbound, the host learns how much the app has read, so that the peer may send no more than the app
/// takes. Outbound, the app may write as long as there is room.
final class ChannelPipe: BytePipe, @unchecked Sendable {
  // Unchecked: everything that changes is guarded by `condition`.

  let info: ChannelInfo
  private let connection: HostConnection
  private let condition = NSCondition()
  private var received: [UInt8] = []
  private var readCount = 0
  private var outstandingByteCount = 0
  private var end: PipeEnding?
  private var onInput: (@Sendable () -> Void)?
  private var onOutput: (@Sendable () -> Void)?
  private var onChange: (@Sendable () -> Void)?

  /// Remote User Terminated Connection (Core 5.4, Vol 1, Part F, §2.19).
  private static let closedByPeer = HostError.disconnected(HCIStatus(rawValue: 0x13))

  init(info: ChannelInfo, connection: HostConnection) {
    self.info = info
    self.connection = connection
  }

  // MARK: From the host

  func received(_ bytes: ArraySlice<UInt8>) {
    let calls = condition.withLock {
      received.append(contentsOf: bytes)
      condition.broadcast()
      return [onInput, onChange]
    }
    for call in calls { call?() }
  }

  func sent(_ byteCount: Int) {
    let calls = condition.withLock {
      outstandingByteCount -= byteCount
      condition.broadcast()
      return [onOutput, onChange]
    }
    for call in calls { call?() }
  }

  func closedByHost(_ error: HostError?) {
    let calls = condition.withLock {
      // A peer that closes the channel, or ends the link itself, ends the stream; the link's loss
      // is an error.
      if end == nil {
        end =
          error.flatMap { $0 == Self.closedByPeer ? nil : .failed($0.coreBluetoothError) }
          ?? .closed
      }
      condition.broadcast()
      return [onInput, onOutput, onChange]
    }
    for call in calls { call?() }
  }

  // MARK: From the streams

  /// Calls these, from any thread, when something changed for the one or the other stream.
  func observeInput(_ call: @escaping @Sendable () -> Void) {
    condition.withLock { onInput = call }
  }
  func observeOutput(_ call: @escaping @Sendable () -> Void) {
    condition.withLock { onOutput = call }
  }

  /// Calls this on the manager's queue after each change, beside the streams; nil removes it.
  func observeChanges(_ call: (@Sendable () -> Void)?) {
    let enqueue = call.map { call in { @Sendable [connection] in connection.enqueue(call) } }
    // Released without the lock: what it captured may end with it.
    let old = condition.withLock { () -> (@Sendable () -> Void)? in
      defer { onChange = enqueue }
      return onChange
    }
    _ = old
  }

  /// Runs something on the manager's queue.
  func enqueue(_ work: @escaping @Sendable () -> Void) { connection.enqueue(work) }

  /// A channel is there as soon as it is known.
  var isConnected: Bool { true }

  func open() {}

  var hasBytes: Bool { condition.withLock { received.count > readCount } }

  /// Bytes that the app wrote and the host has not sent yet.
  var unsentByteCount: Int {
    condition.withLock { end == nil ? outstandingByteCount : 0 }
  }

  var hasSpace: Bool {
    condition.withLock {
      end == nil && outstandingByteCount < Limits.channelOutputByteCountMax
    }
  }

  var ending: PipeEnding? { condition.withLock { end } }
  var inputEnding: PipeEnding? { ending }

  /// Takes up to `count` bytes; waits for the first. Empty at the end of the channel.
  func read(_ count: Int) -> [UInt8] {
    let bytes = condition.withLock { () -> [UInt8] in
      while received.count == readCount, end == nil { condition.wait() }
      let bytes = Array(received[readCount...].prefix(max(0, count)))
      readCount += bytes.count
      if readCount == received.count {
        received.removeAll(keepingCapacity: true)
        readCount = 0
      } else if readCount > received.count / 2 {
        received.removeFirst(readCount)
        readCount = 0
      }
      return bytes
    }
    if !bytes.isEmpty {
      connection.send(.consumedFromChannel(info.id, byteCount: bytes.count))
    }
    return bytes
  }

  /// Takes as many of the bytes as there is room for, waiting for the first; 0 at the end of the
  /// channel.
  func write(_ bytes: UnsafeBufferPointer<UInt8>) -> Int {
    let accepted = condition.withLock { () -> [UInt8] in
      while outstandingByteCount >= Limits.channelOutputByteCountMax, end == nil {
        condition.wait()
      }
      guard end == nil else { return [] }
      let space = Limits.channelOutputByteCountMax - outstandingByteCount
      let accepted = Array(bytes.prefix(space))
      outstandingByteCount += accepted.count
      return accepted
    }
    if !accepted.isEmpty { connection.send(accepted, on: self) }
    return accepted.count
  }

  /// Closes the channel for both streams.
  func close() {
    condition.withLock {
      if end == nil { end = .closed }
      condition.broadcast()
    }
    connection.closeChannel(self)
  }
}
