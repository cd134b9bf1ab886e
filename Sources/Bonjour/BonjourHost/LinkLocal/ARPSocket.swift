import ARPWire
import DiscoveryMachines
import Essentials
import Glibc
import EventLoop

/// Sends and receives ARP on one interface, by packet(7). On one event loop.
final class ARPSocket {
  private let onPacket: (ARPPacket) -> Void
  private let onEnd: () -> Void
  private var watched: WatchedDescriptor?

  /// Opens a socket on an interface that is up; it ends by itself when that goes down.
  ///
  /// - Parameters:
  ///   - onPacket: Called on the event loop with packets from or for link-local addresses.
  ///   - onEnd: Called when it receives nothing more, unless it was closed.
  init(
    _ interface: InterfaceIndex, on loop: EpollLoop,
    onPacket: @escaping (ARPPacket) -> Void, onEnd: @escaping () -> Void
  ) throws(SystemError) {
    self.onPacket = onPacket
    self.onEnd = onEnd
    let descriptor = try Self.openDescriptor(on: interface)
    watched = try WatchedDescriptor(owning: descriptor, on: loop) { [weak self] _ in self?.read() }
  }

  /// Fails where this program may not have such a socket.
  static func checkPermission() throws(SystemError) { Glibc.close(try makeDescriptor()) }

  /// Sends a packet to everybody; one that the system does not take is lost, as on the network.
  func broadcast(_ packet: ARPPacket) {
    guard let watched, watched.isOpen else { return }
    let frame = EthernetFrame(broadcasting: packet).bytes
    _ = unsafe Glibc.send(watched.descriptor, frame, frame.count, 0)
  }

  /// Closes the socket.
  func close() { watched?.close() }

  private func read() {
    guard let watched else { return }
    var bytes = [UInt8](repeating: 0, count: Self.readByteCount)
    let count = unsafe recv(watched.descriptor, &bytes, bytes.count, 0)
    guard count >= 0 else {
      if errno == EAGAIN || errno == EINTR { return }
      // The interface went down, or is gone.
      close()
      return onEnd()
    }
    guard let frame = try? EthernetFrame(decoding: bytes[..<count]),
      let packet = try? ARPPacket(decoding: frame.payload)
    else { return }
    onPacket(packet)
  }

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

  /// The program that the kernel runs for every frame: it passes ARP packets from or for
  /// 169.254.0.0/16 only, so that other traffic does not wake the process.
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
          descriptor, SOL_SOCKET, SO_ATTACH_FILTER, $0.baseAddress, socklen_t($0.count))
      }
    }
    guard status == 0 else { throw .current }
  }
}
