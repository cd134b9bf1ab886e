internal import CoreBluetooth
internal import Synchronization

/// Requests to one peripheral that wait for the delegate's call that answers them. Those of one
/// kind, for one attribute, are answered in the order in which they were made.
final class Requests: Sendable {
  /// The kind of a request, with its attribute.
  enum Kind: Hashable, Sendable {
    case services
    case includedServices(CBService)
    case characteristics(CBService)
    case descriptors(CBCharacteristic)
    case read(CBCharacteristic)
    case readDescriptor(CBDescriptor)
    case write(CBCharacteristic)
    case writeDescriptor(CBDescriptor)
    case rssi
    case channel
  }

  /// The result that the call brought, where the peripheral's objects don't have it.
  enum Answer: Sendable {
    case done
    case rssi(Int)
    case channel(CBL2CAPChannel)
  }

  /// Called once: with the answer, on the manager's queue; when the connection has ended; or when
  /// the request was cancelled before it was made.
  typealias Completion = @Sendable (Result<Answer, BluetoothError>) -> Void

  /// How many are under way at once. The host takes 256 of an app for each link, also from others.
  private static let underWayMax = 64

  private struct Request: Sendable {
    let number: UInt64
    let connection: Int
    let kind: Kind
    let ask: @Sendable () -> Void
    let done: Completion
  }

  private struct UnderWay: Sendable {
    /// Over which connection.
    let connection: Int
    let done: Completion
  }

  private struct State: Sendable {
    /// Sent requests; those of an earlier connection precede those of the current one.
    var underWay: [Kind: [UnderWay]] = [:]
    var underWayCount = 0
    /// Whether a thread is sending requests.
    var isAsking = false
    /// Not sent yet.
    var waiting: [Request] = []
    var lastNumber: UInt64 = 0
  }

  private let state = Mutex(State())

  /// Makes a request as soon as the limit of pending requests allows it.
  ///
  /// - Parameters:
  ///   - peripheral: The receiver, if it is connected.
  ///   - ask: Sends the request. Called without a lock and by one thread at a time, in the order of
  ///     the requests.
  /// - Returns: The number by which it can be cancelled.
  func make(
    _ kind: Kind, of peripheral: CBPeripheral, _ ask: @escaping @Sendable () -> Void,
    _ done: @escaping Completion
  ) -> UInt64 {
    let number = state.withLock { state -> UInt64? in
      guard let connection = peripheral.connectionNumber else { return nil }
      state.lastNumber += 1
      state.waiting.append(
        Request(
          number: state.lastNumber, connection: connection, kind: kind, ask: ask, done: done))
      return state.lastNumber
    }
    guard let number else {
      done(.failure(.disconnected(nil)))
      return 0
    }
    askWaiting()
    return number
  }

  /// Sends the waiting requests, up to the limit. Returns at once if another thread is sending,
  /// because requests must be sent in order.
  private func askWaiting() {
    let isFirst = state.withLock { state in
      defer { state.isAsking = true }
      return !state.isAsking
    }
    guard isFirst else { return }
    while let next = state.withLock({ Self.takeNext(&$0) }) { next.ask() }
  }

  private static func takeNext(_ state: inout State) -> Request? {
    guard state.underWayCount < underWayMax, !state.waiting.isEmpty else {
      state.isAsking = false
      return nil
    }
    let next = state.waiting.removeFirst()
    state.underWay[next.kind, default: []].append(
      UnderWay(connection: next.connection, done: next.done))
    state.underWayCount += 1
    return next
  }

  /// Cancels a request that was not sent yet. A sent one is still answered.
  func cancel(_ number: UInt64) {
    let request = state.withLock { state -> Request? in
      guard let index = state.waiting.firstIndex(where: { $0.number == number }) else { return nil }
      return state.waiting.remove(at: index)
    }
    request?.done(.failure(.cancelled))
  }

  /// Answers the oldest request of its kind on the current connection, if there is one. Requests of
  /// earlier connections are no longer answered.
  func answer(_ kind: Kind, _ result: Result<Answer, BluetoothError>) {
    let first = state.withLock { state -> Completion? in
      guard var list = state.underWay[kind], let last = list.last,
        let index = list.firstIndex(where: { $0.connection == last.connection })
      else { return nil }
      let first = list.remove(at: index)
      state.underWay[kind] = list.isEmpty ? nil : list
      state.underWayCount -= 1
      return first.done
    }
    askWaiting()
    first?(result)
  }

  /// Fails all requests of connections that have ended, because they will not be answered.
  ///
  /// - Parameter connection: The number of the first connection that has not ended.
  func fail(before connection: Int, _ error: BluetoothError) {
    let failed = state.withLock { state -> [Completion] in
      var failed: [Completion] = []
      for (kind, list) in state.underWay {
        let left = list.filter { $0.connection >= connection }
        failed += list.filter { $0.connection < connection }.map(\.done)
        state.underWay[kind] = left.isEmpty ? nil : left
      }
      state.underWayCount -= failed.count
      failed += state.waiting.filter { $0.connection < connection }.map(\.done)
      state.waiting.removeAll { $0.connection < connection }
      return failed
    }
    askWaiting()
    for done in failed { done(.failure(error)) }
  }
}
