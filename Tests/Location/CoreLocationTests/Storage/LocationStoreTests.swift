import BeaconMachines
import BluetoothHost
import BluetoothWire
import Essentials
import Glibc
import StateFiles
import Synchronization
import Testing

@testable import CoreLocation
@testable import LocationFiles

@Suite("The file of regions")
struct LocationStoreTests {
  private let folder: LocationFolder

  init() throws { folder = try LocationFolder() }

  /// A file with regions of these names.
  private static func file(_ names: String...) throws -> LocationFile {
    var monitor = RegionMonitor()
    for name in names {
      try monitor.start(
        BeaconRegion(
          identifier: name,
          constraint: BeaconConstraint(uuid: BluetoothUUID(high: 1, low: 2), major: 3)), now: .zero)
    }
    let event = CLMonitor.Event("hall", .satisfied, at: Date(timeIntervalSinceReferenceDate: 7.5))
    let condition = CLMonitor.BeaconIdentityCondition(uuid: BeaconRoom.uuid, major: 4)
    let entry = MonitorCore.Entry(
      identifier: "hall\n\"1\"", condition: condition, number: "1", lastEvent: event,
      isPending: true)
    return LocationFile(
      regions: monitor.snapshot, conditions: [KeptCondition(entry, of: "mu se")].compactMap(\.self))
  }

  private func keep(_ file: LocationFile, in store: LocationStore) async {
    store.keep(file)
    await withCheckedContinuation { done in store.finish { done.resume() } }
  }

  @Test("kept regions are read again, by their user only")
  func roundTrip() async throws {
    let file = try Self.file("hall", "Ünïcode \u{0}\n")
    #expect(try LocationFile(decoding: file.bytes.file) == file)
    let store = LocationStore(path: folder.file)
    #expect(store.load() == LocationFile())
    await keep(file, in: store)
    let attributes = try FileManager.default.attributesOfItem(atPath: folder.file)
    #expect((attributes[.posixPermissions] as? NSNumber)?.intValue == 0o600)
    await keep(try Self.file("other"), in: store)
    await keep(file, in: store)
    #expect(try LocationFile(decoding: folder.read()) == file)
  }

  @Test("a program that monitors nothing makes no file, and reading makes none")
  func nothing() throws {
    #expect(LocationStore(path: folder.file).load() == LocationFile())
    #expect(try folder.names == [])
  }

