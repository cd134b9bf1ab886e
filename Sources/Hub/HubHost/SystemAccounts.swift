import Glibc
import HubMachines

/// The users and groups of this machine (getpwnam(3)).
package struct SystemAccounts: AccountNames {
  /// More than the texts of an entry take: a group of 50,000 members.
  private static let byteCountMax = 1 << 20

  package init() {}

  package func userID(of name: String) -> UInt32? {
    unsafe Self.find { buffer, byteCount, found in
      var entry = unsafe passwd()
      var result: UnsafeMutablePointer<passwd>?
      let status = unsafe getpwnam_r(name, &entry, buffer, byteCount, &result)
      if status == 0, unsafe result != nil { unsafe found = entry.pw_uid }
      return status
    }
  }

  package func groupID(of name: String) -> UInt32? {
    unsafe Self.find { buffer, byteCount, found in
      var entry = unsafe group()
      var result: UnsafeMutablePointer<group>?
      let status = unsafe getgrnam_r(name, &entry, buffer, byteCount, &result)
      if status == 0, unsafe result != nil { unsafe found = entry.gr_gid }
      return status
    }
  }

  /// Looks an entry up with more and more room for its texts, such as the members of a large group.
  private static func find(
    _ lookUp: (UnsafeMutablePointer<CChar>, Int, inout UInt32?) -> Int32
  ) -> UInt32? {
    var found: UInt32?
    var byteCount = 1_024
    while byteCount <= byteCountMax {
      let buffer = UnsafeMutablePointer<CChar>.allocate(capacity: byteCount)
      defer { unsafe buffer.deallocate() }
      let status = unsafe lookUp(buffer, byteCount, &found)
      guard status == ERANGE || status == EINTR else { return found }
      if status == ERANGE { byteCount *= 2 }
    }
    return nil
  }
}
