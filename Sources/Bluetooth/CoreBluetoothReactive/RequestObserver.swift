internal import CoreBluetoothAsync
internal import Reactive
internal import Synchronization

/// Forwards the result of a request to its observer, unless the run was disposed of.
final class RequestObserver<Value: Sendable>: Sendable {
  typealias Notify = @Sendable (Signal<Value, BluetoothError>.Event) -> Void

  private let notify: Mutex<Notify?>

  init(_ notify: @escaping Notify) { self.notify = Mutex(notify) }

  /// Releases the observer.
  func cancel() { _ = take() }

  func send(_ result: Result<Value?, BluetoothError>) {
    guard let notify = take() else { return }
    switch result {
    case .success(let value):
      if let value { notify(.value(value)) }
      notify(.completed)
    case .failure(let error): notify(.failed(error))
    }
  }

  private func take() -> Notify? {
    notify.withLock { notify in
      defer { notify = nil }
      return notify
    }
  }
}
