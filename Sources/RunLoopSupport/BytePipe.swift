package import Foundation

/// The source and sink of the bytes of a pair of streams. All methods may be called from any thread.
package protocol BytePipe: AnyObject, Sendable {
  /// Whether bytes can be transferred. False while the pipe is connecting.
  var isConnected: Bool { get }
  /// Whether bytes can be read without blocking.
  var hasBytes: Bool { get }
  /// Whether bytes can be written without blocking.
  var hasSpace: Bool { get }
  /// The number of bytes that were written, but not sent yet.
  var unsentByteCount: Int { get }
  /// The result with which reading ended; nil while more bytes may arrive.
  var inputEnding: PipeEnding? { get }
  /// The result with which writing ended; nil while it is open.
  var ending: PipeEnding? { get }

  /// Called when one of the streams is opened.
  func open()
  /// Blocks until bytes are available, and reads up to `count`; empty at the end.
  func read(_ count: Int) -> [UInt8]
  /// Blocks until there is space, and writes as many of the bytes as fit. Returns their number, 0
  /// at the end.
  func write(_ bytes: UnsafeBufferPointer<UInt8>) -> Int
  /// Closes the pipe in both directions.
  func close()

  /// Sets the closure that is called when the state of the reading side changes.
  func observeInput(_ call: @escaping @Sendable () -> Void)
  /// Sets the closure that is called when the state of the writing side changes.
  func observeOutput(_ call: @escaping @Sendable () -> Void)

  /// A property of both streams; nil for one that the pipe doesn't have.
  func property(for key: Stream.PropertyKey) -> AnyObject?
  /// Sets a property of both streams. Returns whether the pipe has taken it.
  func setProperty(_ property: AnyObject?, for key: Stream.PropertyKey) -> Bool
}

extension BytePipe {
  /// A pipe without properties.
  package func property(for key: Stream.PropertyKey) -> AnyObject? { nil }
  /// A pipe without properties.
  package func setProperty(_ property: AnyObject?, for key: Stream.PropertyKey) -> Bool { false }
}

/// The result with which a pipe ended.
package enum PipeEnding: Sendable {
  /// One of the sides closed the pipe.
  case closed
  /// The pipe ended with an error.
  case failed(any Error)
}
