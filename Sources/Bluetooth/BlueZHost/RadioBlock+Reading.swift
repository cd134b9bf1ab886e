#if BlueZ
  import BlueZMachines
  import Glibc

  extension RadioBlock {
    /// Reads whether rfkill(4) blocks an adapter; nil if it doesn't, or the kernel has no such adapter.
    ///
    /// - Parameters:
    ///   - adapter: The name of the adapter, such as `hci0`.
    ///   - folder: The kernel's list of controllers.
    static func read(
      adapter: String, in folder: String = "/sys/class/bluetooth"
    ) -> RadioBlock? {
      guard adapter.utf8.allSatisfy({ $0 != UInt8(ascii: "/") && $0 != UInt8(ascii: ".") }) else {
        return nil
      }
      let path = "\(folder)/\(adapter)"
      guard let directory = unsafe opendir(path) else { return nil }
      defer { unsafe closedir(directory) }
      while let entry = unsafe readdir(directory) {
        let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { pointer in
          unsafe pointer.withMemoryRebound(to: CChar.self, capacity: 256) {
            unsafe String(cString: $0)
          }
        }
        guard name.hasPrefix("rfkill") else { continue }
        if isSet("\(path)/\(name)/hard") { return .hard }
        if isSet("\(path)/\(name)/soft") { return .soft }
      }
      return nil
    }

    private static func isSet(_ path: String) -> Bool {
      let descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
      guard descriptor >= 0 else { return false }
      defer { close(descriptor) }
      var byte: UInt8 = 0
      return unsafe Glibc.read(descriptor, &byte, 1) == 1 && byte == UInt8(ascii: "1")
    }
  }
#endif
