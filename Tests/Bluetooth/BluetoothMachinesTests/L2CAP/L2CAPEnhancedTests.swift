import BluetoothMachines
import BluetoothInterface
import BluetoothMachines
import BluetoothWire
import Essentials
import Testing

@Suite("L2CAP channels opened several at once")
struct L2CAPEnhancedTests {
  var station = L2CAPStation(role: .peripheral, aclLength: 251)

  mutating func receive(_ hex: String) {
    let bytes = Hexadecimal.bytes(hex) ?? []
    station.link.receive(bytes[...], continuing: false, now: .zero, into: &station.outputs)
    station.settle(now: .zero)
  }

  /// The result and the ends of the last answer.
  var answer: (result: L2CAPResult, ends: [UInt16])? {
    guard case .enhancedConnectionResponse(let response)? = station.signals.last else {
      return nil
    }
    return (response.result, response.destinations)
  }

  @Test("all are opened where the owner agrees, and each carries data")
  mutating func open() throws {
    receive("1000 0500 17 07 0C00 8000 4000 4000 0500 5000 5100")
    #expect(station.opened.map(\.localCID) == [0x40, 0x41])
    #expect(station.opened.map(\.peerMTU) == [64, 64])
    #expect(
      station.signals == [
        .enhancedConnectionResponse(
          L2CAPEnhancedConnectionResponse(
            mtu: 3998, mps: 1000, initialCredits: 16, result: .success,
            destinations: [0x40, 0x41]))
      ])
    receive("0500 4100 0300 010203")
    #expect(station.received == [[1, 2, 3]])
    station.link.send(
      [9], on: 0x41, token: RequestToken(rawValue: 1), into: &station.outputs)
    _ = station.transmit(now: .zero)
    let packet = station.transmit(now: .zero)
    #expect(packet.isEmpty)
    #expect(station.completed.count == 1)
  }

  @Test("a refusal names every channel")
  mutating func refusal() {
    station.answer = .insufficientAuthentication
    receive("1000 0500 17 07 0C00 8000 4000 4000 0500 5000 5100")
    #expect(answer?.result == .insufficientAuthentication)
    #expect(answer?.ends == [0, 0])
    #expect(station.opened.isEmpty)
  }

  @Test("channel identifiers that are invalid are refused, the others opened")
  mutating func partly() {
    receive("1200 0500 17 07 0E00 8000 4000 4000 0500 5000 5000 3F00")
    #expect(answer?.result == .invalidSourceCID)
    #expect(answer?.ends == [0x40, 0, 0])
    receive("0E00 0500 17 08 0A00 8000 4000 4000 0500 5000")
    #expect(answer?.result == .sourceCIDAlreadyAllocated)
    #expect(answer?.ends == [0])
    for first in stride(from: 0x51, to: 0x61, by: 4) {
      let ends = (first..<(first + 4)).map { Hexadecimal.string([UInt8($0), 0]) }.joined()
      receive("1400 0500 17 09 1000 8000 4000 4000 0500" + ends)
    }
    #expect(answer?.result == .noResources)
    #expect(answer?.ends.filter { $0 == 0 }.count == 1)
    #expect(station.opened.count == 16)
  }

  @Test("sizes below 64 and no credits are unacceptable; no ends at all make no sense")
  mutating func senseless() {
    for fields in ["3F00 4000 0500", "4000 3F00 0500", "4000 4000 0000"] {
      receive("0E00 0500 17 07 0A00 8000" + fields + "5000")
      #expect(answer?.result == .unacceptableParameters)
    }
    receive("0E00 0500 17 07 0A00 0001 4000 4000 0500 5000")
    #expect(answer?.result == .spsmNotSupported)
    receive("0C00 0500 17 07 0800 8000 4000 4000 0500")
    #expect(station.signals.last == .commandReject(.commandNotUnderstood))
    #expect(station.opened.isEmpty)
  }

  @Test("the peer may take more from then on, not less")
  mutating func reconfigure() {
    receive("1000 0500 17 07 0C00 8000 6400 6400 0500 5000 5100")
    receive("0E00 0500 14 08 0A00 8000 5200 6400 6400 0000")
    func result(_ hex: String) -> L2CAPReconfigureResult? {
      var copy = self
      copy.receive(hex)
      guard case .reconfigureResponse(let result)? = copy.station.signals.last else { return nil }
      return result
    }
    #expect(result("0C00 0500 19 09 0800 C800 C800 5000 5100") == .success)
    #expect(result("0C00 0500 19 09 0800 6300 C800 5000 5100") == .mtuReduced)
    #expect(result("0C00 0500 19 09 0800 C800 6300 5000 5100") == .mpsReduced)
    #expect(result("0A00 0500 19 09 0600 C800 5000 5000") == .success)
    #expect(result("0A00 0500 19 09 0600 C800 3F00 5000") == .unacceptableParameters)
    #expect(result("0A00 0500 19 09 0600 C800 C800 5200") == .invalidDestinationCID)
    #expect(result("0A00 0500 19 09 0600 C800 C800 5300") == .invalidDestinationCID)
    #expect(result("0800 0500 19 09 0400 C800 C800") == .invalidDestinationCID)
    receive("0A00 0500 19 09 0600 C800 C800 5000")
    station.link.send(
      [UInt8](repeating: 5, count: 198), on: 0x40, token: RequestToken(rawValue: 1),
      into: &station.outputs)
    // One frame, with 10 bytes of headers, where it would have been two units of two frames each.
    let count = station.transmit(now: .zero).last?.bytes.count
    #expect(count == 208)
  }
}
