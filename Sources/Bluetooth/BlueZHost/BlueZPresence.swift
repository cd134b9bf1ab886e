#if BlueZ
  import EventLoop
  import Glibc

  /// Whether bluetoothd's radio may be used where no radio is named. Files only: nothing is sent, and nothing waits.
  package enum BlueZPresence {
    /// The variables of settings that only a host in the process can fulfil.
    package static let settingsOfHosts = [
      "AMBIT_CAPTURE", "AMBIT_ADDRESS", "AMBIT_PAIRING", "AMBIT_BONDS",
    ]

    /// Whether the kernel has a controller, and the system a bus.
    ///
    /// - Parameters:
    ///   - controllers: The kernel's folder of controllers and links.
    ///   - bus: The socket of the system's bus.
    ///   - isBusNamed: Whether `DBUS_SYSTEM_BUS_ADDRESS` names another bus.
    package static func hasControllerAndBus(
      controllers: String = "/sys/class/bluetooth", bus: String = "/run/dbus/system_bus_socket",
      isBusNamed: Bool = ProcessEnvironment.value("DBUS_SYSTEM_BUS_ADDRESS") != nil
    ) -> Bool {
      (isBusNamed || exists(bus)) && hasController(in: controllers)
    }

    /// Whether bluetoothd is installed, by its policy, without which it can't have its name on the bus.
    ///
    /// - Parameter folders: The folders of policies of the system's bus.
    package static func isDaemonInstalled(
      folders: [String] = ["/usr/share/dbus-1/system.d", "/etc/dbus-1/system.d"]
    ) -> Bool {
      folders.contains { exists($0 + "/bluetooth.conf") }
    }

    private static func exists(_ path: String) -> Bool { unsafe access(path, F_OK) == 0 }

    private static func hasController(in folder: String) -> Bool {
      guard let directory = unsafe opendir(folder) else { return false }
      defer { unsafe closedir(directory) }
      while let entry = unsafe readdir(directory) {
        let name = unsafe withUnsafePointer(to: &entry.pointee.d_name) { pointer in
          unsafe pointer.withMemoryRebound(to: CChar.self, capacity: 256) {
            unsafe String(cString: $0)
          }
        }
        // Links appear there too, as hci0:12.
        if name.hasPrefix("hci"), UInt16(name.dropFirst(3)) != nil { return true }
      }
      return false
    }
  }
#endif
