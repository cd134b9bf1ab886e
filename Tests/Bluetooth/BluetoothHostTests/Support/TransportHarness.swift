import BluetoothMachines
import BluetoothWire
import NIOCore
import NIOPosix

@testable import BluetoothHost

/// What a transport told its receiver.
enum TransportEvent: Sendable, Equatable {
  case opened
  case packets([HCIPacket])
  case closed(HostError)
}

/// A transport on an event loop with a receiver that writes down what it hears.
final class TransportHarness: Sendable {
  let eventLoop: any EventLoop = MultiThreadedEventLoopGroup.singleton.next()
  private let bound: NIOLoopBoxBound
  private let stream: AsyncStream<TransportEvent>

  init(_ radio: RadioChoice) async throws {
    let maker = radio.transportMaker(on: EventLoopClock(eventLoop: eventLoop))
    (bound, stream) = try await Self.open(on: eventLoop, maker)
  }

  init(_ way: ChannelTransport.Way) async throws {
    let eventLoop = eventLoop
    (bound, stream) = try await Self.open(on: eventLoop) {
      ChannelTransport(eventLoop: eventLoop, way: way)
    }
  }

  typealias NIOLoopBoxBound = NIOLoopBound<(any HCITransport, Receiver)>

  private static func open(
    on eventLoop: any EventLoop, _ make: @escaping @Sendable () -> any HCITransport
  ) async throws -> (NIOLoopBoxBound, AsyncStream<TransportEvent>) {
    let (stream, continuation) = AsyncStream.makeStream(of: TransportEvent.self)
    let bound = try await eventLoop.submit {
      let transport = make()
      let receiver = Receiver(continuation)
      transport.open(receiver)
      return NIOLoopBound((transport, receiver), eventLoop: eventLoop)
    }.get()
    return (bound, stream)
  }

  /// Sends packets in one batch.
  func send(_ packets: [HCIPacket]) {
    eventLoop.execute { [bound] in
      for packet in packets { bound.value.0.send(packet) }
      bound.value.0.flush()
    }
  }

  func close() {
    eventLoop.execute { [bound] in bound.value.0.close() }
  }

  /// The next thing heard.
  func next() async -> TransportEvent? {
    var iterator = stream.makeAsyncIterator()
    return await iterator.next()
  }

  /// Gathers so many packets.
  func packets(_ count: Int) async -> [HCIPacket] {
    var found: [HCIPacket] = []
    while found.count < count, case .packets(let more)? = await next() { found += more }
    return found
  }

  final class Receiver: TransportReceiver {
    private let continuation: AsyncStream<TransportEvent>.Continuation

    init(_ continuation: AsyncStream<TransportEvent>.Continuation) {
      self.continuation = continuation
    }

    func transportOpened(_ source: any HCITransport) { continuation.yield(.opened) }

    func transport(_ source: any HCITransport, received packets: [HCIPacket]) {
      continuation.yield(.packets(packets))
    }

    func transport(_ source: any HCITransport, closed error: HostError) {
      continuation.yield(.closed(error))
      continuation.finish()
    }
  }
}

/// A server that a test plays the controller on, byte by byte.
final class FakeController: Sendable {
  /// One accepted connection.
  struct Connection: Sendable {
    let channel: any Channel
    let received: AsyncStream<[UInt8]>

    func write(_ bytes: [UInt8]) async throws {
      try await channel.writeAndFlush(ByteBuffer(bytes: bytes))
    }

    func close() async throws { try await channel.close() }

    /// Reads until so many bytes came.
    func read(_ count: Int) async -> [UInt8] {
      var found: [UInt8] = []
      for await bytes in received {
        found += bytes
        if found.count >= count { break }
      }
      return found
    }
  }

  let port: UInt16
  private let listener: any Channel
  private let connections: AsyncStream<Connection>

  init(port: UInt16 = 0) async throws {
    let (stream, continuation) = AsyncStream.makeStream(of: Connection.self)
    connections = stream
    listener = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
      .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          let (received, bytes) = AsyncStream.makeStream(of: [UInt8].self)
          let tap = Tap(bytes) {
            continuation.yield(Connection(channel: channel, received: received))
          }
          try channel.pipeline.syncOperations.addHandler(tap)
        }
      }
      .bind(host: "127.0.0.1", port: Int(port)).get()
    self.port = UInt16(listener.localAddress?.port ?? 0)
  }

  var radio: RadioChoice { .tcp(host: "127.0.0.1", port: port) }

  func accept() async -> Connection? {
    var iterator = connections.makeAsyncIterator()
    return await iterator.next()
  }

  func stop() async throws { try await listener.close() }

  private final class Tap: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    private let bytes: AsyncStream<[UInt8]>.Continuation

    private let onActive: () -> Void

    init(_ bytes: AsyncStream<[UInt8]>.Continuation, onActive: @escaping () -> Void) {
      self.bytes = bytes
      self.onActive = onActive
    }

    func channelActive(context: ChannelHandlerContext) { onActive() }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      bytes.yield(Array(unwrapInboundIn(data).readableBytesView))
    }

    func channelInactive(context: ChannelHandlerContext) { bytes.finish() }
  }
}
