import Glibc

/// Whether this process runs tests.
///
/// `swift test` sets no variable, and gives XCTest no argument. Its executable has the suffix `xctest`, or links the
/// libraries of tests dynamically, as Swift Build's runners do. A process that a test starts runs no tests.
package enum TestProcess {
  /// Whether this process runs tests of XCTest or Swift Testing.
  package static let isCurrent =
    isName(ofTests: ThisProgram.name) || libraries.contains { isLoaded($0) }

  private static let libraries = ["libXCTest.so", "libTesting.so"]

  /// Whether an executable of this name has tests: SwiftPM gives those of all systems this suffix.
  static func isName(ofTests name: String) -> Bool { name.hasSuffix(".xctest") }

  /// Whether a library is a part of this process. It is not loaded.
  static func isLoaded(_ library: String) -> Bool {
    guard let handle = unsafe dlopen(library, RTLD_LAZY | RTLD_NOLOAD) else { return false }
    unsafe dlclose(handle)
    return true
  }
}
