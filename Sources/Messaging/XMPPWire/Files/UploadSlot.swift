#if Messaging
  /// A request for a place for a file at an upload service (XEP-0363, §4).
  package struct SlotRequest: XMPPExtension {
    package var fileName: String
    package var byteCount: Int64
    package var mediaType: String?

    package init(fileName: String, byteCount: Int64, mediaType: String? = nil) {
      self.fileName = fileName
      self.byteCount = byteCount
      self.mediaType = mediaType
    }

    package init?(_ element: XMLElement) {
      guard element.has("request", Namespace.upload), let name = element["filename"],
        let byteCount = element["size"].flatMap({ Int64($0) }), byteCount >= 0
      else { return nil }
      self.init(fileName: name, byteCount: byteCount, mediaType: element["content-type"])
    }

    package var element: XMLElement {
      XMLElement(
        "request", Namespace.upload,
        ["filename": fileName, "size": "\(byteCount)", "content-type": mediaType])
    }
  }

  /// A place for a file at an upload service: where it is put, and where others get it (XEP-0363, §4).
  package struct UploadSlot: XMPPExtension {
    /// A field of the request that puts the file.
    package struct Header: Hashable, Sendable {
      package var name: String
      package var value: String

      package init(name: String, value: String) {
        self.name = name
        self.value = value
      }
    }

    /// The fields that a service may set, in lower case.
    private static let allowedHeaders: Set = ["authorization", "cookie", "expires"]
    private static let headerCountMax = 8
    private static let headerByteCountMax = 8_192

    package var put: HTTPSAddress
    package var get: HTTPSAddress
    package var headers: [Header]

    package init(put: HTTPSAddress, get: HTTPSAddress, headers: [Header] = []) {
      self.put = put
      self.get = get
      self.headers = headers
    }

    /// Reads a slot; nil without two addresses of `https`. Other header fields than those of XEP-0363 are left out, and so
    /// are ends of lines in them.
    package init?(_ element: XMLElement) {
      guard element.has("slot", Namespace.upload),
        let put = element.child("put", Namespace.upload),
        let putAddress = put["url"].flatMap({ HTTPSAddress($0) }),
        let getAddress = element.child("get", Namespace.upload)?["url"].flatMap({
          HTTPSAddress($0)
        })
      else { return nil }
      let headers = put.children.lazy.compactMap(Self.header).prefix(Self.headerCountMax)
      self.init(put: putAddress, get: getAddress, headers: Array(headers))
    }

    private static func header(_ element: XMLElement) -> Header? {
      guard element.has("header", Namespace.upload) else { return nil }
      func withoutLines(_ text: String) -> String {
        String(String.UnicodeScalarView(text.unicodeScalars.filter { $0 != "\r" && $0 != "\n" }))
      }
      let name = withoutLines(element["name"] ?? "").lowercased()
      let value = withoutLines(element.text)
      guard allowedHeaders.contains(name), value.utf8.count <= headerByteCountMax,
        value.utf8.allSatisfy({ (0x20...0x7E).contains($0) || $0 == 0x09 })
      else { return nil }
      return Header(name: name, value: value)
    }

    package var element: XMLElement {
      let fields = headers.map { header in
        XMLElement("header", Namespace.upload, ["name": header.name], text: header.value)
      }
      return XMLElement(
        "slot", Namespace.upload,
        children: [
          XMLElement("put", Namespace.upload, ["url": put.description], children: fields),
          XMLElement("get", Namespace.upload, ["url": get.description]),
        ])
    }
  }

  /// The reason of an upload service, beside the error of the stanza (XEP-0363, §5).
  package enum UploadRefusal: Hashable, Sendable {
    /// The file is larger than this.
    case fileTooLarge(byteCountMax: Int64?)
    /// The quota is used up until this time.
    case retry(Timestamp)

    /// Reads the reason among the children of an error; nil without one.
    package init?(in payload: [XMLElement]) {
      guard let error = payload.first(where: { $0.has("error", Namespace.client) }) else {
        return nil
      }
      if let large = error.child("file-too-large", Namespace.upload) {
        let most = large.child("max-file-size", Namespace.upload).flatMap { Int64($0.text) }
        self = .fileTooLarge(byteCountMax: most)
      } else if let retry = error.child("retry", Namespace.upload),
        let stamp = retry["stamp"].flatMap({ Timestamp($0) })
      {
        self = .retry(stamp)
      } else {
        return nil
      }
    }
  }

  extension DiscoInfo {
    /// Whether the entity takes files (XEP-0363, §3), and the largest that it takes; nil if it tells none.
    package var uploadService: (isOne: Bool, byteCountMax: Int64?) {
      let form = forms.first { $0.type == Namespace.upload }
      let most = form?["max-file-size"].flatMap { Int64($0) }
      return (features.contains(Namespace.upload), most.map { max(0, $0) })
    }
  }

  /// The items of an entity (XEP-0030, §4): the request, if it is empty, and the answer.
  package struct DiscoItems: XMPPExtension {
    package var items: [JID]

    package init(_ items: [JID] = []) { self.items = items }

    /// Items without a valid address, and nodes of an address, are left out.
    package init?(_ element: XMLElement) {
      guard element.has("query", Namespace.discoItems) else { return nil }
      items = element.children.compactMap { item in
        guard item.has("item", Namespace.discoItems), item["node"] == nil else { return nil }
        return item["jid"].flatMap { JID($0) }
      }
    }

    package var element: XMLElement {
      XMLElement(
        "query", Namespace.discoItems,
        children: items.map { XMLElement("item", Namespace.discoItems, ["jid": $0.description]) })
    }
  }
#endif
