#if Messaging
  /// The address of a small picture of a file (XEP-0264).
  package struct ThumbnailLink: XMPPExtension {
    /// Bytes of an address: one tag of a stanza must not be longer than ``XMLLimits/tagByteCountMax``.
    private static let addressByteCountMax = 40 << 10

    /// An address of `data` (RFC 2397), of `cid` (XEP-0231), or another one.
    package var address: String
    package var mediaType: String?
    /// In pixels.
    package var width: Int?
    package var height: Int?

    package init(
      address: String, mediaType: String? = nil, width: Int? = nil, height: Int? = nil
    ) {
      self.address = address
      self.mediaType = mediaType
      self.width = width
      self.height = height
    }

    package init?(_ element: XMLElement) {
      guard element.has("thumbnail", Namespace.thumbnails), let address = element["uri"],
        !address.isEmpty, address.utf8.count <= Self.addressByteCountMax
      else { return nil }
      func side(_ name: String) -> Int? {
        element[name].flatMap { Int($0) }.flatMap { (1...65_535).contains($0) ? $0 : nil }
      }
      self.init(
        address: address, mediaType: element["media-type"], width: side("width"),
        height: side("height"))
    }

    package var element: XMLElement {
      XMLElement(
        "thumbnail", Namespace.thumbnails,
        [
          "uri": address, "media-type": mediaType, "width": width.map { "\($0)" },
          "height": height.map { "\($0)" },
        ])
    }
  }

  /// A piece of data in a stanza (XEP-0231).
  package struct BitsOfBinary: XMPPExtension {
    package var contentID: String
    package var bytes: [UInt8]
    package var mediaType: String?

    package init(contentID: String, bytes: [UInt8], mediaType: String? = nil) {
      self.contentID = contentID
      self.bytes = bytes
      self.mediaType = mediaType
    }

    package init?(_ element: XMLElement) {
      guard element.has("data", Namespace.bitsOfBinary), let contentID = element["cid"],
        element.text.utf8.count <= 40 << 10,
        let bytes = Base64.bytes(element.text.filter { !$0.isWhitespace }), !bytes.isEmpty
      else { return nil }
      self.init(contentID: contentID, bytes: bytes, mediaType: element["type"])
    }

    package var element: XMLElement {
      XMLElement(
        "data", Namespace.bitsOfBinary, ["cid": contentID, "type": mediaType],
        text: Base64.text(bytes))
    }
  }

  /// A small picture of a file, whose bytes came with the message. They are the sender's claim.
  package struct Thumbnail: Hashable, Sendable {
    /// The largest one that is sent or read, in bytes: with Base64 it is a part of a stanza.
    package static let byteCountMax = 24 << 10

    package var bytes: [UInt8]
    /// By the first bytes, whatever its sender has announced: a picture of pixels, never a document.
    package var mediaType: String
    /// In pixels.
    package var width: Int?
    package var height: Int?

    /// Nil if the bytes begin no picture, or are too many.
    package init?(_ bytes: [UInt8], width: Int? = nil, height: Int? = nil) {
      guard bytes.count <= Self.byteCountMax, let type = Self.mediaType(of: bytes) else {
        return nil
      }
      self.bytes = bytes
      mediaType = type
      self.width = width
      self.height = height
    }

    /// The picture of an address.
    ///
    /// - Parameter elements: Those of the message, which may have the data of `cid`.
    package init?(_ link: ThumbnailLink, in elements: [XMLElement]) {
      let bytes: [UInt8]?
      if link.address.hasPrefix("data:") {
        let content = link.address.dropFirst("data:".count)
        guard let comma = content.firstIndex(of: ","), content[..<comma].hasSuffix(";base64") else {
          return nil
        }
        bytes = Base64.bytes(content[content.index(after: comma)...])
      } else if link.address.hasPrefix("cid:") {
        let contentID = link.address.dropFirst("cid:".count)
        bytes =
          elements.lazy.compactMap(BitsOfBinary.init).prefix(8)
          .first { $0.contentID == contentID }?.bytes
      } else {
        // Others would show their server that the message was read.
        bytes = nil
      }
      guard let bytes else { return nil }
      self.init(bytes, width: link.width, height: link.height)
    }

    /// In an address of `data`. ``SharedFile/elements`` sends its bytes beside it in the same message: a recipient needs no
    /// request, which would show that it is online.
    package var link: ThumbnailLink {
      ThumbnailLink(
        address: "data:\(mediaType);base64,\(Base64.text(bytes))", mediaType: mediaType,
        width: width, height: height)
    }

    private static func mediaType(of bytes: [UInt8]) -> String? {
      func has(_ text: String, at place: Int) -> Bool {
        bytes.dropFirst(place).starts(with: Array(text.utf8))
      }
      if bytes.starts(with: [0x89, 0x50, 0x4E, 0x47, 0x0D, 0x0A, 0x1A, 0x0A]) {
        return "image/png"
      }
      if bytes.starts(with: [0xFF, 0xD8, 0xFF]) { return "image/jpeg" }
      if has("GIF8", at: 0) { return "image/gif" }
      return has("RIFF", at: 0) && has("WEBP", at: 8) ? "image/webp" : nil
    }
  }
#endif
