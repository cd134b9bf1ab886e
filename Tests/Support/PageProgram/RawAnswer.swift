internal import Foundation

/// An answer of a server, read until it closes the connection.
public struct RawAnswer: Sendable {
  /// The status of HTTP.
  public var status: Int
  /// Header fields by their names in small letters.
  public var fields: [String: String]
  /// What comes after them.
  public var body: [UInt8]

  /// Longer than any answer takes, so that a server that hangs fails a test and no more.
  private static let timeoutInSeconds = 60

  init(
    to method: String, _ target: String, _ fields: [String: String], _ body: [UInt8], port: Int
  ) throws {
    var lines = ["Host": "127.0.0.1:\(port)", "Connection": "close"]
    if !body.isEmpty { lines["Content-Length"] = "\(body.count)" }
    let head = lines.merging(fields) { $1 }.map { "\($0.key): \($0.value)\r\n" }.sorted()
    let request = Array("\(method) \(target) HTTP/1.1\r\n\(head.joined())\r\n".utf8) + body
    self = try Self.read(Self.exchange(request, port))
  }

  private static func exchange(_ request: [UInt8], _ port: Int) throws -> [UInt8] {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    guard descriptor >= 0 else { throw failure("socket") }
    defer { close(descriptor) }
    var time = timeval(tv_sec: timeoutInSeconds, tv_usec: 0)
    setsockopt(
      descriptor, SOL_SOCKET, SO_RCVTIMEO, &time, socklen_t(MemoryLayout<timeval>.size))
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = in_port_t(truncatingIfNeeded: port).bigEndian
    address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
    let status = withUnsafePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
      }
    }
    guard status == 0 else { throw failure("connect") }
    // A server that refuses a long request may close before it is sent completely, and answer all
    // the same.
    var rest = request[...]
    while !rest.isEmpty {
      let count = Array(rest).withUnsafeBytes {
        send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
      }
      guard count > 0 else { break }
      rest = rest.dropFirst(count)
    }
    var received: [UInt8] = []
    var buffer = [UInt8](repeating: 0, count: 65_536)
    while true {
      let count = recv(descriptor, &buffer, buffer.count, 0)
      guard count > 0 else { return received }
      received += buffer[..<count]
    }
  }

  private static func read(_ bytes: [UInt8]) throws -> RawAnswer {
    let data = Data(bytes)
    guard let blank = data.range(of: Data("\r\n\r\n".utf8)) else {
      throw PageProgram.Failure(reason: "no answer: \(String(decoding: bytes, as: UTF8.self))")
    }
    let lines = String(decoding: data[..<blank.lowerBound], as: UTF8.self).split(separator: "\r\n")
    let status = lines.first?.split(separator: " ").dropFirst().first.flatMap { Int($0) }
    guard let status else { throw PageProgram.Failure(reason: "this is no HTTP") }
    var fields: [String: String] = [:]
    for line in lines.dropFirst() {
      let parts = line.split(separator: ":", maxSplits: 1)
      fields[parts[0].lowercased()] =
        parts.dropFirst().first?.trimmingCharacters(in: .whitespaces) ?? ""
    }
    return RawAnswer(status: status, fields: fields, body: Array(data[blank.upperBound...]))
  }

  private init(status: Int, fields: [String: String], body: [UInt8]) {
    self.status = status
    self.fields = fields
    self.body = body
  }

  private static func failure(_ call: String) -> PageProgram.Failure {
    PageProgram.Failure(reason: "\(call): \(String(cString: strerror(errno)))")
  }
}
