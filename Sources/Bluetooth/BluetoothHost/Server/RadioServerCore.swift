import BluetoothWire
import EventLoop
import NIOCore
import Simulation

/// The part of a radio server that lives on its event loop.
final class RadioServerCore {
  struct Listener: Sendable {
    var channel: any Channel
    var address: RadioChoice
  }

  struct Connection {
    var channel: any Channel
    var port: ControllerPort
  }

  private let realTime: RealTimeAir
  let maxConnections: Int
  let onEvent: @Sendable (RadioServer.Event) -> Void
  var listeners: [Listener] = []
  private(set) var connections: [ObjectIdentifier: Connection] = [:]
  private var controllerCount: UInt64 = 0
  /// Controllers without a host, the first made last: who reconnects alone gets the same again.
  private var freePorts: [ControllerPort] = []

  init(
    air: RealTimeAir, maxConnections: Int, onEvent: @escaping @Sendable (RadioServer.Event) -> Void
  ) {
    realTime = air
    self.maxConnections = maxConnections
    self.onEvent = onEvent
  }

  var air: Air { realTime.air }
  var poller: BusyPoller { realTime.poller }

  /// Gives a new connection a controller; nil where there are too many.
  func admit(_ channel: any Channel) -> ControllerPort? {
    guard connections.count < maxConnections else {
      onEvent(.refused(reason: "\(maxConnections) hosts are connected already"))
      return nil
    }
    let port = freePorts.popLast() ?? makePort()
    guard port.connect() else {
      onEvent(.refused(reason: "the controller \(port.name) has no power"))
      freePorts.insert(port, at: 0)
      return nil
    }
    connections[ObjectIdentifier(channel)] = Connection(channel: channel, port: port)
    onEvent(.connected(controller: port.name, port.controller.address))
    return port
  }

  private func makePort() -> ControllerPort {
    controllerCount += 1
    let address = DeviceAddress(bits: 0xA0B2_0000_0000 + controllerCount, kind: .public)
    return air.makePort(name: "remote-\(controllerCount)", address: address, at: Position())
  }

  /// A connection ended.
  func dismiss(_ channel: any Channel, _ port: ControllerPort, reason: String) {
    connections[ObjectIdentifier(channel)] = nil
    port.disconnect()
    freePorts.append(port)
    freePorts.sort { $0.controller.address.bits > $1.controller.address.bits }
    onEvent(.disconnected(controller: port.name, reason: reason))
  }

  func close() -> EventLoopFuture<Void> {
    realTime.stop()
    let eventLoop = realTime.eventLoop
    var channels = connections.values.map(\.channel)
    for listener in listeners {
      channels.append(listener.channel)
      if case .unix(let path) = listener.address { UNIXSocketFile.remove(path) }
    }
    listeners = []
    let closed = channels.map { $0.close().flatMapErrorThrowing { _ in } }
    return EventLoopFuture.andAllComplete(closed, on: eventLoop)
  }
}

/// One host's connection to a radio server.
final class RadioServerConnection: ChannelInboundHandler {
  typealias InboundIn = ByteBuffer
  typealias OutboundOut = ByteBuffer

  private let core: RadioServerCore
  private var port: ControllerPort?
  private var decoder = H4Decoder()
  private var outgoing = ByteBuffer()
  private var endReason = "the host closed the connection"

  init(core: RadioServerCore) { self.core = core }

  func channelActive(context: ChannelHandlerContext) {
    guard let port = core.admit(context.channel) else {
      context.close(promise: nil)
      return
    }
    self.port = port
    core.poller.watch(context.channel)
    let bound = NIOLoopBound((self, context), eventLoop: context.eventLoop)
    port.onPackets = { packets in
      let (connection, context) = bound.value
      connection.write(packets, context)
    }
    port.onPowerLoss = {
      let (connection, context) = bound.value
      connection.end(context, "the controller lost its power")
    }
  }

  func channelRead(context: ChannelHandlerContext, data: NIOAny) {
    guard let port else { return }
    var buffer = unwrapInboundIn(data)
    guard let chunk = buffer.readBytes(length: buffer.readableBytes) else { return }
    decoder.append(chunk)
    do throws(WireError) {
      while let packet = try decoder.next() { port.send(packet) }
      port.flush()
    } catch {
      end(context, "the host sent bytes that are no HCI packet")
    }
  }

  func channelReadComplete(context: ChannelHandlerContext) { core.poller.packetsCame() }

  func channelWritabilityChanged(context: ChannelHandlerContext) {
    // Who does not read what was answered is not asked for more.
    let isWritable = context.channel.isWritable
    try? context.channel.syncOptions?.setOption(.autoRead, value: isWritable)
  }

  func errorCaught(context: ChannelHandlerContext, error: any Error) {
    end(context, "the connection failed")
  }

  func channelInactive(context: ChannelHandlerContext) {
    guard let port else { return }
    self.port = nil
    core.dismiss(context.channel, port, reason: endReason)
  }

  private func end(_ context: ChannelHandlerContext, _ reason: String) {
    endReason = reason
    context.close(promise: nil)
  }

  private func write(_ packets: [HCIPacket], _ context: ChannelHandlerContext) {
    guard port != nil else { return }
    let isSlow = !context.channel.isWritable
    if isSlow, pendingByteCount(context) > Limits.pendingByteCount {
      end(context, "the host does not read what its controller says")
      return
    }
    outgoing.clear()
    for packet in packets where !(isSlow && packet.isAdvertisingReport) {
      outgoing.writeInteger(packet.kind.rawValue)
      outgoing.writeBytes(packet.bytes)
    }
    if outgoing.readableBytes > 0 {
      context.writeAndFlush(wrapOutboundOut(outgoing), promise: nil)
    }
  }

  private func pendingByteCount(_ context: ChannelHandlerContext) -> Int {
    (try? context.channel.syncOptions?.getOption(.bufferedWritableBytes)) ?? 0
  }
}

extension HCIPacket {
  /// Whether this is one of the reports that a controller may drop when its host is slow.
  fileprivate var isAdvertisingReport: Bool {
    // LE Meta event with the subevents of legacy, directed and extended reports
    // (Core 5.4, Vol 4, Part E, §7.7.65).
    let head = bytes.prefix(3)
    guard kind == .event, head.count == 3, head.first == 0x3E, let subevent = head.last else {
      return false
    }
    return [0x02, 0x0B, 0x0D].contains(subevent)
  }
}
