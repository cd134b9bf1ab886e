import BluetoothWire
import EventLoop
import Foundation
import HubWire
import Synchronization

/// A hub that answers what a test has it answer, at a path of its own. It speaks HubWire's own messages.
final class TestHub: @unchecked Sendable {
  // Sendable because everything that changes is touched on the loop only.

  /// A connection of an app. Used on the loop only.
  final class Connection {
    /// Identifies the connection among those of the hub.
    let number: Int
    /// The connection's socket, which the connection closes.
    let descriptor: Int32
    fileprivate var channel: ByteChannel?
    fileprivate var reader = HubFrameReader()

    fileprivate init(number: Int, descriptor: Int32) {
      self.number = number
      self.descriptor = descriptor
    }

    func send(_ message: HubMessage) {
      var writer = HubFrameWriter()
      do { try writer.append(message) } catch { fatalError("\(message) has no message: \(error)") }
      channel?.write(writer.takeBytes())
    }

    func send(bytes: [UInt8]) { channel?.write(bytes) }

    func close() {
      channel?.close()
      channel = nil
    }
  }

  typealias Handler = (AppMessage, Connection) -> Void

  static let loop = EpollLoop()
  static let peer = DeviceAddress(bits: 0xC012_3456_789A, kind: .random)

  let path: String
  /// Called on the loop with each message of an app.
  private let onMessage: Handler
  /// Called on the loop when an app has ended a connection.
  private let onEnd: (Connection) -> Void
  private var listener: StreamListener?
  private var connections: [Int: Connection] = [:]
  private var connectionCount = 0

  /// A path where no hub listens.
  static func makePath() -> String {
    FileManager.default.temporaryDirectory.appending(path: "\(UUID()).hub").path
  }

  private init(
    path: String, onEnd: @escaping (Connection) -> Void, onMessage: @escaping Handler
  ) {
    self.path = path
    self.onEnd = onEnd
    self.onMessage = onMessage
  }

  /// Starts a hub, whose handlers are called on the loop.
  static func start(
    at path: String, onEnd: @escaping @Sendable (Connection) -> Void = { _ in },
    onMessage: @escaping @Sendable (AppMessage, Connection) -> Void
  ) async throws -> TestHub {
    let hub = TestHub(path: path, onEnd: onEnd, onMessage: onMessage)
    let result: Result<Void, SystemError> = await withCheckedContinuation { continuation in
      loop.execute {
        continuation.resume(returning: Result { () throws(SystemError) in try hub.listen() })
      }
    }
    try result.get()
    return hub
  }

  /// Ends the hub as `kill -9` does: its connections end, and its path is free.
  func kill() async {
    await withCheckedContinuation { continuation in
      Self.loop.execute { [self] in
        listener?.close()
        listener = nil
        for connection in connections.values { connection.close() }
        connections = [:]
        continuation.resume()
      }
    }
    try? FileManager.default.removeItem(atPath: path)
  }

  private func listen() throws(SystemError) {
    guard let address = SocketAddress(path: path) else { throw SystemError(number: EINVAL) }
    listener = try StreamListener(at: address, on: Self.loop) { [weak self] in self?.accepted($0) }
  }

  private func accepted(_ descriptor: Int32) {
    connectionCount += 1
    let connection = Connection(number: connectionCount, descriptor: descriptor)
    connection.channel = try? ByteChannel(
      owning: descriptor, on: Self.loop, expectsPromptEvents: true,
      onRead: { [weak self] in self?.received($0, from: connection) },
      onEnd: { [weak self] _ in self?.ended(connection) })
    connections[connection.number] = connection
  }

  private func received(_ bytes: [UInt8], from connection: Connection) {
    connection.reader.append(bytes)
    do {
      while connection.channel != nil, let message: AppMessage = try connection.reader.next() {
        onMessage(message, connection)
      }
    } catch {
      fatalError("an app sent an invalid message: \(error)")
    }
  }

  private func ended(_ connection: Connection) {
    connections[connection.number] = nil
    onEnd(connection)
  }
}

extension HubMessage {
  /// The answer of a hub of this version.
  static let accepted = HubMessage.welcome(
    HubWelcome(version: 1, abilities: .bluetooth, isSimulated: true))
}
