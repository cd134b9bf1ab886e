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
    "a trace with a bad line is refused with its number",
    arguments: [
      ("0,r,b", "found 3 fields"), ("0,r,b,-60,1", "found 5 fields"),
      ("x,r,b,-60", "not a time"), ("nan,r,b,-60", "not a time"), ("-1,r,b,-60", "not a time"),
      ("1e30,r,b,-60", "not a time"), ("0,,b,-60", "no name"), ("0,r,b,-60.5", "not an RSSI"),
      ("0,r,b,-60dBm", "not an RSSI"), ("0,r,b,-60,1,2,inf", "not a position"),
      ("0,r,b,-60,1,2,1e9", "not a position"),
      ("0," + String(repeating: "r", count: 65) + ",b,-60", "too long"),
    ])
  func refused(line: String, part: String) throws {
    let reason = try #require(Self.reason("0,r,b,-60\n" + line + "\n0,r,b,-60"))
    #expect(reason.hasPrefix("line 2: ") && reason.contains(part), "\(reason)")
  }

  @Test("readings that no receiver can have measured are counted, and the others are read")
  func quality() throws {
    let levels = [-60, 42, 29, 127, 0, -128, 21, 20, -127, 300, -70]
    let text = levels.enumerated().map { "\($0.offset),r,b,\($0.element)" }
    let trace = try Self.trace(text.joined(separator: "\n"))
    #expect(trace.readings.map(\.rssi) == [-60, 20, -127, -70])
    #expect(trace.unmeasuredCount == 2)
    #expect(trace.implausibleCount == 5)
    #expect(trace.filtered { $0 != "b" }.implausibleCount == 5)
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

  @Test("a receiver that the map doesn't have is refused with its line")
  func unknownReceiver() throws {
    let trace = try Self.trace("0,r0,b,-60\n1,other,b,-60")
    let error = #expect(throws: TraceError.self) { try trace.windows(on: SyntheticHall.plan) }
    #expect(error?.description == "line 2: receiver \"other\" is not on the map")
  }
}
