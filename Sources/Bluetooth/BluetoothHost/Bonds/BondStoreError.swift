/// The reason why bonds can't be read or stored. It doesn't contain any of the file's content.
public struct BondStoreError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The kinds of errors.
  public enum Kind: Hashable, Sendable {
    /// Neither the environment nor the program names a path for the bonds.
    case noPath
    /// The file at the path is not a bond store of this user: it is a folder, a link or another
    /// kind of file, has a later format version, belongs to another user, or is readable by others.
    /// It is not changed.
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
    /// Another process uses the random static address of this host that goes with the bond.
    case addressInUse
    /// The limit of bonds is reached.
    case full
    /// A more secure bond with this peer was stored by another process.
    case stronger
    /// Another process replaced or removed the bond while this one could not write its own.
    case replaced
    /// Too many changes waited to be written; the oldest were dropped.
    case dropped
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
    case .unwritable, .busy, .addressInUse, .full, .stronger, .replaced, .dropped:
      "The bonds in \"\(path)\" cannot be written: \(reason)."
    }
  }
}
