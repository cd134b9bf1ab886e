/// Bytes that wait to be sent. The memory of sent bytes is freed before it exceeds that of the
/// waiting ones, and each byte is moved about once, however few are sent at a time.
struct OutgoingBytes {
  /// Its first ``sentCount`` were sent.
  private var bytes: [UInt8] = []
  private var sentCount = 0

  /// How many wait.
  var count: Int { bytes.count - sentCount }
  var isEmpty: Bool { count == 0 }
  /// How many there is memory for.
  var capacity: Int { bytes.capacity }

  mutating func append(_ more: [UInt8]) { bytes += more }

  /// Removes the first `count` bytes, which were sent.
  mutating func removeFirst(_ count: Int) {
    sentCount += count
    guard sentCount >= bytes.count / 2 else { return }
    // A new array is no larger than it has to be.
    bytes = Array(bytes.dropFirst(sentCount))
    sentCount = 0
  }

  /// Calls back with all that wait.
  func withUnsafeBytes<Result>(_ body: (UnsafeRawBufferPointer) -> Result) -> Result {
    unsafe bytes.withUnsafeBytes { unsafe body(UnsafeRawBufferPointer(rebasing: $0[sentCount...])) }
  }
}
