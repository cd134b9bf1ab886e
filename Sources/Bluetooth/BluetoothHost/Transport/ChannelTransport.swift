import BluetoothMachines
import BluetoothWire
import EventLoop
import NIOCore

/// H4 over a NIO channel: a socket, a serial line, a file descriptor.
final class ChannelTransport: HCITransport {
  /// How packets lie on the way.
  enum Framing {
    /// One after the other in a stream of bytes, as many in one write as there are.
    case stream
    /// One in each write: where the kernel takes every write for a packet.
    case datagrams
  }

  /// How to get a channel, and what to say when that fails.
  struct Way: Sendable {
    /// The radio, as people name it.
    var name: String
    var framing = Framing.stream
    /// Opens the channel; runs the initializer on it first.
    var connect:
      @Sendable (
        any EventLoop, @escaping @Sendable (any Channel) -> EventLoopFuture<Void>
      ) -> EventLoopFuture<any Channel>
    /// Puts a failure to open or a break into words.
    var explain: @Sendable (any Error) -> HostError
    /// What it means when the other end closes.
    var endOfStream: HostError
  }

  private let eventLoop: any EventLoop
  private let way: Way
  private let poller: BusyPoller?
  private var receiver: (any TransportReceiver)?
  private var channel: (any Channel)?
  private var decoder = H4Decoder()
  /// Reused for every read.
  private var packets: [HCIPacket] = []
  private var outgoing = ByteBuffer()
  private var datagrams = CircularBuffer<ByteBuffer>()
  private var isWriting = false

  /// - Parameter poller: Keeps the loop awake while packets follow one another closely.
  init(eventLoop: any EventLoop, way: Way, poller: BusyPoller? = nil) {
    self.eventLoop = eventLoop
    self.way = way
    self.poller = poller
  }

  // MARK: HCITransport

  func open(_ receiver: any TransportReceiver) {
    self.receiver = receiver
    let bound = NIOLoopBound(self, eventLoop: eventLoop)
    way.connect(eventLoop) { channel in
      channel.eventLoop.makeCompletedFuture {
        channel.closeOnExec()
        try channel.pipeline.syncOperations.addHandler(Handler(bound.value))
      }
    }.assumeIsolated().whenComplete { result in
      bound.value.connected(result)
    }
  }

  func send(_ packet: HCIPacket) {
    guard channel != nil else { return }
    switch way.framing {
    case .stream:
      outgoing.writeInteger(packet.kind.rawValue)
      outgoing.writeBytes(packet.bytes)
    case .datagrams:
      var buffer = ByteBuffer()
      buffer.reserveCapacity(packet.bytes.count + 1)
      buffer.writeInteger(packet.kind.rawValue)
      buffer.writeBytes(packet.bytes)
      datagrams.append(buffer)
    }
  }

  func flush() {
    switch way.framing {
    case .stream:
      guard let channel, outgoing.readableBytes > 0 else { return }
      channel.writeAndFlush(outgoing, promise: nil)
      outgoing.clear()
    case .datagrams:
      writeNextDatagram()
    }
  }

  func close() {
    receiver = nil
    channel?.close(promise: nil)
    channel = nil
  }

  // MARK: The channel

  private func connected(_ result: Result<any Channel, any Error>) {
    switch result {
    case .success(let opened):
      guard let receiver, opened.isActive else {
        opened.close(promise: nil)
        end(way.endOfStream)
        return
      }
      channel = opened
      poller?.watch(opened)
      receiver.transportOpened(self)
    case .failure(let error):
      end(way.explain(error))
    }
  }

  /// NIO would gather waiting buffers into one write; so only one waits at a time.
  private func writeNextDatagram() {
    guard !isWriting, let channel, let datagram = datagrams.popFirst() else { return }
    isWriting = true
    let bound = NIOLoopBound(self, eventLoop: eventLoop)
    channel.writeAndFlush(datagram).assumeIsolated().whenComplete { _ in
      bound.value.isWriting = false
      bound.value.writeNextDatagram()
    }
  }

  private func received(_ chunk: [UInt8]) {
    var failure: WireError?
    decoder.append(chunk)
    do throws(WireError) {
      while let packet = try decoder.next() { packets.append(packet) }
    } catch {
      failure = error
    }
    if !packets.isEmpty { receiver?.transport(self, received: packets) }
    packets.removeAll(keepingCapacity: true)
    if failure != nil {
      end(.transport("The radio \(way.name) sent bytes that are no HCI packet."))
    }
  }

  private func end(_ error: HostError) {
    let receiver = receiver
    close()
    receiver?.transport(self, closed: error)
  }

  private final class Handler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let transport: ChannelTransport

    init(_ transport: ChannelTransport) { self.transport = transport }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      var buffer = unwrapInboundIn(data)
      // The one copy and the one allocation of a read, however many packets it holds.
      if let chunk = buffer.readBytes(length: buffer.readableBytes) { transport.received(chunk) }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
      transport.poller?.packetsCame()
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
      if let event = event as? ChannelEvent, event == .inputClosed {
        transport.end(transport.way.endOfStream)
      } else {
        context.fireUserInboundEventTriggered(event)
      }
    }

    func channelInactive(context: ChannelHandlerContext) {
      transport.end(transport.way.endOfStream)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
      transport.end(transport.way.explain(error))
      context.close(promise: nil)
    }
  }
}

extension ChannelOptions {
  /// Reads large enough for bursts; the buffer is free again when the read was dealt with.
  static var largeReads: FixedSizeRecvByteBufferAllocator {
    FixedSizeRecvByteBufferAllocator(capacity: Limits.readByteCount)
  }
}
