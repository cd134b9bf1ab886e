#if Messaging
  import Essentials
  import Testing

  @testable import XMPPWire

  @Suite("Extensions about files")
  struct FileExtensionTests {
    private static func check<E: XMPPExtension>(_ values: [E]) {
      for value in values {
        let element = value.element
        #expect(E(element) == value, "\(value)")
        #expect(parse(header + XMLWriter.bytes(of: element)).items.last == .element(element))
        #expect(E(XMLElement(element.name, "urn:other")) == nil)
      }
    }

    @Test func `Values come back as they were written`() throws {
      let put = try #require(HTTPSAddress("https://files.example:5281/a/b%20c?token=1&x"))
      let get = try #require(HTTPSAddress("https://files.example/a"))
      Self.check([
        SlotRequest(fileName: "naïve picture.jpg", byteCount: 23_456, mediaType: "image/jpeg"),
        SlotRequest(fileName: "x", byteCount: 0),
      ])
      Self.check([
        UploadSlot(put: put, get: get),
        UploadSlot(put: put, get: get, headers: [.init(name: "authorization", value: "Basic x")]),
      ])
      Self.check([DiscoItems(), DiscoItems([try #require(JID("upload.example"))])])
      let metadata = FileMetadata(
        name: "summit.jpg", mediaType: "image/jpeg", byteCount: 3_032_449,
        hashes: [FileHash("sha-256", [1, 2, 3])], width: 4_096, height: 2_160, duration: 63_000,
        text: "Photo from the summit")
      Self.check([metadata, FileMetadata()])
      Self.check([
        FileSharing(metadata, sources: ["https://a.example/1", "https://b.example/2"]),
        FileSharing(FileMetadata(), sources: []),
      ])
      Self.check([OutOfBandData(url: "https://a.example/1", text: "a"), OutOfBandData(url: "x")])
    }

    @Test func `A slot keeps only the fields that a service may set, on one line`() throws {
      let element = try #require(
        parsedElement(
          """
          <iq type='result' id='1'><slot xmlns='urn:xmpp:http:upload:0'>
          <put url='https://upload.example/4a77'>
          <header name='Author&#13;&#10;ization'>Basic&#13;&#10; Zm9v</header>
          <header name='Host'>evil.example</header><header name='Transfer-Encoding'>chunked</header>
          <header name='Cookie'>a=b&#13;&#10;X-Evil: 1</header>
          <header name='Expires'>\u{7F}</header></put>
          <get url='https://files.example/4a77'/></slot></iq>
          """))
      let slot = try #require(IQStanza(element)?[UploadSlot.self])
      #expect(
        slot.headers == [
          .init(name: "authorization", value: "Basic Zm9v"),
          .init(name: "cookie", value: "a=bX-Evil: 1"),
        ])
      for scheme in ["http://a.example/", "ftp://a.example/", "https://a b/", ""] {
        let bad = try #require(
          parsedElement(
            "<slot xmlns='urn:xmpp:http:upload:0'><put url='\(scheme)'/>"
              + "<get url='https://a.example/'/></slot>"))
        #expect(UploadSlot(bad) == nil)
      }
    }

    @Test func `A refusal of a slot has its reason`() throws {
      func refusal(_ child: String) throws -> UploadRefusal? {
        let element = try #require(
          parsedElement(
            "<iq type='error' id='1'><error type='modify'><not-acceptable "
              + "xmlns='urn:ietf:params:xml:ns:xmpp-stanzas'/>\(child)</error></iq>"))
        return UploadRefusal(in: try #require(IQStanza(element)).payload)
      }
      let upload = "xmlns='urn:xmpp:http:upload:0'"
      #expect(
        try refusal(
          "<file-too-large \(upload)><max-file-size>20000</max-file-size></file-too-large>")
          == .fileTooLarge(byteCountMax: 20_000))
      #expect(
        try refusal("<file-too-large \(upload)/>") == .fileTooLarge(byteCountMax: nil))
      let stamp = try #require(Timestamp("2026-12-03T23:42:05Z"))
      #expect(
        try refusal("<retry \(upload) stamp='2026-12-03T23:42:05Z'/>") == .retry(stamp))
      #expect(try refusal("<retry \(upload) stamp='soon'/>") == nil)
    }

    @Test func `The size that a service takes is in its form`() throws {
      let form = DataForm(
        .result, type: Namespace.upload, fields: [.init("max-file-size", ["5242880"])])
      let info = DiscoInfo(features: [Namespace.upload], forms: [form])
      #expect(info.uploadService == (true, 5_242_880))
      #expect(DiscoInfo().uploadService == (false, nil))
    }

    @Test func `A file is one attachment, by both extensions or by one of them`() throws {
      let file = SharedFile(
        FileMetadata(name: "a.jpg", byteCount: 7), sources: ["https://files.example/a.jpg"])
      #expect(SharedFile.files(in: file.elements) == [file])
      #expect(SharedFile.files(in: XMLFragment.text(of: file.elements)) == [file])
      let plain = OutOfBandData(url: "https://files.example/b.jpg").element
      #expect(
        SharedFile.files(in: [plain] + file.elements).map(\.sources) == [
          ["https://files.example/a.jpg"], ["https://files.example/b.jpg"],
        ])
      #expect(SharedFile.files(in: "<x xmlns='jabber:x:oob'><url>").isEmpty)
      #expect(SharedFile.files(in: "").isEmpty)
    }

    @Test func `A namespace is found anywhere in the text of elements, and only as a whole`() {
      let name = Namespace.outOfBand
      for text in ["<x xmlns='\(name)'/>", name, "jabber:x:jabber:x:oob", "\u{E9}\(name)"] {
        #expect(XMLFragment.mentions(name, in: text), "\(text)")
      }
      for text in ["", "jabber:x:oo", "jabber:x:ooc jabber:", String(name.dropFirst())] {
        #expect(!XMLFragment.mentions(name, in: text), "\(text)")
      }
    }

    @Test func `The text of a message with a file stands in for it`() throws {
      let file = SharedFile(FileMetadata(name: "a"), sources: ["https://files.example/a"])
      let mark = try #require(file.elements.lazy.compactMap(FallbackMark.init).first)
      #expect(mark.replaced == Namespace.fileSharing && mark.range == nil)
    }

    @Test func `Malformed values of a file are left out`() throws {
      let element = try #require(
        parsedElement(
          """
          <file xmlns='urn:xmpp:file:metadata:0'><size>-1</size><width>99999999</width>
          <height>many</height><length>9223372036854775808</length><name></name>
          <hash xmlns='urn:xmpp:hashes:2' algo='sha-256'>AAAA</hash>
          <hash xmlns='urn:xmpp:hashes:2' algo='sha-256'>#</hash></file>
          """))
      let file = try #require(FileMetadata(element))
      #expect(file == FileMetadata(hashes: [FileHash("sha-256", [0, 0, 0])]))
      #expect(file.sha256 == nil)
    }

    @Test(arguments: [
      ("../../etc/passwd", "passwd"), ("C:\\a\\b.txt", "b.txt"), (".bashrc", "bashrc"),
      ("a\u{202E}gpj.exe", "agpj.exe"), ("\u{0}\n", nil), ("..", nil), ("", nil),
      (String(repeating: "é", count: 150), String(repeating: "é", count: 100)),
    ])
    func `A name from outside is one part of a path`(text: String, name: String?) {
      #expect(SharedFile.fileName(text) == name)
    }
  }
#endif
