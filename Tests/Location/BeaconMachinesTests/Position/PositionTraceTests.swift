import BeaconMachines
import Essentials
import Testing

@Suite("position trace")
struct PositionTraceTests {
  private static func trace(_ text: String) throws(TraceError) -> PositionTrace {
    try PositionTrace(text: [UInt8](text.utf8)[...])
  }

  private static func reason(_ text: String) -> String? {
    do throws(TraceError) {
      _ = try trace(text)
      return nil
    } catch { return error.description }
  }

  @Test("a trace is read with and without the truth, and with additional fields")
  func readings() throws {
    let trace = try Self.trace(
      """
      # a remark

      1.5,r1,b,-60,1,2,3,0.1,0.2\r
      0.25,r0,b,-70
      2,r1,b,127
      """)
    #expect(trace.readings.count == 2)
    #expect(trace.readings.first?.time == Instant(nanoseconds: 250_000_000))
    #expect(trace.readings.first?.line == 4)
    #expect(trace.readings.last?.truth == FloorPoint(x: 1, y: 2, z: 3))
  }

  @Test(
    "a line that can't be used is left out and counted, with its number and the reason",
    arguments: [
      ("0,r,b", .fields, "found 3 fields"), ("0", .fields, "found 1 field"),
      ("0,r,b,-60,1,2", .position, "\"1,2\" is not a position"),
      ("\u{0}", .fields, "found 1 field"),
      ("x,r,b,-60", .time, "not a time"), ("nan,r,b,-60", .time, "not a time"),
      ("-5,r,b,-60", .time, "not a time"), ("1e300,r,b,-60", .time, "not a time"),
      ("inf,r,b,-60", .time, "not a time"), ("0,,b,-60", .name, "no name"),
      ("0,r,,-60", .name, "no name"), ("0,r,b,", .rssi, "not an RSSI"),
      ("0,r,b,-60dBm", .rssi, "not an RSSI"), ("0,r,b,n/a", .rssi, "not an RSSI"),
      ("0,r,b,nan", .rssi, "not an RSSI"), ("0,r,b,-inf", .rssi, "not an RSSI"),
      ("0,r,b,127.0", .unmeasured, "127.0"), ("0,r,b,-999999999999999999999", .implausible, "RSSI"),
      ("0,r,b,127,nan,nan,nan", .unmeasured, "127"),
      ("0,r,b,-60,1,2,inf", .position, "not a position"),
      ("0,r,b,-60,nan,1,1", .position, "not a position"),
      ("0,r,b,-60,1,2,1e9", .position, "not a position"),
      ("0,r,b,-60,1,,1", .position, "not a position"),
      ("0," + String(repeating: "r", count: 65) + ",b,-60", .text, "too long"),
      ("0,\"r,b,-60", .fields, "found 2 fields"),
    ] as [(String, TraceLinesLeftOut.Reason, String)])
  func leftOut(line: String, reason: TraceLinesLeftOut.Reason, part: String) throws {
    let trace = try Self.trace("0,r,b,-60\n" + line + "\n0,r,b,-61")
    #expect(trace.readings.map(\.rssi) == [-60, -61])
    let lines = try #require(trace.leftOut.first)
    #expect(trace.leftOut.count == 1 && lines.reason == reason, "\(lines)")
    #expect(trace.leftOutCount(reason) == 1 && lines.firstLine == 2)
    #expect(lines.explanation.contains(part), "\(lines)")
  }

  @Test("one bad line among thirty thousand is left out, also one that isn't UTF-8")
  func manyLines() throws {
    var bytes: [UInt8] = []
    for number in 0..<30_000 { bytes += "\(number / 10),r,b,-60\n".utf8 }
    bytes += "3000,r,".utf8 + [0xFF] + ",-60\n3000,r".utf8
    let trace = try PositionTrace(text: bytes[...])
    #expect(trace.readings.count == 30_000)
    #expect(trace.leftOut.map(\.reason) == [.text, .fields])
    #expect(trace.leftOut.map(\.firstLine) == [30_001, 30_002])
  }

  @Test(
    "what other programs write around and into fields is read",
    arguments: [
      "0,r,b,-60.4", " 0 , r , b , -60 ", "0,\"r\",\"b\",-60", "\"0\",\"r\",\"b\",\"-60\"",
      "\u{FEFF}0,r,b,-60", "\u{FEFF}# a remark\r0,r,b,-60\r", "0,r,b,-60\r\n", "0,r,b,-60,,,",
      "time,receiver,beacon,rssi\n0,r,b,-60",
      "\"s\",\"receiver\",\"beacon\",\"dBm\"\r\n0,r,b,-60\r\n",
      "0,r,b,-60,", "0,r,b,-60,,,,0.1,0.2", "\t\n0,r,b,-60\n\n",
    ])
  func forms(text: String) throws {
    let trace = try Self.trace(text)
    let reading = try #require(trace.readings.first)
    #expect(trace.readings.count == 1 && trace.leftOut.isEmpty, "\(trace)")
    #expect(reading.receiver == "r" && reading.beacon == "b" && reading.rssi == -60)
    #expect(reading.time == .zero && reading.truth == nil)
  }

