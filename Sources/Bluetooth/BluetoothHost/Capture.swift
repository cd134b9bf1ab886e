import BluetoothWire
import Essentials
import Glibc

/// The reason why a capture can't be written.
public struct CaptureError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The capture file.
  public var path: String
  /// The operating system's error message.
  public var reason: String

  /// A sentence for users.
  public var description: String { "The capture \"\(path)\" cannot be written: \(reason)." }
}

/// Writes HCI traffic to a file: in btsnoop format, or as pcapng.
///
/// Only whole records are written, so that the file of a killed process can be read up to the last
/// flush. Used on its host's loop only.
package final class Capture {
  /// What went wrong first; nothing more is written after that.
  private(set) var failure: CaptureError?
  private let path: String
  private let isPCAPNG: Bool
  /// Nil where keys are written as they are.
  private var redactor: KeyRedactor?
  private var descriptor: Int32
  private var buffer: [UInt8] = []

  /// - Parameters:
  ///   - path: The file, which only this user may read; an existing one is replaced. Pipes and open
  ///     descriptors (`/dev/stdout`, `/dev/fd/3`) are written as they are. A symbolic link,
  ///     another user's file and a named pipe without a reader are refused. A name that ends with
  ///     `.pcapng`, or a path after `pcapng:`, means the format pcapng, which Wireshark takes from pipes.
  ///   - includesKeys: Whether keys are written as they are, instead of as zeros.
  package init(path: String, includesKeys: Bool = false) throws(CaptureError) {
    let prefix = "pcapng:"
    let isNamed = path.hasPrefix(prefix)
    let path = isNamed ? String(path.dropFirst(prefix.count)) : path
    self.path = path
    isPCAPNG = isNamed || path.hasSuffix(".pcapng")
    redactor = includesKeys ? nil : KeyRedactor()
    descriptor = try CaptureFile.open(path)
    buffer.reserveCapacity(Limits.captureBufferByteCount)
    buffer += isPCAPNG ? PCAPNG.header : BTSnoop.header
    flush()
    if let failure { throw failure }
  }

  deinit { close() }

  func record(_ packet: HCIPacket, _ direction: BTSnoop.Direction) {
    guard failure == nil else { return }
    let packet =
      redactor?.redacted(packet, isFromHost: direction == .hostToController) ?? packet
    let time = Self.microsecondsNow()
    buffer +=
      isPCAPNG
      ? PCAPNG.record(packet, direction: direction, microseconds: time)
      : BTSnoop.record(packet, direction: direction, microseconds: time)
    if buffer.count >= Limits.captureBufferByteCount { flush() }
  }

  /// Passes the buffered records to the operating system.
  func flush() {
    guard failure == nil, descriptor >= 0, !buffer.isEmpty else { return }
    do throws(CaptureError) {
      try CaptureFile.write(buffer, to: descriptor, path: path)
    } catch {
      failure = error
    }
    buffer.removeAll(keepingCapacity: true)
  }

  /// Writes the buffered records and closes the file.
  func close() {
    guard descriptor >= 0 else { return }
    flush()
    Glibc.close(descriptor)
    descriptor = -1
  }

  private static func microsecondsNow() -> Int64 {
    var time = timespec()
    unsafe clock_gettime(CLOCK_REALTIME, &time)
    return Int64(time.tv_sec) * 1_000_000 + Int64(time.tv_nsec) / 1_000
  }
}
