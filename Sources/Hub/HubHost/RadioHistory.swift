import BluetoothInterface
import Synchronization

/// How often a hub's radio worked again after it didn't.
final class RadioHistory: Sendable {
  private struct State {
    var hasWorked = false
    var works = false
    var restartCount = 0
  }

  private let history = Mutex(State())

  var restartCount: Int { history.withLock(\.restartCount) }

  /// The radio has this state now.
  func record(_ state: RadioState) {
    history.withLock { history in
      if state == .poweredOn, !history.works, history.hasWorked { history.restartCount += 1 }
      history.works = state == .poweredOn
      history.hasWorked = history.hasWorked || history.works
    }
  }
}
