import Essentials
import NIOCore
import NIOPosix
import SharingMachines

/// One end of a connection between an owner and a client: messages in, messages out. On one event
/// loop.
final class MessageConnection<Incoming: SharingMessage> {
  /// What happens on it.
  enum Event {
    /// It is open: messages can be sent.
    case opened
    /// A message arrived.
    case message(Incoming)
    /// So many bytes wait for the rest of theirs; told when that changes.
    case began(byteCount: Int)
    /// What arrived is none; nothing more is read.
    case misunderstood(SharingError)
    /// It has ended. Nothing follows.
    case closed
  }

  private let channel: any Channel
  private var outgoing = ByteBuffer()
  private(set) var isClosing = false
  /// How many bytes the other end has not taken yet.
  private(set) var backlogByteCount = 0
  /// Told when that changes, by how much.
  var onBacklogChange: ((Int) -> Void)?

  fileprivate init(_ channel: any Channel) { self.channel = channel }

  /// Sends a message with the next ``flush()``; false if it is longer than any may be.
  func send(_ message: some SharingMessage) -> Bool {
    guard !isClosing else { return true }
    guard let frame = message.frame else { return false }
    outgoing.writeBytes(frame)
    return true
  }

  /// Sends what was given to `send`, all at once.
  func flush() {
    guard outgoing.readableBytes > 0 else { return }
    let byteCount = outgoing.readableBytes
    changeBacklog(by: byteCount)
    channel.writeAndFlush(outgoing).assumeIsolated().whenComplete { [weak self] _ in
      self?.changeBacklog(by: -byteCount)
    }
    outgoing = ByteBuffer()
  }

  private func changeBacklog(by byteCount: Int) {
    backlogByteCount += byteCount
    onBacklogChange?(byteCount)
  }

  /// Closes it once everything was sent that the system takes at once.
  func close() {
    flush()
    isClosing = true
    channel.close(promise: nil)
  }

  // MARK: Making one

  /// What makes a channel such a connection, which is handed out with its events.
  static func handler(
    _ onEvent: @escaping (MessageConnection, Event) -> Void
  ) -> any ChannelHandler { Handler(onEvent) }

  private final class Handler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let onEvent: (MessageConnection, Event) -> Void
    private var connection: MessageConnection?
    private var frames = FrameReader()
    private var toldByteCount = 0

    init(_ onEvent: @escaping (MessageConnection, Event) -> Void) { self.onEvent = onEvent }

    func handlerAdded(context: ChannelHandlerContext) {
      connection = MessageConnection(context.channel)
    }

    func channelActive(context: ChannelHandlerContext) {
      if let connection { onEvent(connection, .opened) }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      guard let connection, !connection.isClosing else { return }
      frames.append(unwrapInboundIn(data).readableBytesView)
      do throws(SharingError) {
        while let message = try frames.next(Incoming.self) {
          onEvent(connection, .message(message))
          if connection.isClosing { return }
        }
        guard frames.byteCount != toldByteCount else { return }
        toldByteCount = frames.byteCount
        onEvent(connection, .began(byteCount: toldByteCount))
      } catch {
        onEvent(connection, .misunderstood(error))
      }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
      context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
      if let connection { onEvent(connection, .closed) }
      connection = nil
    }
  }
}
