/// An event of a stream (HTML Standard, §9.2).
public struct StreamEvent: Hashable, Sendable {
  /// Its name.
  public var name: String
  /// The value of the last `id:` field.
  public var id: String
  /// The lines of data.
  public var data: String

  /// An event.
  public init(name: String, id: String, data: String) {
    self.name = name
    self.id = id
    self.data = data
  }
}

/// Reads events from a stream, in pieces of any size.
public struct EventReader: Sendable {
  private var line: [UInt8] = []
  private var name = ""
  private var id = ""
  private var data: [String] = []
  /// Comments so far: signs of life.
  public private(set) var commentCount = 0
  /// The value of the last `retry:` field, in milliseconds.
  public private(set) var retry: Int?

  /// A reader at the beginning of a stream.
  public init() {}

  /// Takes bytes, and returns the events that they complete.
  public mutating func read(_ bytes: some Sequence<UInt8>) -> [StreamEvent] {
    var events: [StreamEvent] = []
    for byte in bytes {
      guard byte == UInt8(ascii: "\n") else {
        line.append(byte)
        continue
      }
      if let event = endLine() { events.append(event) }
    }
    return events
  }

  private mutating func endLine() -> StreamEvent? {
    let text = String(decoding: line, as: UTF8.self)
    line = []
    guard !text.isEmpty else {
      defer { (name, data) = ("", []) }
      return data.isEmpty
        ? nil : StreamEvent(name: name, id: id, data: data.joined(separator: "\n"))
    }
    guard let colon = text.firstIndex(of: ":"), colon > text.startIndex else {
      commentCount += 1
      return nil
    }
    let value = text[text.index(after: colon)...].drop { $0 == " " }
    switch text[..<colon] {
    case "event": name = String(value)
    case "id": id = String(value)
    case "data": data.append(String(value))
    case "retry": retry = Int(value)
    default: break
    }
    return nil
  }
}