  @Test("line ends are counted once, whichever they are, and quoted fields may have commas")
  func lineNumbers() throws {
    for end in ["\n", "\r", "\r\n"] {
      let lines = ["", "0,r,b,-60", "# a remark", "1,r,b,loud", "2,\"r,\"\"1\",b,-61,1,2,3", ""]
      let trace = try Self.trace(lines.joined(separator: end))
      #expect(trace.readings.map(\.line) == [2, 5])
      #expect(trace.readings.last?.receiver == "r,\"1")
      #expect(trace.readings.last?.truth == FloorPoint(x: 1, y: 2, z: 3))
      #expect(trace.leftOut.first?.firstLine == 4)
    }
  }

  @Test("a text of which most lines are no receptions is refused with the first of them")
  func otherFormat() throws {
    #expect(Self.reason("0;r;b;-60")?.hasPrefix("line 1: ") == true)
    #expect(Self.reason("Dear Ann,\nwe are well.") != nil)
    let reason = try #require(Self.reason("0,r,b,-60\n1;r;b;-60\n2;r;b;-60"))
    #expect(reason.hasPrefix("line 2: ") && reason.contains("2 of 3 lines"), "\(reason)")
    // Half of them may be damaged, and any number may be without a measurement.
    #expect(try Self.trace("0,r,b,-60\n1;r;b;-60").readings.count == 1)
    #expect(try Self.trace("0,r,b,-60\n1,r,b,127\n2,r,b,127").readings.count == 1)
    #expect(try Self.trace("1,r,b,127").readings.isEmpty)
    #expect(try Self.trace("").readings.isEmpty)
  }

  @Test("readings that no receiver can have measured are counted, and the others are read")
  func quality() throws {
    let levels = [-60, 42, 29, 127, 0, -128, 21, 20, -127, 300, -70]
    let text = levels.enumerated().map { "\($0.offset),r,b,\($0.element)" }
    let trace = try Self.trace(text.joined(separator: "\n"))
    #expect(trace.readings.map(\.rssi) == [-60, 20, -127, -70])
    #expect(trace.leftOutCount(.unmeasured) == 2 && trace.leftOut.last?.firstLine == 4)
    #expect(trace.leftOutCount(.implausible) == 5 && trace.leftOut.first?.firstLine == 2)
    #expect(trace.filtered { $0 != "b" }.leftOutCount(.implausible) == 5)
  }

  @Test("random bytes are read or refused, never a trap", arguments: 0..<200 as Range<UInt64>)
  func noise(seed: UInt64) {
    var generator = SeededGenerator(seed: seed)
    let alphabet = [UInt8]("0123456789.,-\n#re\u{FF}".utf8) + [0xFF, 0]
    let bytes = (0..<200).map { _ in alphabet[Int(generator.next() % UInt64(alphabet.count))] }
    do throws(TraceError) { _ = try PositionTrace(text: bytes[...]) } catch {
      #expect(error.line >= 1, "seed \(seed)")
    }
  }

  @Test("a trace is cut into windows from its first reading on, with means")
  func windows() throws {
    let plan = SyntheticHall.plan
    let trace = try Self.trace(
      """
      100.0,r0,b,-60,1,1,1
      100.9,r0,b,-64,3,1,1
      100.95,r2,b,-70
      103.5,r1,b,-50
      """)
    let windows = try trace.windows(on: plan)
    #expect(windows.count == 2)
    let first = try #require(windows.first)
    #expect(first.end == Instant(nanoseconds: 101_000_000_000) && first.count == 3)
    #expect(first.heard.first == ReadingWindow.Heard(receiver: 0, rssi: -62, count: 2))
    #expect(first.truth == FloorPoint(x: 2, y: 1, z: 1))
    #expect(windows.last?.end == Instant(nanoseconds: 104_000_000_000))
    #expect(windows.last?.truth == nil)
  }

  @Test("readings of a receiver that the map doesn't have are left out and counted")
  func unknownReceiver() throws {
    var trace = try Self.trace("0,other,b,-60\n0,r0,b,-61\nx\n1,other,b,-60")
    let windows = try trace.windows(on: SyntheticHall.plan)
    #expect(windows.map { $0.heard.map(\.rssi) } == [[-61]])
    trace.leaveOutReceivers(notOn: SyntheticHall.plan)
    #expect(trace.readings.map(\.receiver) == ["r0"])
    #expect(trace.leftOut.map(\.reason) == [.receiver, .fields])
    #expect(trace.leftOutCount(.receiver) == 2 && trace.leftOut.first?.firstLine == 1)
    #expect(try trace.windows(on: SyntheticHall.plan) == windows)
  }

  @Test("a trace none of whose receivers are on the map is refused with its first line")
  func otherMap() throws {
    let trace = try Self.trace("\n0,other,b,-60\n1,another,b,-60")
    let error = #expect(throws: TraceError.self) { try trace.windows(on: SyntheticHall.plan) }
    #expect(error?.description == "line 2: receiver \"other\" is not on the map")
  }
}
