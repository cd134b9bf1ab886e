/// Why bonds cannot be read or kept. Says nothing of what is in the file.
public struct BondStoreError: Error, Hashable, Sendable, CustomStringConvertible {
  /// What is to be done about it.
  public enum Kind: Hashable, Sendable {
    /// Neither the environment nor the program says where bonds are.
    case noPath
    /// There is something that is no store of this user: a file of something else, of a later version,
    /// of another user, one that others may read, a link, a folder. It is left as it is.
    case refused
    /// The file is a store whose content was changed or cut. The next bond that is stored replaces it,
    /// and what was there is kept beside it.
    case damaged
    /// The file cannot be read.
    case unreadable
    /// The file cannot be written; the bonds that it had are there as before.
    case unwritable
    /// Another process is writing, and has been for longer than that takes.
    case busy
    /// There are as many bonds as a store takes.
    case full
    /// There is a bond with this peer that protects more, made by another process.
    case stronger
  }

  /// What is to be done about it.
  public var kind: Kind
  /// The store's file; empty where there is no path.
  public var path: String
  /// What is wrong, without a full stop.
  public var reason: String

  init(_ kind: Kind, _ path: String, _ reason: String) {
    self.kind = kind
    self.path = path
    self.reason = reason
  }

  /// One sentence for people.
  public var description: String {
    switch kind {
    case .noPath: "There is no place for bonds: \(reason)."
    case .refused: "The bonds in \"\(path)\" are not used: \(reason)."
    case .damaged: "The bonds in \"\(path)\" are damaged: \(reason)."
    case .unreadable: "The bonds in \"\(path)\" cannot be read: \(reason)."
    case .unwritable, .busy, .full, .stronger:
      "The bonds in \"\(path)\" cannot be written: \(reason)."
    }
  }
}
