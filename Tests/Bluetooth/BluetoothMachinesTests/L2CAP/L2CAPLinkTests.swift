import BluetoothInterface
import BluetoothMachines
import BluetoothWire
import Essentials
import Testing

@Suite("L2CAP frames and signalling")
struct L2CAPLinkTests {
  var station = L2CAPStation(role: .central, aclLength: 251)

  mutating func receive(_ hex: String, continuing: Bool = false) {
    let bytes = Hexadecimal.bytes(hex) ?? []
    station.link.receive(bytes[...], continuing: continuing, now: .zero, into: &station.outputs)
    station.settle(now: .zero)
  }

  @Test("a frame in one piece is passed on as a slice of the packet")
  mutating func slice() {
    let packet: [UInt8] = [0xFF, 0xFF, 3, 0, 4, 0, 0x0A, 1, 0]
    station.link.receive(packet[2...], continuing: false, now: .zero, into: &station.outputs)
    guard case .fixedChannel(4, let payload)? = station.outputs.first else {
      Issue.record("nothing passed on")
      return
    }
    #expect(payload.startIndex == 6)
    #expect(Array(payload) == [0x0A, 1, 0])
  }

  @Test("a frame arrives whole wherever it is cut, even within its header")
  mutating func cutAnywhere() {
    let frame: [UInt8] = [6, 0, 4, 0, 1, 2, 3, 4, 5, 6]
    for first in 0...frame.count {
      for second in first...frame.count {
        var station = L2CAPStation(role: .central)
        let parts = [frame[..<first], frame[first..<second], frame[second...]]
        for (index, part) in parts.enumerated() where index == 0 || !part.isEmpty {
          station.link.receive(part, continuing: index > 0, now: .zero, into: &station.outputs)
        }
        station.settle(now: .zero)
        #expect(station.fixed.map(\.1) == [[1, 2, 3, 4, 5, 6]], "cut at \(first), \(second)")
        #expect(station.link.dropped == L2CAPLink.Dropped())
      }
    }
  }

  @Test("a frame interrupted by another is dropped, the other is not")
  mutating func interrupted() {
    receive("0500 0400 0102")
    receive("0100 0400 09")
    receive("030405", continuing: true)
    #expect(station.fixed.map(\.1) == [[9]])
    #expect(station.link.dropped.interruptedFrames == 1)
    #expect(station.link.dropped.strayContinuations == 1)
  }

  @Test("a frame longer than the length in its header is dropped, in one piece or several")
  mutating func overlong() {
    receive("0200 0400 010203")
    receive("0300 0400 0102")
    receive("0304", continuing: true)
    receive("0100", continuing: false)
    receive("0400 01 02", continuing: true)
    #expect(station.fixed.isEmpty)
    #expect(station.link.dropped.overlongFrames == 3)
    receive("0100 0400 09")
    #expect(station.fixed.count == 1)
  }

  @Test("frames too long for their channel are skipped without being collected")
  mutating func oversized() {
    receive("FFFF 0400 0102")
    receive("0304", continuing: true)
    receive("0100 0600 01")
    #expect(station.fixed.map(\.0) == [6])
    receive("4200 0600" + String(repeating: "00", count: 0x42))
    #expect(station.link.dropped.oversizedFrames == 2)
    receive("0500 4000 01")
    receive("01020304", continuing: true)
    receive("0100 0300 01")
    receive("0100 0100 01")
    #expect(station.link.dropped.unknownChannelFrames == 3)
    #expect(station.link.dropped.strayContinuations == 0)
    #expect(station.fixed.count == 1)
  }

