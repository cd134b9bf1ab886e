import BluetoothInterface
import Essentials
import EventLoop
import Foundation
import Glibc
import HubClientMachines
import HubWire
import Testing

@testable import HubClient

@Suite("The user of a hub's process", .timeLimit(.minutes(5)))
struct HubUserTests {
  /// Reads the state of a hub of this process.
  private static func read(
    after begun: () -> Void = {}
  ) async throws -> (status: HubStatus, userID: UInt32?) {
    let path = TestHub.makePath()
    let hub = try await TestHub.start(at: path) { message, connection in
      switch message {
      case .greeting:
        connection.send(
          .welcome(HubWelcome(version: 1, abilities: .status, isSimulated: false)))
      case .status(let number):
        let radio = HubStatus.Radio(name: "hci0", state: .poweredOn, isSimulated: false)
        connection.send(
          .status(
            number, HubStatus(version: "1.2.3", processID: 1, uptime: .zero, radio: radio)))
      default: break
      }
    }
    begun()
    let result = try await HubStatusReader.readWithUser(at: path, within: .seconds(50))
    await hub.kill()
    return result
  }

  @Test func `A state comes with the user whose process has sent it`() async throws {
    let (status, userID) = try await Self.read()
    #expect(status.version == "1.2.3" && userID == getuid())
  }

  @Test(.enabled(if: geteuid() == 0))
  func `A user's process behind a socket that root has opened is not taken for root's`() async {
    // A process of its own, whose user it changes after it listens.
    await #expect(processExitsWith: .success) {
      let (_, userID) = try await Self.read { #expect(setreuid(23_456, .max) == 0) }
      #expect(userID == 23_456)
    }
  }

  private static let state = HubMessage.status(
    1,
    HubStatus(
      version: "1.2.3", processID: 1, uptime: .zero,
      radio: HubStatus.Radio(name: "hci0", state: .poweredOn, isSimulated: false)))

  /// Has another process write bytes to a socket, and returns it.
  private static func write(_ bytes: [UInt8], to socket: Int32) throws -> Process {
    let (process, input) = (Process(), Pipe())
    process.executableURL = URL(filePath: "/bin/cat")
    process.standardInput = input
    process.standardOutput = FileHandle(fileDescriptor: socket, closeOnDealloc: false)
    try process.run()
    try input.fileHandleForWriting.write(contentsOf: bytes)
    try input.fileHandleForWriting.close()
    return process
  }

  /// Sends bytes with a descriptor beside them (unix(7), `SCM_RIGHTS`).
  private static func send(_ text: String, with descriptor: Int32, to socket: Int32) {
    var control: [Int32] = [20, 0, SOL_SOCKET, 1, descriptor, 0]
    var bytes = Array(text.utf8)
    let count = bytes.withUnsafeMutableBytes { bytes in
      control.withUnsafeMutableBytes { control in
        var part = iovec(iov_base: bytes.baseAddress, iov_len: bytes.count)
        return withUnsafeMutablePointer(to: &part) { part in
          var message = msghdr()
          message.msg_iov = part
          message.msg_iovlen = 1
          message.msg_control = control.baseAddress
          message.msg_controllen = control.count
          return sendmsg(socket, &message, Int32(MSG_NOSIGNAL))
        }
      }
    }
    #expect(count == bytes.count)
  }

  @Test func `A state that another process writes into the hub's connection is not the hub's`()
    async throws
  {
    let path = TestHub.makePath()
    let hub = try await TestHub.start(at: path) { message, connection in
      switch message {
      case .greeting:
        connection.send(
          .welcome(HubWelcome(version: 1, abilities: .status, isSimulated: false)))
      case .status:
        var writer = HubFrameWriter()
        #expect(throws: Never.self) {
          try writer.append(Self.state)
          _ = try Self.write(writer.takeBytes(), to: connection.descriptor)
        }
      default: break
      }
    }
    await #expect(throws: HubFailure.unexpected("bytes of another process")) {
      try await HubStatusReader.readWithUser(at: path, within: .seconds(50))
    }
    // Here, the sender is of no interest.
    #expect(try await HubStatusReader.read(at: path, within: .seconds(50)).version == "1.2.3")
    await hub.kill()
  }

  @Test func `Bytes of two processes are read apart, and descriptors beside them are closed`()
    throws
  {
    var ends: [Int32] = [-1, -1]
    try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
    defer { for end in ends { close(end) } }
    #expect(SenderReader.begin(at: ends[0]))
    #expect(Glibc.send(ends[1], "a", 1, 0) == 1)
    let process = try Self.write(Array("b".utf8), to: ends[1])
    process.waitUntilExit()
    var pipeEnds: [Int32] = [-1, -1]
    try #require(pipe(&pipeEnds) == 0)
    defer { close(pipeEnds[0]) }
    Self.send("c", with: pipeEnds[1], to: ends[1])
    close(pipeEnds[1])

    guard case .bytes(let a, let own?) = SenderReader.read(at: ends[0], byteCountMax: 100),
      case .bytes(let b, let other?) = SenderReader.read(at: ends[0], byteCountMax: 100)
    else { return #expect(Bool(false), "the bytes have no senders") }
    #expect(a == Array("a".utf8) && own == .init(processID: getpid(), userID: getuid()))
    #expect(b == Array("b".utf8) && other.processID == process.processIdentifier)
    guard case .bytes(let c, let again?) = SenderReader.read(at: ends[0], byteCountMax: 100) else {
      return #expect(Bool(false), "the bytes have no sender")
    }
    var entry = pollfd(fd: pipeEnds[0], events: 0, revents: 0)
    #expect(c == Array("c".utf8) && again == own)
    #expect(poll(&entry, 1, 0) == 1 && entry.revents & Int16(POLLHUP) != 0)
    guard case .nothing = SenderReader.read(at: ends[0], byteCountMax: 100) else {
      return #expect(Bool(false), "more bytes have come")
    }
  }
}
