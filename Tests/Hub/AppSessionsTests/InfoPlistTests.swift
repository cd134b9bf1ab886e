import AppMachines
import AppSessions
import Essentials
import Foundation
import InfoPlists
import Testing

@Suite struct InfoPlistTests {
  private static var whole: [String: Any] {
    [
      "CFBundleIdentifier": "com.example.lock", "CFBundleExecutable": "Lock",
      "CFBundleVersion": "1.2", "UIBackgroundModes": ["bluetooth-central", "audio", "fetch"],
      "BGTaskSchedulerPermittedIdentifiers": ["com.example.refresh"],
      "UIApplicationExitsOnSuspend": true, "NSBluetoothAlwaysUsageDescription": "Opens the door",
      "UIApplicationSceneManifest": [
        "UISceneConfigurations": [
          "UIWindowSceneSessionRoleApplication": [
            ["UISceneConfigurationName": "Default", "UISceneDelegateClassName": "Lock.Scene"]
          ]
        ]
      ],
    ]
  }

  private func bytes(
    _ list: Any, _ format: PropertyListSerialization.PropertyListFormat
  ) throws -> [UInt8] {
    Array(try PropertyListSerialization.data(fromPropertyList: list, format: format, options: 0))
  }

  @Test(arguments: [PropertyListSerialization.PropertyListFormat.xml, .binary])
  func `An Info plist is read in XML and in binary`(
    _ format: PropertyListSerialization.PropertyListFormat
  ) throws {
    let plist = try InfoPlist(bytes: bytes(Self.whole, format))
    #expect(plist.bundleIdentifier == "com.example.lock" && plist.executable == "Lock")
    #expect(plist.version == "1.2" && plist.exitsOnSuspend)
    #expect(plist.permittedTaskIdentifiers == ["com.example.refresh"])
    #expect(plist.sceneManifest?.name == "Default")
    #expect(plist.sceneManifest?.delegateClassName == "Lock.Scene")
    #expect(plist.usageDescriptions == ["NSBluetoothAlwaysUsageDescription": "Opens the door"])
    let expected = AppDescription(
      modes: [.bluetoothCentral, .fetch], hasScenes: true, exitsOnSuspend: true)
    #expect(plist.description == expected)
    // Old style, which Foundation would read.
    #expect(throws: InfoPlistError.malformed) { try InfoPlist(bytes: Array("{ a = b; }".utf8)) }
  }

