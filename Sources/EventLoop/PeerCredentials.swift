import Glibc

/// The process at the other end of a UNIX socket, when it connected or began to listen (unix(7),
/// `SO_PEERCRED`).
package struct PeerCredentials: Hashable, Sendable {
  /// The number of the process; 0 if it is in another namespace of processes.
  package let processID: Int32
  /// Its user.
  package let userID: UInt32
  /// Its effective group.
  package let groupID: UInt32

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
    groupID = credentials.groupID
  }

  /// All groups of the process, when it connected or began to listen; nil if the system doesn't know them.
  package func groupIDs(of descriptor: Int32) -> [UInt32]? {
    let option: Int32 = 59  // SO_PEERGROUPS, which Glibc's module does not have.
    // As many as a process may have (NGROUPS_MAX).
    let countMax = 65_536
    var length = socklen_t(64 * MemoryLayout<UInt32>.stride)
    for _ in 0..<2 {
      let count = Int(length) / MemoryLayout<UInt32>.stride
      guard count <= countMax else { return nil }
      var groups = [UInt32](repeating: 0, count: count)
      if unsafe getsockopt(descriptor, SOL_SOCKET, option, &groups, &length) == 0 {
        return [groupID] + groups.prefix(Int(length) / MemoryLayout<UInt32>.stride)
      }
      // The system has set the length that it needs.
      guard errno == ERANGE else { return nil }
    }
    return nil
  }
}

/// The process at the other end of a UNIX socket, whose number no other process gets while it is alive.
package struct PinnedPeer: ~Copyable {
  /// A descriptor of the process (pidfd_open(2)).
  private let descriptor: Int32

  /// Nil on a kernel before 6.5, and for a process that has ended.
  package init?(of socket: Int32) {
    guard let descriptor = Self.descriptor(of: socket) else { return nil }
    self.descriptor = descriptor
  }

  /// A descriptor of the process, which the caller closes; nil without one.
  static func descriptor(of socket: Int32) -> Int32? {
    let option: Int32 = 77  // SO_PEERPIDFD, which Glibc's module does not have.
    var descriptor: Int32 = -1
    var length = socklen_t(MemoryLayout<Int32>.size)
    guard unsafe getsockopt(socket, SOL_SOCKET, option, &descriptor, &length) == 0, descriptor >= 0
    else { return nil }
    return descriptor
  }

  /// Pins the process.
  ///
  /// - Throws: `ENOPROTOOPT` on a kernel before 6.5, the system's error for a process that has ended, and that of a
  ///   shortage of descriptors.
  package init(pinning socket: Int32) throws(SystemError) {
    guard let descriptor = Self.descriptor(of: socket) else { throw .current }
    self.descriptor = descriptor
  }

  deinit { close(descriptor) }

  /// Whether the process has not ended, so that all that was found out about its number was about itself.
  package var isAlive: Bool {
    var watched = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
    return unsafe poll(&watched, 1, 0) == 0
  }
}
