import ArgumentParser
import BluetoothHost
import BluetoothWire
import Foundation
import Glibc
import JSONWire

/// Copies bonds into the store of a hub.
struct BondsImport: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "import", abstract: "Copy bonds into the store of a hub.",
    discussion: """
      The hub of the system has a user and bonds of its own. The bonds are for the hub that commands use, and \
      without one for the system's, which runs later. After an import, devices that have paired with your \
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
      "The hub's file of bonds. Default: the file of the hub that is used, else \(BondsImport.servicePath).",
      valueName: "path"),
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
    let place = try await place()
    let target = place.path
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
    let result = try place.withStore { store throws(BondStoreError) in
      try store.importBonds(of: bonds, replacing: replace)
    }
    if !json, to == nil { place.note(Output(isJSON: false)) }
    report(result)
  }

  /// The store of the hub.
  private func place() async throws -> BondPlace {
    if let to { return BondPlace(path: to, changesAsOwner: true) }
    if let hub = try GlobalOptions.chosenHubPath() { return try await BondPlace.ofHub(at: hub) }
    guard geteuid() == 0 else {
      throw CommandFailure(
        .notPermitted,
        "the bonds of the system's hub are changed by root: use sudo, or name a file "
          + "with --to")
    }
    let folder = URL(filePath: Self.servicePath).deletingLastPathComponent().path
    guard FileStatus(at: folder) != nil else {
      throw CommandFailure(
        .noInput,
        "no hub has run as a service yet, as there is no \(folder); start it first, or "
          + "name its file of bonds with --to")
    }
    return BondPlace(path: Self.servicePath, changesAsOwner: true)
  }

  private func report(_ result: BondImport) {
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
