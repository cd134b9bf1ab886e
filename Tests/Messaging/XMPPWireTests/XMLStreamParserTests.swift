#if Messaging
  import Essentials
  import Testing

  @testable import XMPPWire

  @Suite("Streams of XML")
  struct XMLStreamParserTests {
    private static let stanzas =
      "<message to='a@b' xml:lang='de'><body>&lt;é&#x1F600;]]&gt;</body><x xmlns='u'><y/></x></message>\n "
      + "<iq type=\"get\" id='1'><q xmlns='k' a='>'/></iq><r xmlns='urn:xmpp:sm:3'/>"
      + "<message><body><![CDATA[<b>&]]]></body></message>"

    @Test("stanzas come out as values, with their namespaces")
    func values() throws {
      let result = parse(stanzas: Self.stanzas + "</stream:stream>")
      try #require(result.error == nil && result.items.count == 5)
      var message = XMLElement("message", Namespace.client, ["to": "a@b"])
      message.attributes.append(XMLElement.Attribute("lang", namespace: Namespace.xml, "de"))
      message.append(XMLElement("body", Namespace.client, text: "<é😀]]>"))
      message.append(XMLElement("x", "u", children: [XMLElement("y", "u")]))
      #expect(result.items[0] == .element(message))
      #expect(message.language == "de" && message.child("x", "u")?.child("y", "u") != nil)
      #expect(result.items[2] == .element(StreamManagement.request.element))
      guard case .element(let data) = result.items[3] else { throw XMLStreamError.restricted }
      #expect(data.child("body", Namespace.client)?.text == "<b>&]")
      #expect(result.items[4] == .end)
    }

    @Test("a stream is the same wherever it is cut into two or into single bytes")
    func cuts() {
      let bytes = header + Array((Self.stanzas + "</stream:stream>").utf8)
      let whole = parse(bytes)
      #expect(whole.items.count == 6 && whole.error == nil)
      for cut in 1..<bytes.count { #expect(parse(bytes, chunks: [cut]) == whole, "cut at \(cut)") }
      #expect(parse(bytes, chunks: Array(repeating: 1, count: bytes.count)) == whole)
    }

    @Test("a stanza is there with its last byte")
    func lastByte() {
      let bytes = header + Array("<message><body>a</body></message>".utf8)
      let parser = XMLStreamParser()
      parser.append(bytes.dropLast())
      #expect((try? parser.next()) != nil)
      #expect((try? parser.next()) == .some(nil))
      parser.append(bytes.suffix(1))
      #expect((try? parser.next()) != .some(nil))
      #expect(parser.bufferedByteCount == 0)
    }

    @Test(
      "comments, instructions, document types and entities are restricted",
      arguments: [
        "<a><!-- c --></a>", "<!-- c -->", "<a><?php x ?></a>", "<?php x?>",
        "<?xml version='1.0'?>",
        "<!DOCTYPE x>", "<a><!DOCTYPE x></a>", "<a><!ENTITY x 'y'></a>", "<a>&nbsp;</a>",
        "<a b='&foo;'/>", "<![CDATA[x]]>", "<a><![INCLUDE[x]]></a>",
      ])
    func restricted(text: String) {
      #expect(parse(stanzas: text).error == .restricted)
    }

    @Test("a document type before the stream is restricted, with its bomb of entities")
    func bomb() {
      let text =
        "<?xml version='1.0'?><!DOCTYPE b [<!ENTITY a 'aaaa'><!ENTITY b '&a;&a;&a;'>]><b>&b;</b>"
      #expect(parse(Array(text.utf8)).error == .restricted)
    }

    @Test(
      "bytes that are not well-formed end the stream",
      arguments: [
        "<a></b>", "<a b='1' b='2'/>", "<a b=1/>", "<a 'b'/>", "<a<b/>", "<a>]]></a>",
        "<a>\u{1}</a>",
        "<a>&#0;</a>", "<a>&#xD800;</a>", "<a>&</a>", "<a>&amp</a>", "<a b='<'/>", "<>", "<a/ >",
        "< a/>",
        "<1/>", "<a>\u{FFFE}</a>", "<a></a b>",
      ])
    func malformed(text: String) throws {
      let error = try #require(parse(stanzas: text + "<ok/>").error, "\(text)")
      guard case .notWellFormed = error else {
        Issue.record("\(text): \(error)")
        return
      }
      #expect(error.condition == .notWellFormed)
    }

    @Test(
      "bytes that are not UTF-8 end the stream",
      arguments: [
        [0xFF], [0xC0, 0x80], [0xED, 0xA0, 0x80], [0xE2, 0x82], [0xF4, 0x90, 0x80, 0x80],
      ] as [[UInt8]])
    func notUTF8(bytes: [UInt8]) {
      for text in [
        header + Array("<a>".utf8) + bytes + Array("</a>".utf8),
        header + Array("<a b='".utf8) + bytes + Array("'/>".utf8),
      ] {
        guard case .notWellFormed? = parse(text).error else {
          Issue.record("\(bytes) was taken")
          continue
        }
      }
    }

    @Test("an undeclared prefix ends the stream with its own condition")
    func prefix() {
      #expect(parse(stanzas: "<x:a/>").error == .undeclaredPrefix)
      #expect(parse(stanzas: "<a x:b='1'/>").error == .undeclaredPrefix)
    }

    @Test("text between stanzas, and a first element that is no stream, are refused")
    func notAStream() {
      #expect(parse(stanzas: "hello").error == .notAStream)
      #expect(parse(Array("<html><a/></html>".utf8)).error == .notAStream)
      #expect(parse(Array("<stream/>".utf8)).error == .notAStream)
      #expect(parse(Array("HTTP/1.1 400 Bad Request\r\n".utf8)).error == .notAStream)
      #expect(parse(Array("</stream>".utf8)).error == .notWellFormed(code: 0))
    }

    @Test("each limit is exact, also for a peer that sends single bytes")
    func limits() {
      var limits = XMLLimits()
      limits.stanzaByteCountMax = 200
      limits.tagByteCountMax = 180
      limits.depthMax = 4
      // The header has five.
      limits.attributeCountMax = 5
      limits.elementCountMax = 5
      func error(_ text: String) -> XMLStreamError? {
        let bytes = header + Array(text.utf8)
        let result = parse(bytes, limits: limits)
        #expect(
          parse(bytes, chunks: Array(repeating: 1, count: bytes.count), limits: limits) == result)
        return result.error
      }
      func letters(_ count: Int) -> String { String(repeating: "x", count: count) }
      #expect(error("<a>\(letters(193))</a>") == nil)
      #expect(error("<a>\(letters(194))</a>") == .tooLong(.stanza))
      #expect(error("<a b='\(letters(171))'/>") == nil)
      #expect(error("<a b='\(letters(172))'/>") == .tooLong(.tag))
      #expect(error("<a><b><c/></b></a>") == nil)
      #expect(error("<a><b><c><d/></c></b></a>") == nil)
      #expect(error("<a><b><c><d></d></c></b></a>") == .tooLong(.depth))
      #expect(error("<a b='1' c='2' d='3' e='4' f='5'/>") == nil)
      #expect(error("<a b='1' c='2' d='3' e='4' f='5' g='6'/>") == .tooLong(.attributes))
      #expect(error("<a><b/><b/><b/><b/></a><a><b/></a>") == nil)
      #expect(error("<a><b/><b/><b/><b/><b/></a>") == .tooLong(.elements))
    }

    @Test("bytes beyond a limit are refused before the stanza ends, and keep no memory")
    func unendingStanza() {
      let parser = XMLStreamParser()
      parser.append(header + Array("<message><body>".utf8))
      var error: XMLStreamError?
      var byteCount = 0
      while error == nil, byteCount < 64 << 20 {
        parser.append(Array(repeating: UInt8(ascii: "x"), count: 1_000))
        byteCount += 1_000
        do throws(XMLStreamError) { while try parser.next() != nil {} } catch let thrown {
          error = thrown
        }
      }
      #expect(error == .tooLong(.stanza) && byteCount < 3 << 20)
      #expect(parser.bufferedByteCount == 0)
      parser.append(Array("</body></message>".utf8))
      #expect(throws: XMLStreamError.tooLong(.stanza)) { try parser.next() }
    }

    @Test("white space that keeps a connection alive for a year keeps no memory")
    func whiteSpace() throws {
      let parser = XMLStreamParser()
      parser.append(header)
      #expect(try parser.next() != nil)
      for _ in 0..<100_000 {
        parser.append([0x20])
        #expect(try parser.next() == nil)
      }
      #expect(parser.bufferedByteCount == 0)
    }

    @Test("a stream of distinct names goes on after the parser has been reset, with its prefixes")
    func reset() throws {
      var text =
        "<s:stream xmlns='jabber:client' xmlns:s='\(Namespace.stream)' xmlns:own='urn:own'>"
      let count = 5_000
      for index in 0..<count {
        text += "<own:a\(index) b\(index)='\(index)'><s:error/></own:a\(index)>"
      }
      let bytes = Array(text.utf8)
      let result = parse(bytes, chunks: Array(repeating: 1_460, count: bytes.count / 1_460 + 1))
      #expect(result.error == nil && result.items.count == count + 1)
      for (index, item) in result.items.dropFirst().enumerated() {
        var expected = XMLElement("a\(index)", "urn:own", ["b\(index)": "\(index)"])
        expected.append(XMLElement("error", Namespace.stream))
        guard item == .element(expected) else {
          Issue.record("element \(index) is \(item)")
          break
        }
      }
    }

    @Test("a restart drops the bytes that a peer sent before TLS")
    func restart() throws {
      let parser = XMLStreamParser()
      let proceed = "<proceed xmlns='\(Namespace.tls)'/>"
      parser.append(header + Array("\(proceed)<iq type='set' id='injected'><x/></iq><open".utf8))
      #expect(try parser.next() != nil)
      #expect(try parser.next() == .element(XMLElement("proceed", Namespace.tls)))
      parser.restart()
      #expect(try parser.next() == nil && parser.bufferedByteCount == 0)
      parser.append(header + Array("<message/>".utf8))
      #expect(try parser.next() == .header(StreamHeader(from: "example.org", id: "s1")))
      #expect(try parser.next() == .element(XMLElement("message", Namespace.client)))
    }

    @Test("bytes after the end of the stream are ignored")
    func afterTheEnd() throws {
      let result = parse(stanzas: "</stream:stream><message/>garbage &<")
      #expect(result.items == [.end] && result.error == nil && result.bufferedByteCount == 0)
    }

    @Test("mutated streams give the same result in one piece and in pieces", arguments: 0..<8)
    func mutations(part: Int) {
      let seed = UInt64(part) + 100
      var chance = SeededGenerator(seed: seed)
      let stream = header + Array((Self.stanzas + "</stream:stream>").utf8)
      var errorCount = 0
      for round in 0..<400 {
        var bytes = stream
        for _ in 0..<Int.random(in: 1...3, using: &chance) {
          let index = Int.random(in: 0..<bytes.count, using: &chance)
          switch Int.random(in: 0..<3, using: &chance) {
          case 0: bytes[index] = UInt8.random(in: 0...255, using: &chance)
          case 1: bytes.remove(at: index)
          default:
            let characters = Array("<>/'\"&;=![]?- \u{0}".utf8)
            bytes.insert(characters.randomElement(using: &chance) ?? 0, at: index)
          }
        }
        let whole = parse(bytes)
        if whole.error != nil { errorCount += 1 }
        let sizes = bytes.map { _ in Int.random(in: 1...20, using: &chance) }
        #expect(parse(bytes, chunks: sizes) == whole, "seed \(seed), round \(round)")
      }
      #expect(errorCount > 100)
    }
  }
#endif
