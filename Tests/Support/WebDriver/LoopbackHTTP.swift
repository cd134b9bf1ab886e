import Foundation

/// One request to a server of this machine, on a connection of its own.
///
/// Not by `URLSession`: on Linux it refuses headers without a blank after the colon, as chromedriver
/// writes them (Foundation of Swift 6.3: "Failed writing header").
struct LoopbackHTTP: Sendable {
  var port: UInt16

  /// Longer than any command takes, so that a driver that hangs fails a test and no more.
  private static let timeoutInSeconds = 300

  /// - Returns: The status and the body of the answer.
  func request(_ method: String, _ path: String, _ body: Data?) async throws -> (Int, Data) {
    try await withCheckedThrowingContinuation { continuation in
      // Waits in the kernel, so it has a thread of its own.
      Thread.detachNewThread {
        continuation.resume(with: Result { try exchange(method, path, body ?? Data()) })
      }
    }
  }

  private func exchange(_ method: String, _ path: String, _ body: Data) throws -> (Int, Data) {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    guard descriptor >= 0 else { throw Self.failure("socket") }
    defer { close(descriptor) }
    try connect(descriptor)
    let head =
      "\(method) \(path) HTTP/1.1\r\nHost: 127.0.0.1:\(port)\r\nConnection: close\r\n"
      + "Content-Type: application/json\r\nContent-Length: \(body.count)\r\n\r\n"
    var request = Array(head.utf8) + body
    while !request.isEmpty {
      let count = send(descriptor, request, request.count, Int32(MSG_NOSIGNAL))
      guard count > 0 else { throw Self.failure("send") }
      request.removeFirst(count)
    }
    return try Self.answer(from: descriptor)
  }

  private func connect(_ descriptor: Int32) throws {
    var time = timeval(tv_sec: Self.timeoutInSeconds, tv_usec: 0)
    setsockopt(
      descriptor, SOL_SOCKET, SO_RCVTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = port.bigEndian
    address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
    let status = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        Foundation.connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard status == 0 else { throw Self.failure("connect") }
  }

  /// Reads a head and as many bytes as its Content-Length.
  private static func answer(from descriptor: Int32) throws -> (Int, Data) {
    var received = Data()
    let blankLine = Data("\r\n\r\n".utf8)
    var end: Range<Data.Index>?
    while end == nil {
      received += try more(from: descriptor)
      end = received.range(of: blankLine)
    }
    let headEnd = end?.lowerBound ?? 0
    let lines = String(decoding: received[..<headEnd], as: UTF8.self).split(separator: "\r\n")
    let status = lines.first?.split(separator: " ").dropFirst().first.flatMap { Int($0) }
    let length = lines.compactMap { line -> Int? in
      let parts = line.split(separator: ":", maxSplits: 1)
      guard parts.count == 2, parts[0].lowercased() == "content-length" else { return nil }
      return Int(parts[1].trimmingCharacters(in: .whitespaces))
    }.first
    guard let status, let length else {
      throw WebDriverError(code: "no answer", message: "chromedriver doesn't speak HTTP")
    }
    var body = received[(headEnd + blankLine.count)...]
    while body.count < length { body += try more(from: descriptor) }
    return (status, Data(body))
  }

  private static func more(from descriptor: Int32) throws -> Data {
    var bytes = [UInt8](repeating: 0, count: 65_536)
    let count = recv(descriptor, &bytes, bytes.count, 0)
    guard count > 0 else {
      throw WebDriverError(code: "no answer", message: "chromedriver ended or is silent")
    }
    return Data(bytes[..<count])
  }

  private static func failure(_ call: String) -> WebDriverError {
    WebDriverError(code: "no answer", message: "\(call): \(String(cString: strerror(errno)))")
  }
}
