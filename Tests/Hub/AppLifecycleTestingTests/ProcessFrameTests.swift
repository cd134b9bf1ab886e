import AppMachines
import AppSessions
import Essentials
import Testing

@testable import AppLifecycleTesting

/// The frames between a phone and a process of an app.
@Suite
struct ProcessFrameTests {
  private static let frames = [
    ProcessFrame(.hub, [1, 2, 3]), ProcessFrame(.output, []), ProcessFrame(.time, 0x0102_0304),
    ProcessFrame(ProcessMessage.request(7, .setFetchInterval(.infinity))),
    ProcessFrame(.settle, UInt64.max),
  ]
  private static let bytes = frames.flatMap(\.bytes)

  /// Reads frames from bytes that come in pieces of a length.
  private func read(_ bytes: [UInt8], piece: Int) throws -> [ProcessFrame] {
    var reader = ProcessFrameReader()
    var found: [ProcessFrame] = []
    var rest = bytes[...]
    while !rest.isEmpty {
      reader.append(rest.prefix(piece))
      rest = rest.dropFirst(piece)
      while let frame = try reader.next() { found.append(frame) }
    }
    return found
  }

  @Test(arguments: [1, 2, 7, 1_000])
  func `Frames are read in their order, however their bytes are divided`(_ piece: Int) throws {
    let found = try read(Self.bytes, piece: piece)
    #expect(found.map(\.contents) == Self.frames.map(\.contents))
    #expect(found.map(\.kind) == Self.frames.map(\.kind))
    #expect(found[2].number == 0x0102_0304)
    #expect(found[4].number == UInt64.max)
    guard
      case .request(7, .setFetchInterval(let seconds)) = try found[3].message(ProcessMessage.self)
    else {
      Issue.record("another message")
      return
    }
    #expect(seconds == .infinity)
  }

  @Test func `A frame that was cut is not read`() throws {
    for count in 0..<Self.bytes.count {
      #expect(try read(Array(Self.bytes.prefix(count)), piece: 1_000).count < Self.frames.count)
    }
  }

  @Test func `Frames of another kind and frames that are too long are errors`() {
    #expect(throws: ProcessFrameError.self) { try read([0, 0, 0, 0, 99], piece: 1) }
    #expect(throws: ProcessFrameError.self) { try read([255, 255, 255, 255, 1], piece: 1) }
  }

  @Test func `Mutated bytes are frames or errors`() {
    var random = SeededGenerator(seed: 5)
    for _ in 0..<2_000 {
      var bytes = Self.bytes
      for _ in 0..<3 {
        bytes[Int.random(in: bytes.indices, using: &random)] = UInt8.random(
          in: 0...255, using: &random)
      }
      for frame in (try? read(bytes, piece: 13)) ?? [] {
        _ = frame.number
        _ = try? frame.message(ProcessMessage.self)
        _ = try? frame.message(PhoneMessage.self)
      }
    }
  }

  @Test func `Output is divided into lines of a maximum length`() {
    var lines = OutputLines()
    #expect(lines.append(Array("one\ntw".utf8)) == ["one"])
    #expect(lines.append(Array("o\n\n".utf8)) == ["two", ""])
    let long = lines.append(Array(repeating: 0x61, count: 10_000))
    #expect(long.map(\.utf8.count) == [4_096, 4_096])
    #expect(lines.takeRest()?.utf8.count == 10_000 - 2 * 4_096)
    #expect(lines.takeRest() == nil)
  }
}