  @Test("a file that is cut or has a bit changed is damaged, wherever that is")
  func damage() throws {
    let bytes = try Self.file("hall").bytes.file
    for count in 0..<bytes.count {
      #expect(throws: StateFileDecodingError.self, "\(count) bytes") {
        try LocationFile(decoding: Array(bytes.prefix(count)))
      }
    }
    for index in bytes.indices {
      var changed = bytes
      changed[index] ^= 1 << UInt8(index % 8)
      #expect(throws: StateFileDecodingError.self, "byte \(index)") {
        try LocationFile(decoding: changed)
      }
    }
  }

  @Test("lines that make no sense are refused, whatever the checksum says")
  func lines() throws {
    let form = ChecksummedText(name: "ambit locations", version: 1, byteCountMax: .max)
    func read(_ lines: String...) throws -> LocationFile {
      try LocationFile(decoding: form.file(of: Array(lines.map { $0 + "\n" }.joined().utf8)))
    }
    let regions = "regions 41524d010000"
    let uuid = "E2C56DB5-DFFB-48D2-B060-D0F5A71096E0"
    func condition(_ condition: String, state: Int = 1, date: String = "0") -> String {
      """
      condition {"monitor":"m","identifier":"i","beacons":\(condition),"state":\(state),\
      "date":\(date),"reasons":[],"isPending":true}
      """
    }
    let beacons = "{\"uuid\":\"\(uuid)\",\"major\":1}"
    #expect(try read(regions).conditions == [])
    #expect(try read().regions == RegionMonitor().snapshot)
    #expect(try read(regions, condition(beacons)).conditions.count == 1)
    for line in [
      "", "regions", "regions 4", "regions zz", "regions 41524d02", "regions 41524d01ffff",
    ] { #expect(throws: StateFileDecodingError.self, "\(line)") { try read(line) } }
    for line in [
      "", "condition", "condition {}", "condition []", condition("null"), condition("{}"),
      condition("{\"uuid\":\"\(uuid)\",\"minor\":1}"), condition(beacons, state: 4),
      condition(beacons, state: -1), condition(beacons, date: "\"inf\""), "regions 41524d010000",
      "condition " + String(repeating: "[", count: 60_000),
      String(repeating: "x", count: LocationFile.lineByteCountMax + 1),
    ] {
      #expect(throws: StateFileDecodingError.self, "\(line.prefix(80))") { try read(regions, line) }
    }
    #expect(throws: StateFileDecodingError.damaged("line 4 is a second condition of its name")) {
      try read(regions, condition(beacons), condition(beacons))
    }
  }

  @Test("lines that were changed at random are read or refused, and read ones are written again")
  func mutations() throws {
    let seed = UInt64.random(in: 0 ... .max)
    var random = SeededGenerator(seed: seed)
    let form = ChecksummedText(name: "ambit locations", version: 1, byteCountMax: .max)
    let bytes = try Self.file("hall", "room").bytes.file
    let lines = Array(try form.lines(of: bytes).joined(separator: [UInt8(ascii: "\n")]))
    var readCount = 0
    for _ in 0..<5_000 {
      var changed = lines
      for _ in 0..<Int.random(in: 1...3, using: &random) {
        let index = Int.random(in: changed.indices, using: &random)
        switch Int.random(in: 0..<3, using: &random) {
        case 0: changed[index] = UInt8.random(in: 0...255, using: &random)
        case 1: changed.remove(at: index)
        default: changed.insert(lines[Int.random(in: lines.indices, using: &random)], at: index)
        }
      }
      guard let file = try? LocationFile(decoding: form.file(of: changed + [UInt8(ascii: "\n")]))
      else { continue }
      readCount += 1
      #expect(try LocationFile(decoding: file.bytes.file) == file, "seed \(seed)")
    }
    #expect(readCount > 0, "seed \(seed)")
  }

  @Test("a store without a path keeps nothing, and is unavailable once there is something to keep")
  func noPlace() async throws {
    let store = LocationStore(path: nil)
    #expect(store.load() == LocationFile())
    #expect(!store.isUnavailable)
    await keep(try Self.file("hall"), in: store)
    #expect(store.isUnavailable)
  }

  @Test("more conditions than a file takes are left out of it, and counted")
  func bounded() throws {
    let event = CLMonitor.Event("", .unknown, at: Date(timeIntervalSinceReferenceDate: 0))
    func kept(_ name: String) throws -> KeptCondition {
      let condition = CLMonitor.BeaconIdentityCondition(uuid: BeaconRoom.uuid)
      let entry = MonitorCore.Entry(
        identifier: name, condition: condition, number: "", lastEvent: event)
      return try #require(KeptCondition(entry, of: "m"))
    }
    let many = try (0..<1_030).map { try kept("\($0)") }
    let (bytes, leftOutCount) = LocationFile(
      regions: RegionMonitor().snapshot, conditions: many
    ).bytes
    #expect(leftOutCount == 6)
    #expect(try LocationFile(decoding: bytes).conditions == Array(many.prefix(1_024)))
    let long = try [kept(String(repeating: "x", count: 70_000)), kept("short")]
    let other = LocationFile(regions: RegionMonitor().snapshot, conditions: long).bytes
    #expect(other.leftOutCount == 1)
    #expect(try LocationFile(decoding: other.file).conditions == [long[1]])
  }

  @Test("a damaged file is kept beside the new one")
  func keptAside() async throws {
    let damaged = try Array(Self.file("hall").bytes.file.dropLast())
    try folder.write(damaged)
    let store = LocationStore(path: folder.file)
    #expect(store.load() == LocationFile())
    #expect(!store.isUnavailable)
    #expect(try folder.read() == damaged, "nothing was to be kept yet")
    let file = try Self.file("new")
    await keep(file, in: store)
    #expect(try LocationFile(decoding: folder.read()) == file)
    #expect(try folder.read("app.damaged-1") == damaged)
  }

  @Test("a file of something else, of a later version or that others may read is left as it is")
  func refused() async throws {
    let later = Array("ambit locations 2\nend 00000000\n".utf8)
    for (bytes, permissions) in [
      (Array("a diary\n".utf8), 0o600), (later, 0o600), (try Self.file("hall").bytes.file, 0o644),
    ] {
      try folder.write(bytes, permissions: permissions)
      let store = LocationStore(path: folder.file)
      #expect(store.load() == LocationFile())
      #expect(store.isUnavailable)
      await keep(try Self.file("new"), in: store)
      #expect(try folder.read() == bytes)
      #expect(try folder.names == ["app"])
    }
  }

  /// Counts system calls, and ends the process or fails before one of them.
  private final class Calls: Sendable {
    let names = Mutex<[String]>([])

    func probe(failing failingIndex: Int?, with error: Int32) -> StateFileProbe {
      StateFileProbe(
        willCall: { name in
          let index = self.names.withLock { names in
            names.append(name)
            return names.count - 1
          }
          guard index == failingIndex else { return 0 }
          if error == 0 { kill(getpid(), SIGKILL) }
          return error
        }, writeByteCountMax: 100)
    }
  }

  /// The names of the calls of a run that reads the file and replaces it.
  private func calls() async throws -> [String] {
    let folder = try LocationFolder()
    try folder.write(Self.file("before").bytes.file)
    let calls = Calls()
    let store = LocationStore(path: folder.file, probe: calls.probe(failing: nil, with: 0))
    _ = store.load()
    await keep(try Self.file("after"), in: store)
    return calls.names.withLock(\.self)
  }

  @Test("a process that is killed before any of its system calls loses nothing")
  func killed() async throws {
    let calls = try await calls()
    #expect(calls.contains("fsync") && calls.contains("rename"))
    for index in calls.indices {
      let folder = try LocationFolder()
      try folder.write(Self.file("before").bytes.file)
      let path = folder.file
      await #expect(processExitsWith: .signal(SIGKILL)) {
        [path = path as String, index = index as Int] in
        let store = LocationStore(path: path, probe: Calls().probe(failing: index, with: 0))
        _ = store.load()
        store.keep(try Self.file("after"))
        await withCheckedContinuation { done in store.finish { done.resume() } }
      }
      let found = LocationStore(path: path).load()
      #expect(
        try found == Self.file("before") || found == Self.file("after"),
        "killed before \(calls[index])")
    }
  }

  @Test("a system call that fails loses nothing, and the next change is kept")
  func failing() async throws {
    let calls = try await calls()
    for index in calls.indices {
      let folder = try LocationFolder()
      try folder.write(Self.file("before").bytes.file)
      let store = LocationStore(path: folder.file, probe: Calls().probe(failing: index, with: EIO))
      let isRead = store.load() != LocationFile()
      await keep(try Self.file("after"), in: store)
      let found = try LocationFile(decoding: folder.read())
      #expect(try found == Self.file("before") || found == Self.file("after"))
      guard isRead else { continue }
      await keep(try Self.file("last"), in: store)
      #expect(try LocationFile(decoding: folder.read()) == Self.file("last"), "\(calls[index])")
    }
  }

  @Test(
    "regions that could not be written are written once the disk takes them, the last of them",
    arguments: ["flock", "write", "fsync", "rename"])
  func triedAgain(_ call: String) async throws {
    let (calls, failed) = AsyncStream.makeStream(of: Void.self)
    let (written, isWritten) = AsyncStream.makeStream(of: Void.self)
    let isFull = Mutex(true)
    let probe = StateFileProbe(willCall: { name in
      let isFull = isFull.withLock(\.self)
      if name == "fsync folder", !isFull { isWritten.yield() }
      guard name == call, isFull else { return 0 }
      failed.yield()
      return ENOSPC
    })
    var times = StateWriter.Times()
    times.firstPause = .milliseconds(1)
    times.longestPause = .milliseconds(2)
    let store = LocationStore(path: folder.file, times: times, probe: probe)
    store.keep(try Self.file("first"))
    store.keep(try Self.file("last"))
    for await _ in calls { break }
    #expect(!store.isUnavailable)
    isFull.withLock { $0 = false }
    // Nothing else is kept, and nothing ends.
    for await _ in written { break }
    #expect(try LocationFile(decoding: folder.read()) == Self.file("last"))
  }

  @Test("regions are good although a full disk takes no lock, and are not replaced by older ones")
  func readableOnFullDisk() async throws {
    try folder.write(Self.file("before").bytes.file)
    let isFull = Mutex(true)
    let probe = StateFileProbe(willCall: { name in
      name == "flock" && isFull.withLock(\.self) ? ENOSPC : 0
    })
    let store = LocationStore(path: folder.file, probe: probe)
    #expect(try store.load() == Self.file("before"))
    #expect(!store.isUnavailable)
    // Another process stores its regions before this one can.
    try folder.write(Self.file("other").bytes.file)
    isFull.withLock { $0 = false }
    await keep(try Self.file("after"), in: store)
    #expect(try LocationFile(decoding: folder.read()) == Self.file("other"))
    #expect(store.isUnavailable)
  }

  @Test("changes while the disk is slow are written once, the last of them")
  func latestWins() async throws {
    let isHeld = DispatchSemaphore(value: 0)
    let hasBegun = DispatchSemaphore(value: 0)
    let renames = Mutex(0)
    let probe = StateFileProbe(willCall: { name in
      guard name == "rename" else { return 0 }
      if renames.withLock({
        $0 += 1
        return $0 == 1
      }) {
        hasBegun.signal()
        isHeld.wait()
      }
      return 0
    })
    let store = LocationStore(path: folder.file, probe: probe)
    store.keep(try Self.file("0"))
    await withCheckedContinuation { done in
      DispatchQueue.global().async {
        hasBegun.wait()
        done.resume()
      }
    }
    for number in 1...100 { store.keep(try Self.file("\(number)")) }
    isHeld.signal()
    await withCheckedContinuation { done in store.finish { done.resume() } }
    #expect(renames.withLock(\.self) == 2)
    #expect(try LocationFile(decoding: folder.read()) == Self.file("100"))
  }

  @Test(
    "the file's path is AMBIT_LOCATIONS, else among the state files under the program's name")
  func place() throws {
    func path(_ values: [String: String]) -> String? {
      StateFile.path(of: "locations/app") { values[$0] }
    }
    #expect(path(["XDG_STATE_HOME": "/s", "HOME": "/h"]) == "/s/ambit/locations/app")
    #expect(path(["XDG_STATE_HOME": "s", "HOME": "/h"]) == "/h/.local/state/ambit/locations/app")
    #expect(path(["HOME": "h"]) == nil)
    let name = try #require(StateFile.programName())
    #expect(!name.isEmpty && !name.contains("/"))
    #expect(LocationStore.current(isSimulated: true) == nil)
  }
}
