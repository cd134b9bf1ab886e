import Essentials
import HostEssentials
import NIOCore
import NIOPosix

/// Follows the interfaces and addresses of this host through rtnetlink(7). On one event loop.
final class InterfaceMonitor {
  private let eventLoop: any EventLoop
  private let onChange: ([SystemInterface]) -> Void
  private var channel: (any Channel)?
  private var table = InterfaceTable()
  /// What was told last; nil before the first time.
  private var told: [SystemInterface]?
  private var isStopped = false

  /// What the kernel was asked for and has not answered to the end.
  private var pending: RouteMessage.Request?
  private var sequence: UInt32 = 0

  // RTMGRP_LINK, RTMGRP_IPV4_IFADDR, RTMGRP_IPV6_IFADDR
  private static let groups: UInt32 = 0x1 | 0x10 | 0x100
  /// How long to wait before another socket is tried.
  private static let reopenDelay = TimeAmount.seconds(1)

  /// - Parameters:
  ///   - eventLoop: Where everything happens.
  ///   - onChange: Told all interfaces once they are known and whenever something about them changed.
  init(on eventLoop: any EventLoop, onChange: @escaping ([SystemInterface]) -> Void) {
    self.eventLoop = eventLoop
    self.onChange = onChange
  }

  /// Starts to follow them.
  func start() { open() }

  /// Tells nothing any more.
  func stop() {
    isStopped = true
    channel?.close(promise: nil)
    channel = nil
  }

  // MARK: The socket

  private func open() {
    guard !isStopped else { return }
    let bound = NIOLoopBound(self, eventLoop: eventLoop)
    let descriptor: Int32
    do { descriptor = try NetlinkSocket.open(.route, groups: Self.groups) } catch {
      return reopenLater()
    }
    NIOPipeBootstrap(group: eventLoop)
      .channelOption(
        .recvAllocator,
        value: FixedSizeRecvByteBufferAllocator(capacity: NetlinkSocket.readByteCount)
      )
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(Handler(bound.value))
        }
      }
      .owning(descriptor, on: eventLoop)
      .assumeIsolated()
      .whenComplete { result in bound.value.opened(result) }
  }

  private func opened(_ result: Result<any Channel, any Error>) {
    guard case .success(let channel) = result else { return reopenLater() }
    guard !isStopped else { return channel.close(promise: nil) }
    self.channel = channel
    askForEverything()
  }

  /// The kernel had more to say than the socket could hold, or had nothing to give just now.
  private func reopenLater() {
    channel = nil
    guard !isStopped else { return }
    let bound = NIOLoopBound(self, eventLoop: eventLoop)
    eventLoop.scheduleTask(in: Self.reopenDelay) { bound.value.open() }
  }

  // MARK: Questions and answers

  private func askForEverything() {
    table = InterfaceTable()
    ask(.links)
  }

  private func ask(_ request: RouteMessage.Request) {
    sequence &+= 1
    pending = request
    channel?.writeAndFlush(
      ByteBuffer(bytes: RouteMessage.encode(request, sequence: sequence)), promise: nil)
  }

  fileprivate func received(_ bytes: [UInt8]) {
    let messages: [RouteMessage]
    do throws(Truncated) { messages = try RouteMessage.decode(bytes[...]) } catch {
      // Cut short: what else it said is lost.
      return askForEverything()
    }
    for message in messages {
      table.apply(message)
      switch message {
      case .done(sequence, let isConsistent):
        guard isConsistent else { return askForEverything() }
        pending = pending == .links ? .addresses : nil
        if let pending { ask(pending) }
      case .failed(_, sequence):
        channel?.close(promise: nil)
        return
      default: break
      }
    }
    guard pending == nil, told != table.interfaces else { return }
    told = table.interfaces
    onChange(table.interfaces)
  }

  private final class Handler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let monitor: InterfaceMonitor

    init(_ monitor: InterfaceMonitor) { self.monitor = monitor }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      monitor.received(Array(buffer: unwrapInboundIn(data)))
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
      context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) { monitor.reopenLater() }
  }
}
