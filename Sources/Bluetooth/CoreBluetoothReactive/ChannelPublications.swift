internal import CoreBluetooth
internal import CoreBluetoothAsync
internal import Synchronization

/// Publications of channels that wait for their PSM. One is requested at a time, because the answer
/// doesn't identify the request.
final class ChannelPublications: Sendable {
  typealias Completion = @Sendable (Result<CBL2CAPPSM, BluetoothError>) -> Void

  private struct Publication: Sendable {
    let requiresEncryption: Bool
    let done: Completion
  }

  private struct State: Sendable {
    var waiting: [Publication] = []
    var underWay: Completion?
  }

  private let state = Mutex(State())

  /// Publishes, when those that came before have been answered.
  ///
  /// - Parameter done: Called once, on the manager's queue, or at once where the radio is not on.
  func add(
    requiresEncryption: Bool, of manager: CBPeripheralManager, done: @escaping Completion
  ) {
    state.withLock {
      $0.waiting.append(Publication(requiresEncryption: requiresEncryption, done: done))
    }
    publishNext(of: manager)
  }

  private func publishNext(of manager: CBPeripheralManager) {
    while let next = state.withLock({ Self.takeNext(&$0) }) {
      let managerState = manager.state
      // Else there would be no answer.
      if managerState == .poweredOn {
        return manager.publishL2CAPChannel(withEncryption: next.requiresEncryption)
      }
      state.withLock { $0.underWay = nil }
      next.done(.failure(.notAvailable(managerState)))
    }
  }

  private static func takeNext(_ state: inout State) -> Publication? {
    guard state.underWay == nil, !state.waiting.isEmpty else { return nil }
    let next = state.waiting.removeFirst()
    state.underWay = next.done
    return next
  }

  /// Answers the publication that is under way, if there is one.
  func answer(_ result: Result<CBL2CAPPSM, BluetoothError>, of manager: CBPeripheralManager) {
    let done = state.withLock { state -> Completion? in
      defer { state.underWay = nil }
      return state.underWay
    }
    done?(result)
    publishNext(of: manager)
  }
}
