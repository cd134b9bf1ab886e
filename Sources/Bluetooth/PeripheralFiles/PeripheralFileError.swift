/// The reason why a text is not a valid peripheral file.
public struct PeripheralFileError: Error, Hashable, Sendable, CustomStringConvertible {
  /// A position in a text: line and column start at 1, and columns count Unicode scalars.
  public struct Position: Hashable, Sendable {
    /// The line.
    public var line: Int
    /// The column.
    public var column: Int
  }

  /// The position of the mistake; nil if it concerns the file as a whole.
  public var position: Position?
  /// The path of the value: `services[0].uuid`; empty for the outermost value.
  public var path: String
  /// The expected value or the mistake, without a full stop.
  public var reason: String

  /// `line 3, column 5: services[0].uuid: expected …`, without a full stop.
  public var description: String {
    let place = position.map { "line \($0.line), column \($0.column): " } ?? ""
    return place + (path.isEmpty ? "" : path + ": ") + reason
  }

  init(position: Position? = nil, path: String = "", reason: String) {
    self.position = position
    self.path = path
    self.reason = reason
  }

  package init(_ fault: FileFault, in text: [UInt8]) {
    let before = text.prefix(fault.offset ?? 0)
    let lineStart = before.lastIndex(of: 0x0A).map { $0 + 1 } ?? 0
    // Continuation bytes of UTF-8 begin with the bits 10.
    let position = Position(
      line: before.count { $0 == 0x0A } + 1,
      column: before[lineStart...].count { $0 & 0xC0 != 0x80 } + 1)
    self.init(
      position: fault.offset == nil ? nil : position, path: fault.path, reason: fault.reason)
  }
}

/// A mistake at an offset of the text, whose line is not known yet.
package struct FileFault: Error, Hashable {
  package var offset: Int?
  package var path: String
  package var reason: String
}
