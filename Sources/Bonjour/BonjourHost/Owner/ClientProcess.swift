import EventLoop
import Glibc

/// The process of a hub's client, for people.
struct ClientProcess: Hashable, Sendable {
  /// The number; 0 for a process in another namespace of processes.
  var number: Int32
  /// The name, which the process may choose; empty if it can't be read.
  var name: String

  /// The process that has connected a socket. It may have ended since, and another one may have its number.
  init(of descriptor: Int32) {
    number = PeerCredentials(of: descriptor)?.processID ?? 0
    name = number > 0 ? Self.name(of: number) : ""
  }

  /// The length of a name (proc_pid_comm(5)), with a line feed.
  private static let nameByteCountMax = 16

  private static func name(of number: Int32) -> String {
    let descriptor = unsafe open("/proc/\(number)/comm", O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { return "" }
    defer { close(descriptor) }
    var bytes = [UInt8](repeating: 0, count: nameByteCountMax)
    let count = unsafe read(descriptor, &bytes, bytes.count)
    guard count > 0 else { return "" }
    let name = bytes.prefix(count).prefix { $0 != UInt8(ascii: "\n") }
    return String(decoding: name, as: UTF8.self)
  }
}
