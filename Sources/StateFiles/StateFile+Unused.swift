import EventLoop
import Glibc

extension StateFile {
  /// Removes the state files of this file's folder whose names are `prefix` and 16 hexadecimal digits,
  /// that were last changed before a time, and that no process owns; with their locks and damaged
  /// copies. Leaves what it can't remove.
  ///
  /// - Parameters:
  ///   - owner: The purpose of the lock that an owner holds, see `takeLock`.
  ///   - time: In seconds since 1970.
  package func removeUnusedSiblings(prefix: String, owner: String, before time: Int) {
    let folderPath = StateFolder.parent(of: path)
    guard let folder = try? StateFolder(path: folderPath, probe: StateFileProbe()) else { return }
    defer { folder.close() }
    guard let names = try? folder.names() else { return }
    let found = names.filter { $0.hasPrefix(prefix) || $0.hasPrefix("." + prefix) }
    let groups = Dictionary(grouping: found, by: Self.baseName)
    for (base, members) in groups
    where Self.isOwn(base, prefix) && "\(folderPath)/\(base)" != path {
      let sibling = StateFile(path: "\(folderPath)/\(base)", byteCountMax: 0)
      guard Self.isOld(members, in: folder, before: time),
        let lock = try? sibling.takeLock(owner)
      else { continue }
      // Again, since its owner may just have ended. The lock goes last.
      if Self.isOld(members, in: folder, before: time) {
        for name in members.sorted() where name != "\(base).\(owner).lock" {
          try? folder.remove(name)
        }
        try? folder.remove("\(base).\(owner).lock")
      }
      withExtendedLifetime(lock) {}
    }
  }

  private static func isOwn(_ name: String, _ prefix: String) -> Bool {
    let digits = name.dropFirst(prefix.count)
    return name.hasPrefix(prefix) && digits.count == 16 && digits.allSatisfy(\.isHexDigit)
  }

  private static func isOld(_ names: [String], in folder: StateFolder, before time: Int) -> Bool {
    names.allSatisfy { name in
      guard let changed = try? folder.changeTime(of: name) else { return true }
      return changed < time
    }
  }

  /// The name of the state file to which a file of the folder belongs.
  private static func baseName(_ name: String) -> String {
    let shown = name.hasPrefix(".") ? name.dropFirst() : name[...]
    return String(shown.prefix { $0 != "." })
  }
}
