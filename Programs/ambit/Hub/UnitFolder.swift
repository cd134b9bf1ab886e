import Foundation
import Glibc

/// A folder with unit files of systemd.
struct UnitFolder {
  /// The path.
  let path: String

  /// No unit file of a hub is longer.
  private static let byteCountMax = 65_536

  /// The name of an empty file that exists from the first change of a unit until the service manager uses the units:
  /// where an installation fails in between, the next one finds unchanged units, and completes it. systemd ignores
  /// names that begin with a dot.
  private static let markName = ".ambit-hub.changed"

  /// Whether units were changed that the service manager may not use yet.
  var isMarked: Bool { access(place(of: Self.markName), F_OK) == 0 }

  /// What a file is now.
  private enum Found: Hashable {
    case nothing
    case file(UnitFile.Author, [UInt8])
    /// A symbolic link, such as that of a masked unit, a folder, or a file that is too long.
    case other
  }

  /// Writes files, and leaves those that have their content already. Changes none if one may not be replaced.
  ///
  /// - Parameters:
  ///   - files: The files.
  ///   - replacesOthers: Whether files are replaced that `ambit hub install` didn't write, or that were changed
  ///     since.
  ///   - marks: Whether the folder is marked before the first change, until `unmark`.
  /// - Returns: The names of the written files.
  func write(
    _ files: [UnitFile], replacesOthers: Bool, marks: Bool = false
  ) throws(UnitFolderError) -> [String] {
    var due: [UnitFile] = []
    for file in files {
      let found = try find(file.name)
      if case .file(_, Array(file.text.utf8)) = found { continue }
      if !replacesOthers { try check(found, file.name) }
      due.append(file)
    }
    guard !due.isEmpty else { return [] }
    do {
      try FileManager.default.createDirectory(
        atPath: path, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o755])
    } catch { throw .failed(path, "the folder can't be made") }
    if marks { try mark() }
    for file in due { try write(file) }
    return due.map(\.name)
  }

  private func mark() throws(UnitFolderError) {
    let place = place(of: Self.markName)
    let file = open(place, O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0o644)
    guard file >= 0 else { throw .failed(place, Self.reason) }
    close(file)
  }

  /// The service manager uses the units, or they are removed.
  func unmark() throws(UnitFolderError) { try remove([Self.markName]) }

  /// Which of these files exist.
  ///
  /// - Throws: If one of them may not be removed.
  func removable(_ names: [String], removesOthers: Bool) throws(UnitFolderError) -> [String] {
    var existing: [String] = []
    for name in names {
      let found = try find(name)
      guard found != .nothing else { continue }
      if !removesOthers { try check(found, name) }
      existing.append(name)
    }
    return existing
  }

  /// Removes files.
  func remove(_ names: [String]) throws(UnitFolderError) {
    for name in names where unlink(place(of: name)) != 0 && errno != ENOENT {
      throw .failed(place(of: name), Self.reason)
    }
  }

  /// The path of a file.
  func place(of name: String) -> String { path + "/" + name }

  private static var reason: String { String(cString: strerror(errno)) }

  private func check(_ found: Found, _ name: String) throws(UnitFolderError) {
    switch found {
    case .nothing, .file(.install, _): break
    case .file(.changed, _): throw .changed(place(of: name))
    case .file(.other, _), .other: throw .foreign(place(of: name))
    }
  }

  private func find(_ name: String) throws(UnitFolderError) -> Found {
    let place = place(of: name)
    // A symbolic link is not followed, here and below.
    let attributes = try? FileManager.default.attributesOfItem(atPath: place)
    if let type = attributes?[.type] as? FileAttributeType, type != .typeRegular { return .other }
    let file = open(place, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC | O_NOCTTY)
    guard file >= 0 else {
      switch errno {
      case ENOENT, ENOTDIR: return .nothing
      case ELOOP: return .other
      default: throw .failed(place, Self.reason)
      }
    }
    defer { close(file) }
    var content: [UInt8] = []
    var piece = [UInt8](repeating: 0, count: Self.byteCountMax)
    while content.count <= Self.byteCountMax {
      let count = read(file, &piece, piece.count)
      guard count >= 0 else { throw .failed(place, Self.reason) }
      if count == 0 { return .file(UnitFile.author(of: content), content) }
      content += piece.prefix(count)
    }
    return .other
  }

  /// Replaces a file by one that is complete, so that the service manager never reads a part of it.
  private func write(_ unit: UnitFile) throws(UnitFolderError) {
    let place = place(of: unit.name)
    // systemd ignores names that begin with a dot.
    let temporary = path + "/." + unit.name + ".new"
    unlink(temporary)
    let file = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o644)
    guard file >= 0 else { throw .failed(place, Self.reason) }
    do throws(UnitFolderError) {
      defer { close(file) }
      var rest = Array(unit.text.utf8)[...]
      while !rest.isEmpty {
        let count = rest.withUnsafeBytes { Glibc.write(file, $0.baseAddress, $0.count) }
        guard count > 0 else { throw UnitFolderError.failed(place, Self.reason) }
        rest = rest.dropFirst(count)
      }
      // Independent of the mask of the user that installs it.
      guard fchmod(file, 0o644) == 0, fsync(file) == 0 else {
        throw UnitFolderError.failed(place, Self.reason)
      }
    } catch {
      unlink(temporary)
      throw error
    }
    guard rename(temporary, place) == 0 else {
      let reason = Self.reason
      unlink(temporary)
      throw .failed(place, reason)
    }
  }
}

/// The reason why a unit file isn't written or removed.
enum UnitFolderError: Error, Hashable, Sendable {
  /// `ambit hub install` wrote it, and it was changed since.
  case changed(String)
  /// `ambit hub install` didn't write it.
  case foreign(String)
  /// The system refuses, with its reason.
  case failed(String, String)

  /// One sentence, without a full stop.
  var sentence: String { sentence(of: .hub) }

  /// The same for a command.
  func sentence(of command: UnitFile.Command) -> String {
    switch self {
    case .changed(let path):
      "\(Fit.safe(path)) was changed since it was installed; --force replaces or removes it"
    case .foreign(let path):
      "\(Fit.safe(path)) wasn't written by \"ambit \(command.rawValue) install\"; --force replaces or removes it"
    case .failed(let path, let reason):
      "\(Fit.safe(path)) can't be used: \(reason.prefix(1).lowercased() + reason.dropFirst())"
    }
  }
}
