#if BlueZ
  import BlueZHost
  import Foundation
  import Testing

  /// bluetoothd's radio where none is named.
  struct BlueZPresenceTests {
    private let folder = FileManager.default.temporaryDirectory.appending(
      path: "bluez-\(UUID().uuidString)")

    private func make(_ path: String) throws {
      try FileManager.default.createDirectory(
        at: folder.appending(path: path), withIntermediateDirectories: true)
    }

    @Test func `bluetoothd is looked for where the kernel has a controller and the system a bus`()
      throws
    {
      defer { try? FileManager.default.removeItem(at: folder) }
      func isFound(isBusNamed: Bool = false) -> Bool {
        BlueZPresence.hasControllerAndBus(
          controllers: folder.appending(path: "class").path,
          bus: folder.appending(path: "bus").path, isBusNamed: isBusNamed)
      }
      #expect(!isFound(isBusNamed: true))
      try make("class/hci0:12")
      #expect(!isFound(isBusNamed: true), "a link is not a controller")
      try make("class/hci0")
      #expect(!isFound())
      #expect(isFound(isBusNamed: true))
      try make("bus")
      #expect(isFound())
    }

    @Test func `bluetoothd is installed where the bus has a policy for it`() throws {
      defer { try? FileManager.default.removeItem(at: folder) }
      let folders = ["a", "b"].map { folder.appending(path: $0).path }
      #expect(!BlueZPresence.isDaemonInstalled(folders: folders))
      try make("b/bluetooth.conf")
      #expect(BlueZPresence.isDaemonInstalled(folders: folders))
    }
  }
#endif
