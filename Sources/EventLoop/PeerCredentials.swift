import Glibc

/// The process at the other end of a UNIX socket, when it connected or began to listen (unix(7),
/// `SO_PEERCRED`).
package struct PeerCredentials: Hashable, Sendable {
  /// The number of the process; 0 if it is in another namespace of processes.
  package let processID: Int32
  /// Its user.
  package let userID: UInt32

  /// The process at the other end of a connected socket; nil if the system doesn't know it.
  package init?(of descriptor: Int32) {
    // struct ucred, which Glibc's module does not have.
    var credentials: (processID: Int32, userID: UInt32, groupID: UInt32) = (0, 0, 0)
    var length = socklen_t(MemoryLayout.size(ofValue: credentials))
    let status = unsafe getsockopt(
      descriptor, SOL_SOCKET, SO_PEERCRED, &credentials, &length)
    guard status == 0 else { return nil }
    processID = credentials.processID
    userID = credentials.userID
  }
}
