package import Foundation

extension RunLoop {
  /// The run loop on which an object that is created here calls its delegate: that of this thread.
  ///
  /// In a task it is the main one. The threads of tasks belong to a pool, and their run loops never
  /// run, unless one runs right now. The same holds for the threads that serve the main queue in a
  /// program whose main thread has ended.
  package static var ofDelegates: RunLoop { isOfPool ? .main : .current }

  /// The run loop that a caller means which names its own: see ``ofDelegates``.
  package static func forDelegates(_ runLoop: RunLoop) -> RunLoop {
    runLoop === RunLoop.current ? .ofDelegates : runLoop
  }

  /// Whether this thread belongs to a pool, so that its run loop never runs.
  static var isOfPool: Bool {
    guard RunLoop.current.currentMode == nil else { return false }
    return withUnsafeCurrentTask { $0 != nil } || MainQueue.isCurrent && !Thread.isMainThread
  }
}

/// The main queue, also where other threads than the main one serve it.
enum MainQueue {
  private static let key: DispatchSpecificKey<Void> = {
    let key = DispatchSpecificKey<Void>()
    DispatchQueue.main.setSpecific(key: key, value: ())
    return key
  }()

  /// Whether this code runs on the main thread or the main queue.
  static var isCurrent: Bool {
    Thread.isMainThread || DispatchQueue.getSpecific(key: key) != nil
  }
}
