import Glibc

/// An error number of the operating system.
package struct SystemError: Error, Hashable {
  package let number: Int32

  package init(number: Int32) { self.number = number }

  /// The calling thread's last error.
  package static var current: SystemError { SystemError(number: errno) }

  /// The system's description of the error, beginning in lower case so that it can follow a colon.
  package var text: String {
    // glibc keeps one answer per thread.
    let text = unsafe strerror(number).map { unsafe String(cString: $0) } ?? "error \(number)"
    return text.prefix(1).lowercased() + text.dropFirst()
  }
}
