package import AppSessions
package import InfoPlists
import Glibc

/// The folder of an app: its Info.plist, and beside it the executable that `CFBundleExecutable` names.
package struct AppBundle: Hashable, Sendable {
  package let identifier: String
  package let folder: String
  package let executable: String
  package let infoPlist: InfoPlist

  /// Reads the folder, whose path is absolute.
  package init(folder: String) throws(AppBundleError) {
    guard folder.hasPrefix("/") else { throw .unreadable(folder, "the path is relative") }
    let path = folder + "/Info.plist"
    let read: InfoPlist?
    do throws(InfoPlistError) { read = try InfoPlist.read(path) } catch {
      throw .malformed(path, error)
    }
    guard let infoPlist = read else { throw .unreadable(path, "there is no such file") }
    guard let identifier = infoPlist.bundleIdentifier, Self.isValid(identifier) else {
      throw .missing(path, key: "CFBundleIdentifier")
    }
    guard let name = infoPlist.executable, !name.isEmpty, !name.contains("/"), name != "..",
      name != ".", !name.utf8.contains(0)
    else { throw .missing(path, key: "CFBundleExecutable") }
    let executable = folder + "/" + name
    var information = stat()
    guard stat(executable, &information) == 0, information.st_mode & S_IFMT == S_IFREG,
      access(executable, X_OK) == 0
    else { throw .noExecutable(executable) }
    self.identifier = identifier
    self.folder = folder
    self.executable = executable
    self.infoPlist = infoPlist
  }

  /// The characters that Apple's identifiers have, as many as a name of a session has room for.
  private static func isValid(_ identifier: String) -> Bool {
    (1...155).contains(identifier.utf8.count)
      && identifier.utf8.allSatisfy { byte in
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
          UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "-"), UInt8(ascii: "."):
          true
        default: false
        }
      }
  }
}

/// Why a folder is no app.
package enum AppBundleError: Error, Hashable, Sendable {
  case unreadable(String, String)
  case malformed(String, InfoPlistError)
  /// A key has no usable value.
  case missing(String, key: String)
  case noExecutable(String)

  package var kind: AppCommandFailure {
    switch self {
    case .unreadable: .unreadable
    case .malformed(_, .unreadable): .unreadable
    case .malformed, .missing, .noExecutable: .invalid
    }
  }

  /// A sentence without a full stop.
  package var sentence: String {
    switch self {
    case .unreadable(let path, let reason): "\(path) can't be read: \(reason)"
    case .malformed(let path, let error): "\(path) \(Self.text(error))"
    case .missing(let path, let key): "\(path) has no usable value of \(key)"
    case .noExecutable(let path): "\(path), which CFBundleExecutable names, is no executable file"
    }
  }

  private static func text(_ error: InfoPlistError) -> String {
    switch error {
    case .unreadable: "can't be read"
    case .tooLarge(let count): "is too large: \(count) bytes"
    case .malformed: "is no property list in XML or binary"
    case .notADictionary: "is a property list, but no dictionary"
    case .wrongType(let key, let expected): "has a value of \(key) that is no \(expected)"
    case .tooManyElements(let key): "has too many elements in \(key)"
    }
  }
}
