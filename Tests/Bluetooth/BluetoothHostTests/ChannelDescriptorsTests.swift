import Glibc
import EventLoop
import NIOCore
import NIOPosix
import Testing

@testable import BluetoothHost

@Suite("Descriptors of channels", .timeLimit(.minutes(1)))
struct ChannelDescriptorsTests {
  private static func isClosedOnExec(_ descriptor: Int32) -> Bool {
    fcntl(descriptor, F_GETFD) & FD_CLOEXEC != 0
  }

  /// Two sockets that are connected, and closed when a program is started.
  private static func socketPair() throws -> [Int32] {
    var ends: [Int32] = [0, 0]
    let type = Int32(SOCK_STREAM.rawValue | SOCK_CLOEXEC.rawValue)
    guard unsafe socketpair(AF_UNIX, type, 0, &ends) == 0 else { throw SystemError.current }
    return ends
  }

  @Test("what accepts, and what is accepted, is not handed to programs that are started")
  func sockets() async throws {
    let group = MultiThreadedEventLoopGroup.singleton
    let (accepted, continuation) = AsyncStream.makeStream(of: Bool.self)
    @Sendable func isClosed(_ channel: any Channel) throws -> Bool {
      try channel.pipeline.syncOperations.withUnsafeTransportIfAvailable(
        of: NIOBSDSocket.Handle.self
      ) { Self.isClosedOnExec($0) } ?? false
    }
    let server = try await ServerBootstrap(group: group)
      .serverChannelInitializer { $0.prepareToAccept() }
      .childChannelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          channel.closeOnExec()
          continuation.yield(try isClosed(channel))
        }
      }
      .bind(host: "127.0.0.1", port: 0).get()
    #expect(try await server.eventLoop.submit { try isClosed(server) }.get())
    let address = try #require(server.localAddress)
    let client = try await ClientBootstrap(group: group).connect(to: address).get()
    #expect(await accepted.first { _ in true } == true)
    try await client.close()
    try await server.close()
  }

  @Test("a channel of one descriptor reads and writes, and neither of its two is handed on")
  func oneDescriptor() async throws {
    let ends = try Self.socketPair()
    let eventLoop: any EventLoop = MultiThreadedEventLoopGroup.singleton.next()
    let (read, continuation) = AsyncStream.makeStream(of: String.self)
    let channel = try await NIOPipeBootstrap(group: eventLoop)
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(Reader(continuation))
        }
      }
      .owning(ends[0], on: eventLoop).get()
    let areClosed = try await eventLoop.submit {
      try channel.pipeline.syncOperations.withUnsafeTransportIfAvailable(
        of: NIOBSDSocket.PipeHandle.self
      ) { [Self.isClosedOnExec($0.input), Self.isClosedOnExec($0.output)] }
    }.get()
    #expect(areClosed == [true, true])
    #expect(unsafe write(ends[1], "in", 2) == 2)
    #expect(await read.first { _ in true } == "in")
    try await channel.writeAndFlush(ByteBuffer(string: "out")).get()
    var bytes = [UInt8](repeating: 0, count: 8)
    #expect(unsafe Glibc.read(ends[1], &bytes, 8) == 3)
    try await channel.close()
    #expect(unsafe Glibc.read(ends[1], &bytes, 8) == 0, "both are closed")
    close(ends[1])
  }

  @Test("where there can be no second descriptor the channel fails with the system's error")
  func noneFree() async throws {
    let eventLoop: any EventLoop = MultiThreadedEventLoopGroup.singleton.next()
    let error = await #expect(throws: IOError.self) {
      // Stands for one of which there can be no second.
      _ = try await NIOPipeBootstrap(group: eventLoop).owning(-1, on: eventLoop).get()
    }
    #expect(error?.errnoCode == EBADF)
  }

  private final class Reader: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    private let texts: AsyncStream<String>.Continuation
    init(_ texts: AsyncStream<String>.Continuation) { self.texts = texts }
    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      texts.yield(String(buffer: unwrapInboundIn(data)))
    }
  }
}
