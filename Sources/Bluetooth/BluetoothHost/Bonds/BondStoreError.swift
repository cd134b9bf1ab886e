/// The reason why bonds cannot be read or stored. Contains nothing of the file's content.
public struct BondStoreError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The kinds of errors, by their remedies.
  public enum Kind: Hashable, Sendable {
    /// Neither the environment nor the program names a path for the bonds.
    case noPath
    /// The path has something that is no bond store of this user: another kind of file, one of a
    /// later version, of another user, or readable by others, a link, a folder. It is left as it
    /// is.
    case refused
    /// The file is a store whose content was changed or truncated. The next bond that is stored
    /// replaces it, and the old file is kept under another name.
    case damaged
    /// The file cannot be read.
    case unreadable
    /// The file cannot be written; it still has its previous bonds.
    case unwritable
    /// Another process has locked the file for longer than a write takes.
    case busy
    /// The limit of bonds is reached.
    case full
    /// There is a bond with this peer that protects more, made by another process.
    case stronger
  }

  /// The kind of the error.
  public var kind: Kind
  /// The path of the store's file; empty without one.
  public var path: String
  /// The reason, without a full stop.
  public var reason: String

  init(_ kind: Kind, _ path: String, _ reason: String) {
    self.kind = kind
    self.path = path
    self.reason = reason
  }

  /// A sentence for users.
  public var description: String {
    switch kind {
    case .noPath: "Bonds cannot be stored: \(reason)."
    case .refused: "The bonds in \"\(path)\" are not used: \(reason)."
    case .damaged: "The bonds in \"\(path)\" are damaged: \(reason)."
    case .unreadable: "The bonds in \"\(path)\" cannot be read: \(reason)."
    case .unwritable, .busy, .full, .stronger:
      "The bonds in \"\(path)\" cannot be written: \(reason)."
    }
  }
}
