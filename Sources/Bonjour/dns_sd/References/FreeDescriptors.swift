import CLinux
import Glibc

/// The descriptors that this process may still open.
enum FreeDescriptors {
  /// Whether that number may be opened now: by opening them, since the system doesn't count them.
  static func canOpen(_ count: Int) -> Bool {
    var opened: [Int32] = []
    defer { for descriptor in opened { close(descriptor) } }
    while opened.count < count {
      let descriptor = eventfd(0, Int32(EFD_CLOEXEC))
      guard descriptor >= 0 else { return false }
      opened.append(descriptor)
    }
    return true
  }
}
