#if Messaging
  import Essentials
  import Testing
  import XMPPWire

  @testable import MessagingHost

  @Suite("The reader of a stream")
  struct StreamReaderTests {
    private static func stream(_ count: Int, end: String = "") -> [UInt8] {
      let stanzas = (0..<count).map { "<message id='\($0)'><body>text \($0)</body></message>" }
      return XMLWriter.opening(StreamHeader()) + Array((stanzas.joined() + end).utf8)
    }

    private static func items(_ bytes: [UInt8]) -> (items: [StreamItem], error: XMLStreamError?) {
      let parser = XMLStreamParser()
      parser.append(bytes)
      var items: [StreamItem] = []
      do throws(XMLStreamError) {
        while let item = try parser.next() { items.append(item) }
        return (items, nil)
      } catch {
        return (items, error)
      }
    }

    @Test(arguments: 1...20)
    func `What is read ahead comes in its order, before an error`(seed: UInt64) {
      var chance = SeededGenerator(seed: seed)
      let bytes = Self.stream(300, end: seed.isMultiple(of: 2) ? "<a></b>" : "")
      var reader = StreamReader()
      var rest = bytes[...]
      var found: [StreamItem] = []
      var error: XMLStreamError?
      var isDone = false
      while !isDone {
        switch chance.next() % 3 {
        case 0:
          let count = Int(chance.next() % 2_000)
          reader.append(Array(rest.prefix(count)))
          rest = rest.dropFirst(count)
        case 1:
          for _ in 0..<chance.next() % 40 { _ = reader.readAhead() }
        default:
          do throws(XMLStreamError) {
            let item = try reader.next()
            if let item { found.append(item) } else { isDone = rest.isEmpty }
          } catch let thrown {
            (error, isDone) = (thrown, true)
          }
        }
      }
      let expected = Self.items(bytes)
      #expect(found == expected.items && error == expected.error, "seed \(seed)")
    }

    @Test
    func `A reader that is far ahead takes no more until something was handled`() throws {
      var reader = StreamReader()
      reader.append(Self.stream(1_000))
      var count = 0
      while reader.readAhead() { count += 1 }
      #expect(count == 128 && !reader.hasRoomAhead)
      _ = try reader.next()
      #expect(reader.hasRoomAhead && reader.readAhead() && !reader.readAhead())
      reader.restart()
      #expect(try reader.next() == nil && reader.hasRoomAhead)
      // Bytes are bounded, too: one stanza can be large.
      reader.append(Self.stream(0) + [UInt8](repeating: 0x20, count: 256 << 10))
      #expect(!reader.hasRoomAhead && !reader.readAhead())
      #expect(try reader.next() != nil)
      #expect(try reader.next() == nil && reader.hasRoomAhead)
    }
  }
#endif