  @Test func `A path without a file is nil, and one that isn't a file can't be read`() throws {
    let folder = FileManager.default.temporaryDirectory.appending(path: "plist-\(UUID())")
    try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
    defer { try? FileManager.default.removeItem(at: folder) }
    let path = folder.appending(path: "Info.plist").path
    #expect(try InfoPlist.read(path) == nil)
    #expect(throws: InfoPlistError.unreadable(path: folder.path)) {
      try InfoPlist.read(folder.path)
    }
    try Data(bytes(Self.whole, .xml)).write(to: URL(filePath: path))
    #expect(try InfoPlist.read(path)?.version == "1.2")
  }

  @Test func `A value of another type is an error that names the key`() {
    let wrong: [(String, Any)] = [
      ("CFBundleIdentifier", 3), ("UIBackgroundModes", "fetch"), ("UIBackgroundModes", [1]),
      ("BGTaskSchedulerPermittedIdentifiers", ["a": 1]), ("UIApplicationExitsOnSuspend", "yes"),
      ("UIApplicationSceneManifest", []), ("NSBluetoothAlwaysUsageDescription", [1]),
    ]
    for (key, value) in wrong {
      do {
        _ = try InfoPlist([key: value])
        Issue.record("\(key) was read")
      } catch {
        guard case .wrongType(key, _) = error else {
          Issue.record("\(key): \(error)")
          continue
        }
      }
    }
    #expect(throws: InfoPlistError.tooManyElements(key: "UIBackgroundModes")) {
      try InfoPlist(["UIBackgroundModes": Array(repeating: "fetch", count: 257)])
    }
  }

  @Test func `A file that is too large, deep or no dictionary is refused`() throws {
    let large = [UInt8](repeating: 0x20, count: InfoPlist.byteCountMax + 1)
    #expect(throws: InfoPlistError.tooLarge(byteCount: large.count)) {
      try InfoPlist(bytes: large)
    }
    #expect(throws: InfoPlistError.malformed) { try InfoPlist(bytes: []) }
    for format in [PropertyListSerialization.PropertyListFormat.xml, .binary] {
      let list = try bytes(["a"], format)
      #expect(throws: InfoPlistError.notADictionary) { try InfoPlist(bytes: list) }
    }
    var deep: Any = 1
    for _ in 0..<100 { deep = [deep] }
    let nested = try bytes(["a": deep], .binary)
    #expect(throws: InfoPlistError.malformed) { try InfoPlist(bytes: nested) }
  }

  @Test(arguments: ["<array>", "<dict><key>a</key>"])
  func `Elements of XML that are deeper than a stack are refused`(_ element: String) {
    let count = (InfoPlist.byteCountMax - 100) / element.utf8.count
    let deep = "<plist>" + String(repeating: element, count: count)
    #expect(throws: InfoPlistError.malformed) { try InfoPlist(bytes: Array(deep.utf8)) }
  }

  /// Each array refers twice to the next one: a copy of the first one would have 2^depth elements.
  private func doubling(depth: Int) -> [UInt8] {
    var bytes = Array("bplist00".utf8)
    var offsets: [UInt8] = []
    for index in 0..<depth {
      offsets.append(UInt8(bytes.count))
      let next = UInt8(index + 1)
      bytes += index == depth - 1 ? [0xA0] : [0xA2, next, next]
    }
    let table = bytes.count
    bytes += offsets + [0, 0, 0, 0, 0, 0, 1, 1]
    for number in [depth, 0, table] { bytes += [0, 0, 0, 0, 0, 0, 0, UInt8(number)] }
    return bytes
  }

  @Test func `Shared objects that multiply are refused before they are copied`() {
    #expect(throws: InfoPlistError.notADictionary) { try InfoPlist(bytes: doubling(depth: 10)) }
    #expect(throws: InfoPlistError.malformed) { try InfoPlist(bytes: doubling(depth: 50)) }
  }

  @Test func `A set, which makes Foundation trap, and a key that is no string are refused`() {
    let end: [UInt8] = [0, 0, 0, 0, 0, 0, 1, 1]
    func file(_ objects: [UInt8], offsets: [UInt8]) -> [UInt8] {
      var bytes = Array("bplist00".utf8) + objects
      let table = bytes.count
      bytes += offsets + end
      for number in [offsets.count, 0, table] { bytes += [0, 0, 0, 0, 0, 0, 0, UInt8(number)] }
      return bytes
    }
    #expect(throws: InfoPlistError.notADictionary) {
      try InfoPlist(bytes: file([0xA1, 1, 0xA0], offsets: [8, 10]))
    }
    #expect(throws: InfoPlistError.malformed) {
      try InfoPlist(bytes: file([0xC1, 1, 0xA0], offsets: [8, 10]))
    }
    #expect(throws: InfoPlistError.malformed) {
      try InfoPlist(bytes: file([0xD1, 1, 1, 0xA0], offsets: [8, 11]))
    }
  }

  @Test func `A file that was cut or mutated gives an error or another description`() throws {
    var chance = SeededGenerator(seed: 20)
    for format in [PropertyListSerialization.PropertyListFormat.xml, .binary] {
      let whole = try bytes(Self.whole, format)
      for count in 0..<whole.count { _ = try? InfoPlist(bytes: Array(whole.prefix(count))) }
      for _ in 0..<2_000 {
        var mutated = whole
        for _ in 0..<Int.random(in: 1...4, using: &chance) {
          mutated[Int.random(in: 0..<mutated.count, using: &chance)] = .random(
            in: 0...255, using: &chance)
        }
        _ = try? InfoPlist(bytes: mutated)
      }
    }
  }
}
