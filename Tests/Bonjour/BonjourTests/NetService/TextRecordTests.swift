import DNSWire
import Foundation
import Testing

@testable import Bonjour

@Suite("Text records of NetService")
struct TextRecordTests {
  @Test("keys and values go there and back, also without a value, with bytes and with zeros")
  func roundTrip() {
    let entries = [
      "txtvers": Data("1".utf8), "a": Data(), "bytes": Data([0, 0xFF, 0x3D, 0]),
      "text": Data("Grüße".utf8),
    ]
    let data = NetService.data(fromTXTRecord: entries)
    #expect(NetService.dictionary(fromTXTRecord: data) == entries)
    // The version comes first (RFC 6763, §6.7).
    #expect(data.starts(with: [9] + Array("txtvers=1".utf8)))
  }

  @Test("a key without a value is there, and of equal keys the first counts")
  func keysWithoutValues() {
    let data = Data([1, 0x61, 3, 0x62, 0x3D, 0x31, 3, 0x42, 0x3D, 0x32, 2, 0x3D, 0x33])
    #expect(
      NetService.dictionary(fromTXTRecord: data) == ["a": Data(), "b": Data("1".utf8)])
  }

  @Test("a pair that can't be in a record is left out")
  func leftOut() {
    let entries = [
      "": Data(), "a=b": Data(), "ü": Data(), "long": Data(count: 251), "fits": Data(count: 250),
    ]
    let record = NetService.data(fromTXTRecord: entries)
    #expect(Set(NetService.dictionary(fromTXTRecord: record).keys) == ["fits"])
    #expect(NetService.data(fromTXTRecord: [:]) == Data([0]))
  }

  @Test("data that is no text record has no entries")
  func malformed() {
    #expect(NetService.dictionary(fromTXTRecord: Data([5, 0x61])).isEmpty)
    #expect(NetService.dictionary(fromTXTRecord: Data()).isEmpty)
  }
}
