/// The reason why a state file can't be read or written. It never contains the file's content.
package struct StateFileError: Error, Hashable, Sendable {
  /// The kinds of problems.
  package enum Kind: Hashable, Sendable {
    /// The path has something else than a file of this user in this format. It is not changed.
    case refused
    /// The file's content was changed or truncated.
    case damaged
    /// The file cannot be read.
    case unreadable
    /// The file cannot be written; it still has its previous content.
    case unwritable
    /// Another process has locked the file for longer than a write takes.
    case busy
  }

  package var kind: Kind
  /// The reason, without a full stop.
  package var reason: String

  package init(_ kind: Kind, _ reason: String) {
    self.kind = kind
    self.reason = reason
  }
}

/// The reason why bytes are not a file of a format. It never contains the bytes, which may be keys.
package enum StateFileDecodingError: Error, Hashable {
  /// The file has another format.
  case foreign
  /// The file has a later version of the format.
  case laterForm
  /// A part of the file is missing or changed, with the symptom.
  case damaged(String)
}
