import Glibc

extension RadioChoice {
  /// The radios that this machine seems to have: its Bluetooth controllers, and serial lines on USB
  /// behind which there may be one. The simulated radio comes first; it is always there.
  public static func detected() -> [RadioChoice] {
    let controllers = entries(of: "/sys/class/bluetooth").compactMap { name -> RadioChoice? in
      // Links appear there too, as hci0:12.
      guard case .hci(let index)? = try? RadioChoice(parsing: name) else { return nil }
      return .hci(index)
    }
    let lines = entries(of: "/dev")
      .filter { $0.hasPrefix("ttyACM") || $0.hasPrefix("ttyUSB") }
      .map { RadioChoice.uart(SerialLine(path: "/dev/\($0)")) }
    return [.standard] + controllers + lines
  }

  /// What a folder holds, sorted; nothing if it is not there.
  private static func entries(of folder: String) -> [String] {
    guard let directory = unsafe opendir(folder) else { return [] }
    defer { unsafe closedir(directory) }
    var names: [String] = []
    while let entry = unsafe readdir(directory) {
      let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { pointer in
        unsafe pointer.withMemoryRebound(to: CChar.self, capacity: 256) {
          unsafe String(cString: $0)
        }
      }
      names.append(name)
    }
    return names.sorted()
  }
}
