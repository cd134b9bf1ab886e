import Glibc

/// An error number of the operating system, in words.
struct SystemError: Error, Hashable {
  let number: Int32

  /// The calling thread's last error.
  static var current: SystemError { SystemError(number: errno) }

  /// The system's words, beginning in lower case so that they can follow a colon.
  var text: String {
    // glibc keeps one answer per thread.
    let text = unsafe strerror(number).map { unsafe String(cString: $0) } ?? "error \(number)"
    return text.prefix(1).lowercased() + text.dropFirst()
  }
}
