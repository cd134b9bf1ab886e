/// Completes the commands of a session and the characteristics of its device.
enum ShellCompletion {
  /// The commands that take characteristics.
  private static let usesCharacteristics: Set = ["read", "write", "subscribe", "unsubscribe"]

  /// A service of the device, for words such as `180D/2A37`.
  struct Service: Sendable {
    /// Its name and its UUID.
    var words: [String]
    /// The names and UUIDs of its characteristics.
    var characteristics: [String]
  }

  /// How the last word of a line may go on.
  /// - Parameters:
  ///   - start: The line before the cursor.
  ///   - names: The names of the device's characteristics; the UUIDs of those without a name.
  ///   - uuids: The UUIDs of all of them, for a word that begins like one.
  ///   - services: The device's services, for a word with a slash.
  static func complete(
    _ start: String, names: [String], uuids: [String], services: [Service] = []
  ) -> LineEditor.Completion {
    let typedWords = words(of: start)
    guard let last = typedWords.last else { return LineEditor.Completion() }
    let typed = last.text.lowercased()
    let words =
      typedWords.count == 1 || (typedWords.count == 2 && typedWords[0].text == "help")
      ? ShellCommand.names
      : arguments(
        typedWords[0].text, names + within(last.text, services), typed.isEmpty ? [] : uuids)
    let candidates = words.filter { $0.lowercased().hasPrefix(typed) }
    return LineEditor.Completion(
      wordCharacterCount: last.characterCount,
      candidates: Set(candidates).sorted().map { $0.contains(" ") ? "\"\($0)\"" : $0 })
  }

  private static func arguments(
    _ command: String, _ names: [String], _ uuids: [String]
  ) -> [String] {
    usesCharacteristics.contains(command) ? names + uuids : []
  }

  /// The characteristics of the services before the slash of a word, each with that service.
  private static func within(_ word: String, _ services: [Service]) -> [String] {
    guard let slash = word.firstIndex(of: "/") else { return [] }
    let name = word[..<slash].lowercased()
    return services.filter { $0.words.contains { $0.lowercased() == name } }
      .flatMap(\.characteristics).map { word[...slash] + $0 }
  }

  private struct Word {
    /// The word without quotes.
    var text = ""
    /// The number of characters that it takes in the line, with quotes.
    var characterCount = 0
  }

  /// The words of a line that is not finished: the last one is empty behind a blank.
  private static func words(of line: String) -> [Word] {
    var words = [Word()]
    var quote: Character?
    for character in line {
      if quote == nil, character.isWhitespace {
        if words[words.count - 1].characterCount > 0 { words.append(Word()) }
        continue
      }
      words[words.count - 1].characterCount += 1
      if character == quote {
        quote = nil
      } else if quote == nil, character == "\"" || character == "'" {
        quote = character
      } else {
        words[words.count - 1].text.append(character)
      }
    }
    return words
  }
}
