internal import EventLoop
internal import Logging

/// The background modes that a program declares in its Info.plist (`UIBackgroundModes`).
enum BackgroundModes {
  /// The environment variable with the path of the program's Info.plist.
  static let variable = "AMBIT_INFO_PLIST"
  /// The longest file that is read.
  static let byteCountMax = 1 << 20

  /// The modes of this program: from the file that `AMBIT_INFO_PLIST` names, or else from an Info.plist beside the
  /// executable that is about it. Nil without such a file.
  static let ofProgram: Set<String>? = {
    let logger = Logger(label: "CoreBluetooth")
    let program = Bundle.main.executableURL
    if let path = ProcessEnvironment.value(variable) {
      return read(URL(filePath: path), of: nil) { logger.error("\($0)") }
    }
    guard let program else { return nil }
    let file = program.deletingLastPathComponent().appending(path: "Info.plist")
    guard FileManager.default.fileExists(atPath: file.path) else { return nil }
    return read(file, of: program.lastPathComponent) { logger.error("\($0)") }
  }()

  /// Reads the modes of a file; nil if it can't be read, or is about another program than this one.
  static func read(_ file: URL, of program: String?, report: (String) -> Void) -> Set<String>? {
    guard let handle = try? FileHandle(forReadingFrom: file),
      let data = try? handle.read(upToCount: byteCountMax + 1), data.count <= byteCountMax,
      let list = try? PropertyListSerialization.propertyList(from: data, format: nil),
      let values = list as? [String: Any]
    else {
      report("\(file.path) can't be read: its background modes are unknown.")
      return nil
    }
    if let program, let executable = values["CFBundleExecutable"] as? String, executable != program
    {
      return nil
    }
    return Set((values["UIBackgroundModes"] as? [Any] ?? []).compactMap { $0 as? String })
  }
}
