import BluetoothHost
import BluetoothMachines
import BluetoothWire
import Essentials
import Foundation
import Glibc
import Testing

@testable import AmbitCLI

@Suite("ambit bonds", .timeLimit(.minutes(5)))
struct BondsTests {
  private static let random = Bond(
    identity: DeviceAddress(bits: 0xC012_3456_789A, kind: .random),
    centralKey: LongTermKey(
      SMPValue(number: 0xABCD), encryptedDiversifier: 0x1234, random: 0x0102_0304_0506_0708),
    peripheralKey: nil, identityResolvingKey: SMPValue(number: 0xEF01), keyByteCount: 7,
    isAuthenticated: false, isSecureConnections: false)
  private static let known = Bond(
    identity: DeviceAddress(bits: 0x0012_3456_789A, kind: .public),
    centralKey: LongTermKey(SMPValue(number: 0x2345)),
    peripheralKey: LongTermKey(SMPValue(number: 0x2345)), isAuthenticated: true,
    isSecureConnections: true)

  private static func keys(_ bond: Bond) -> [String] {
    [bond.centralKey?.value, bond.peripheralKey?.value, bond.identityResolvingKey]
      .compactMap { $0.map { Hexadecimal.string($0.bytes) } }
  }

  /// The path of a store with two bonds.
  private static func store(_ folder: borrowing TestFolder) throws -> String {
    let store = BondStore(path: folder.path + "/bonds")
    try store.store(random)
    try store.store(known)
    return store.path
  }

  private static func object(_ line: String?) throws -> [String: Any] {
    let object = try JSONSerialization.jsonObject(with: Data((line ?? "").utf8))
    return try #require(object as? [String: Any])
  }

