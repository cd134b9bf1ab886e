package import JSONWire

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
    self.init(
      position: fault.position(in: text).map { Position(line: $0.line, column: $0.column) },
      path: fault.path, reason: fault.reason)
  }
}