  @Test("an unknown command is rejected as not understood, with its identifier")
  mutating func unknownCommand() {
    receive("0600 0500 08 07 0200 AABB")
    #expect(station.signals == [.commandReject(.commandNotUnderstood)])
    #expect(
      station.transmit(now: .zero).first.map { Array($0.bytes) }
        == [1, 0, 10, 0, 6, 0, 5, 0, 1, 7, 2, 0, 0, 0])
  }

  @Test("a command whose length lies is rejected; an answer never is")
  mutating func malformedCommands() {
    receive("0600 0500 06 07 0800 AABB")
    receive("0500 0500 12 08 0100 AA")
    #expect(station.signals.count == 2)
    receive("0600 0500 07 09 0800 AABB")
    receive("0600 0500 01 09 0200 0000")
    receive("0600 0500 16 09 0200 0000")
    receive("0600 0500 12 00 0200 0000")
    receive("0100 0500 12")
    receive("0000 0500")
    #expect(station.signals.count == 2)
    #expect(station.link.dropped.pointlessSignals == 8)
  }

  @Test("a signalling frame over the MTU is rejected with the MTU, in one piece or not")
  mutating func signallingMTU() {
    receive("1800 0500 14 07 1400" + String(repeating: "00", count: 20))
    #expect(station.signals == [.commandReject(.signallingMTUExceeded(23))])
    receive("0001 0500 19 08 FC00 0000")
    receive("AABB", continuing: true)
    #expect(station.signals.count == 2)
    #expect(station.link.dropped.oversizedFrames == 2)
  }

  @Test("disconnecting a channel that isn't there is rejected as an invalid CID")
  mutating func invalidCID() {
    receive("0800 0500 06 07 0400 4000 4100")
    #expect(station.signals == [.commandReject(.invalidCID(local: 0x40, remote: 0x41))])
  }

  @Test("the peripheral's wish for another timing reaches the central, and its answer goes back")
  mutating func parameterUpdate() throws {
    var pair = L2CAPPair()
    let wish = ConnectionParameters(intervalUnits: 12...24, latency: 2, timeoutUnits: 100)
    try pair.peripheral.link.requestParameterUpdate(
      wish, now: .zero, into: &pair.peripheral.outputs)
    #expect(throws: HostError.limitReached("parameter updates at a time")) {
      try pair.peripheral.link.requestParameterUpdate(
        wish, now: .zero, into: &pair.peripheral.outputs)
    }
    pair.run()
    #expect(pair.central.timingsAsked == [wish])
    #expect(pair.peripheral.timingAnswers == [true])
    #expect(pair.peripheral.link.nextWake == nil)
    pair.central.acceptsTiming = false
    try pair.peripheral.link.requestParameterUpdate(
      wish, now: .zero, into: &pair.peripheral.outputs)
    pair.run()
    #expect(pair.peripheral.timingAnswers == [true, false])
  }

  @Test("a timing that no link can have is refused without asking the owner")
  mutating func invalidTiming() {
    receive("0C00 0500 12 07 0800 0500 0600 0000 6400")
    receive("0C00 0500 12 08 0800 1800 0600 0000 6400")
    #expect(station.timingsAsked.isEmpty)
    #expect(station.signals.count == 2)
    #expect(
      station.signals.allSatisfy { $0 == .connectionParameterUpdateResponse(accepted: false) })
    let error = HostError.invalidArgument(
      "A central updates connection parameters without a request.")
    #expect(throws: error) {
      try station.link.requestParameterUpdate(.default, now: .zero, into: &station.outputs)
    }
  }

  @Test("a central may not ask for a timing: the peripheral rejects the command")
  mutating func wrongRole() {
    station = L2CAPStation(role: .peripheral)
    receive("0C00 0500 12 07 0800 0600 0600 0000 6400")
    #expect(station.signals == [.commandReject(.commandNotUnderstood)])
  }

  @Test("a timing that is never answered, or rejected, counts as refused")
  mutating func unanswered() throws {
    station = L2CAPStation(role: .peripheral)
    try station.link.requestParameterUpdate(.default, now: .zero, into: &station.outputs)
    let wake = try #require(station.link.nextWake)
    #expect(wake == Instant.zero + .seconds(30))
    station.link.wake(now: Instant(nanoseconds: wake.nanoseconds - 1), into: &station.outputs)
    station.settle(now: wake)
    #expect(station.timingAnswers.isEmpty)
    station.link.wake(now: wake, into: &station.outputs)
    station.settle(now: wake)
    #expect(station.timingAnswers == [false])
    try station.link.requestParameterUpdate(.default, now: .zero, into: &station.outputs)
    station.settle(now: wake)
    receive("0600 0500 01 02 0200 0000")
    #expect(station.timingAnswers == [false, false])
    #expect(station.link.nextWake == nil)
  }
}
