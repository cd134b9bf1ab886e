internal import CoreFoundation
internal import EventLoop
package import Foundation

/// Calls a closure on a run loop when it is signalled from any thread, and keeps the loop alive.
///
/// Foundation on Linux hides a `RunLoop`'s `CFRunLoop`, so the source must be added on the loop's
/// thread. For the loop of the calling thread and the main loop that is done at once. For any other
/// loop a timer does it, which unlike `perform` wakes a sleeping loop.
///
/// A source of the main loop is called by the main queue as well, unless the main thread serves that:
/// code that runs a run loop from within would not be interrupted by the main queue. In a program
/// whose main function is `async`, or that calls `dispatchMain`, the main thread ends, its run loop
/// never runs, and other threads serve the main queue.
package final class RunLoopSource: @unchecked Sendable {
  // Unchecked: what changes is guarded by `lock`; Core Foundation's sources are thread-safe.

  private let lock = SharedLock()
  private let call: @Sendable () -> Void
  private let runLoop: RunLoop
  private let mode: RunLoop.Mode
  private var source: CFRunLoopSource?
  private var loop: CFRunLoop?
  private var isValid = true
  /// Whether a call was requested that has not begun.
  private var isSignalled = false
  private let isOnMainQueue: Bool

  package init(runLoop: RunLoop, mode: RunLoop.Mode, call: @escaping @Sendable () -> Void) {
    self.runLoop = runLoop
    self.mode = mode
    self.call = call
    isOnMainQueue = runLoop === RunLoop.main && (mode == .default || mode == .common)
    if runLoop === RunLoop.current {
      add(to: CFRunLoopGetCurrent())
    } else if runLoop === RunLoop.main {
      add(to: CFRunLoopGetMain())
    } else {
      let timer = Timer(fire: .distantPast, interval: 0, repeats: false) { [weak self] _ in
        self?.add(to: CFRunLoopGetCurrent())
        self?.signal()
      }
      runLoop.add(timer, forMode: mode)
    }
  }

  package func isIn(_ runLoop: RunLoop, _ mode: RunLoop.Mode) -> Bool {
    self.runLoop === runLoop && self.mode == mode
  }

  package func isIn(_ runLoop: RunLoop) -> Bool { self.runLoop === runLoop }

  /// Requests another call of the closure.
  package func signal() {
    let (source, loop, isFirst) = lock.withLock {
      defer { isSignalled = true }
      return (self.source, self.loop, !isSignalled)
    }
    if isOnMainQueue, isFirst {
      DispatchQueue.main.async { [weak self] in
        if !Thread.isMainThread { self?.callIfSignalled() }
      }
    }
    guard let source, let loop else { return }
    CFRunLoopSourceSignal(source)
    CFRunLoopWakeUp(loop)
  }

  /// Removes the source from the run loop.
  package func invalidate() {
    let source = lock.withLock {
      isValid = false
      defer { self.source = nil }
      return self.source
    }
    if let source { CFRunLoopSourceInvalidate(source) }
  }

  /// Calls the closure, unless the run loop or the queue has done so since the request.
  private func callIfSignalled() {
    let isDue = lock.withLock {
      defer { isSignalled = false }
      return isSignalled && isValid
    }
    if isDue { call() }
  }

  private func add(to loop: CFRunLoop?) {
    guard let loop, lock.withLock({ isValid }) else { return }
    var context = CFRunLoopSourceContext()
    // The run loop's source owns a reference to the closure until it is invalidated.
    let box = CallBox { [weak self] in self?.callIfSignalled() }
    context.info = Unmanaged.passRetained(box).toOpaque()
    context.release = { info in
      if let info { Unmanaged<CallBox>.fromOpaque(info).release() }
    }
    context.perform = { info in
      if let info { Unmanaged<CallBox>.fromOpaque(info).takeUnretainedValue().call() }
    }
    guard let source = CFRunLoopSourceCreate(nil, 0, &context) else { return }
    let cfMode =
      mode == .common
      ? kCFRunLoopCommonModes : CFRunLoopSource.mode(named: mode.rawValue)
    CFRunLoopAddSource(loop, source, cfMode)
    let isStillValid = lock.withLock {
      if isValid { self.source = source }
      self.loop = loop
      return isValid
    }
    // Taken out by another thread meanwhile.
    if !isStillValid { CFRunLoopSourceInvalidate(source) }
  }

  private final class CallBox: Sendable {
    let call: @Sendable () -> Void
    init(_ call: @escaping @Sendable () -> Void) { self.call = call }
  }
}

extension CFRunLoopSource {
  /// A mode's name as Core Foundation wants it.
  fileprivate static func mode(named name: String) -> CFString? {
    CFStringCreateWithCString(nil, name, CFStringBuiltInEncodings.UTF8.rawValue)
  }
}
