#if Messaging
  /// The digest of a file (XEP-0300).
  package struct FileHash: XMPPExtension {
    package static let sha256 = "sha-256"

    package var algorithm: String
    package var digest: [UInt8]

    package init(_ algorithm: String, _ digest: [UInt8]) {
      self.algorithm = algorithm
      self.digest = digest
    }

    package init?(_ element: XMLElement) {
      guard element.has("hash", Namespace.hashes), let algorithm = element["algo"],
        element.text.utf8.count <= 1_024,
        let digest = Base64.bytes(element.text.filter { !$0.isWhitespace }), !digest.isEmpty
      else { return nil }
      self.init(algorithm.lowercased(), digest)
    }

    package var element: XMLElement {
      XMLElement(
        "hash", Namespace.hashes, ["algo": algorithm], text: Base64.text(digest))
    }
  }

  /// What a file is (XEP-0446). All of it is the sender's claim.
  package struct FileMetadata: XMPPExtension {
    /// The longest text of a value that is read, in bytes.
    private static let textByteCountMax = 1_024
    private static let sideMax: Int64 = 1 << 20

    package var name: String?
    package var mediaType: String?
    package var byteCount: Int64?
    package var hashes: [FileHash]
    /// In pixels.
    package var width: Int?
    package var height: Int?
    /// In milliseconds.
    package var duration: Int64?
    package var text: String?
    package var thumbnails: [ThumbnailLink]

    package init(
      name: String? = nil, mediaType: String? = nil, byteCount: Int64? = nil,
      hashes: [FileHash] = [], width: Int? = nil, height: Int? = nil, duration: Int64? = nil,
      text: String? = nil, thumbnails: [ThumbnailLink] = []
    ) {
      self.thumbnails = thumbnails
      self.name = name
      self.mediaType = mediaType
      self.byteCount = byteCount
      self.hashes = hashes
      self.width = width
      self.height = height
      self.duration = duration
      self.text = text
    }

    /// Reads the description of a file; values that are malformed are left out.
    package init?(_ element: XMLElement) {
      guard element.has("file", Namespace.fileMetadata) else { return nil }
      func text(_ name: String) -> String? {
        guard let text = element.child(name, Namespace.fileMetadata)?.text, !text.isEmpty else {
          return nil
        }
        return text.utf8.count <= Self.textByteCountMax ? text : nil
      }
      func number(_ name: String, upTo most: Int64) -> Int64? {
        text(name).flatMap { Int64($0) }.flatMap { (0...most).contains($0) ? $0 : nil }
      }
      self.init(
        name: text("name"), mediaType: text("media-type"), byteCount: number("size", upTo: .max),
        hashes: Array(element.children.lazy.compactMap(FileHash.init).prefix(8)),
        width: number("width", upTo: Self.sideMax).map { Int($0) },
        height: number("height", upTo: Self.sideMax).map { Int($0) },
        duration: number("length", upTo: 1 << 53), text: text("desc"),
        thumbnails: Array(element.children.lazy.compactMap(ThumbnailLink.init).prefix(2)))
    }

    package var element: XMLElement {
      var children: [XMLElement] = []
      func add(_ name: String, _ value: String?) {
        guard let value else { return }
        children.append(XMLElement(name, Namespace.fileMetadata, text: value))
      }
      add("name", name)
      add("media-type", mediaType)
      add("size", byteCount.map { "\($0)" })
      add("width", width.map { "\($0)" })
      add("height", height.map { "\($0)" })
      add("length", duration.map { "\($0)" })
      add("desc", text)
      children += hashes.map(\.element) + thumbnails.map(\.element)
      return XMLElement("file", Namespace.fileMetadata, children: children)
    }

    /// The SHA-256 digest; nil without one of its length.
    package var sha256: [UInt8]? {
      hashes.first { $0.algorithm == FileHash.sha256 && $0.digest.count == 32 }?.digest
    }
  }

  /// A file and the places from which it can be had (XEP-0447).
  package struct FileSharing: XMPPExtension {
    private static let sourceCountMax = 8

    package var metadata: FileMetadata
    /// Addresses as they came.
    package var sources: [String]

    package init(_ metadata: FileMetadata, sources: [String]) {
      self.metadata = metadata
      self.sources = sources
    }

    package init?(_ element: XMLElement) {
      guard element.has("file-sharing", Namespace.fileSharing),
        let metadata = FileMetadata.first(in: element.children)
      else { return nil }
      let list = element.child("sources", Namespace.fileSharing)?.children ?? []
      let sources = list.lazy.filter { $0.has("url-data", Namespace.urlData) }
        .compactMap { $0["target"] }
        .filter { $0.utf8.count <= HTTPSAddress.byteCountMax }
      self.init(metadata, sources: Array(sources.prefix(Self.sourceCountMax)))
    }

    package var element: XMLElement {
      let list = sources.map { XMLElement("url-data", Namespace.urlData, ["target": $0]) }
      return XMLElement(
        "file-sharing", Namespace.fileSharing, ["disposition": "inline"],
        children: [
          metadata.element, XMLElement("sources", Namespace.fileSharing, children: list),
        ])
    }
  }

  /// The address of a file (XEP-0066, §3), by which clients without XEP-0447 show it.
  package struct OutOfBandData: XMPPExtension {
    package var url: String
    package var text: String?

    package init(url: String, text: String? = nil) {
      self.url = url
      self.text = text
    }

    package init?(_ element: XMLElement) {
      guard element.has("x", Namespace.outOfBand),
        let url = element.child("url", Namespace.outOfBand)?.text,
        !url.isEmpty, url.utf8.count <= HTTPSAddress.byteCountMax
      else { return nil }
      self.init(url: url, text: element.child("desc", Namespace.outOfBand)?.text)
    }

    package var element: XMLElement {
      var children = [XMLElement("url", Namespace.outOfBand, text: url)]
      if let text { children.append(XMLElement("desc", Namespace.outOfBand, text: text)) }
      return XMLElement("x", Namespace.outOfBand, children: children)
    }
  }
#endif
