package import Glibc

/// The owner of a file or a folder, and its identity.
package struct FileStatus {
  /// Identifies a file of this machine.
  package struct Identity: Hashable, Sendable {
    private let device: UInt64
    private let number: UInt64

    fileprivate init(_ status: stat) {
      device = UInt64(status.st_dev)
      number = UInt64(status.st_ino)
    }
  }

  /// The same for all paths of a file.
  package let identity: Identity
  /// The user that owns it.
  package let userID: uid_t
  /// The group that owns it.
  package let groupID: gid_t

  /// The status of the file or folder to which a path leads, also over symbolic links; nil if it can't be found.
  package init?(at path: String) {
    var status = stat()
    guard unsafe stat(path, &status) == 0 else { return nil }
    identity = Identity(status)
    userID = status.st_uid
    groupID = status.st_gid
  }
}
