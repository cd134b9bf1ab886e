import DNSWire
import Essentials
import Testing

@Suite("TXT records")
struct TXTRecordTests {
  private func record(_ strings: String...) throws -> TXTRecord {
    try TXTRecord(strings: strings.map { Array($0.utf8) })
  }

  @Test("E6: a record without entries is one zero byte; no bytes at all are read as that")
  func empty() throws {
    #expect(TXTRecord().wireBytes == [0])
    #expect(try TXTRecord(decoding: []).wireBytes == [0])
    #expect(try TXTRecord(strings: [[UInt8]]()).wireBytes == [0])
    #expect(TXTRecord().isEmpty)
    #expect(try TXTRecord(decoding: []) == TXTRecord())
  }

  @Test("E8: strings without a valid key are no entries")
  func invalidKeys() throws {
    let record = try record("=value", "", "k\u{e9}=1", "a\u{7f}=1", "good=1", "with space=2")
    #expect(record.entries.map(\.key) == ["good", "with space"])
    #expect(Array(record.strings).count == 6)
    for key in ["", "a=b", "é", "\u{1f}"] {
      #expect(throws: DNSWireError.invalidKey) {
        try TXTRecord([TXTRecord.Entry(key: key, value: nil)])
      }
    }
  }

  @Test("E9: only the first of equal keys counts, in any case, and its case is kept")
  func duplicates() throws {
    let record = try record("PaperSize=A4", "papersize=Letter", "other")
    #expect(record["PAPERSIZE"] == "A4")
    #expect(record.entries.map(\.key) == ["PaperSize", "other"])
  }

  @Test("E10: no value, an empty one and any bytes are kept apart")
  func values() throws {
    let bytes: [UInt8] = [0, 0xFF, UInt8(ascii: "="), 0]
    let entries = [
      TXTRecord.Entry(key: "present", value: nil), .init(key: "empty", value: []),
      .init(key: "binary", value: bytes),
    ]
    let record = try TXTRecord(entries)
    #expect(record.wireBytes.prefix(9) == [7] + "present".utf8 + [6])
    let again = try TXTRecord(decoding: record.wireBytes)
    #expect(again.entries == entries)
    #expect(again.contains("Present"))
    #expect(again["present"] == nil)
    #expect(again["empty"] == "")
    #expect(again["binary"] == nil)
    #expect(again.entry(for: "binary")?.value == bytes)
    #expect(!again.contains("absent"))
  }

  @Test("a string has at most 255 bytes, key and = included")
  func longestString() throws {
    var record = TXTRecord()
    try record.set("k", to: Array(repeating: 1, count: 253))
    #expect(record.wireBytes.count == 256)
    #expect(throws: DNSWireError.stringTooLong(byteCount: 256)) {
      try record.set("k", to: Array(repeating: 1, count: 254))
    }
    #expect(record.entry(for: "k")?.value?.count == 253)
  }

  @Test("E7: a record has at most 65,535 bytes")
  func longestRecord() throws {
    let strings = Array(repeating: Array(repeating: UInt8(1), count: 255), count: 255)
    #expect(try TXTRecord(strings: strings).wireBytes.count == 65_280)
    let tail = [Array(repeating: UInt8(1), count: 254)]
    #expect(try TXTRecord(strings: strings + tail).wireBytes.count == 65_535)
    #expect(throws: DNSWireError.invalidLength(65_536)) {
      try TXTRecord(strings: strings + [Array(repeating: 1, count: 255)])
    }
  }

  @Test("setting a key keeps its position, removing deletes it")
  func editing() throws {
    var record = try record("a=1", "b=2", "c")
    try record.set("B", to: Array("x".utf8))
    #expect(record.entries.map(\.key) == ["a", "B", "c"])
    #expect(record["b"] == "x")
    try record.set("d", to: nil)
    #expect(record.entries.map(\.key) == ["a", "B", "c", "d"])
    let isRemoved = [record.remove("A"), record.remove("A")]
    #expect(isRemoved == [true, false])
    for key in ["b", "c", "d"] { record.remove(key) }
    #expect(record.wireBytes == [0])
  }

  @Test("a string that reaches past the end is an error")
  func overlong() {
    #expect(throws: DNSWireError.truncated(needed: 3, available: 2)) {
      try TXTRecord(decoding: [3, 1, 2])
    }
  }
}