  @Test("a command whose bond could not be written has failed, although it has read the value")
  func lost() async throws {
    let folder = try TestFolder()
    let safe = try folder.file(
      "safe.json",
      #"""
      {"name": "Safe", "services": [{"uuid": "FFF0", "characteristics": [
        {"uuid": "FFF1", "value": {"hex": "2a"}, "readNeedsEncryption": true}]}]}
      """#)
    let path = try Self.store(folder)
    let lock = open(path + ".lock", O_RDWR)
    defer { close(lock) }
    #expect(flock(lock, LOCK_EX) == 0)
    let end = try await AmbitRun.end(
      "read", "Safe", "FFF1", "--radio", "sim:\(safe)", environment: ["AMBIT_BONDS": path])
    #expect(end.status == AmbitCLI.ExitStatus.cannotCreate.rawValue, "\(end)")
    #expect(!end.output.isEmpty, "\(end)")
    #expect(end.complaints.contains { $0.contains("bonds are not kept for later runs") }, "\(end)")
  }

  @Test("bonds are listed as a table, or as JSON, without keys")
  func list() async throws {
    let folder = try TestFolder()
    let path = try Self.store(folder)
    let table = try await AmbitRun.end("bonds", "--bonds", path)
    #expect(table.status == 0 && table.complaints.isEmpty, "\(table)")
    #expect(
      table.output == [
        "ADDRESS            TYPE    PAIRING                               KEY       LINKS AS",
        "C0:12:34:56:78:9A  random  legacy, not authenticated             7 bytes   central",
        "00:12:34:56:78:9A  public  Secure Connections, authenticated     16 bytes  "
          + "central, peripheral",
      ])
    let json = try await AmbitRun.end("bonds", "list", "--json", environment: ["AMBIT_BONDS": path])
    #expect(json.status == 0 && json.complaints.isEmpty && json.output.count == 2, "\(json)")
    let first = try Self.object(json.output.first)
    #expect(first["event"] as? String == "bond")
    #expect(first["address"] as? String == "C0:12:34:56:78:9A")
    #expect(first["addressType"] as? String == "random")
    #expect(first["keyByteCount"] as? Int == 7)
    #expect(first["isAuthenticated"] as? Bool == false)
    #expect(first["isSecureConnections"] as? Bool == false)
    #expect(first["isResolvable"] as? Bool == true)
    #expect(try Self.object(json.output.last)["roles"] as? [String] == ["central", "peripheral"])
    for line in table.output + json.output {
      for key in Self.keys(Self.random) + Self.keys(Self.known) { #expect(!line.contains(key)) }
    }
  }

  @Test("bonds are exported with keys only with the option for it, and a warning is printed")
  func export() async throws {
    let folder = try TestFolder()
    let path = try Self.store(folder)
    let plain = try await AmbitRun.end("bonds", "export", "--bonds", path)
    #expect(plain.status == 0 && plain.complaints.isEmpty && plain.output.count == 2, "\(plain)")
    #expect(!plain.output.joined().contains(Self.keys(Self.random)[0]))
    let secret = try await AmbitRun.end("bonds", "export", "--keys", "--bonds", path)
    #expect(secret.status == 0)
    #expect(
      secret.complaints == [
        "These keys are secret: they allow reading the devices' traffic."
      ])
    let first = try Self.object(secret.output.first)
    let key = try #require(first["centralKey"] as? [String: Any])
    #expect(key["value"] as? String == Self.keys(Self.random)[0])
    #expect(key["encryptedDiversifier"] as? Int == 0x1234)
    #expect(key["random"] as? String == "0102030405060708")
    #expect(first["identityResolvingKey"] as? String == Self.keys(Self.random)[1])
    #expect(first["peripheralKey"] == nil)
  }

  @Test(
    "a bond of a device with private addresses is listed by the address that other commands show")
  func privateAddress() async throws {
    let folder = try TestFolder()
    let store = BondStore(path: folder.path + "/bonds")
    var bond = Self.random
    bond.knownAddress = DeviceAddress(bits: 0x4A12_3456_789A, kind: .random)
    bond.localIdentity = DeviceAddress(bits: 0x0012_3456_789B, kind: .public)
    try store.store(bond)
    let table = try await AmbitRun.end("bonds", "--bonds", store.path)
    #expect(
      table.output.last
        == "4A:12:34:56:78:9A  random  legacy, not authenticated             7 bytes   central, "
        + "identity C0:12:34:56:78:9A")
    let json = try await AmbitRun.end("bonds", "--json", "--bonds", store.path)
    let object = try Self.object(json.output.first)
    #expect(object["address"] as? String == "C0:12:34:56:78:9A")
    #expect(object["knownAddress"] as? String == "4A:12:34:56:78:9A")
    #expect(object["localAddress"] as? String == "00:12:34:56:78:9B")
    #expect(object["localAddressType"] as? String == "public")
    let end = try await AmbitRun.end(
      "bonds", "forget", "4A:12:34:56:78:9A", "--bonds", store.path)
    #expect(end.status == 0 && end.complaints == ["Forgot 4A:12:34:56:78:9A."], "\(end)")
    #expect(try store.load().isEmpty)
  }

  @Test("bonds are forgotten one by one; a bond that doesn't exist is an error")
  func forget() async throws {
    let folder = try TestFolder()
    let path = try Self.store(folder)
    let end = try await AmbitRun.end("bonds", "forget", "c0-12-34-56-78-9a", "--bonds", path)
    #expect(end.status == 0 && end.output.isEmpty, "\(end)")
    #expect(end.complaints == ["Forgot C0:12:34:56:78:9A."])
    #expect(try BondStore(path: path).load() == [Self.known])
    let again = try await AmbitRun.end("bonds", "forget", "C0:12:34:56:78:9A", "--bonds", path)
    #expect(again.status == AmbitCLI.ExitStatus.notFound.rawValue)
    #expect(again.complaints == ["ambit: no bond with C0:12:34:56:78:9A."])
    let last = try await AmbitRun.end(
      "--json", "--bonds", path, "bonds", "forget", "00:12:34:56:78:9A")
    #expect(last.status == 0 && last.complaints.isEmpty, "\(last)")
    #expect(try Self.object(last.output.first)["event"] as? String == "forgotten")
    #expect(try Self.object(last.output.first)["addressType"] as? String == "public")
    let wrong = try await AmbitRun.end("bonds", "forget", "lamp", "--bonds", path)
    #expect(wrong.status == AmbitCLI.ExitStatus.usage.rawValue)
    #expect(
      wrong.complaints == ["ambit: \"lamp\" is no address; one is C0:12:34:56:78:9A."])
  }

  @Test("a missing file of bonds is an empty list, and reading doesn't create the file")
  func none() async throws {
    let folder = try TestFolder()
    let path = folder.path + "/state/ambit/bonds"
    let list = try await AmbitRun.end("bonds", environment: ["XDG_STATE_HOME": folder.path])
    #expect(list.status == 0 && list.output == ["No bonds."], "\(list)")
    let json = try await AmbitRun.end("bonds", "--json", "--bonds", path)
    #expect(json.status == 0 && json.output.isEmpty, "\(json)")
    let export = try await AmbitRun.end("bonds", "export", "--keys", "--bonds", path)
    #expect(export.status == 0 && export.output.isEmpty && export.complaints.isEmpty, "\(export)")
    let forget = try await AmbitRun.end("bonds", "forget", "C0:12:34:56:78:9A", "--bonds", path)
    #expect(forget.status == AmbitCLI.ExitStatus.notFound.rawValue)
    #expect(try FileManager.default.contentsOfDirectory(atPath: folder.path) == [])
  }

  @Test("a file that is no file of bonds is refused in one sentence with an exit status")
  func refused() async throws {
    let folder = try TestFolder()
    let file = try folder.file("bonds", "Dear Ann,\n")
    #expect(chmod(file, 0o600) == 0)
    for command in [["list"], ["export"], ["forget", "C0:12:34:56:78:9A"]] {
      let run = try AmbitRun(["bonds"] + command + ["--bonds", file])
      run.closeInput()
      let end = await run.end()
      #expect(end.status == AmbitCLI.ExitStatus.badData.rawValue)
      #expect(
        end.complaints == [
          "ambit: The bonds in \"\(file)\" are not used: the file is something else."
        ])
    }
    let nowhere = try await AmbitRun.end(
      "bonds", environment: ["HOME": "", "XDG_STATE_HOME": "", "AMBIT_BONDS": ""])
    #expect(nowhere.status == AmbitCLI.ExitStatus.noInput.rawValue)
    #expect(nowhere.complaints.count == 1)
  }

  @Test("a central is not called while its bond, which has the kind of its address, can't be read")
  func calledCentral() async throws {
    let folder = try TestFolder()
    let bonds = try folder.file("bonds", "Dear Ann,\n")
    #expect(chmod(bonds, 0o600) == 0)
    let level = #"{"uuid": "2A19", "value": {"uint8": 87}}"#
    let device = try folder.file(
      "lamp.json",
      #"{"name": "Lamp", "services": [{"uuid": "180F", "characteristics": [\#(level)]}]}"#)
    let end = try await AmbitRun.end(
      "peripheral", device, "--for", "C0:12:34:56:78:9A", "--radio", "sim:empty",
      environment: ["AMBIT_BONDS": bonds])
    #expect(end.status != 0 && end.output.isEmpty, "\(end)")
    #expect(end.complaints.contains { $0.contains("the file is something else") }, "\(end)")
  }

  @Test(
    "commands that use the radio report that bonds can't be used, and that no prompt is possible")
  func told() async throws {
    let folder = try TestFolder()
    let file = try folder.file("bonds", "Dear Ann,\n")
    #expect(chmod(file, 0o600) == 0)
    let refused = try await AmbitRun.end(
      "status", "--radio", "sim", environment: ["AMBIT_BONDS": file])
    #expect(refused.status == 0)
    #expect(
      refused.complaints == [
        "ambit: The bonds in \"\(file)\" are not used: the file is something else."
          + " Pairing is disabled until this is fixed; the file is read again until then."
      ])
    let asking = try await AmbitRun.end("status", "--radio", "sim", "--pair", "ask")
    #expect(
      asking.complaints == [
        "ambit: pairing needs consent, but there is no terminal for the question."
      ])
  }
}
