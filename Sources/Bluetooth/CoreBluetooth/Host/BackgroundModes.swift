internal import InfoPlists
internal import Logging

/// The background modes that a program declares in its Info.plist (`UIBackgroundModes`).
enum BackgroundModes {
  /// The modes of this program: from the file that `AMBIT_INFO_PLIST` names, or else from an Info.plist beside the
  /// executable that is about it. Nil without such a file.
  static let ofProgram: Set<String>? = {
    let logger = Logger(label: "CoreBluetooth")
    return read(InfoPlist.ofProgram) { logger.error("\($0)") }
  }()

  /// The modes of a file; nil if there is none, or it can't be used, which is reported.
  static func read(
    _ file: () throws(InfoPlistError) -> InfoPlist?, report: (String) -> Void
  ) -> Set<String>? {
    do throws(InfoPlistError) {
      guard let list = try file() else { return nil }
      return Set(list.backgroundModes)
    } catch {
      report("The Info.plist can't be used, so that the background modes are unknown: \(error)")
      return nil
    }
  }
}
