internal import AppMachines
internal import Foundation
internal import Synchronization

/// The work of the app for an event whose completion it reports.
final class AppWork: Sendable {
  private let group = DispatchGroup()
  private let isCompleted = Mutex(false)

  init() { group.enter() }

  deinit { complete() }

  func complete() {
    let isFirst = isCompleted.withLock { isCompleted in
      defer { isCompleted = true }
      return !isCompleted
    }
    if isFirst { group.leave() }
  }

  /// Waits until it is completed, or nothing in the process leads to that.
  func settle() {
    guard ThreadActivity.wait(for: group) == .busy else { return }
    NSLog("The work for an event is not waited for: a thread of this process computes on and on.")
  }

  /// Whether the app reports that it is done with an event: requests of centrals have answers instead.
  static func isRequired(by event: AppEvent) -> Bool {
    switch event.kind {
    case .refresh, .processing: true
    case .notification(let isSilent, _): isSilent
    case .callback, .connected, .disconnected, .value, .discovered, .request, .region, .socket,
      .keepAlive:
      false
    }
  }
}
