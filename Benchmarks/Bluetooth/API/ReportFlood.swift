import BenchmarkSupport
import BluetoothWire
import Essentials
import Glibc
import Simulation

/// A controller, behind H4 over TCP, that reports advertising as fast as its host reads, from the
/// moment when scanning is enabled. A simulated controller answers the commands.
struct ReportFlood {
  private let socket: Int32
  private let world = World(seed: 1, radio: .ideal)
  private let controller: SimulatedController
  private let answers = Answers()
  private var decoder = H4Decoder()
  /// The packets sent over and over; empty while the host does not scan.
  private var reports: [UInt8] = []
  private var outgoing: ArraySlice<UInt8> = []

  private final class Answers {
    var bytes: [UInt8] = []
  }

  private static let advertiserCount = 1_000

  /// Prints the radio's address, takes one host and serves it until it goes.
  static func serve() throws {
    let listener = Glibc.socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_addr.s_addr = UInt32(0x7F00_0001).bigEndian
    var length = socklen_t(MemoryLayout<sockaddr_in>.size)
    let isListening = withUnsafeMutablePointer(to: &address) { pointer in
      pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { pointer in
        bind(listener, pointer, length) == 0 && listen(listener, 1) == 0
          && getsockname(listener, pointer, &length) == 0
      }
    }
    guard listener >= 0, isListening else {
      throw RigError("The radio that floods cannot listen: \(String(cString: strerror(errno))).")
    }
    say("tcp:127.0.0.1:\(UInt16(bigEndian: address.sin_port))")
    let connection = accept(listener, nil, nil)
    guard connection >= 0 else { throw RigError("No host connected to the radio that floods.") }
    var flood = ReportFlood(connection)
    flood.run()
    close(connection)
    close(listener)
  }

  private init(_ socket: Int32) {
    self.socket = socket
    _ = fcntl(socket, F_SETFL, O_NONBLOCK)
    controller = world.makeController(
      name: "flood", address: DeviceAddress(bits: 0xA0BE_0000_0001, kind: .public))
    let answers = answers
    controller.onPacket = { answers.bytes += [$0.kind.rawValue] + $0.bytes }
  }

  private mutating func run() {
    while true {
      world.run(for: .milliseconds(1))
      if outgoing.isEmpty {
        outgoing = answers.bytes.isEmpty ? reports[...] : answers.bytes[...]
        answers.bytes = []
      }
      let isBusy = world.nextEventTime != nil
      var descriptor = pollfd(fd: socket, events: Int16(POLLIN), revents: 0)
      if !outgoing.isEmpty { descriptor.events |= Int16(POLLOUT) }
      guard poll(&descriptor, 1, isBusy ? 1 : -1) >= 0 else { return }
      if descriptor.revents & Int16(POLLIN | POLLHUP | POLLERR) != 0, !receive() { return }
      if descriptor.revents & Int16(POLLOUT) != 0 {
        let count = outgoing.withUnsafeBytes {
          send(socket, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
        }
        if count > 0 { outgoing = outgoing.dropFirst(count) }
      }
    }
  }

  /// False where the host is gone.
  private mutating func receive() -> Bool {
    var chunk = [UInt8](repeating: 0, count: 4_096)
    let count = chunk.withUnsafeMutableBytes { read(socket, $0.baseAddress, $0.count) }
    guard count > 0 else { return count < 0 && (errno == EAGAIN || errno == EINTR) }
    decoder.append(Array(chunk[..<count]))
    while let packet = try? decoder.next() {
      if packet.kind == .command { observe(packet.bytes) }
      controller.receive(packet)
    }
    return true
  }

  /// Starts or stops flooding with a host that starts or stops scanning.
  private mutating func observe(_ command: ArraySlice<UInt8>) {
    let bytes = Array(command.prefix(4))
    guard bytes.count == 4 else { return }
    let opcode = UInt16(bytes[0]) | UInt16(bytes[1]) << 8
    guard
      opcode == LESetScanEnable.opcode.rawValue || opcode == LESetExtendedScanEnable.opcode.rawValue
    else { return }
    guard bytes[3] == 1 else {
      reports = []
      return
    }
    let isExtended = opcode == LESetExtendedScanEnable.opcode.rawValue
    reports =
      reportChunks(
        advertisers: Self.advertiserCount, perChunk: Self.advertiserCount, isExtended: isExtended)[
        0]
  }
}
