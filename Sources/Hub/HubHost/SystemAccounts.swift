import Glibc
import HubMachines

/// The users and groups of this machine (getpwnam(3)).
package struct SystemAccounts: AccountNames {
  /// More than the texts of an entry take: a group of 50,000 members.
  private static let byteCountMax = 1 << 20

  package init() {}

  /// By the maps of this process's namespace (user_namespaces(7)). False if they can't be read.
  package var areAllKnown: Bool {
    ["uid_map", "gid_map"].allSatisfy { name in
      let descriptor = unsafe open("/proc/self/" + name, O_RDONLY | O_CLOEXEC)
      guard descriptor >= 0 else { return false }
      defer { close(descriptor) }
      let bytes = try? FileBytes.read(descriptor, byteCountMax: 4_096)
      return bytes.map { Self.isWhole($0) } ?? false
    }
  }

  /// Whether a map of accounts has all of them, each with its own number: the one line `0 0 4294967295`.
  static func isWhole(_ map: [UInt8]) -> Bool {
    String(decoding: map, as: UTF8.self).split { $0 == " " || $0 == "\n" }
      == ["0", "0", "4294967295"]
  }

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
