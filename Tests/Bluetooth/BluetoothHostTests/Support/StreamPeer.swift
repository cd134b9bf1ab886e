import Essentials
import EventLoop
import Glibc
import Synchronization
import Testing

@testable import BluetoothHost

extension EpollLoop {
  /// Runs something on the loop, after work that was handed over before, and returns its result.
  func run<Result: Sendable>(_ body: @escaping @Sendable () -> Result) async -> Result {
    await withCheckedContinuation { continuation in
      execute { continuation.resume(returning: body()) }
    }
  }
}

/// The other end of a connection under test.
final class StreamPeer: Sendable {
  private let loop: EpollLoop
  private let channel: LoopConfined<ByteChannel>
  /// What it sent, in portions; ends with the connection.
  let received: AsyncStream<[UInt8]>

  /// Owns a connected socket. On the loop.
  init(_ descriptor: Int32, on loop: EpollLoop) throws(SystemError) {
    let (received, bytes) = AsyncStream.makeStream(of: [UInt8].self)
    self.received = received
    self.loop = loop
    channel = LoopConfined(
      try ByteChannel(
        owning: descriptor, on: loop, onRead: { bytes.yield($0) }, onEnd: { _ in bytes.finish() }),
      to: loop)
  }

  /// Connects to a radio that is served by TCP.
  static func connect(to radio: RadioChoice, isReading: Bool = true) async throws -> StreamPeer {
    guard case .tcp(let host, let port) = radio else { throw SystemError(number: EINVAL) }
    let address = try #require(await address(host, port))
    let loop = EpollLoop.shared
    let result = await withCheckedContinuation { continuation in
      loop.execute {
        let box = LoopConfined(Box(), to: loop)
        let connector = StreamConnector(on: loop, timeout: .seconds(50)) { result in
          box.value.connector = nil
          continuation.resume(
            returning: result.flatMap { descriptor in
              Result { () throws(SystemError) in try StreamPeer(descriptor, on: loop) }
                .mapError(ConnectError.system)
            })
        }
        box.value.connector = connector
        connector.connect(to: [address])
      }
    }
    let peer = try result.get()
    if !isReading { await loop.run { peer.channel.value.isReading = false } }
    return peer
  }

  private final class Box { var connector: StreamConnector? }

  /// The address of a host that is given by number.
  static func address(_ host: String, _ port: UInt16) async -> SocketAddress? {
    let loop = EpollLoop.shared
    return await withCheckedContinuation { continuation in
      loop.execute {
        NameLookup.addresses(of: host, port: port, on: loop) {
          continuation.resume(returning: $0?.first)
        }
      }
    }
  }

  func write(_ bytes: [UInt8]) async { await loop.run { [channel] in channel.value.write(bytes) } }

  func close() async { await loop.run { [channel] in channel.value.close() } }

  /// Whether the connection is open.
  var isOpen: Bool {
    get async { await loop.run { [channel] in channel.value.isOpen } }
  }

  /// Returns when the other end has closed the connection.
  func waitUntilClosed() async { for await _ in received {} }

  /// Reads until `count` bytes came.
  func read(_ count: Int) async -> [UInt8] {
    var found: [UInt8] = []
    for await bytes in received {
      found += bytes
      if found.count >= count { break }
    }
    return found
  }
}
