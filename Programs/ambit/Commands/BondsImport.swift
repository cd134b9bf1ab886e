import ArgumentParser
import BluetoothHost
import BluetoothWire
import Foundation
import Glibc
import JSONWire

/// Copies bonds into the store of a hub.
struct BondsImport: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "import", abstract: "Copy bonds into the store of a hub that runs as a service.",
    discussion: """
      The hub of the system has a user and bonds of its own. After an import, devices that have paired with your \
      radio connect to the hub's without a new pairing, if it is the same controller. A running hub takes the \
      bonds at once. All are written together or, after an error, none. Bonds that the hub has of the same \
      devices are kept, unless --replace is given. Your own store is not changed; "ambit bonds forget" removes a \
      bond from it. The store is changed as its owner, with the rights of root.

      EXAMPLES:
        sudo ambit bonds import --from ~/.local/state/ambit/bonds
        sudo ambit bonds import --from old-bonds --replace
        ambit bonds import --from old-bonds --to ~/.local/state/ambit/bonds
      """)

  /// The bonds of a hub that "ambit hub install" has set up.
  static let servicePath = "/var/lib/ambit/bonds"

  @Option(
    help: ArgumentHelp(
      "The file of bonds to copy. Default: AMBIT_BONDS, else ambit/bonds in XDG_STATE_HOME or "
        + "~/.local/state.",
      valueName: "path"), completion: .file())
  var from: String?

  @Option(
    help: ArgumentHelp(
      "The hub's file of bonds. Default: \(BondsImport.servicePath).", valueName: "path"),
    completion: .file())
  var to: String?

  @Flag(help: "Replace the hub's bonds of the same devices.")
  var replace = false

  @Flag(help: "Write one JSON object per line; docs/json.md lists the keys.")
  var json = false

  func run() async throws {
    let source =
      try from
      ?? BondOptions.explaining { () throws(BondStoreError) in
        try BondStore.defaultPath()
      }
    let target = to ?? Self.servicePath
    guard let sourceFile = FileStatus(at: source) else {
      throw CommandFailure(.noInput, "there are no bonds at \"\(source)\"")
    }
    if let targetFile = FileStatus(at: target), targetFile.identity == sourceFile.identity {
      throw CommandFailure(.usage, "\"\(source)\" has the bonds of the hub itself")
    }
    let bonds = try sourceFile.asOwner {
      try BondOptions.explaining { () throws(BondStoreError) in
        try BondStore(path: source).loadContents()
      }
    }
    let result = try Self.withStore(at: target, isNamed: to != nil) { store in
      try BondOptions.explaining { () throws(BondStoreError) in
        do throws(BondStoreError) {
          return try store.importBonds(of: bonds, replacing: replace)
        } catch {
          var error = error
          error.path = target
          throw error
        }
      }
    }
    report(result, target)
  }

  /// Does something with the hub's store: as the owner of its folder, so that the hub can use the files.
  private static func withStore<Result>(
    at path: String, isNamed: Bool, _ body: (BondStore) throws -> Result
  ) throws -> Result {
    let url = URL(filePath: path)
    let folder = url.deletingLastPathComponent().path
    guard isNamed || geteuid() == 0 else {
      throw CommandFailure(
        .notPermitted,
        "the bonds of the system's hub are changed by root: use sudo, or name a file "
          + "with --to")
    }
    guard let owner = FileStatus(at: folder) else {
      guard !isNamed else { return try body(BondStore(path: path)) }
      throw CommandFailure(
        .noInput,
        "no hub has run as a service yet, as there is no \(folder); start it first, or "
          + "name its file of bonds with --to")
    }
    guard owner.isForeign else { return try body(BondStore(path: path)) }
    // Its parent folders may be closed to the owner, as those of a service are.
    guard chdir(folder) == 0, let owner = FileStatus(at: ".") else {
      throw CommandFailure(.cannotCreate, "the folder \"\(folder)\" cannot be used")
    }
    return try owner.asOwner { try body(BondStore(path: "./" + url.lastPathComponent)) }
  }

  private func report(_ result: BondImport, _ path: String) {
    let output = Output(isJSON: json)
    let lists: [(event: String, text: String, peers: [DeviceAddress])] = [
      ("imported", "Imported", result.added), ("replaced", "Replaced the bond of", result.replaced),
      ("kept", "Kept the hub's bond of", result.kept),
      ("present", "Already there:", result.present),
      ("left", "Left, as its key belongs to a random address of your radio:", result.left),
    ]
    for list in lists {
      for peer in list.peers {
        guard json else {
          output.line("\(list.text) \(peer)")
          continue
        }
        output.object(
          .object([
            "event": .string(list.event), "address": .string(peer.description),
            "addressType": .string(BondText.type(of: peer)),
          ]), isOfRadio: false)
      }
    }
    guard !json else { return }
    if lists.allSatisfy(\.peers.isEmpty) { return output.note("There are no bonds to import.") }
    if !result.kept.isEmpty {
      output.note("With --replace, your bonds replace those that were kept.")
    }
  }
}

extension FileStatus {
  /// Whether it belongs to a user that this process, as root, can act for.
  fileprivate var isForeign: Bool { geteuid() == 0 && userID != 0 }

  /// Does something with the rights of the owner, if this is root's process: what the owner has put in the way,
  /// such as a link, can lead to nothing that is not the owner's.
  fileprivate func asOwner<Result>(_ body: () throws -> Result) throws -> Result {
    guard isForeign else { return try body() }
    let (user, group) = (geteuid(), getegid())
    defer { _ = (seteuid(user), setegid(group)) }
    guard setegid(groupID) == 0, seteuid(userID) == 0 else {
      throw CommandFailure(.notPermitted, "the rights of user \(userID) cannot be taken")
    }
    return try body()
  }
}
