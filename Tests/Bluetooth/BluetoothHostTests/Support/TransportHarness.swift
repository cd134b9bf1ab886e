import BluetoothInterface
import BluetoothMachines
import BluetoothWire
import EventLoop
import Synchronization
import Testing

@testable import BluetoothHost

/// What a transport reported to its receiver.
enum TransportEvent: Sendable, Equatable {
  case opened
  case packets([HCIPacket])
  case closed(HostError)
}

/// A transport on an event loop with a receiver that records its calls.
final class TransportHarness: Sendable {
  let loop: EpollLoop
  private let confined: LoopConfined<(any HCITransport, Receiver)>
  private let stream: AsyncStream<TransportEvent>

  convenience init(_ radio: RadioChoice, on loop: EpollLoop = .shared) async {
    await self.init(on: loop, radio.transportFactory(on: loop))
  }

  convenience init(_ connector: H4Transport.Connector) async {
    let loop = EpollLoop.shared
    await self.init(on: loop) { H4Transport(on: loop, connector) }
  }

  private init(
    on loop: EpollLoop, _ make: @escaping @Sendable () -> any HCITransport
  ) async {
    self.loop = loop
    let (stream, continuation) = AsyncStream.makeStream(of: TransportEvent.self)
    self.stream = stream
    confined = await loop.run {
      let transport = make()
      let receiver = Receiver(continuation)
      transport.open(receiver)
      return LoopConfined((transport, receiver), to: loop)
    }
  }

  /// Sends packets in one batch.
  func send(_ packets: [HCIPacket]) {
    loop.execute { [confined] in
      for packet in packets { confined.value.0.send(packet) }
      confined.value.0.flush()
    }
  }

  func close() {
    loop.execute { [confined] in confined.value.0.close() }
  }

  /// The next event.
  func next() async -> TransportEvent? {
    var iterator = stream.makeAsyncIterator()
    return await iterator.next()
  }

  /// Waits for `count` packets.
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
  let port: UInt16
  private let loop = EpollLoop.shared
  private let listener: LoopConfined<StreamListener>
  private let connections: AsyncStream<StreamPeer>

  init(port: UInt16 = 0) async throws {
    let (stream, continuation) = AsyncStream.makeStream(of: StreamPeer.self)
    connections = stream
    let loop = loop
    let address = try #require(await StreamPeer.address("127.0.0.1", port))
    (listener, self.port) = try await loop.run {
      Result { () throws(SystemError) in
        let listener = try StreamListener(at: address, on: loop) { descriptor in
          if let peer = try? StreamPeer(descriptor, on: loop) { continuation.yield(peer) }
        }
        return (LoopConfined(listener, to: loop), listener.address.port ?? 0)
      }
    }.get()
  }

  var radio: RadioChoice { .tcp(host: "127.0.0.1", port: port) }

  func accept() async -> StreamPeer? {
    var iterator = connections.makeAsyncIterator()
    return await iterator.next()
  }

  func stop() async { await loop.run { [listener] in listener.value.close() } }
}
