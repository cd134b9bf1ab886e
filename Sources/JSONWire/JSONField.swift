package import Essentials

/// A JSON value with its path, so that every error contains the path and the expected value.
package struct JSONField {
  package let path: String
  package let node: JSONNode

  /// Creates a field for the value at a path, which is empty for the outermost value.
  package init(path: String, node: JSONNode) {
    self.path = path
    self.node = node
  }

  /// Parses a text and creates a field for its outermost value.
  package init(parsing text: [UInt8]) throws(FileFault) {
    do throws(JSONError) {
      self.init(path: "", node: try JSONParser.parse(text))
    } catch {
      throw FileFault(offset: error.offset, path: "", reason: error.reason)
    }
  }

  /// Creates an error for this field.
  package func fault(_ sentence: String) -> FileFault {
    FileFault(offset: node.offset, path: path, reason: sentence)
  }

  private func expected(_ what: String) -> FileFault {
    fault("expected \(what), found \(node.kind)")
  }

  /// The members of an object. Throws if it has other keys than these.
  package func object(keys: [String]) throws(FileFault) -> JSONObject {
    guard case .object(let members) = node.value else { throw expected("an object") }
    for member in members where !keys.contains(member.key) {
      let key = String(member.key.prefix(64))
      let hint =
        Spelling.nearest(to: key, in: keys).map { "did you mean \"\($0)\"?" }
        ?? "known keys are \(keys.joined(separator: ", "))"
      throw FileFault(
        offset: member.offset, path: path, reason: "unknown key \"\(key)\"; \(hint)")
    }
    return JSONObject(field: self, members: members)
  }

  /// The elements of an array. Throws if there are more than `max`.
  package func array(max: Int, of what: String) throws(FileFault) -> [JSONField] {
    guard case .array(let nodes) = node.value else { throw expected("an array") }
    guard nodes.count <= max else { throw fault("at most \(max) \(what)") }
    return nodes.enumerated().map { JSONField(path: "\(path)[\($0.offset)]", node: $0.element) }
  }

  /// Whether it is an object with such a member.
  package func hasMember(_ key: String) -> Bool {
    guard case .object(let members) = node.value else { return false }
    return members.contains { $0.key == key }
  }

  package var isArray: Bool {
    if case .array = node.value { true } else { false }
  }

  package var isNumber: Bool {
    switch node.value {
    case .integer, .number: true
    default: false
    }
  }

  package func string() throws(FileFault) -> String {
    guard case .string(let text) = node.value else { throw expected("a string") }
    return text
  }

  package func bool() throws(FileFault) -> Bool {
    guard case .bool(let value) = node.value else { throw expected("true or false") }
    return value
  }

  package func number() throws(FileFault) -> Double {
    switch node.value {
    case .integer(let value): return Double(value)
    case .number(let value): return value
    default: throw expected("a number")
    }
  }

  package func integer(_ range: ClosedRange<Int>) throws(FileFault) -> Int {
    guard let value = Int(exactly: try number()), range.contains(value) else {
      throw fault("expected a whole number from \(range.lowerBound) to \(range.upperBound)")
    }
    return value
  }

  package func seconds(from least: TimeSpan, to most: TimeSpan) throws(FileFault) -> TimeSpan {
    let seconds = try number()
    guard least.seconds...most.seconds ~= seconds else {
      throw fault("expected seconds from \(Self.text(least)) to \(Self.text(most))")
    }
    return .nanoseconds(Int64((seconds * 1e9).rounded()))
  }

  private static func text(_ span: TimeSpan) -> String {
    span.seconds == span.seconds.rounded() ? "\(Int(span.seconds))" : "\(span.seconds)"
  }

  package func hexadecimal(byteCountMax: Int) throws(FileFault) -> [UInt8] {
    guard let bytes = Hexadecimal.bytes(try string()) else {
      throw fault("expected hexadecimal digits in pairs, as in \"01ff\"")
    }
    guard bytes.count <= byteCountMax else { throw fault("at most \(byteCountMax) bytes") }
    return bytes
  }
}

/// The members of an object, with their paths.
package struct JSONObject {
  package let field: JSONField
  package let members: [JSONNode.Member]

  /// The member with this key, if it exists.
  package subscript(key: String) -> JSONField? {
    members.first { $0.key == key }.map { member in
      JSONField(path: field.path.isEmpty ? key : "\(field.path).\(key)", node: member.value)
    }
  }

  /// The member with this key. Throws if it doesn't exist.
  package func required(_ key: String, _ what: String) throws(FileFault) -> JSONField {
    if let member = self[key] { return member }
    throw field.fault("the key \"\(key)\" is missing; expected \(what)")
  }

  /// Whether a member is true; false where it is missing.
  package func flag(_ key: String) throws(FileFault) -> Bool { try self[key]?.bool() ?? false }
}

/// A mistake at an offset of the text, whose line is not known yet.
package struct FileFault: Error, Hashable {
  package var offset: Int?
  package var path: String
  package var reason: String

  package init(offset: Int?, path: String, reason: String) {
    self.offset = offset
    self.path = path
    self.reason = reason
  }

  /// The line and the column of the mistake in the text. Both start at 1, and columns count Unicode scalars; nil
  /// for a mistake of the whole text.
  package func position(in text: [UInt8]) -> (line: Int, column: Int)? {
    guard let offset else { return nil }
    let before = text.prefix(offset)
    let lineStart = before.lastIndex(of: 0x0A).map { $0 + 1 } ?? 0
    // Continuation bytes of UTF-8 begin with the bits 10.
    return (
      line: before.count { $0 == 0x0A } + 1,
      column: before[lineStart...].count { $0 & 0xC0 != 0x80 } + 1
    )
  }
}
