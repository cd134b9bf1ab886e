import ArgumentParser
import BluetoothHost
import BluetoothMachines
import BluetoothWire
import Essentials
import Foundation
import JSONWire

/// Bonds: the devices that this user's hosts have paired with.
struct Bonds: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    abstract: "List paired devices, forget one, or export and import their bonds.",
    discussion: """
      Bonds are in a file that only its owner may read: the file of --bonds or AMBIT_BONDS, else that of \
      the hub that commands use, else ambit/bonds in XDG_STATE_HOME or ~/.local/state. A hub's are for its \
      user and root; it takes a change at once. With AMBIT_HUB=off, your own are meant also beside a hub. A \
      forgotten device has to be paired with again, and has to forget this host, too.

      EXAMPLES:
        ambit bonds                                    list them
        AMBIT_HUB=off ambit bonds                      those of your own radios, beside a hub
        ambit bonds forget C0:12:34:56:78:9A
        ambit bonds export                             as JSON, without keys
        ambit bonds export --keys > bonds.json         with keys, for a sniffer
        ambit bonds decrypt air.pcap plain.pcap        a capture of the air, for Wireshark
        sudo ambit bonds import --from bonds           into the store of the system's hub
      """,
    subcommands: [
      BondsList.self, BondsForget.self, BondsExport.self, BondsDecrypt.self, BondsImport.self,
    ],
    defaultSubcommand: BondsList.self)
}

/// What every command about bonds takes.
struct BondOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "The file of bonds. Default: AMBIT_BONDS, else the file of the hub that is used, else ambit/bonds in "
        + "XDG_STATE_HOME or ~/.local/state.",
      valueName: "path"),
    completion: .file())
  var bonds: String?

  @Flag(help: "Write one JSON object per line; docs/json.md lists the keys.")
  var json = false

  /// The store that is meant.
  ///
  /// - Throws: If the hub that is used does not answer, or reports no bonds to this user.
  func place() async throws -> BondPlace {
    if let bonds { return BondPlace(path: bonds) }
    let isNamed = !(ProcessInfo.processInfo.environment["AMBIT_BONDS"] ?? "").isEmpty
    if !isNamed, let hub = try GlobalOptions.chosenHubPath() {
      return try await BondPlace.ofHub(at: hub)
    }
    return BondPlace(
      path: try Self.explaining { () throws(BondStoreError) in try BondStore.defaultPath() })
  }

  /// Does something with a store; its errors become failures of the command.
  static func explaining<Result>(
    _ body: () throws(BondStoreError) -> Result
  ) throws -> Result {
    do throws(BondStoreError) {
      return try body()
    } catch {
      let status: ExitStatus =
        switch error.kind {
        case .refused, .damaged: .badData
        case .noPath, .unreadable: .noInput
        case .unwritable, .busy, .addressInUse, .full, .stronger, .replaced, .dropped: .cannotCreate
        }
      throw CommandFailure(status, error.description.trimmingSuffix("."))
    }
  }
}

/// Lists bonds.
struct BondsList: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "list", abstract: "List paired devices, without keys.",
    discussion: """
      EXAMPLES:
        ambit bonds list
        ambit bonds list --json
      """)

  @OptionGroup var options: BondOptions

  func run() async throws {
    let output = Output(isJSON: options.json)
    let place = try await options.place()
    let bonds = try place.withStore { store throws(BondStoreError) in try store.load() }
    if output.isJSON {
      for bond in bonds { output.object(place.json(BondText.json(bond, withKeys: false))) }
      return try place.checkIsComplete(bonds.count)
    }
    place.note(output)
    guard !bonds.isEmpty else {
      try place.checkIsComplete(0)
      return output.line("No bonds.")
    }
    output.line(output.style.dim(BondText.row("ADDRESS", "TYPE", "PAIRING", "KEY", "LINKS AS")))
    for bond in bonds { output.line(BondText.row(bond)) }
    try place.checkIsComplete(bonds.count)
  }
}

/// Removes a bond.
struct BondsForget: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "forget", abstract: "Remove the bond of a device.",
    discussion: """
      EXAMPLES:
        ambit bonds forget C0:12:34:56:78:9A
      """)

  @OptionGroup var options: BondOptions

  @Argument(help: "The device's address, as \"ambit bonds\" lists it.")
  var address: String

  func run() async throws {
    let output = Output(isJSON: options.json)
    guard let random = DeviceAddress(address, kind: .random) else {
      throw CommandFailure(.usage, "\"\(address)\" is no address; one is C0:12:34:56:78:9A")
    }
    let place = try await options.place()
    if !output.isJSON { place.note(output) }
    var isForgotten = false
    // Users type no address type, so public and random ones with the same digits are both removed.
    for identity in [random, DeviceAddress(bits: random.bits, kind: .public)] {
      let isRemoved = try place.withStore { store throws(BondStoreError) in
        try store.remove(identity)
      }
      guard isRemoved else { continue }
      isForgotten = true
      if output.isJSON {
        let type = BondText.type(of: identity)
        output.object(
          place.json(
            .object([
              "event": .string("forgotten"), "address": .string(identity.description),
              "addressType": .string(type),
            ])))
      } else {
        output.note("Forgot \(identity).")
      }
    }
    guard isForgotten else { throw place.missing(random) }
  }
}

