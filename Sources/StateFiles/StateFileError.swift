/// Why a state file cannot be read or written. Never contains the file's content.
package struct StateFileError: Error, Hashable, Sendable {
  /// The kind of problem, by its remedy.
  package enum Kind: Hashable, Sendable {
    /// There is something that is no file of this user and this form. It is left as it is.
    case refused
    /// The file's content was changed or cut.
    case damaged
    /// The file cannot be read.
    case unreadable
    /// The file cannot be written; what it had is there as before.
    case unwritable
    /// Another process is writing, and has been for longer than that takes.
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

/// Why bytes are not a file of a form. Never contains the bytes, which may be keys.
package enum StateFormError: Error, Hashable {
  /// It is something else.
  case foreign
  /// It is of a form that a later version writes.
  case laterForm
  /// Part of it is missing or changed; how that shows.
  case damaged(String)
}
