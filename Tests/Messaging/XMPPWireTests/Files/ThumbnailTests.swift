#if Messaging
  import Testing

  @testable import XMPPWire

  @Suite("Small pictures of files")
  struct ThumbnailTests {
    private static let png: [UInt8] = [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A, 1, 2, 3]

    private static func message(_ thumbnail: String, _ rest: String = "") -> [SharedFile] {
      SharedFile.files(
        in: """
          <file-sharing xmlns='urn:xmpp:sfs:0'><file xmlns='urn:xmpp:file:metadata:0'>\
          <name>a.jpg</name>\(thumbnail)</file><sources><url-data \
          xmlns='http://jabber.org/protocol/url-data' target='https://x.example/a'/></sources>\
          </file-sharing>\(rest)
          """)
    }

    private static func link(_ address: String) -> String {
      "<thumbnail xmlns='urn:xmpp:thumbs:1' uri='\(address)' media-type='text/html' width='64'/>"
    }

    @Test func `A picture is read as it was written, with its dimensions`() throws {
      let thumbnail = try #require(Thumbnail(Self.png, width: 96, height: 54))
      #expect(thumbnail.mediaType == "image/png")
      let metadata = FileMetadata(name: "a.jpg", thumbnails: [thumbnail.link])
      #expect(FileMetadata(metadata.element) == metadata)
      let file = SharedFile(metadata, sources: ["https://x.example/a"])
      let read = SharedFile.files(in: XMLFragment.text(of: file.elements))
      #expect(read.map(\.thumbnail) == [thumbnail])
    }

    @Test func `A picture that is sent is text of an element, so that no attribute is long`() throws
    {
      let bytes = Self.png + [UInt8](repeating: 7, count: 20_000)
      let thumbnail = try #require(Thumbnail(bytes, width: 96, height: 54))
      let hash = FileHash(FileHash.sha256, Array(0..<32))
      let metadata = FileMetadata(
        name: "a.jpg", hashes: [hash], thumbnails: [thumbnail.link, thumbnail.link])
      let file = SharedFile(metadata, sources: ["https://x.example/a"])
      let text = XMLFragment.text(of: file.elements)
      #expect(SharedFile.files(in: text).map(\.thumbnail) == [thumbnail])
      let longest = text.split(separator: "<").compactMap { $0.split(separator: ">").first?.count }
      #expect(try #require(longest.max()) < 300)
      // Two links to one picture have one piece of data.
      let data = file.elements.compactMap(BitsOfBinary.init)
      #expect(data.map(\.bytes) == [bytes] && data.map(\.mediaType) == ["image/png"])
    }

    @Test(arguments: [
      ([UInt8]("abc".utf8), "a9993e364706816aba3e25717850c26c9cd0d89d"),
      ([], "da39a3ee5e6b4b0d3255bfef95601890afd80709"),
      (
        Array("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq".utf8),
        "84983e441c3bd26ebaae4aa1f95129e5e54670f1"
      ),
      ([UInt8](repeating: 0x61, count: 1_000_000), "34aa973cd4c4daa4f61eeb2bdbad27316534016f"),
    ])
    func `The name of a piece of data is its SHA-1 digest`(bytes: [UInt8], digest: String) {
      #expect(ContentName.name(of: bytes) == "sha1+\(digest)@bob.xmpp.org")
    }

    @Test(arguments: 50...70 as ClosedRange<Int>)
    func `Names agree with another implementation at each end of a block`(count: Int) {
      let bytes = (0..<count).map { UInt8($0) }
      let digest = PlainFunctions().digest(.sha1, bytes) ?? []
      let digits = digest.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
      #expect(ContentName.name(of: bytes) == "sha1+\(digits)@bob.xmpp.org")
    }

    @Test(arguments: ["cid:sha256+00@bob.xmpp.org", "cid:thumbnail-0+00@bob.xmpp.org", "cid:x"])
    func `A piece of data is found by any name`(address: String) {
      let data = "<data xmlns='urn:xmpp:bob' cid='\(address.dropFirst(4))'>"
      let found = Self.message(Self.link(address), "\(data)\(Base64.text(Self.png))</data>")
      #expect(found.first?.thumbnail == Thumbnail(Self.png, width: 64))
    }

    @Test func `A picture in a piece of data of the same message is found by its name`() {
      let link = Self.link("cid:sha1+8f35@bob.xmpp.org")
      let data = "<data xmlns='urn:xmpp:bob' cid='sha1+8f35@bob.xmpp.org' type='text/html'>"
      let base64 = Base64.text(Self.png)
      let other = "<data xmlns='urn:xmpp:bob' cid='sha1+0000@bob.xmpp.org'>QUJD</data>"
      let found = Self.message(
        link, "\(other)\(data)\(base64.prefix(4))\n\(base64.dropFirst(4))</data>")
      #expect(found.first?.thumbnail == Thumbnail(Self.png, width: 64))
      #expect(Self.message(link, other).first?.thumbnail == nil)
    }

    @Test func `The first bytes decide what a picture is, and addresses elsewhere are none`() {
      func found(_ address: String) -> Thumbnail? {
        Self.message(Self.link(address)).first?.thumbnail
      }
      #expect(found("data:text/html;base64,\(Base64.text(Self.png))")?.mediaType == "image/png")
      let page = Base64.text(Array("<svg onload='x'/>".utf8))
      for address in [
        "data:image/png;base64,\(page)", "data:image/svg+xml;base64,\(page)", "data:image/png,abc",
        "data:image/png;base64,%%%%", "data:", "data:,", "cid:", "https://tracker.example/1.png",
        "file:///etc/passwd",
      ] {
        #expect(found(address) == nil, "\(address)")
      }
    }

    @Test func `Pictures have a bound, and too large ones leave the file as it is`() {
      let large = Self.png + [UInt8](repeating: 0, count: Thumbnail.byteCountMax)
      #expect(Thumbnail(large) == nil)
      #expect(Thumbnail(Array(large.prefix(Thumbnail.byteCountMax))) != nil)
      let link = Self.link("data:image/png;base64,\(Base64.text(large))")
      let found = Self.message(link)
      #expect(found.first?.thumbnail == nil)
      #expect(found.first?.metadata.name == "a.jpg")
      let many = String(repeating: Self.link("data:image/png;base64,AAAA"), count: 100)
      #expect(Self.message(many).first?.metadata.thumbnails.count == 2)
    }

    @Test func `A link that is cut, mutated or of another kind is none`() throws {
      let element = try #require(Thumbnail(Self.png, width: 9, height: 0)).link.element
      #expect(ThumbnailLink(element)?.height == nil, "a side is at least one pixel")
      #expect(ThumbnailLink(XMLElement("thumbnail", "urn:other", ["uri": "data:,"])) == nil)
      #expect(ThumbnailLink(XMLElement("thumbnail", Namespace.thumbnails)) == nil)
      let long = String(repeating: "a", count: 50_000)
      #expect(ThumbnailLink(XMLElement("thumbnail", Namespace.thumbnails, ["uri": long])) == nil)
      let base64 = Base64.text(Self.png)
      for count in 0..<base64.count {
        let link = ThumbnailLink(address: "data:image/png;base64,\(base64.prefix(count))")
        if let cut = Thumbnail(link, in: []) { #expect(Self.png.starts(with: cut.bytes)) }
      }
    }
  }
#endif
