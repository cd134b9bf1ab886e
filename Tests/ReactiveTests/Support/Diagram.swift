/// A stream drawn as text, one character a frame.
///
/// - `-` nothing happens
/// - `a`, `1` … the value of that name; `[name]` one whose name is longer
/// - `|` completion, `#` failure, `!` interruption
/// - `(ab|)` several events in one frame
/// - spaces are for aligning diagrams; they don't count
struct Diagram: Equatable {
  enum Mark: Equatable {
    case value(String)
    case completed
    case failed
    case interrupted
  }

  struct Event: Equatable {
    /// Not always whole: an operator may be at odds with the frames.
    var frame: Double
    var mark: Mark
  }

  var events: [Event]

  init(events: [Event]) {
    self.events = events
  }

  init(_ text: String) {
    events = []
    var frame = 0
    var isInGroup = false
    var name: String?
    for character in text where character != " " {
      if let begun = name {
        guard character == "]" else {
          name = begun + String(character)
          continue
        }
        name = nil
        events.append(Event(frame: Double(frame), mark: .value(begun)))
      } else {
        switch character {
        case "(": isInGroup = true
        case ")": isInGroup = false
        case "[":
          name = ""
          continue
        case "-": break
        case "|": events.append(Event(frame: Double(frame), mark: .completed))
        case "#": events.append(Event(frame: Double(frame), mark: .failed))
        case "!": events.append(Event(frame: Double(frame), mark: .interrupted))
        default: events.append(Event(frame: Double(frame), mark: .value(String(character))))
        }
      }
      if !isInGroup { frame += 1 }
    }
    precondition(!isInGroup && name == nil, "an open bracket in \(text)")
  }
}

extension Diagram: CustomStringConvertible {
  /// The diagram again; with times written out if they don't fall on frames.
  var description: String {
    guard events.allSatisfy({ $0.frame == $0.frame.rounded() && $0.frame >= 0 }) else {
      return events.map { "\(Self.text(of: $0.mark)) at \($0.frame)" }.joined(separator: ", ")
    }
    var text = ""
    var frame = 0
    var rest = events[...]
    while let first = rest.first {
      while frame < Int(first.frame) {
        text += "-"
        frame += 1
      }
      let group = rest.prefix { $0.frame == first.frame }
      let marks = group.map { Self.text(of: $0.mark) }.joined()
      text += group.count > 1 ? "(\(marks))" : marks
      rest = rest.dropFirst(group.count)
      frame += 1
    }
    return text
  }

  private static func text(of mark: Mark) -> String {
    switch mark {
    case .value(let name): name.count == 1 && !"-|#!".contains(name) ? name : "[\(name)]"
    case .completed: "|"
    case .failed: "#"
    case .interrupted: "!"
    }
  }
}
