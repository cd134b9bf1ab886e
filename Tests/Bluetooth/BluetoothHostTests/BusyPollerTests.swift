import Essentials
import Glibc
import EventLoop
import NIOCore
import NIOPosix
import Testing

@testable import BluetoothHost

@Suite("Looking for packets before going to sleep")
struct PollingPatienceTests {
  @Test("while packets are found, every look is worth it")
  func found() {
    var patience = PollingPatience()
    for _ in 0..<1_000 {
      let mayPoll = patience.mayPoll()
      #expect(mayPoll)
      patience.polled(foundPackets: true)
    }
  }

  @Test("every look in vain doubles what is let pass, up to 1,024 times")
  func inVain() {
    var patience = PollingPatience()
    var pauses: [Int] = []
    for _ in 0..<13 {
      let mayPoll = patience.mayPoll()
      #expect(mayPoll)
      patience.polled(foundPackets: false)
      pauses.append(pauseCount(of: patience))
      for _ in 0..<(pauses.last ?? 0) { _ = patience.mayPoll() }
    }
    #expect(pauses == [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1_024, 1_024, 1_024])
  }

  @Test("one success, and it looks every time again")
  func successAfterAll() {
    var patience = PollingPatience()
    for _ in 0..<5 {
      patience.polled(foundPackets: false)
      while !patience.mayPoll() {}
    }
    patience.polled(foundPackets: true)
    let mayPoll = patience.mayPoll()
    #expect(mayPoll)
    patience.polled(foundPackets: false)
    #expect(pauseCount(of: patience) == 1)
  }

  @Test("a look that was broken off says nothing")
  func brokenOff() {
    var patience = PollingPatience()
    patience.polled(foundPackets: nil)
    let mayPoll = patience.mayPoll()
    #expect(mayPoll)
  }

  private func pauseCount(of patience: PollingPatience) -> Int {
    var patience = patience
    var count = 0
    while !patience.mayPoll() { count += 1 }
    return count
  }
}

@Suite("An event loop that looks before it sleeps", .timeLimit(.minutes(1)))
struct BusyPollerTests {
  /// Longer than the test may take: whoever waits for the end of a look fails.
  private static let endless = TimeSpan.seconds(600)

  @Test("what comes while it looks is read at once")
  func packets() async throws {
    let wire = try await Wire(window: Self.endless)
    for byte in UInt8(1)...100 {
      wire.send(byte)
      #expect(await wire.next() == byte)
    }
    await wire.close()
  }

  @Test("work that is handed over while it looks is done at once")
  func work() async throws {
    let wire = try await Wire(window: Self.endless)
    for byte in UInt8(1)...100 {
      wire.send(byte)
      #expect(await wire.next() == byte)
      await withCheckedContinuation { continuation in
        wire.poller.execute { continuation.resume() }
      }
    }
    await wire.close()
  }

  @Test("a channel that the other end closed is told at once")
  func otherEndCloses() async throws {
    let wire = try await Wire(window: Self.endless)
    wire.send(1)
    #expect(await wire.next() == 1)
    wire.closeOtherEnd()
    #expect(await wire.next() == nil)
    await wire.endLoop()
  }

  @Test("a channel whose descriptor has the number of one just closed is looked for, too")
  func reusedDescriptor() async throws {
    let wire = try await Wire(window: Self.endless)
    let otherEnd = try await wire.addChannelInPlaceOfAnother()
    defer { close(otherEnd) }
    // From here on it looks, and would not see what comes to a channel that it does not watch.
    wire.send(1)
    #expect(await wire.next() == 1)
    var byte: UInt8 = 2
    #expect(unsafe write(otherEnd, &byte, 1) == 1)
    #expect(await wire.next() == 2)
    await wire.close()
  }

  @Test("a look in vain ends")
  func inVain() async throws {
    let wire = try await Wire(window: .microseconds(50))
    wire.send(1)
    #expect(await wire.next() == 1)
    // Not through the poller, which would break the look off.
    try await wire.poller.eventLoop.submit {}.get()
    await wire.close()
  }
}

/// A channel with a poller that looks after every byte, and the other end of its socket.
private final class Wire: Sendable {
  let poller: BusyPoller
  private let group: MultiThreadedEventLoopGroup
  private let channel: any Channel
  private let otherEnd: Int32
  private let bytes: AsyncStream<UInt8>

  private let continuation: AsyncStream<UInt8>.Continuation

  init(window: TimeSpan) async throws {
    let ends = try Self.socketPair()
    otherEnd = ends[1]
    // A loop of its own: a look keeps it from everything else.
    group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    let poller = BusyPoller(eventLoop: group.next(), window: window)
    self.poller = poller
    let (bytes, continuation) = AsyncStream.makeStream(of: UInt8.self)
    self.bytes = bytes
    self.continuation = continuation
    channel = try await ClientBootstrap(group: group)
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(Reader(poller, continuation))
        }
      }
      .withConnectedSocket(ends[0]).get()
  }

  private static func socketPair() throws -> [Int32] {
    var ends: [Int32] = [0, 0]
    let result = unsafe socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends)
    guard result == 0 else { throw SystemError.current }
    return ends
  }

  /// Closes a channel that is watched and opens one of the same number at once; gives the other end
  /// of that.
  func addChannelInPlaceOfAnother() async throws -> Int32 {
    let (first, second) = (try Self.socketPair(), try Self.socketPair())
    defer { for end in [first[1], second[0]] { _ = Glibc.close(end) } }
    let eventLoop = poller.eventLoop
    let opened = eventLoop.flatSubmit { [self] in
      open(first[0]).flatMap { [self] channel in
        channel.close(promise: nil)
        return open(fcntl(second[0], F_DUPFD, first[0]))
      }
    }
    // What is to be done when a channel is closed was done by the loop's next turn.
    _ = try await opened.get()
    try await eventLoop.submit {}.get()
    return second[1]
  }

  private func open(_ descriptor: Int32) -> EventLoopFuture<any Channel> {
    ClientBootstrap(group: poller.eventLoop)
      .channelInitializer { [poller, continuation] channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(
            Reader(poller, continuation, isLast: false))
        }
      }
      .withConnectedSocket(descriptor)
  }

  func send(_ byte: UInt8) {
    var byte = byte
    let count = unsafe write(otherEnd, &byte, 1)
    #expect(count == 1)
  }

  func next() async -> UInt8? { await bytes.first { _ in true } }

  func closeOtherEnd() { _ = Glibc.close(otherEnd) }

  func close() async {
    let closed = channel.eventLoop.makePromise(of: Void.self)
    poller.execute { [channel] in channel.close(promise: closed) }
    try? await closed.futureResult.get()
    closeOtherEnd()
    await endLoop()
  }

  /// Not before the last result was heard: a loop that has ended tells nothing more.
  func endLoop() async { try? await group.shutdownGracefully() }

  private final class Reader: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let poller: BusyPoller
    private let bytes: AsyncStream<UInt8>.Continuation
    private let isLast: Bool

    init(
      _ poller: BusyPoller, _ bytes: AsyncStream<UInt8>.Continuation, isLast: Bool = true
    ) {
      self.poller = poller
      self.bytes = bytes
      self.isLast = isLast
    }

    func channelActive(context: ChannelHandlerContext) { poller.watch(context.channel) }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      for byte in unwrapInboundIn(data).readableBytesView { bytes.yield(byte) }
    }

    func channelReadComplete(context: ChannelHandlerContext) { poller.packetsCame() }

    func channelInactive(context: ChannelHandlerContext) { if isLast { bytes.finish() } }
  }
}
