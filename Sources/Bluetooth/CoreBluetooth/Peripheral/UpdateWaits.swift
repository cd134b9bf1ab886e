internal import BluetoothInterface
internal import BluetoothWire
internal import Essentials

/// Measures the waits of a peripheral manager's update windows on the host's loop.
final class UpdateWaits: @unchecked Sendable {
  // Sendable because everything is accessed on the loop only.
  private let loop: any SessionLoop
  private let onExpiry: @Sendable (UpdateWindows.Wait) -> Void
  private var timers: [DeviceAddress?: (number: UInt64, timer: any LoopTimer)] = [:]

  /// - Parameter onExpiry: Called on the loop with a wait that is over.
  init(loop: any SessionLoop, onExpiry: @escaping @Sendable (UpdateWindows.Wait) -> Void) {
    self.loop = loop
    self.onExpiry = onExpiry
  }

  /// A wait begins, in place of an earlier one for the same central. May be called from any thread.
  func begin(_ wait: UpdateWindows.Wait, for span: TimeSpan) {
    loop.execute { [weak self] in self?.begun(wait, span) }
  }

  /// A wait has ended. May be called from any thread.
  func end(_ wait: UpdateWindows.Wait) {
    loop.execute { [weak self] in self?.ended(wait) }
  }

  private func begun(_ wait: UpdateWindows.Wait, _ span: TimeSpan) {
    // A later one may have been reported first, by another thread.
    if let known = timers[wait.central] {
      guard known.number < wait.number else { return }
      known.timer.cancel()
    }
    let timer = loop.makeTimer { [weak self] in self?.expired(wait) }
    timers[wait.central] = (wait.number, timer)
    timer.set(loop.now + span)
  }

  private func ended(_ wait: UpdateWindows.Wait) {
    guard let known = timers[wait.central], known.number <= wait.number else { return }
    known.timer.cancel()
    timers[wait.central] = nil
  }

  /// The windows know whether it had ended before, which another thread may report late.
  private func expired(_ wait: UpdateWindows.Wait) {
    ended(wait)
    onExpiry(wait)
  }
}
