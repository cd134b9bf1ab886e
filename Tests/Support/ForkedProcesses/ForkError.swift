import Glibc

/// The reason why a process can't be made, or its socket.
package struct ForkError: Error, CustomStringConvertible {
  package let description: String

  init(_ description: String) { self.description = description }
}

/// Functions that Swift's module of the C library leaves out, since threads don't live on in the child. A child
/// only calls the system.
enum CLibrary {
  static var fork: (@convention(c) () -> pid_t)? {
    unsafe dlsym(nil, "fork").map {
      unsafe unsafeBitCast($0, to: (@convention(c) () -> pid_t).self)
    }
  }

  static var closeRange: (@convention(c) (UInt32, UInt32, Int32) -> Int32)? {
    unsafe dlsym(nil, "close_range").map {
      unsafe unsafeBitCast($0, to: (@convention(c) (UInt32, UInt32, Int32) -> Int32).self)
    }
  }
}

extension sockaddr_un {
  /// The address at a path; nil if that is too long.
  init?(path: String) {
    self.init()
    sun_family = sa_family_t(AF_UNIX)
    let isShort = unsafe withUnsafeMutableBytes(of: &sun_path) { place in
      guard path.utf8.count < place.count else { return false }
      unsafe place.copyBytes(from: path.utf8)
      return true
    }
    guard isShort else { return nil }
  }
}
