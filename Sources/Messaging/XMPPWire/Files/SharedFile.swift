#if Messaging
  /// A file of a message, by XEP-0447 or XEP-0066.
  package struct SharedFile: Hashable, Sendable {
    private static let countMax = 32

    package var metadata: FileMetadata
    /// Addresses as they came, the best first.
    package var sources: [String]

    package init(_ metadata: FileMetadata, sources: [String]) {
      self.metadata = metadata
      self.sources = sources
    }

    /// The files of a message with these elements, each once.
    package static func files(in elements: [XMLElement]) -> [SharedFile] {
      let shared = elements.lazy.compactMap(FileSharing.init).filter { !$0.sources.isEmpty }
      var files = shared.prefix(countMax).reduce(into: [SharedFile]()) {
        $0.append(SharedFile($1.metadata, sources: $1.sources))
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
      guard text.contains(Namespace.fileSharing) || text.contains(Namespace.outOfBand) else {
        return []
      }
      return files(in: XMLFragment.elements(of: text))
    }

    /// The elements of the message that shares the file, without its body, which is the address. Clients without
    /// XEP-0447 show it by XEP-0066.
    package var elements: [XMLElement] {
      guard let url = sources.first else { return [] }
      var mark = FallbackMark(for: Namespace.fileSharing).element
      mark.append(XMLElement("body", Namespace.fallback))
      return [
        FileSharing(metadata, sources: sources).element, OutOfBandData(url: url).element, mark,
      ]
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

    /// Elements as text inside a stanza.
    package static func text(of elements: [XMLElement]) -> String {
      var writer = XMLWriter()
      for element in elements { writer.write(element, inside: Namespace.client) }
      return String(decoding: writer.bytes, as: UTF8.self)
    }
  }
#endif
