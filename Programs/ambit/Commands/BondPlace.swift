import BluetoothHost
import BluetoothWire
import Essentials
import Foundation
import Glibc
import HubClient
import HubClientMachines
import HubWire
import JSONWire

/// The store of bonds that a command means.
struct BondPlace {
  /// The file.
  let path: String
  /// The path of the hub's socket, for the store of a hub that runs; nil for one that was named, and for that of this
  /// user's own radios.
  var hub: String?
  /// The user of that hub, nil if the system doesn't know it: a hub could name any file, so that only a folder of its own
  /// user is believed to have its bonds.
  var hubUserID: UInt32?
  /// What that hub reported of its bonds, if it could not write all of them: the file lacks some then.
  var unwritten: HubWire.HubStatus.BondFile?
  /// Whether root uses it with the rights of the owner of its folder, so that a hub can use the files.
  var changesAsOwner = false

  /// The store that the hub has which programs use.
  ///
  /// - Throws: If the hub does not answer, or tells this user nothing of its bonds.
  static func ofHub(at hub: String) async throws -> BondPlace {
    let own = "; AMBIT_HUB=off means the bonds of your own radios"
    let (status, userID): (HubWire.HubStatus, UInt32?)
    do throws(HubFailure) {
      (status, userID) = try await HubStatusReader.readWithUser(at: hub)
    } catch {
      let failure = RunningHubOptions.failure(error, at: hub)
      throw CommandFailure(failure.status, failure.sentence + own)
    }
    guard let file = status.bondFile else {
      if status.radio.name == "bluez" || status.radio.name.hasPrefix("bluez:") {
        throw CommandFailure(
          .noInput,
          "bluetoothd keeps the bonds of the hub at \(hub); \"bluetoothctl devices Bonded\" lists them"
            + own)
      }
      if status.radio.isSimulated {
        throw CommandFailure(
          .noInput,
          "the hub at \(hub) has a simulated radio, whose bonds end with it unless AMBIT_BONDS names a file "
            + "for the hub" + own)
      }
      throw CommandFailure(
        .notPermitted,
        "the hub at \(hub) does not report its bonds: it keeps none, or this user is not root and not "
          + "the hub's" + own)
    }
    guard file.path.hasPrefix("/") else {
      throw CommandFailure(
        .noInput,
        "the hub at \(hub) keeps its bonds in \"\(file.path)\", a path from its own working folder; name the "
          + "file with its full path" + own)
    }
    guard file.bondCount == 0 || file.problem != nil || FileStatus(at: file.path) != nil else {
      throw CommandFailure(
        .noInput,
        "the hub at \(hub) has \(file.bondCount) bonds in \(file.path), which this command does not find: "
          + "use the hub's user, root, or the hub's container" + own)
    }
    return BondPlace(
      path: file.path, hub: hub, hubUserID: userID, unwritten: file.problem == nil ? nil : file,
      changesAsOwner: true)
  }

  /// Fails if the hub has more bonds than its file, which it could not write.
  ///
  /// - Parameter count: How many bonds the file has.
  func checkIsComplete(_ count: Int) throws(CommandFailure) {
    guard let unwritten, let problem = unwritten.problem, count < unwritten.bondCount else {
      return
    }
    throw CommandFailure(
      .cannotCreate,
      "the hub has \(unwritten.bondCount) bonds, of which the file has \(count): "
        + Fit.safe(problem).trimmingSuffix("."))
  }

  /// The failure of a command that does not find a bond.
  func missing(_ address: DeviceAddress) -> CommandFailure {
    guard let problem = unwritten?.problem else {
      return CommandFailure(.notFound, "no bond with \(address)")
    }
    return CommandFailure(
      .cannotCreate,
      "the file has no bond with \(address), but the hub has bonds that it could not write: "
        + Fit.safe(problem).trimmingSuffix(".") + "; forget it when the file can be written")
  }

  /// Fails if a hub names a folder that isn't its user's. The hub may exchange the folder at any time.
  func check(_ folder: FileStatus) throws(CommandFailure) {
    guard let hub, folder.userID != hubUserID else { return }
    let user = hubUserID.map { "user \($0)" } ?? "an unknown user"
    throw CommandFailure(
      .notPermitted,
      "the hub at \(hub) runs as \(user), and reports that its bonds are in \"\(path)\", in a folder of user "
        + "\(folder.userID); name the file with --bonds if that is so")
  }

  /// Does something with the store. Its errors become failures of the command.
  func withStore<Result>(
    _ body: (BondStore) throws(BondStoreError) -> Result
  ) throws -> Result {
    func explained(_ store: BondStore) throws -> Result {
      try BondOptions.explaining { () throws(BondStoreError) in
        do throws(BondStoreError) { return try body(store) } catch {
          var error = error
          error.path = path
          throw error
        }
      }
    }
    guard changesAsOwner else { return try explained(BondStore(path: path)) }
    return try asOwner(explained)
  }

  /// Does something with the store as the owner of its folder, if this is root's process.
  ///
  /// - Throws: Where a hub has named the file, and the folder is not its user's.
  private func asOwner<Result>(_ body: (BondStore) throws -> Result) throws -> Result {
    let url = URL(filePath: path)
    let folder = url.deletingLastPathComponent().path
    let owner = FileStatus(at: folder)
    if let owner { try check(owner) }
    // One that is still to be made would be this user's. For another user's hub, that is left to the hub.
    guard owner != nil || hub == nil || hubUserID == geteuid() else {
      throw CommandFailure(
        .noInput, "the hub reports that its bonds are in \"\(path)\", in no folder yet")
    }
    guard let owner, owner.isForeign else { return try body(BondStore(path: path)) }
    // The other files of the command are found from its own working folder.
    let working = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC)
    defer {
      if working >= 0 {
        _ = fchdir(working)
        close(working)
      }
    }
    // Its parent folders may be closed to the owner, as those of a service are.
    guard chdir(folder) == 0, let owner = FileStatus(at: "."), owner.isForeign else {
      throw CommandFailure(.cannotCreate, "the folder \"\(folder)\" cannot be used")
    }
    try check(owner)
    return try owner.asOwner { try body(BondStore(path: "./" + url.lastPathComponent)) }
  }

  /// A JSON object of a bond, with the store that has it.
  func json(_ object: JSON) -> JSON {
    let place = JSON.object(["store": .string(path), "hub": hub.map { .string($0) }])
    guard case .object(let members) = place else { return object }
    return object.adding(members)
  }

  /// Prints which store is shown, if a hub has it.
  func note(_ output: Output) {
    if let hub { output.note("Bonds of the hub at \(Fit.safe(hub)), in \(Fit.safe(path))") }
  }
}

extension FileStatus {
  /// Whether it belongs to a user that this process, as root, can act for.
  var isForeign: Bool { geteuid() == 0 && userID != 0 }

  /// Does something with the rights of the owner, if this is root's process: what the owner has put in the way,
  /// such as a link, can lead to nothing that is not the owner's.
  func asOwner<Result>(_ body: () throws -> Result) throws -> Result {
    guard isForeign else { return try body() }
    let (user, group) = (geteuid(), getegid())
    defer { _ = (seteuid(user), setegid(group)) }
    guard setegid(groupID) == 0, seteuid(userID) == 0 else {
      throw CommandFailure(.notPermitted, "the rights of user \(userID) cannot be taken")
    }
    return try body()
  }
}
