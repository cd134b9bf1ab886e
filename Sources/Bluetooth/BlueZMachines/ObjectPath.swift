/// Paths of BlueZ's objects: `/org/bluez/hci0/dev_C0_11_22_33_44_55/service000a/char000b/desc000d`.
enum ObjectPath {
  /// The path of the adapter or the device to which an object belongs: the first three components or four.
  static func prefix(of path: String, count: Int) -> String? {
    let parts = path.split(separator: "/", omittingEmptySubsequences: true)
    guard parts.count >= count else { return nil }
    return "/" + parts.prefix(count).joined(separator: "/")
  }

  static func device(of path: String) -> String? { prefix(of: path, count: 4) }

  static func adapter(of path: String) -> String? { prefix(of: path, count: 3) }

  /// The last component, such as `hci0`.
  static func name(of path: String) -> String {
    path.split(separator: "/").last.map(String.init) ?? path
  }

  /// The number at the end of a path, four hexadecimal digits.
  static func handle(in path: String) -> UInt16? {
    let digits = path.utf8.suffix(4)
    guard digits.count == 4 else { return nil }
    return UInt16(String(Substring(digits)), radix: 16)
  }
}
