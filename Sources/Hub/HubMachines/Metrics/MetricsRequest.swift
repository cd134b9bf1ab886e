/// The request of HTTP/1 on a connection for metrics, as it arrives.
package struct MetricsRequest: Sendable {
  /// The maximum size of a request: that of Prometheus and of proxies is some hundred bytes.
  package static let byteCountMax = 8 << 10

  /// The subject of a request.
  package enum Outcome: Hashable, Sendable {
    /// The metrics, or only the head of the answer.
    case metrics(isHead: Bool)
    /// Something else, which is answered with this status.
    case refused(Status)
  }

  /// A status of HTTP other than success.
  package enum Status: String, Hashable, Sendable {
    case badRequest = "400 Bad Request"
    case notFound = "404 Not Found"
    case methodNotAllowed = "405 Method Not Allowed"
    case tooLarge = "431 Request Header Fields Too Large"
    case busy = "503 Service Unavailable"
  }

  private var bytes: [UInt8] = []

  package init() {}

  /// Takes the next bytes. Returns the subject once the head is complete, or has no chance to be; nil before.
  package mutating func append(_ next: [UInt8]) -> Outcome? {
    // Lines may end without a carriage return (RFC 9112, §2.2).
    let before = max(0, bytes.count - 1)
    bytes += next.prefix(Self.byteCountMax + 1 - bytes.count).filter { $0 != UInt8(ascii: "\r") }
    let lineFeed = UInt8(ascii: "\n")
    let unread = bytes[before...]
    let isComplete = zip(unread, unread.dropFirst()).contains { $0 == (lineFeed, lineFeed) }
    guard isComplete else {
      return bytes.count > Self.byteCountMax ? .refused(.tooLarge) : nil
    }
    return Self.outcome(bytes.prefix { $0 != lineFeed })
  }

  private static func outcome(_ line: ArraySlice<UInt8>) -> Outcome {
    let parts = line.split(separator: UInt8(ascii: " "), omittingEmptySubsequences: false)
    guard parts.count == 3, parts[2].starts(with: Array("HTTP/1.".utf8)) else {
      return .refused(.badRequest)
    }
    let path = parts[1].prefix { $0 != UInt8(ascii: "?") }
    guard ["/", "/metrics"].contains(where: { path.elementsEqual($0.utf8) }) else {
      return .refused(.notFound)
    }
    if parts[0].elementsEqual("GET".utf8) { return .metrics(isHead: false) }
    if parts[0].elementsEqual("HEAD".utf8) { return .metrics(isHead: true) }
    return .refused(.methodNotAllowed)
  }

  /// The answer with the metrics.
  package static func answer(_ text: String, isHead: Bool) -> [UInt8] {
    answer(status: "200 OK", type: HubMetrics.mediaType, text, isHead: isHead)
  }

  /// The answer to a request that is refused.
  package static func answer(_ status: Status) -> [UInt8] {
    answer(
      status: status.rawValue, type: "text/plain; charset=utf-8", status.rawValue + "\n",
      isHead: false)
  }

  private static func answer(
    status: String, type: String, _ body: String, isHead: Bool
  ) -> [UInt8] {
    let head = [
      "HTTP/1.0 \(status)", "Content-Type: \(type)", "Content-Length: \(body.utf8.count)",
      "Connection: close",
    ]
    let text = head.map { $0 + "\r\n" }.joined() + "\r\n" + (isHead ? "" : body)
    return Array(text.utf8)
  }
}