/// Writes bonds out.
struct BondsExport: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "export", abstract: "Write all bonds as JSON, optionally with their keys.",
    discussion: """
      One object per line, as with --json.

      EXAMPLES:
        ambit bonds export
        ambit bonds export --keys > bonds.json
      """)

  @OptionGroup var options: BondOptions

  @Flag(
    help: "Write the keys, too. They allow reading the devices' traffic and impersonating them.")
  var keys = false

  func run() async throws {
    let output = Output(isJSON: true)
    let place = try await options.place()
    let bonds = try place.withStore { store throws(BondStoreError) in try store.load() }
    place.note(output)
    if keys, !bonds.isEmpty {
      output.note("These keys are secret: they allow reading the devices' traffic.")
    }
    for bond in bonds { output.object(place.json(BondText.json(bond, withKeys: keys))) }
    try place.checkIsComplete(bonds.count)
  }
}

/// Bonds as they are written.
enum BondText {
  static func row(_ bond: Bond) -> String {
    let pairing =
      (bond.isSecureConnections ? "Secure Connections" : "legacy")
      + (bond.isAuthenticated ? ", authenticated" : ", not authenticated")
    // By the address that other commands show; the identity of a device with private ones is another.
    let identity = bond.identity == bond.knownAddress ? [] : ["identity \(bond.identity)"]
    return row(
      bond.knownAddress.description, type(of: bond.knownAddress), pairing,
      "\(bond.keyByteCount) bytes", (roles(bond) + identity).joined(separator: ", "))
  }

  static func row(
    _ address: String, _ type: String, _ pairing: String, _ key: String, _ roles: String
  ) -> String {
    let columns = [
      Fit.column(address, 19), Fit.column(type, 8), Fit.column(pairing, 38), Fit.column(key, 10),
    ]
    return Fit.truncated(columns.joined() + roles, Terminal.tableWidth)
  }

  static func type(of address: DeviceAddress) -> String {
    address.kind == .public ? "public" : "random"
  }

  /// What this host can be in links that the bond's keys encrypt.
  private static func roles(_ bond: Bond) -> [String] {
    [
      bond.centralKey == nil ? nil : "central", bond.peripheralKey == nil ? nil : "peripheral",
    ].compactMap(\.self)
  }

  static func json(_ bond: Bond, withKeys: Bool) -> JSON {
    let head = JSON.object([
      "event": .string("bond"), "address": .string(bond.identity.description),
      "addressType": .string(type(of: bond.identity)),
      "roles": .array(roles(bond).map { .string($0) }),
      "keyByteCount": .integer(Int64(bond.keyByteCount)),
      "isAuthenticated": .bool(bond.isAuthenticated),
      "isSecureConnections": .bool(bond.isSecureConnections),
      "isResolvable": .bool(bond.identityResolvingKey != nil),
      "knownAddress": .string(bond.knownAddress.description),
      "localAddress": bond.localIdentity.map { .string($0.description) },
      "localAddressType": bond.localIdentity.map { .string(type(of: $0)) },
    ])
    guard withKeys else { return head }
    let keys = JSON.object([
      "centralKey": bond.centralKey.map { keyJSON($0) },
      "peripheralKey": bond.peripheralKey.map { keyJSON($0) },
      "identityResolvingKey": bond.identityResolvingKey.map { hexadecimal($0.bytes) },
      "peerSigningKey": bond.peerSigning.map { hexadecimal($0.value.bytes) },
      "localSigningKey": bond.localSigning.map { hexadecimal($0.value.bytes) },
    ])
    guard case .object(let members) = keys else { return head }
    return head.adding(members)
  }

  private static func keyJSON(_ key: LongTermKey) -> JSON {
    let random = (0..<8).map { UInt8(truncatingIfNeeded: key.random >> (56 - 8 * $0)) }
    return .object([
      "value": hexadecimal(key.value.bytes),
      "encryptedDiversifier": .integer(Int64(key.encryptedDiversifier)),
      "random": hexadecimal(random),
    ])
  }

  private static func hexadecimal(_ bytes: [UInt8]) -> JSON { .string(Hexadecimal.string(bytes)) }
}
