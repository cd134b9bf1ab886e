/// The identifier of a file that a page uploads; unique in a server.
package struct UploadID: Hashable, Sendable {
  package var number: Int

  package init(number: Int) { self.number = number }
}

/// The limits of an upload of a view model.
package struct UploadLimits: Hashable, Sendable {
  /// The maximum size of a file, in bytes.
  package var byteCountMax: Int
  /// The maximum number of files at a time.
  package var countMax: Int
  /// Accepted types, as in HTML's `accept`: `image/png`, `image/*`, `.csv`. Empty for all.
  package var types: [String]

  package init(byteCountMax: Int, countMax: Int = 1, types: [String] = []) {
    self.byteCountMax = byteCountMax
    self.countMax = countMax
    self.types = types.map { $0.lowercased() }
  }

  /// Whether a file with this name and media type, both as its browser sends them, is accepted.
  package func accepts(_ name: String, _ type: String) -> Bool {
    let (name, type) = (name.lowercased(), type.lowercased())
    return types.isEmpty
      || types.contains { accepted in
        if accepted.hasPrefix(".") { return name.hasSuffix(accepted) }
        if accepted.hasSuffix("/*") { return type.hasPrefix(accepted.dropLast()) }
        return type == accepted
      }
  }
}

/// The reason why a file isn't uploaded.
package enum UploadFailure: Hashable, Sendable {
  /// It has more bytes than the view model accepts.
  case tooLarge(byteCountMax: Int)
  /// The view model doesn't accept its type.
  case wrongType
  /// The view model has as many files as it accepts.
  case tooMany(countMax: Int)
  /// The server has no room: on its disk, or in its limits for all files.
  case noRoom
  /// The file can't be written.
  case notWritten
  /// Its page was closed, or sent nothing for minutes.
  case interrupted
}

/// A part of a file that a page uploads. An empty part at the beginning announces the file.
package struct UploadPart: Hashable, Sendable {
  package var tab: String
  package var epoch: String
  /// The name of the upload among the members of the view model; of a row's, with the list's name before it.
  package var upload: String
  /// The key of the row whose upload it is; empty for one of the page.
  package var row: String
  /// The file among those of the tab.
  package var key: String
  /// The file's name without folders and control characters. Never a path.
  package var name: String
  /// The media type by the browser's word.
  package var type: String
  /// The size of the whole file.
  package var fileByteCount: Int
  package var offset: Int
  package var byteCount: Int
  /// Whether the page can't read the file any more, and sends no more of it.
  package var isEnd: Bool

  /// Parses the query of a request.
  ///
  /// - Parameter byteCount: The size of the request's body.
  /// - Returns: nil if a field is missing, or is no number, or too long.
  package init?(_ query: [String: String], byteCount: Int) {
    guard let tab = query["tab"], TabName(tab) != nil, let epoch = query["epoch"],
      let upload = query["upload"], let key = query["file"], !key.isEmpty, key.utf8.count <= 64,
      let fileByteCount = query["of"].flatMap({ Int($0) }), fileByteCount >= 0,
      let offset = query["at"].flatMap({ Int($0) }), offset >= 0,
      offset <= fileByteCount, byteCount <= fileByteCount - offset,
      query["row"]?.utf8.count ?? 0 <= BindingLimits.keyByteCountMax
    else { return nil }
    self.tab = tab
    self.epoch = epoch
    self.upload = upload
    row = query["row"] ?? ""
    self.key = key
    name = Self.displayName(query["name"] ?? "")
    type = String(decoding: Self.visible(query["type"] ?? "").utf8.prefix(128), as: UTF8.self)
    self.fileByteCount = fileByteCount
    self.offset = offset
    self.byteCount = byteCount
    isEnd = query["end"].map { !$0.isEmpty } ?? false
  }

  /// A name without folders, controls and marks that change the direction of the text around them, of
  /// bounded length.
  static func displayName(_ text: String) -> String {
    let last = text.split { $0 == "/" || $0 == "\\" }.last ?? ""
    let name = visible(last)
    // The end has the extension.
    let end = name.utf8.count <= nameByteCountMax ? name : shortened(name)
    return end.allSatisfy { $0 == "." || $0 == " " } ? "file" : end
  }

  private static let nameByteCountMax = 255

  private static func shortened(_ name: String) -> String {
    var count = 0
    let end = name.reversed().prefix { character in
      count += character.utf8.count
      return count <= nameByteCountMax
    }
    return String(end.reversed())
  }

  private static func visible(_ text: some StringProtocol) -> String {
    var scalars = String.UnicodeScalarView()
    for scalar in text.unicodeScalars {
      switch scalar.value {
      // Controls, marks of direction, and separators of lines.
      case 0..<0x20, 0x7F..<0xA0, 0x61C, 0x200E, 0x200F, 0x2028...0x202E, 0x2066...0x2069: continue
      default: scalars.append(scalar)
      }
    }
    return String(scalars)
  }
}
