/// Paths of BlueZ's objects: `/org/bluez/hci0/dev_C0_11_22_33_44_55/service000a/char000b/desc000d`.
enum ObjectPath {
  /// The path of the adapter or the device to which an object belongs: the first three components or four.
  static func prefix(of path: String, count: Int) -> String? {
    // Each value of a notification comes with a path.
    let slash = UInt8(ascii: "/")
    var slashes = 0
    for index in path.utf8.indices where path.utf8[index] == slash {
      slashes += 1
      if slashes > count { return String(path[..<index]) }
    }
    return slashes == count ? path : nil
  }

  static func device(of path: String) -> String? { prefix(of: path, count: 4) }

  static func adapter(of path: String) -> String? { prefix(of: path, count: 3) }

  /// The last component, such as `hci0`.
  static func name(of path: String) -> String {
    path.split(separator: "/").last.map(String.init) ?? path
  }

  /// The address that bluetoothd knew when it made a device's object, from a component such as `dev_C0_11_22_33_44_55`.
  static func address(of path: String) -> UInt64? {
    let name = name(of: path)
    guard name.hasPrefix("dev_"), name.utf8.count == 21 else { return nil }
    return UInt64(name.dropFirst(4).filter { $0 != "_" }, radix: 16)
  }

  /// The number at the end of a path, four hexadecimal digits.
  static func handle(in path: String) -> UInt16? {
    let digits = path.utf8.suffix(4)
    guard digits.count == 4 else { return nil }
    return UInt16(String(Substring(digits)), radix: 16)
  }
}
