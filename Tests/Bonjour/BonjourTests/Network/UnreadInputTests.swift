import Connections
import Foundation
import Synchronization
import Testing

@testable import Bonjour

/// A peer that sends its reason and closes. The next bytes to it fail, which must not hide the reason.
@Suite("What a peer sent before it closed", .timeLimit(.minutes(5)))
struct UnreadInputTests {
  /// A connection whose peer has sent a text and is gone.
  private static func refused(_ reason: String) throws -> TCPConnection {
    var ends: [Int32] = [-1, -1]
    try #require(socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &ends) == 0)
    let connection = TCPConnection()
    connection.adopt(ends[0])
    let bytes = Array(reason.utf8)
    try #require(write(ends[1], bytes, bytes.count) == bytes.count)
    close(ends[1])
    return connection
  }

  private static func send(_ text: String, over connection: TCPConnection) -> Int {
    let bytes = Array(text.utf8)
    return bytes.withUnsafeBytes { connection.send($0) }
  }

  @Test func `What has arrived is read after sending has failed`() throws {
    let connection = try Self.refused("too many")
    #expect(Self.send("request", over: connection) == 0)
    #expect(connection.isEnded && connection.error != nil)
    #expect(connection.hasBytes && !connection.isInputEnded)
    #expect(connection.receive(3) == Array("too".utf8))
    #expect(connection.waitAndReceive(100) == Array(" many".utf8))
    #expect(!connection.hasBytes && connection.isInputEnded)
    #expect(connection.receive(100).isEmpty && connection.waitAndReceive(100).isEmpty)
  }

  @Test func `A connection that is closed keeps nothing`() throws {
    let connection = try Self.refused("too many")
    _ = Self.send("request", over: connection)
    connection.close()
    #expect(!connection.hasBytes && connection.isInputEnded)
  }

  @Test func `A stream reads the peer's reason although writing has failed`() throws {
    let connection = try Self.refused("too many")
    let pipe = ConnectionPipe(connection)
    let bytes = Array("request".utf8)
    #expect(bytes.withUnsafeBufferPointer { pipe.write($0) } == 0)
    #expect(pipe.ending != nil && pipe.inputEnding == nil && pipe.hasBytes)
    #expect(pipe.read(100) == Array("too many".utf8))
    #expect(pipe.inputEnding != nil)
  }
}
