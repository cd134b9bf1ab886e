import CoverFlowPage
import Foundation
import Synchronization

/// A web server on the loopback interface with the files of cover flow, the example that shows them, and
/// pictures that take their time.
///
/// `/pictures/MILLISECONDS/NAME` is a picture of its own for each name, which comes after so long. The one
/// called `broken` never is one, and the one called `second` not before it is asked for a second time.
final class FileServer: Sendable {
  let port: UInt16
  private let descriptor: Int32
  private let policy: String
  private let wasSecondAskedFor = Mutex(false)

  /// What a page needs, and nothing else.
  static let strictPolicy =
    "default-src 'none'; script-src 'self' 'wasm-unsafe-eval'; style-src 'self'; "
    + "img-src 'self' data:; connect-src 'self'"

  struct Failure: Error { var call: String }

  /// Serves from now on, with a content security policy.
  init(policy: String = FileServer.strictPolicy) throws {
    self.policy = policy
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    guard descriptor >= 0 else { throw Failure(call: "socket") }
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
    var size = socklen_t(MemoryLayout<sockaddr_in>.size)
    let status = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, size) == 0 && listen(descriptor, 64) == 0
          && getsockname(descriptor, $0, &size) == 0
      }
    }
    guard status else {
      close(descriptor)
      throw Failure(call: "bind, listen or getsockname")
    }
    self.descriptor = descriptor
    port = UInt16(bigEndian: address.sin_port)
    Thread.detachNewThread { [self] in run() }
  }

  /// The address of the example, with a query such as `?probe&n=50`.
  func example(_ query: String = "?probe") -> String {
    "http://127.0.0.1:\(port)/Examples/CoverFlow/\(query)"
  }

  func stop() {
    shutdown(descriptor, Int32(SHUT_RDWR))
  }

  private func run() {
    while true {
      let client = accept(descriptor, nil, nil)
      guard client >= 0 else { break }
      Thread.detachNewThread { [self] in
        answer(client)
        close(client)
      }
    }
    close(descriptor)
  }

  private func answer(_ client: Int32) {
    var received = Data()
    var buffer = [UInt8](repeating: 0, count: 4096)
    while received.range(of: Data("\r\n\r\n".utf8)) == nil, received.count < 65_536 {
      let count = recv(client, &buffer, buffer.count, 0)
      guard count > 0 else { return }
      received.append(contentsOf: buffer[..<count])
    }
    let line = String(decoding: received, as: UTF8.self).prefix { $0 != "\r\n" }
    let words = line.split(separator: " ")
    guard words.count > 1 else { return }
    let path = words[1].prefix { $0 != "?" }
    let body = content(of: String(path))
    let head =
      "HTTP/1.1 \(body == nil ? "404 Not Found" : "200 OK")\r\nConnection: close\r\n"
      + "Content-Type: \(Self.mediaType(of: String(path)))\r\nCache-Control: no-store\r\n"
      + "Content-Security-Policy: \(policy)\r\nContent-Length: \(body?.count ?? 0)\r\n\r\n"
    var answer = Data(head.utf8) + (body ?? Data())
    while !answer.isEmpty {
      let count = answer.withUnsafeBytes {
        send(client, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      guard count > 0 else { return }
      answer.removeFirst(count)
    }
  }

  private func exchange(_ value: inout Bool, _ new: Bool) -> Bool {
    defer { value = new }
    return value
  }

  // MARK: Files

  private static let root = URL(filePath: #filePath)
    .deletingLastPathComponent().deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()

  private func content(of path: String) -> Data? {
    let parts = path.split(separator: "/").map(String.init)
    if parts.first == "pictures", parts.count == 3 {
      Thread.sleep(forTimeInterval: (Double(parts[1]) ?? 0) / 1000)
      let isMissing =
        parts[2] == "broken"
        || parts[2] == "second" && !wasSecondAskedFor.withLock { exchange(&$0, true) }
      return isMissing ? Data("no picture".utf8) : Self.picture(parts[2])
    }
    // The tests use the files embedded in programs.
    if path.hasPrefix("/Sources/CoverFlow/CoverFlowPage/Resources/") {
      return parts.last.flatMap { CoverFlowPage.files[$0] }.map { Data($0) }
    }
    let name = path.hasSuffix("/") ? path + "index.html" : path
    guard name.hasPrefix("/Examples/CoverFlow/"), !name.contains("..") else { return nil }
    return try? Data(contentsOf: Self.root.appending(path: name))
  }

  private static func picture(_ name: String) -> Data {
    let hue = name.utf8.reduce(0) { ($0 * 31 + Int($1)) % 360 }
    return Data(
      """
      <svg xmlns="http://www.w3.org/2000/svg" width="64" height="64">\
      <rect width="64" height="64" fill="hsl(\(hue) 60% 40%)"/></svg>
      """.utf8)
  }

  private static func mediaType(of path: String) -> String {
    let types = [
      "js": "text/javascript", "css": "text/css", "html": "text/html; charset=utf-8",
      "wasm": "application/wasm",
    ]
    if path.hasPrefix("/pictures/") { return "image/svg+xml" }
    if path.hasSuffix("/") { return "text/html; charset=utf-8" }
    return types[path.split(separator: ".").last.map(String.init) ?? ""] ?? "text/plain"
  }
}
