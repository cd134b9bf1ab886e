/// The source and sink of the bytes of a pair of streams. All methods may be called from any thread.
package protocol BytePipe: AnyObject, Sendable {
  /// Whether bytes can flow. A pipe that is still connecting becomes connected later.
  var isConnected: Bool { get }
  /// Whether something can be read without waiting.
  var hasBytes: Bool { get }
  /// Whether something can be written without waiting.
  var hasSpace: Bool { get }
  /// How many bytes were written and not sent yet.
  var unsentByteCount: Int { get }
  /// How the reading side ended; nil while more bytes may come.
  var inputEnding: PipeEnding? { get }
  /// How the writing side ended; nil while it is open.
  var ending: PipeEnding? { get }

  /// One of the streams was opened.
  func open()
  /// Takes up to `count` bytes; waits for the first. Empty at the end.
  func read(_ count: Int) -> [UInt8]
  /// Takes as many of the bytes as there is room for, waiting for the first; 0 at the end.
  func write(_ bytes: UnsafeBufferPointer<UInt8>) -> Int
  /// Ends it for both streams.
  func close()

  /// Has this called when something changed for the reading side.
  func observeInput(_ call: @escaping @Sendable () -> Void)
  /// Has this called when something changed for the writing side.
  func observeOutput(_ call: @escaping @Sendable () -> Void)
}

/// How a pipe ended.
package enum PipeEnding: Sendable {
  /// In good order: one of the sides closed it.
  case closed
  /// Not in good order.
  case failed(any Error)
}
