internal import Foundation

extension InfoPlist {
  /// The `Info.plist` of a program that no system runs: the file that the environment variable `AMBIT_INFO_PLIST`
  /// names, or else `Info.plist` in the folder of the program, unless it is about another program there; nil if there
  /// is no such file.
  package static func ofProgram() throws(InfoPlistError) -> InfoPlist? {
    if let path = ProcessInfo.processInfo.environment["AMBIT_INFO_PLIST"], !path.isEmpty {
      guard let plist = try read(path) else { throw .unreadable(path: path) }
      return plist
    }
    let program = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath()
    let file = program.deletingLastPathComponent().appending(path: "Info.plist")
    let plist = try read(file.path)
    let isOfOther = plist?.executable.map { $0 != program.lastPathComponent } ?? false
    return isOfOther ? nil : plist
  }

  /// Reads a file; nil if there is none.
  package static func read(_ path: String) throws(InfoPlistError) -> InfoPlist? {
    let attributes = try? FileManager.default.attributesOfItem(
      atPath: URL(filePath: path).resolvingSymlinksInPath().path)
    guard let attributes else { return nil }
    // A pipe might have no writer.
    guard attributes[.type] as? FileAttributeType == .typeRegular,
      let file = FileHandle(forReadingAtPath: path),
      let data = try? file.read(upToCount: byteCountMax + 1)
    else { throw .unreadable(path: path) }
    return try InfoPlist(bytes: Array(data))
  }
}
