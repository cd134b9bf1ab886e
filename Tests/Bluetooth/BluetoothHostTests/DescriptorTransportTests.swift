import BluetoothInterface
import BluetoothMachines
import BluetoothWire
import EventLoop
import Glibc
import Testing

@testable import BluetoothHost

@Suite("Serial lines and the Linux user channel", .timeLimit(.minutes(5)))
struct DescriptorTransportTests {
  @Test("a serial line carries packets both ways, raw")
  func uart() async throws {
    let (terminal, path) = try Self.openTerminal()
    let harness = await TransportHarness(.uart(.init(path: path, usesFlowControl: false)))
    #expect(await harness.next() == .opened)
    // Bytes that a line in cooked mode would change: carriage return, end of file, interrupt, XOFF.
    let packet = HCIPacket(kind: .event, bytes: [0xFF, 0x06, 0x0D, 0x0A, 0x04, 0x03, 0x13, 0x7F])
    #expect(terminal.write(packet.h4Bytes))
    #expect(await harness.packets(1) == [packet])
    let command = HCIPacket(kind: .command, bytes: [0x03, 0x0C, 0x03, 0x0A, 0x0D, 0x11])
    harness.send([command])
    #expect(terminal.read(command.h4Bytes.count) == command.h4Bytes)
    harness.close()
  }

  @Test("a serial line that is unplugged is reported")
  func unplug() async throws {
    var (terminal, path): (OtherEnd?, String) = try Self.openTerminal()
    let harness = await TransportHarness(.uart(.init(path: path)))
    #expect(await harness.next() == .opened)
    #expect(terminal != nil)
    terminal = nil
    #expect(
      await harness.next() == .closed(.transport("The serial line \(path) was unplugged.")))
  }

  @Test(
    "a path that is no serial line is refused with that reason",
    arguments: [
      (
        "/dev/nonexistent",
        "The serial line /dev/nonexistent does not exist; is the device plugged in?"
      ),
      ("/dev/null", "\"/dev/null\" is not a serial line."),
    ])
  func noSerialLine(path: String, sentence: String) async throws {
    let harness = await TransportHarness(.uart(.init(path: path)))
    #expect(await harness.next() == .closed(.transport(sentence)))
  }

  @Test("a serial line that may not be opened is reported with the remedy")
  func forbiddenSerialLine() {
    guard
      case .unauthorized(let text) = RadioChoice.SerialLine.explain(
        SystemError(number: EACCES), path: "/dev/ttyUSB0")
    else {
      Issue.record("not unauthorized")
      return
    }
    #expect(text.contains("dialout"))
  }

  @Test("the user channel takes and gives one packet at a time")
  func userChannelFraming() async throws {
    var ends: [Int32] = [0, 0]
    let type = Int32(SOCK_SEQPACKET.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
    try #require(socketpair(AF_UNIX, type, 0, &ends) == 0)
    let kernel = OtherEnd(ends[0])
    let descriptor = ends[1]
    let harness = await TransportHarness(
      H4Transport.Connector.descriptor(
        name: "hci0", framing: .packets, endOfStream: .transport("The controller hci0 was removed.")
      ) { descriptor })
    #expect(await harness.next() == .opened)

    let packets = (0..<50).map { number in
      HCIPacket(kind: .acl, bytes: [0x40, 0x00, 0x02, 0x00, UInt8(number), 0xEE])
    }
    harness.send(packets)
    for packet in packets { #expect(kernel.read() == packet.h4Bytes) }

    for packet in packets { #expect(kernel.write(packet.h4Bytes)) }
    #expect(await harness.packets(packets.count) == packets)
    harness.close()
  }

  @Test("the controller's end is reported")
  func userChannelEnd() async throws {
    var ends: [Int32] = [0, 0]
    let type = Int32(SOCK_SEQPACKET.rawValue | SOCK_CLOEXEC.rawValue | SOCK_NONBLOCK.rawValue)
    try #require(socketpair(AF_UNIX, type, 0, &ends) == 0)
    let descriptor = ends[1]
    let harness = await TransportHarness(
      H4Transport.Connector.descriptor(
        name: "hci0", framing: .packets, endOfStream: .transport("The controller hci0 was removed.")
      ) { descriptor })
    #expect(await harness.next() == .opened)
    close(ends[0])
    #expect(await harness.next() == .closed(.transport("The controller hci0 was removed.")))
  }

  @Test("a user channel that breaks is a controller that is gone", arguments: [EPIPE, ENETDOWN])
  func userChannelBroke(_ number: Int32) {
    // The errors of reads and writes on Linux 6.1 when hci0 is unplugged.
    let error = SystemError(number: number)
    #expect(
      H4Transport.Connector.userChannel(0).explain(error)
        == .transport("The controller hci0 was removed."))
  }

  @Test("every refusal of the kernel is explained with the way out")
  func userChannelErrors() {
    func explain(_ number: Int32) -> HostError {
      UserChannel.explain(SystemError(number: number), index: 3)
    }
    #expect(explain(EAFNOSUPPORT).sentence.contains("kernel has no Bluetooth"))
    #expect(explain(EPERM).sentence.contains("CAP_NET_ADMIN"))
    #expect(explain(EBUSY).sentence.contains("sudo hciconfig hci3 down"))
    #expect(explain(EUSERS) == explain(EBUSY))
    #expect(explain(ENODEV).sentence.contains("The controller hci3 does not exist"))
    #expect(explain(ERFKILL).sentence.contains("rfkill unblock"))
    #expect(explain(EIO).sentence == "hci3 cannot be opened: input/output error.")
    if case .unsupported = explain(EAFNOSUPPORT) {} else { Issue.record("not unsupported") }
    if case .unauthorized = explain(EPERM) {} else { Issue.record("not unauthorized") }
  }

  @Test("a controller that this machine does not have fails with a sentence")
  func userChannelHere() async throws {
    // No machine has that many; most test machines have no Bluetooth at all.
    let harness = await TransportHarness(.hci(65_000))
    guard case .closed(let error)? = await harness.next() else {
      Issue.record("it opened")
      return
    }
    #expect(error.sentence.contains("hci65000"))
    #expect(error.sentence.hasSuffix("."))
  }

  /// A pair of pseudo terminals: the end that plays the device, and the path of the other.
  private static func openTerminal() throws -> (OtherEnd, String) {
    let descriptor = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
    try #require(descriptor >= 0)
    let end = OtherEnd(descriptor)
    // Numbers from the kernel's headers: TIOCSPTLCK unlocks, TIOCGPTN tells the other's number.
    var isLocked: Int32 = 0
    try #require(ioctl(descriptor, 0x4004_5431, &isLocked) == 0)
    var number: UInt32 = 0
    try #require(ioctl(descriptor, 0x8004_5430, &number) == 0)
    return (end, "/dev/pts/\(number)")
  }
}
