#if Messaging
  /// A file of a message, by XEP-0447 or XEP-0066.
  package struct SharedFile: Hashable, Sendable {
    private static let countMax = 32

    package var metadata: FileMetadata
    /// Addresses as they came, the best first.
    package var sources: [String]
    /// A small picture of it that came with the message.
    package var thumbnail: Thumbnail?

    package init(_ metadata: FileMetadata, sources: [String]) {
      self.metadata = metadata
      self.sources = sources
    }

    /// The files of a message with these elements, each once.
    package static func files(in elements: [XMLElement]) -> [SharedFile] {
      let shared = elements.lazy.compactMap(FileSharing.init).filter { !$0.sources.isEmpty }
      var files = shared.prefix(countMax).reduce(into: [SharedFile]()) {
        var file = SharedFile($1.metadata, sources: $1.sources)
        file.thumbnail =
          $1.metadata.thumbnails.lazy.compactMap { Thumbnail($0, in: elements) }.first
        $0.append(file)
      }
      for data in elements.lazy.compactMap(OutOfBandData.init) where files.count < countMax {
        guard !files.contains(where: { $0.sources.contains(data.url) }) else { continue }
        files.append(SharedFile(FileMetadata(text: data.text), sources: [data.url]))
      }
      return files
    }

    /// The files of a message whose elements were kept as text.
    package static func files(in text: String) -> [SharedFile] {
      // Most messages have none.
      guard
        XMLFragment.mentions(Namespace.fileSharing, in: text)
          || XMLFragment.mentions(Namespace.outOfBand, in: text)
      else { return [] }
      return files(in: XMLFragment.elements(of: text))
    }

    /// The elements of the message that shares the file, without its body, which is the address. Clients without
    /// XEP-0447 show it by XEP-0066.
    package var elements: [XMLElement] {
      guard let url = sources.first else { return [] }
      var mark = FallbackMark(for: Namespace.fileSharing).element
      mark.append(XMLElement("body", Namespace.fallback))
      let (shared, pictures) = separatingPictures
      return [
        FileSharing(shared, sources: sources).element, OutOfBandData(url: url).element, mark,
      ] + pictures
    }

    /// The description with small pictures as pieces of data of the message (XEP-0231), and these pieces.
    ///
    /// As text of an element, a picture passes each server at once. In an attribute, a server with Expat 2.6 or later, such as
    /// Prosody, may wait for as many bytes again before it reads the end of the tag (CVE-2023-52425).
    private var separatingPictures: (FileMetadata, [XMLElement]) {
      var shared = metadata
      var pictures: [XMLElement] = []
      var names: Set<String> = []
      for (index, link) in metadata.thumbnails.enumerated() where link.address.hasPrefix("data:") {
        guard let picture = Thumbnail(link, in: []) else { continue }
        let contentID = ContentName.name(of: picture.bytes)
        shared.thumbnails[index].address = "cid:" + contentID
        guard names.insert(contentID).inserted else { continue }
        pictures.append(
          BitsOfBinary(
            contentID: contentID, bytes: picture.bytes, mediaType: picture.mediaType
          ).element)
      }
      return (shared, pictures)
    }

    /// The last part of a path or an address as a name of a file: without separators, control characters and leading
    /// dots, and of 200 bytes at most. Nil if nothing is left.
    package static func fileName(_ text: String) -> String? {
      let last = text.split { $0 == "/" || $0 == "\\" }.last ?? ""
      let scalars = last.unicodeScalars.filter { scalar in
        switch scalar.properties.generalCategory {
        case .control, .format, .surrogate, .privateUse, .lineSeparator, .paragraphSeparator: false
        default: true
        }
      }
      var name = String(String.UnicodeScalarView(scalars).drop { $0 == "." || $0 == " " })
      while name.utf8.count > 200 { name.removeLast() }
      return name.isEmpty ? nil : name
    }
  }

  /// Elements that are kept as text between two stanzas.
  package enum XMLFragment {
    /// The elements of a text that ``XMLWriter`` has written inside a stanza; none if it isn't well-formed.
    package static func elements(of text: String) -> [XMLElement] {
      guard !text.isEmpty else { return [] }
      let parser = XMLStreamParser()
      parser.append(XMLWriter.opening(StreamHeader(from: "localhost", id: "0")))
      parser.append(Array("<message>\(text)</message>".utf8))
      do throws(XMLStreamError) {
        while let item = try parser.next() {
          if case .element(let element) = item { return element.children }
        }
      } catch {
        return []
      }
      return []
    }

    /// Whether a namespace is in a text that ``XMLWriter`` has written, so that the text is worth being parsed. Most messages
    /// have no elements, for which `contains` prepares a search of characters all the same.
    package static func mentions(_ namespace: String, in text: String) -> Bool {
      guard let first = namespace.utf8.first else { return false }
      var rest = text.utf8[...]
      while rest.count >= namespace.utf8.count, let start = rest.firstIndex(of: first) {
        rest = rest[start...]
        if rest.starts(with: namespace.utf8) { return true }
        rest = rest.dropFirst()
      }
      return false
    }

    /// Elements as text inside a stanza.
    package static func text(of elements: [XMLElement]) -> String {
      var writer = XMLWriter()
      for element in elements { writer.write(element, inside: Namespace.client) }
      return String(decoding: writer.bytes, as: UTF8.self)
    }
  }
#endif
