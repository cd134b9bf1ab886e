import Glibc

extension RadioChoice {
  /// The radios that were detected on this machine: Bluetooth controllers, and USB serial devices,
  /// which may have a controller. The simulated radio comes first, if the program has it.
  public static func detected() -> [RadioChoice] {
    let lines = entries(of: "/dev")
      .filter { $0.hasPrefix("ttyACM") || $0.hasPrefix("ttyUSB") }
      .map { RadioChoice.uart(SerialLine(path: "/dev/\($0)")) }
    let controllers = controllerIndexes().map { RadioChoice.hci($0) }
    return (SimulatedRadioPlugIn.isInstalled ? [.standard] : []) + controllers + lines
  }

  /// The numbers of the kernel's controllers, ascending.
  static func controllerIndexes(in folder: String = "/sys/class/bluetooth") -> [UInt16] {
    entries(of: folder).compactMap { name in
      // Links appear there too, as hci0:12.
      guard case .hci(let index)? = try? RadioChoice(parsing: name) else { return nil }
      return index
    }.sorted()
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
