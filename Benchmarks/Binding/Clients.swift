import BenchmarkSupport
import Foundation

/// Many clients of event streams, on one thread: they read, and count.
final class Clients {
  private var descriptors: [pollfd] = []
  private(set) var byteCount = 0
  private(set) var eventCount = 0
  private var buffer = [UInt8](repeating: 0, count: 1 << 16)

  /// Connects clients with a tab each, and waits until each has its first event.
  init(count: Int, port: UInt16) throws {
    for index in 0..<count { try connect(index, port) }
    while eventCount < count { try read(milliseconds: 5_000) }
  }

  deinit {
    for descriptor in descriptors { close(descriptor.fd) }
  }

  private func connect(_ index: Int, _ port: UInt16) throws {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
    let status = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        Glibc.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard status == 0 else { throw ChildError("Client \(index) can't connect.") }
    let request = "GET /live?tab=c\(index) HTTP/1.1\r\nHost: localhost\r\n\r\n"
    _ = request.withCString { send(descriptor, $0, strlen($0), 0) }
    descriptors.append(pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0))
  }

  /// Reads events for a number of seconds.
  func read(seconds: Double) throws {
    let end = Date(timeIntervalSinceNow: seconds)
    while Date() < end { try read(milliseconds: 10, mayBeSilent: true) }
  }

  private func read(milliseconds: Int32, mayBeSilent: Bool = false) throws {
    let count = poll(&descriptors, nfds_t(descriptors.count), milliseconds)
    guard count > 0 || mayBeSilent else { throw ChildError("The clients get nothing.") }
    for descriptor in descriptors where descriptor.revents != 0 {
      let size = recv(descriptor.fd, &buffer, buffer.count, 0)
      guard size > 0 else { throw ChildError("A client was cut off.") }
      byteCount += size
      eventCount += Self.eventsEnding(in: buffer[..<size])
    }
  }

  /// Events of ours begin with a line that no data has.
  private static func eventsEnding(in bytes: ArraySlice<UInt8>) -> Int {
    let mark = Array("\ndata: ".utf8)
    var (count, index) = (0, bytes.startIndex)
    while let next = bytes[index...].firstIndex(of: UInt8(ascii: "\n")) {
      if bytes[next...].starts(with: mark) { count += 1 }
      index = next + 1
    }
    return count
  }
}
