#if Messaging
  import DNSWire
  import Testing
  import XMPPMachines

  @testable import MessagingHost

  @Suite("Answers with the servers of a domain")
  struct ServerLookupTests {
    private func answer(_ records: [(UInt16, UInt16, UInt16, DNSName)]) throws -> [UInt8] {
      var bytes: [UInt8] = [0, 0, 0x81, 0x80, 0, 0, 0, UInt8(records.count), 0, 0, 0, 0]
      for (priority, weight, port, target) in records {
        // The owner is the root: nothing reads it.
        bytes += [0, 0, 33, 0, 1, 0, 0, 0, 60]
        let length = 6 + target.wireBytes.count
        for number in [UInt16(length), priority, weight, port] {
          bytes += [UInt8(number >> 8), UInt8(number & 0xFF)]
        }
        bytes += target.wireBytes
      }
      return bytes
    }

    @Test("the records of an answer become servers without a dot at the end")
    func records() throws {
      let bytes = try answer([(5, 1, 5_222, "xmpp.example."), (0, 0, 0, ".")])
      #expect(
        ServerLookup.decode(bytes[...])
          == .records([
            .init(priority: 5, weight: 1, port: 5_222, target: "xmpp.example"),
            .init(priority: 0, weight: 0, port: 0, target: ""),
          ]))
    }

    @Test("an answer without records, and one that is truncated anywhere, does no harm")
    func truncated() throws {
      #expect(ServerLookup.decode(try answer([])[...]) == .absent)
      let bytes = try answer([(5, 1, 5_222, "xmpp.example.")])
      for count in 0..<bytes.count {
        let found = ServerLookup.decode(bytes.prefix(count))
        #expect(found == .failed || found == .absent)
      }
    }
  }
#endif
