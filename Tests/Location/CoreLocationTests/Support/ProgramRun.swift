import BluetoothHost
import CoreBluetooth
import Essentials
import SimulatedRadio
import Simulation
import StateFiles

@testable import CoreLocation
@testable import LocationFiles

/// A folder for a program's regions, removed in the end.
final class LocationFolder: Sendable {
  let path: String
  private let isOwn: Bool

  /// A folder that another process removes.
  init(borrowing path: String) {
    self.path = path
    isOwn = false
  }

  init() throws {
    let url = FileManager.default.temporaryDirectory.appending(path: "ambit-locations-\(UUID())")
    try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true)
    path = url.path
    isOwn = true
  }

  deinit { if isOwn { try? FileManager.default.removeItem(atPath: path) } }

  var file: String { path + "/app" }

  var names: [String] { get throws { try FileManager.default.contentsOfDirectory(atPath: path) } }

  func read(_ name: String = "app") throws -> [UInt8] {
    try Array(Data(contentsOf: URL(filePath: path + "/" + name)))
  }

  func write(_ bytes: [UInt8], permissions: Int = 0o600) throws {
    try Data(bytes).write(to: URL(filePath: file))
    try FileManager.default.setAttributes([.posixPermissions: permissions], ofItemAtPath: file)
  }
}

/// A program that runs on the phone of a room, with the regions that it had when it ran last.
final class ProgramRun {
  let room: BeaconRoom
  private var store: LocationStore?
  private let file: StateFile
  /// Whether nothing could be kept, also after the end.
  private(set) var isUnavailable = false
  let recorder = LocationRecorder()
  private(set) var manager: CLLocationManager?

  init(_ room: BeaconRoom, _ folder: LocationFolder, policy: LocationPolicy = .always) {
    self.room = room
    let store = LocationStore(path: folder.file)
    file = StateFile(path: folder.file, byteCountMax: 0)
    self.store = store
    manager = LocationStore.$override.withValue(store) {
      room.makeManager(recorder, policy: policy)
    }
  }

  func start(_ region: CLRegion) {
    manager?.startMonitoring(for: region)
    room.radio.advance(by: .milliseconds(10))
  }

  /// A monitor of the program.
  func makeMonitor(_ name: String = "museum") async -> CLMonitor {
    await BluetoothHost.$current.withValue(room.phone) { await CLMonitor(name) }
  }

  /// Ends the program when what it monitors is on the disk, and returns when its file is another's to take,
  /// as that of a process is which has ended. Its monitors have to be gone.
  func end() async throws {
    await endManager()
    store = nil
    // The thread that wrote may be about to end.
    while try file.takeLock("owner") == nil { await Task.yield() }
  }

  /// Releases the manager when what it monitors is on the disk.
  func endManager() async {
    await settle()
    manager = nil
    await settle()
  }

  /// Returns when the monitored regions are on the disk.
  func settle() async {
    room.radio.advance(by: .milliseconds(10))
    guard let store else { return }
    await withCheckedContinuation { done in store.finish { done.resume() } }
    isUnavailable = store.isUnavailable
  }
}
