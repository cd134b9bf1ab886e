import Foundation
import Testing

@Suite("Clocks, randomness and sockets")
struct AmbientTests {
  @Test("clocks, randomness and sockets are named only by hosts, the simulation and programs")
  func names() throws {
    for file in SourceTree.sources {
      let module = try #require(file.module)
      guard let rule = Layers.all[module], !rule.mayTouchTheWorld,
        !rule.filesThatTouchTheWorld.contains(file.path)
      else { continue }
      for (index, line) in file.code.enumerated() {
        for name in Layers.ambientNames where line.contains(name) {
          Issue.record("\(file.path):\(index + 1) uses \(name)")
        }
      }
    }
  }

  @Test("a hub, its radio and its programs measure time by a clock that can't be set")
  func monotonic() {
    let modules: Set = [
      "AppHubMachines", "BluetoothHost", "BluetoothMachines", "BlueZHost", "BlueZMachines",
      "BonjourHost", "EventLoop", "GATTMachines", "HubClient", "HubClientMachines", "HubHost",
      "HubMachines", "L2CAPMachines", "PairingMachines", "PortSharing", "SecureConnections",
      "SimulatedRadio", "StateFiles",
    ]
    // The time of the calendar, which apps see; that of the packets of a capture; and a timer that
    // notices when the calendar is set.
    let exempt: Set = [
      "Sources/EventLoop/CalendarTime.swift", "Sources/Bluetooth/BluetoothHost/Capture.swift",
      "Sources/Bonjour/BonjourHost/Waking/WakeMonitor.swift",
    ]
    var foundNames: Set<String> = []
    for file in SourceTree.sources where file.module.map(modules.contains) == true {
      for (index, line) in file.code.enumerated() {
        for name in ["CLOCK_REALTIME", "gettimeofday", "Date("] where line.contains(name) {
          foundNames.insert(name)
          if exempt.contains(file.path) { continue }
          Issue.record("\(file.path):\(index + 1) uses \(name)")
        }
      }
    }
    #expect(foundNames == ["CLOCK_REALTIME"], "so that the test can fail")
  }

  /// Object files are there when all of the package was built.
  private static let objects = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
    .deletingLastPathComponent()
  private static let areObjectsThere = FileManager.default.fileExists(
    atPath: objects.appending(path: "CoreBluetooth.build").path)

  @Test(
    "clocks, randomness and sockets are linked only by hosts, the simulation and programs",
    .enabled(if: areObjectsThere, "only a part of the package was built"),
    arguments: Layers.all.filter { !$0.value.mayTouchTheWorld }.keys.sorted())
  func symbols(_ module: String) throws {
    let exempt = Set(
      (Layers.all[module]?.filesThatTouchTheWorld ?? []).compactMap {
        $0.split(separator: "/").last.map { "\($0).o" }
      })
    let objects = Self.objectFiles(of: module)
    let isCompiled = SourceTree.sources.contains {
      $0.module == module && $0.path.hasPrefix("Sources/")
    }
    #expect(!objects.isEmpty || !isCompiled, "\(module) has no object files")
    let checked = objects.filter { !exempt.contains($0.lastPathComponent) }
    for (object, symbol) in try Self.undefinedSymbols(of: checked) where Self.isAmbient(symbol) {
      Issue.record("\(module): \(object) refers to \(symbol)")
    }
  }

  @Test(
    "clocks, randomness and sockets are found in a host's objects, so that the test can fail",
    .enabled(if: areObjectsThere, "only a part of the package was built"))
  func finder() throws {
    let objects = Self.objectFiles(of: "EventLoop")
    let found = try Self.undefinedSymbols(of: objects)
    #expect(found.contains { $0.symbol == "clock_gettime" })
    // Of all objects, not of the first alone; some need nothing.
    #expect(Set(found.map(\.object)).count > objects.count / 2)
    #expect(Self.isAmbient("clock_gettime") && !Self.isAmbient("clock_gettime_of_ours"))
    #expect(Self.isAmbient("$s20FoundationEssentials4DateVACycfC"))
  }

  private static func objectFiles(of module: String) -> [URL] {
    let folder = objects.appending(path: "\(module).build")
    let files = try? FileManager.default.contentsOfDirectory(
      at: folder, includingPropertiesForKeys: nil)
    return (files ?? []).filter { $0.pathExtension == "o" }
  }

  /// The symbols to which each of these objects refers, listed by one process: a process for each takes
  /// many times as long.
  private static func undefinedSymbols(
    of objects: [URL]
  ) throws -> [(object: Substring, symbol: String)] {
    guard !objects.isEmpty else { return [] }
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments =
      ["nm", "--undefined-only", "--print-file-name", "--format=posix"] + objects.map(\.path)
    let output = Pipe()
    process.standardOutput = output
    process.standardError = FileHandle.nullDevice
    try process.run()
    let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
    process.waitUntilExit()
    try #require(process.terminationStatus == 0, "nm failed for \(objects.map(\.path))")
    // A line is "/path/File.swift.o: symbol U".
    return text.split(separator: "\n").compactMap { line in
      guard let end = line.range(of: ".o: ") else { return nil }
      let path = line[..<end.lowerBound]
      let symbol = line[end.upperBound...].prefix { $0 != " " }
      return (path.split(separator: "/").last ?? path, String(symbol))
    }
  }

  private static func isAmbient(_ symbol: String) -> Bool {
    Layers.ambientSymbols.contains { ambient in
      ambient.hasPrefix("$s") ? symbol.hasPrefix(ambient) : symbol == ambient
    }
  }
}
