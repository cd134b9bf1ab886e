import BluetoothHost
import BluetoothMachines
import BluetoothWire
import Essentials
import Foundation
import Glibc
import Testing

@testable import AmbitCLI

@Suite("ambit bonds import", .timeLimit(.minutes(5)))
struct BondsImportTests {
  private static func bond(_ number: UInt64, key: UInt128) -> Bond {
    Bond(
      identity: DeviceAddress(bits: 0x0012_3456_7800 + number, kind: .public),
      centralKey: LongTermKey(SMPValue(number: key)),
      peripheralKey: LongTermKey(SMPValue(number: key)), isAuthenticated: true,
      isSecureConnections: true)
  }

  private static func store(_ path: String, _ bonds: Bond...) throws -> BondStore {
    let store = BondStore(path: path)
    for bond in bonds { try store.store(bond) }
    return store
  }

  private static func events(_ lines: [String]) -> [String] {
    lines.compactMap { line in
      let object = try? JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any]
      guard let event = object?["event"] as? String, let address = object?["address"] as? String
      else { return nil }
      return "\(event) \(address)"
    }
  }

  @Test("bonds are copied, those that the hub has are kept, and with an option replaced")
  func importing() async throws {
    let folder = try TestFolder()
    let (first, second) = (Self.bond(1, key: 11), Self.bond(2, key: 22))
    let own = try Self.store(folder.path + "/own", first, second)
    let hub = try Self.store(folder.path + "/hub", Self.bond(2, key: 33), Self.bond(3, key: 44))
    let end = try await AmbitRun.end(
      "bonds", "import", "--to", hub.path, environment: ["AMBIT_BONDS": own.path])
    #expect(end.status == 0, "\(end)")
    #expect(
      end.output == ["Imported 00:12:34:56:78:01", "Kept the hub's bond of 00:12:34:56:78:02"])
    #expect(end.complaints == ["With --replace, your bonds replace those that were kept."])
    #expect(try hub.load() == [Self.bond(2, key: 33), Self.bond(3, key: 44), first])
    let json = try await AmbitRun.end(
      "bonds", "import", "--from", own.path, "--to", hub.path, "--replace", "--json")
    #expect(json.status == 0 && json.complaints.isEmpty, "\(json)")
    #expect(
      Self.events(json.output) == ["replaced 00:12:34:56:78:02", "present 00:12:34:56:78:01"])
    #expect(try hub.load() == [second, Self.bond(3, key: 44), first])
    #expect(try own.load() == [first, second])
  }

  @Test("an import into a damaged file, from a missing one or into the same one changes nothing")
  func failures() async throws {
    let folder = try TestFolder()
    let own = try Self.store(folder.path + "/own", Self.bond(1, key: 11))
    let damaged = try folder.file("damaged", "ambit bonds 1\n")
    #expect(chmod(damaged, 0o600) == 0)
    let end = try await AmbitRun.end("bonds", "import", "--from", own.path, "--to", damaged)
    #expect(end.status == AmbitCLI.ExitStatus.badData.rawValue, "\(end)")
    #expect(end.complaints.count == 1 && end.complaints[0].contains(damaged), "\(end)")
    #expect(try String(contentsOfFile: damaged, encoding: .utf8) == "ambit bonds 1\n")
    let none = folder.path + "/none"
    let missing = try await AmbitRun.end("bonds", "import", "--from", none, "--to", damaged)
    #expect(missing.status == AmbitCLI.ExitStatus.noInput.rawValue)
    #expect(missing.complaints == ["ambit: there are no bonds at \"\(none)\"."])
    let same = try await AmbitRun.end("bonds", "import", "--from", own.path, "--to", own.path)
    #expect(same.status == AmbitCLI.ExitStatus.usage.rawValue)
    #expect(
      same.complaints == ["ambit: \"\(own.path)\" has the bonds of the hub itself."], "\(same)")
  }

  @Test(
    "root changes the store of a hub as the hub's user, through folders that are closed to that user",
    .enabled(if: geteuid() == 0))
  func owner() async throws {
    let folder = try TestFolder()
    #expect(chmod(folder.path, 0o700) == 0)
    let state = folder.path + "/state"
    try FileManager.default.createDirectory(atPath: state, withIntermediateDirectories: false)
    // In a container without other users there is nothing to do for them.
    guard chown(state, 61_234, 61_235) == 0 else { return }
    #expect(chmod(state, 0o700) == 0)
    let own = try Self.store(folder.path + "/own", Self.bond(1, key: 11))
    let end = try await AmbitRun.end(
      "bonds", "import", "--from", own.path, "--to", state + "/bonds")
    #expect(end.status == 0 && end.output == ["Imported 00:12:34:56:78:01"], "\(end)")
    let names = try FileManager.default.contentsOfDirectory(atPath: state)
    #expect(names.contains("bonds"))
    for name in names {
      var status = stat()
      #expect(stat(state + "/" + name, &status) == 0)
      #expect(status.st_uid == 61_234 && status.st_gid == 61_235, "\(name)")
      #expect(status.st_mode & 0o777 == 0o600, "\(name)")
    }
  }
}
