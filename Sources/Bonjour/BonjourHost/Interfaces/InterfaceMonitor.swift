import Essentials
import Glibc
import HostEssentials
import NIOCore
import NIOPosix

/// Follows the interfaces and addresses of this host through rtnetlink(7). On one event loop.
final class InterfaceMonitor {
  private let eventLoop: any EventLoop
  private let openSocket: () throws(SystemError) -> Int32
  private let onTrouble: (SystemError) -> Void
  private let onChange: ([SystemInterface]) -> Void
  private var pauses: RetryPauses
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

  /// - Parameters:
  ///   - eventLoop: Where everything happens.
  ///   - pauses: How long to wait before another socket is tried.
  ///   - openSocket: Gives the descriptor of a socket.
  ///   - onTrouble: Told once when there is none to be had; it is tried again.
  ///   - onChange: Told all interfaces once they are known and whenever something about them changed.
  init(
    on eventLoop: any EventLoop, pauses: RetryPauses = RetryPauses(),
    openSocket: @escaping () throws(SystemError) -> Int32 = InterfaceMonitor.openSystemSocket,
    onTrouble: @escaping (SystemError) -> Void = { _ in },
    onChange: @escaping ([SystemInterface]) -> Void
  ) {
    self.eventLoop = eventLoop
    self.pauses = pauses
    self.openSocket = openSocket
    self.onTrouble = onTrouble
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
    do throws(SystemError) { descriptor = try openSocket() } catch { return reopenLater(error) }
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
    switch result {
    case .success(let channel) where isStopped: channel.close(promise: nil)
    case .success(let channel):
      self.channel = channel
      askForEverything()
    case .failure(let error):
      reopenLater(SystemError(number: (error as? IOError)?.errnoCode ?? ENOMEM))
    }
  }

  /// The kernel had more to say than the socket could hold, or nothing to give just now, and why.
  private func reopenLater(_ error: SystemError? = nil) {
    channel = nil
    guard !isStopped else { return }
    var pause = pauses.shortest
    if let error {
      let failure = pauses.failed()
      pause = failure.pause
      if failure.isFirst { onTrouble(error) }
    }
    let bound = NIOLoopBound(self, eventLoop: eventLoop)
    eventLoop.scheduleTask(in: .nanoseconds(pause.nanoseconds)) { bound.value.open() }
  }

  /// A socket that hears of interfaces and addresses.
  static func openSystemSocket() throws(SystemError) -> Int32 {
    try NetlinkSocket.open(.route, groups: groups)
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
    if pending == nil { pauses.succeeded() }
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
