import Foundation

/// Knows whether the thread is one that deals with a host's events, so that whoever waits for it,
/// like `VirtualRadio.advance`, can refuse to be called there instead of waiting for ever.
package enum EventThread {
  private static let key = "ambit.EventThread"

  /// Whether this thread deals with events.
  package static var isCurrent: Bool { Thread.current.threadDictionary[key] != nil }

  /// Deals with events on this thread.
  package static func run(_ body: () -> Void) {
    let marks = Thread.current.threadDictionary
    let before = marks[key]
    marks[key] = true
    defer { marks[key] = before }
    body()
  }
}
