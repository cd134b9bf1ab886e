package import JSONWire

/// A message of a tab: the user's input and clicks, in order.
///
///     {"tab": "…", "epoch": "…", "seq": 7, "ops": [["set", path, value], ["call", path, [value]]]}
///
/// A path is a name, or list, key and name for a member of a row. A page that is left doesn't wait for the
/// answer to its last message: the next one repeats its operations, as `before`.
package struct PageMessage: Hashable, Sendable {
  package enum Path: Hashable, Sendable {
    case page(String)
    case row(list: String, key: String, name: String)
  }

  package enum Operation: Hashable, Sendable {
    case set(Path, JSON)
    case call(Path, JSON?)
  }

  /// The reason why a message is refused before its operations are resolved.
  package enum Fault: Error, Hashable, Sendable {
    /// The text is not a valid message.
    case malformed(String)
    /// The message exceeds a limit.
    case tooLarge(String)
  }

  package var tab: String
  package var epoch: String
  package var sequence: UInt64
  package var operations: [Operation]
  /// The operations of the message before this one, which may not have arrived; nil if it has.
  package var before: [Operation]?

  package init(
    tab: String, epoch: String, sequence: UInt64, operations: [Operation],
    before: [Operation]? = nil
  ) {
    self.tab = tab
    self.epoch = epoch
    self.sequence = sequence
    self.operations = operations
    self.before = before
  }

  /// Parses the body of a request.
  package init(_ body: [UInt8]) throws(Fault) {
    guard body.count <= BindingLimits.bodyByteCountMax else { throw .tooLarge("the body") }
    let value: JSON
    do throws(JSONError) {
      value = try JSON(parsing: body)
    } catch {
      throw .malformed("\(error.reason), at byte \(error.offset)")
    }
    guard case .object(let members) = value else { throw .malformed("no object") }
    var known: [String: JSON] = [:]
    for member in members { known[member.key] = member.value }
    guard case .string(let tab) = known["tab"], case .string(let epoch) = known["epoch"],
      case .integer(let number) = known["seq"], let sequence = UInt64(exactly: number),
      members.count == (known["before"] == nil ? 4 : 5)
    else { throw .malformed("a message has tab, epoch, seq and ops") }
    guard TabName(tab) != nil else { throw .malformed("tab") }
    self.tab = tab
    self.epoch = epoch
    self.sequence = sequence
    operations = try Self.operations(known["ops"])
    before = try known["before"].map { value throws(Fault) in try Self.operations(value) }
  }

  private static func operations(_ value: JSON?) throws(Fault) -> [Operation] {
    guard case .array(let list) = value else { throw .malformed("operations are a list") }
    guard list.count <= BindingLimits.operationCountMax else { throw .tooLarge("ops") }
    var operations: [Operation] = []
    operations.reserveCapacity(list.count)
    for item in list { operations.append(try operation(item)) }
    return operations
  }

  private static func operation(_ value: JSON) throws(Fault) -> Operation {
    guard case .array(let parts) = value, parts.count == 3, case .string(let verb) = parts[0]
    else { throw .malformed("an operation is a verb, a path and a value") }
    let path = try path(parts[1])
    switch verb {
    case "set": return .set(path, try plain(parts[2]))
    case "call":
      guard case .array(let arguments) = parts[2], arguments.count <= 1 else {
        throw .malformed("an action has one argument, or none")
      }
      guard let argument = arguments.first else { return .call(path, nil) }
      return .call(path, try plain(argument))
    default: throw .malformed("an operation is set or call")
    }
  }

  private static func path(_ value: JSON) throws(Fault) -> Path {
    switch value {
    case .string(let name): return .page(name)
    case .array(let parts):
      guard parts.count == 3, case .string(let list) = parts[0], case .string(let key) = parts[1],
        case .string(let name) = parts[2]
      else { break }
      guard key.utf8.count <= BindingLimits.keyByteCountMax else { throw .tooLarge("a key") }
      return .row(list: list, key: key, name: name)
    default: break
    }
    throw .malformed("a path is a name, or list, key and name")
  }

  /// Controls have texts, numbers and switches; nothing else is set.
  private static func plain(_ value: JSON) throws(Fault) -> JSON {
    switch value {
    case .string(let text):
      guard text.utf8.count <= BindingLimits.textByteCountMax else { throw .tooLarge("a text") }
    case .null, .bool, .integer, .number: break
    case .array, .object: throw .malformed("a value is a text, a number, true, false or null")
    }
    return value
  }
}

/// The name of a tab: the name of its page, if the server has several pages, the tab's key, which is
/// random, and the number of the document in it. `search.8f3a…~77e1…`, `8f3a…~77e1…`, `8f3a…`.
package struct TabName: Hashable, Sendable {
  package let text: String

  /// The page's name, before the dot; nil if the text has no dot.
  package var page: Substring? {
    text.firstIndex(of: ".").map { text[..<$0] }
  }

  /// The name without the number of the document; nil if it has none. It stays the same when the
  /// page is loaded again.
  package var key: Substring? {
    text.firstIndex(of: "~").map { text[..<$0] }
  }

  /// The maximum length of a page's name. The random part has at most 54 characters: five numbers
  /// of 32 bits, with a character between them.
  package static let pageByteCountMax = BindingLimits.tabByteCountMax - 1 - 54

  /// Whether a name is valid for a page.
  package static func isFit(forPage name: String) -> Bool {
    !name.isEmpty && name.utf8.count <= pageByteCountMax && TabName(name + ".1~1") != nil
  }

  /// Parses a name. Nil if the text has other characters than ASCII letters and digits, `-`, `_`,
  /// one dot and one `~`, or if it is too long.
  package init?(_ text: some StringProtocol) {
    let isFit = text.utf8.allSatisfy { byte in
      switch byte {
      case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
        UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "_"),
        UInt8(ascii: "."), UInt8(ascii: "~"):
        true
      default: false
      }
    }
    guard isFit, !text.isEmpty, text.utf8.count <= BindingLimits.tabByteCountMax,
      text.utf8.count(where: { $0 == UInt8(ascii: ".") }) <= 1,
      text.utf8.count(where: { $0 == UInt8(ascii: "~") }) <= 1
    else { return nil }
    self.text = String(text)
  }
}
