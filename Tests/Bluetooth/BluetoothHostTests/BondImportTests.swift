import BluetoothMachines
import BluetoothWire
import Essentials
import Foundation
import Testing

@testable import BluetoothHost

@Suite("Imports of bonds into a store")
struct BondImportTests {
  private static let address = DeviceAddress(bits: 0x0012_3456_0001, kind: .public)
  private static let randomAddress = DeviceAddress(bits: 0xD000_0000_0001, kind: .random)

  private static func file(_ bonds: [Bond], _ identities: [HostIdentity] = []) -> BondFile {
    var file = BondFile()
    for identity in identities { _ = file.store(identity) }
    for bond in bonds { _ = file.store(bond) }
    return file
  }

  /// A bond of the same peer with another key.
  private static func renewed(_ bond: Bond) -> Bond {
    var bond = bond
    bond.centralKey = LongTermKey(Bonds.key(77))
    return bond
  }

  private static func bond(_ bond: Bond, of address: DeviceAddress) -> Bond {
    var bond = bond
    bond.localIdentity = address
    return bond
  }

  @Test("bonds of other peers are added behind those that are there, with the host's identities")
  func addition() throws {
    let folder = try BondTestFolder()
    let store = BondStore(path: folder.path + "/a/bonds")
    let identity = HostIdentity(address: Self.address, resolvingKey: Bonds.key(5))
    let legacy = Self.bond(Bonds.legacy, of: Self.address)
    let first = try store.importBonds(of: Self.file([legacy], [identity]))
    #expect(first.added == [legacy.knownAddress] && first.kept.isEmpty)
    let second = try store.importBonds(of: Self.file([legacy, Bonds.secure]))
    #expect(second.added == [Bonds.secure.knownAddress])
    #expect(second.present == [legacy.knownAddress])
    #expect(try store.load() == [legacy, Bonds.secure])
    #expect(try store.loadContents().identities == [identity])
  }

  @Test("a bond of the same peer is kept, and replaced on request")
  func replacement() throws {
    let folder = try BondTestFolder()
    let store = BondStore(path: folder.path + "/bonds")
    try store.store(Bonds.secure)
    try store.store(Bonds.legacy)
    let file = Self.file([Self.renewed(Bonds.secure), Bonds.numbered(1)])
    let first = try store.importBonds(of: file)
    #expect(first.kept == [Bonds.secure.knownAddress])
    #expect(first.added == [Bonds.numbered(1).knownAddress])
    #expect(try store.load() == [Bonds.secure, Bonds.legacy, Bonds.numbered(1)])
    let second = try store.importBonds(of: file, replacing: true)
    #expect(second.replaced == [Bonds.secure.knownAddress] && second.kept.isEmpty)
    #expect(second.present == [Bonds.numbered(1).knownAddress])
    #expect(
      try store.load() == [Self.renewed(Bonds.secure), Bonds.legacy, Bonds.numbered(1)])
  }

  @Test("a store without room for all bonds takes none of them")
  func room() throws {
    let folder = try BondTestFolder()
    let store = BondStore(path: folder.path + "/bonds")
    let full = Self.file((1..<BondFile.bondCountMax).map { Bonds.numbered($0) })
    try folder.write(full.bytes)
    let error = #expect(throws: BondStoreError.self) {
      try store.importBonds(of: Self.file([Bonds.secure, Bonds.legacy]))
    }
    #expect(error?.kind == .full)
    #expect(try folder.read() == full.bytes)
    #expect(try store.importBonds(of: Self.file([Bonds.secure])).added.count == 1)
  }

  @Test("a store with as many identities of this host as it may have loses none of them")
  func identities() throws {
    let folder = try BondTestFolder()
    let store = BondStore(path: folder.path + "/bonds")
    let identities = (0..<UInt64(BondFile.identityCountMax)).map { number in
      HostIdentity(
        address: DeviceAddress(bits: 0x0012_3456_1000 + number, kind: .public),
        resolvingKey: Bonds.key(Int(number)))
    }
    let full = Self.file([], identities)
    try folder.write(full.bytes)
    let identity = HostIdentity(address: Self.address, resolvingKey: Bonds.key(5))
    let bond = Self.bond(Bonds.secure, of: Self.address)
    let error = #expect(throws: BondStoreError.self) {
      try store.importBonds(of: Self.file([bond], [identity]))
    }
    #expect(error?.kind == .full)
    #expect(try folder.read() == full.bytes)
  }

  @Test("a bond of a random address of this host is left, unless the store has this address")
  func randomAddress() throws {
    let folder = try BondTestFolder()
    let store = BondStore(path: folder.path + "/bonds")
    let identity = HostIdentity(address: Self.randomAddress, resolvingKey: Bonds.key(5))
    let file = Self.file(
      [Self.bond(Bonds.legacy, of: Self.randomAddress), Bonds.secure], [identity])
    let first = try store.importBonds(of: file)
    #expect(first.left == [Bonds.legacy.knownAddress])
    #expect(first.added == [Bonds.secure.knownAddress])
    #expect(try store.loadContents().identities.isEmpty)
    try folder.write(Self.file([], [identity]).bytes)
    #expect(try store.importBonds(of: file).left.isEmpty)
    #expect(try store.load() == file.bonds)
  }

  @Test("an import of nothing new makes no file, and a damaged store is not replaced")
  func unchanged() throws {
    let folder = try BondTestFolder()
    let store = BondStore(path: folder.path + "/bonds")
    #expect(try store.importBonds(of: BondFile()) == BondImport())
    #expect(try !folder.names.contains("bonds"))
    let damaged = Array(Self.file([Bonds.legacy]).bytes.dropLast())
    try folder.write(damaged)
    let error = #expect(throws: BondStoreError.self) {
      try store.importBonds(of: Self.file([Bonds.secure]))
    }
    #expect(error?.kind == .damaged)
    #expect(try folder.read() == damaged)
  }
}
