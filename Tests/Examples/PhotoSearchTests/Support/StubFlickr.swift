import Foundation
import Glibc
import Synchronization

/// A server that answers as Flickr's documentation describes, or as a test decides.
///
/// One connection after another, each with a thread of its own; bytes are sent as they are, so that an
/// answer can be cut off, slow, or none.
final class StubFlickr: Sendable {
  /// What becomes of a request.
  enum Answer: Sendable {
    /// A whole answer.
    case whole(status: Int = 200, [UInt8])
    /// A head that promises more bytes than come before the connection ends.
    case cutOff([UInt8])
    /// A head, and then bytes without end.
    case endless
    /// A byte now and then.
    case slow
    /// Nothing.
    case silent
    /// The connection is closed without an answer.
    case closed
    /// A redirection.
    case elsewhere(String)
  }

  let port: Int
  private let listener: Int32
  private let handler: @Sendable (String) -> Answer
  private let state = Mutex(State())

  private struct State {
    var targets: [String] = []
    var connections: Set<Int32> = []
    var isStopped = false
  }

  /// The paths and queries that were asked for.
  var targets: [String] { state.withLock { $0.targets } }
  /// How many connections are open.
  var connectionCount: Int { state.withLock { $0.connections.count } }
  var address: String { "http://127.0.0.1:\(port)/" }

  /// - Parameter handler: Called on any thread with the path and the query of each request.
  init(_ handler: @escaping @Sendable (String) -> Answer) throws {
    self.handler = handler
    listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = in_addr_t(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let descriptor = listener
    let isListening = withUnsafeMutablePointer(to: &address) {
      $0.withMemoryRebound(to: sockaddr.self, capacity: 1) {
        bind(descriptor, $0, length) == 0 && listen(descriptor, 64) == 0
          && getsockname(descriptor, $0, &length) == 0
      }
    }
    guard isListening else { throw CocoaError(.fileReadUnknown) }
    port = Int(in_port_t(bigEndian: address.sin_port))
    Thread.detachNewThread { [self] in accept() }
  }

  /// Ends all connections.
  func stop() {
    let connections = state.withLock { state in
      state.isStopped = true
      return state.connections
    }
    for each in connections { shutdown(each, Int32(SHUT_RDWR)) }
    shutdown(listener, Int32(SHUT_RDWR))
  }

  private func accept() {
    while true {
      let connection = Glibc.accept(listener, nil, nil)
      guard connection >= 0 else { break }
      let isStopped = state.withLock { state in
        state.connections.insert(connection)
        return state.isStopped
      }
      if isStopped { shutdown(connection, Int32(SHUT_RDWR)) }
      Thread.detachNewThread { [self] in
        serve(connection)
        state.withLock { _ = $0.connections.remove(connection) }
        close(connection)
      }
    }
    close(listener)
  }

  private func serve(_ connection: Int32) {
    var head: [UInt8] = []
    while !head.suffix(4).elementsEqual(Array("\r\n\r\n".utf8)), head.count < 65_536 {
      var byte: UInt8 = 0
      guard recv(connection, &byte, 1, 0) == 1 else { return }
      head.append(byte)
    }
    let words = String(decoding: head, as: UTF8.self).split(separator: " ", maxSplits: 2)
    let target = words.dropFirst().first.map(String.init) ?? ""
    state.withLock { $0.targets.append(target) }
    switch handler(target) {
    case .whole(let status, let body):
      _ = write(Self.head(status, body.count) + body, connection)
    case .cutOff(let body):
      _ = write(Self.head(200, body.count + 1_000) + body, connection)
    case .endless:
      let part = [UInt8](repeating: 0x20, count: 1 << 16)
      if write(Self.head(200, 1 << 40), connection) { while write(part, connection) {} }
    case .slow:
      guard write(Self.head(200, 1 << 20), connection) else { return }
      // Waits for the client to go, and sends something each time it hasn't.
      while !isGone(connection, within: 100), write([0x20], connection) {}
    case .silent: while !isGone(connection, within: 1_000) {}
    case .closed: break
    case .elsewhere(let location):
      _ = write(
        Array("HTTP/1.1 302 Found\r\nLocation: \(location)\r\nContent-Length: 0\r\n\r\n".utf8),
        connection)
    }
  }

  /// Whether the client closes its side within `milliseconds`.
  private func isGone(_ connection: Int32, within milliseconds: Int32) -> Bool {
    var waiting = pollfd(fd: connection, events: Int16(POLLIN), revents: 0)
    guard poll(&waiting, 1, milliseconds) > 0 else { return false }
    var byte: UInt8 = 0
    return recv(connection, &byte, 1, 0) <= 0
  }

  private static func head(_ status: Int, _ count: Int) -> [UInt8] {
    Array(
      "HTTP/1.1 \(status) Status\r\nContent-Length: \(count)\r\nConnection: close\r\n\r\n".utf8)
  }

  private func write(_ bytes: [UInt8], _ connection: Int32) -> Bool {
    var offset = 0
    while offset < bytes.count {
      let count = bytes.withUnsafeBytes {
        send(
          connection, $0.baseAddress?.advanced(by: offset), bytes.count - offset,
          Int32(MSG_NOSIGNAL))
      }
      guard count > 0 else { return false }
      offset += count
    }
    return true
  }

  // MARK: Answers

  /// What `flickr.photos.search` answers.
  static func found(_ numbers: Range<Int>, page: Int, pages: Int, total: Int) -> [UInt8] {
    let photos = numbers.map { number in
      """
      {"id":"5\(number)","owner":"12037949754@N01","secret":"a123456\(number)","server":"65535",\
      "farm":66,"title":"Tern \(number)","ispublic":1,"isfriend":0,"isfamily":0,\
      "datetaken":"2024-05-02 10:11:12","datetakengranularity":0,"ownername":"Ada Weir"}
      """
    }
    return Array(
      """
      {"photos":{"page":\(page),"pages":\(pages),"perpage":100,"total":"\(total)",\
      "photo":[\(photos.joined(separator: ","))]},"stat":"ok"}
      """.utf8)
  }

  /// What `flickr.photos.getFavorites` answers.
  static let favorites = Array(
    #"{"photo":{"id":"51","total":"12","person":[]},"stat":"ok"}"#.utf8)

  /// What `flickr.photos.getInfo` answers.
  static let comments = Array(#"{"photo":{"comments":{"_content":"1"}},"stat":"ok"}"#.utf8)

  /// A refusal of Flickr.
  static let invalidKey = Array(
    #"{"stat":"fail","code":100,"message":"Invalid API Key (Key has invalid format)"}"#.utf8)
}
