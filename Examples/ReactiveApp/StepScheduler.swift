import Reactive

/// A scheduler of the app's own: it performs work when the app calls it.
final class StepScheduler: Scheduler {
  private var waiting: [() -> Void] = []

  func schedule(_ action: @escaping () -> Void) -> Disposable? {
    let disposable = AnyDisposable()
    waiting.append {
      if !disposable.isDisposed { action() }
    }
    return disposable
  }

  func step() {
    let work = waiting
    waiting = []
    work.forEach { $0() }
  }
}
