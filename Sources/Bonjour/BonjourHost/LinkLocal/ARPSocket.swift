import ARPWire
import DiscoveryMachines
import Essentials
import Glibc
import HostEssentials
import NIOCore
import NIOPosix

/// Hears and sends ARP on one interface, by packet(7). On one event loop.
final class ARPSocket {
  private let channel: any Channel

  private init(_ channel: any Channel) { self.channel = channel }

  /// Opens a socket on an interface that is up; it ends by itself when that goes down.
  ///
  /// - Parameters:
  ///   - onPacket: Told on the event loop what arrives from or for link-local addresses.
  ///   - onEnd: Told when it hears no more, also if it was closed.
  static func open(
    _ interface: InterfaceIndex, on eventLoop: any EventLoop,
    onPacket: @escaping (ARPPacket) -> Void, onEnd: @escaping () -> Void
  ) -> EventLoopFuture<ARPSocket> {
    let descriptor: Int32
    do { descriptor = try openDescriptor(on: interface) } catch {
      return eventLoop.makeFailedFuture(error)
    }
    let handler = NIOLoopBound(Handler(onPacket, onEnd), eventLoop: eventLoop)
    return NIOPipeBootstrap(group: eventLoop)
      .channelOption(
        .recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: readByteCount)
      )
      .channelInitializer { channel in
        channel.eventLoop.makeCompletedFuture {
          try channel.pipeline.syncOperations.addHandler(handler.value)
        }
      }
      .owning(descriptor, on: eventLoop)
      .assumeIsolated()
      .map { ARPSocket($0) }
      .nonisolated()
  }

  /// Fails where this program may not have such a socket.
  static func checkPermission() throws(SystemError) { Glibc.close(try makeDescriptor()) }

  /// Sends a packet to everybody; one that the system does not take is lost, as on the network.
  func broadcast(_ packet: ARPPacket) {
    let frame = ByteBuffer(bytes: EthernetFrame(broadcasting: packet).bytes)
    channel.writeAndFlush(frame, promise: nil)
  }

  /// Hears nothing any more.
  func close() { channel.close(promise: nil) }

  // MARK: The descriptor

  /// More than a frame of ARP has, with its padding.
  private static let readByteCount = 128

  private static func makeDescriptor() throws(SystemError) -> Int32 {
    let type = Int32(SOCK_RAW.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
    let descriptor = socket(17, type, 0)  // AF_PACKET; no protocol yet, so nothing arrives
    guard descriptor >= 0 else { throw .current }
    return descriptor
  }

  private static func openDescriptor(on interface: InterfaceIndex) throws(SystemError) -> Int32 {
    let descriptor = try makeDescriptor()
    do throws(SystemError) {
      try attachFilter(to: descriptor)
      // struct sockaddr_ll: family, protocol, interface; the rest is for sending elsewhere.
      var address = ByteWriter()
      address.uint16(17)
      address.bigEndian(UInt64(ARPPacket.etherType), count: 2)
      address.uint32(interface.rawValue)
      address.append([UInt8](repeating: 0, count: 12))
      try bindSocket(descriptor, to: address.bytes)
    } catch {
      Glibc.close(descriptor)
      throw error
    }
    return descriptor
  }

  /// The program that the kernel runs for every frame: it lets through ARP packets from or for
  /// 169.254.0.0/16, so that on a busy network nobody is woken for others'.
  static let filter: [FilterInstruction] = [
    FilterInstruction(0x28, 12),  // Load two bytes: the frame's type.
    FilterInstruction(0x15, UInt32(ARPPacket.etherType), otherwise: 5),
    FilterInstruction(0x28, 28),  // Two bytes of the sender's address.
    FilterInstruction(0x15, 0xA9FE, then: 2),
    FilterInstruction(0x28, 38),  // Two bytes of the address that is sought.
    FilterInstruction(0x15, 0xA9FE, otherwise: 1),
    FilterInstruction(0x06, UInt32(readByteCount)),  // Let so many bytes through.
    FilterInstruction(0x06, 0),  // Drop it.
  ]

  /// struct sock_filter: an instruction of the classic Berkeley Packet Filter.
  struct FilterInstruction {
    var code: UInt16
    var jumpIfTrue: UInt8
    var jumpIfFalse: UInt8
    var operand: UInt32

    init(_ code: UInt16, _ operand: UInt32, then: UInt8 = 0, otherwise: UInt8 = 0) {
      (self.code, self.operand) = (code, operand)
      (jumpIfTrue, jumpIfFalse) = (then, otherwise)
    }
  }

  private static func attachFilter(to descriptor: Int32) throws(SystemError) {
    let status = unsafe filter.withUnsafeBytes { program in
      // struct sock_fprog: how many instructions, and where.
      unsafe withUnsafeBytes(of: (UInt(filter.count), program.baseAddress)) {
        unsafe setsockopt(
          descriptor, SOL_SOCKET, 26, $0.baseAddress, socklen_t($0.count))  // SO_ATTACH_FILTER
      }
    }
    guard status == 0 else { throw .current }
  }

  private final class Handler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    private let onPacket: (ARPPacket) -> Void
    private let onEnd: () -> Void

    init(_ onPacket: @escaping (ARPPacket) -> Void, _ onEnd: @escaping () -> Void) {
      self.onPacket = onPacket
      self.onEnd = onEnd
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
      let bytes = Array(buffer: unwrapInboundIn(data))
      guard let frame = try? EthernetFrame(decoding: bytes[...]),
        let packet = try? ARPPacket(decoding: frame.payload)
      else { return }
      onPacket(packet)
    }

    /// The interface went down, or is gone.
    func errorCaught(context: ChannelHandlerContext, error: any Error) {
      context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) { onEnd() }
  }
}
