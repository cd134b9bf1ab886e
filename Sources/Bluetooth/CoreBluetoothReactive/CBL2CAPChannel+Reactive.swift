public import CoreBluetooth
public import CoreBluetoothAsync
public import Reactive
internal import RunLoopSupport
internal import Synchronization

extension CBL2CAPChannel: ReactiveExtensionsProvider {}

// These members need neither a run loop nor opened streams. As without producers, the channel
// closes when both streams are closed or its last reference is released; runs hold a reference.
extension Reactive where Base: CBL2CAPChannel {
  /// Sends the bytes received from the peer, in pieces of any size, on the manager's queue.
  ///
  /// Bytes received before a run starts are sent first; bytes received after it ends are kept for
  /// the next run. A slow observer makes flow control stop the peer. Only one run is possible at a
  /// time, because every byte is read once: bytes that a run has read are not in the input stream.
  ///
  /// - Returns: A producer that completes after the last byte when either side has closed the
  ///   channel. It fails with `.disconnected` when the link is lost, and with `.refused` while
  ///   another run is active.
  public var receivedData: SignalProducer<Data, BluetoothError> {
    let channel: CBL2CAPChannel = base
    return ChannelListener.all.producer(of: channel) { listener, notify in
      guard listener.beginReading() else {
        notify(.failed(.refused(CBError(.invalidParameters))))
        return nil
      }
      let reader = ChannelReader(of: channel, notify)
      let registration = listener.changes.add { reader.read() }
      channel.enqueue { reader.read() }
      registration.add {
        reader.stop()
        listener.endReading()
      }
      return registration
    }
  }

  /// Writes all bytes, and completes when the last of them is in the send buffer.
  ///
  /// Writes are sent in the order in which they were started. A write that is disposed of before
  /// its first byte was sent is dropped; later it is sent completely, as the peer could not detect
  /// where it was cut off.
  ///
  /// - Returns: A producer that fails with `.disconnected` when the channel has ended; the error's
  ///   cause is nil if one of the sides closed the channel.
  public func write(_ data: Data) -> SignalProducer<Never, BluetoothError> {
    let channel: CBL2CAPChannel = base
    return SignalProducer(requesting: { done in
      let listener = ChannelListener.all.retain(for: channel)
      let observer = ResultObserver(done)
      let write = ChannelWrite(of: data, to: channel)
      let number = listener.writes.add {
        write.send()
      } done: { error in
        observer.send(error.map { .failure($0) } ?? .success(()))
        ChannelListener.all.release(for: channel)
      }
      return ListenerRegistration { [weak listener] in
        observer.cancel()
        guard write.cancel(), listener?.writes.remove(number) == true else { return }
        ChannelListener.all.release(for: channel)
      }
    })
  }
}

/// Observes a channel for all producers.
private final class ChannelListener: DelegateListener, Sendable {
  static let all = DelegateListeners<ChannelListener>()

  let changes = EventObservers<Void>()
  let writes = RoomQueue()
  private let isRead = Mutex(false)

  func attach(to channel: CBL2CAPChannel) {
    channel.observeChanges { [weak self] in
      guard let self else { return }
      writes.sendWaiting()
      changes.send(())
    }
  }

  func detach(from channel: CBL2CAPChannel) { channel.observeChanges(nil) }

  /// Records that a run reads; false if another does.
  func beginReading() -> Bool {
    isRead.withLock { isRead in
      defer { isRead = true }
      return !isRead
    }
  }

  func endReading() { isRead.withLock { $0 = false } }
}

/// One run that reads.
private final class ChannelReader: Sendable {
  typealias Notify = @Sendable (ListenerEvent<Data, BluetoothError>) -> Void

  /// At once: what a slow observer has in hand.
  private static let byteCountMax = 65_536

  private let channel: CBL2CAPChannel
  private let notify: Notify
  private let isStopped = Atomic(false)

  init(of channel: CBL2CAPChannel, _ notify: @escaping Notify) {
    self.channel = channel
    self.notify = notify
  }

  func stop() { isStopped.store(true, ordering: .releasing) }

  /// Sends the received bytes. On the manager's queue.
  func read() {
    while !isStopped.load(ordering: .acquiring) {
      // First: after it nothing comes that isn't there to be read.
      let ending = channel.ending
      let data = channel.receive(byteCountMax: Self.byteCountMax)
      if !data.isEmpty {
        notify(.value(data))
        continue
      }
      switch ending {
      case nil: break
      case .success: notify(.completed)
      case .failure(let error): notify(.failed(.disconnected(error)))
      }
      return
    }
  }
}

/// Bytes on their way into a channel.
private final class ChannelWrite: Sendable {
  private enum Phase { case waiting, begun, cancelled }

  private struct State: Sendable {
    var phase = Phase.waiting
    var rest: Data
  }

  private let channel: CBL2CAPChannel
  private let state: Mutex<State>

  init(of data: Data, to channel: CBL2CAPChannel) {
    self.channel = channel
    state = Mutex(State(rest: data))
  }

  /// Gives it up, if nothing was sent yet.
  func cancel() -> Bool {
    state.withLock { state in
      guard state.phase == .waiting else { return false }
      state.phase = .cancelled
      return true
    }
  }

  /// Sends as many bytes as there is space for. By one thread at a time.
  func send() -> RoomQueue.Outcome {
    while true {
      if let ending = channel.ending { return .failed(.disconnected(ending.error)) }
      guard channel.hasSpace else { return .full }
      let rest = state.withLock { state -> Data? in
        guard state.phase != .cancelled else { return nil }
        state.phase = .begun
        return state.rest
      }
      guard let rest else { return .failed(.cancelled) }
      if rest.isEmpty { return .sent }
      let count = channel.send(rest)
      let isSent = state.withLock { state in
        state.rest = state.rest.dropFirst(count)
        return state.rest.isEmpty
      }
      if isSent { return .sent }
    }
  }
}

extension Result where Failure == CBError {
  fileprivate var error: CBError? { if case .failure(let error) = self { error } else { nil } }
}
