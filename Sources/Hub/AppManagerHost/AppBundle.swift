package import AppSessions
package import InfoPlists
import EventLoop
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
    guard let infoPlist = read else { throw Self.missing(path) }
    guard let identifier = infoPlist.bundleIdentifier, Self.isValid(identifier) else {
      throw .missing(path, key: "CFBundleIdentifier")
    }
    guard let name = infoPlist.executable, !name.isEmpty, !name.contains("/"), name != "..",
      name != ".", !name.utf8.contains(0)
    else { throw .missing(path, key: "CFBundleExecutable") }
    let executable = folder + "/" + name
    var information = stat()
    guard stat(executable, &information) == 0 else {
      throw Self.isGone(.current) ? .noExecutable(executable) : Self.missing(executable)
    }
    guard information.st_mode & S_IFMT == S_IFREG, access(executable, X_OK) == 0 else {
      throw .noExecutable(executable)
    }
    self.identifier = identifier
    self.folder = folder
    self.executable = executable
    self.infoPlist = infoPlist
  }

  /// The app of a process that runs, whose folder can't be read for now.
  init(running identifier: String, in folder: String, _ infoPlist: InfoPlist) {
    self.identifier = identifier
    self.folder = folder
    executable = folder + "/" + (infoPlist.executable ?? "")
    self.infoPlist = infoPlist
  }

  /// Why a file is not found.
  private static func missing(_ path: String) -> AppBundleError {
    var information = stat()
    guard stat(path, &information) != 0 else {
      return .unreadable(path, "it was replaced meanwhile")
    }
    let error = SystemError.current
    return isGone(error) ? .gone(path) : .unreadable(path, error.text)
  }

  private static func isGone(_ error: SystemError) -> Bool {
    error.number == ENOENT || error.number == ENOTDIR
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
  /// There is no such file.
  case gone(String)
  case malformed(String, InfoPlistError)
  /// A key has no usable value.
  case missing(String, key: String)
  case noExecutable(String)

  package var kind: AppCommandFailure {
    switch self {
    case .unreadable, .gone: .unreadable
    case .malformed(_, .unreadable): .unreadable
    case .malformed, .missing, .noExecutable: .invalid
    }
  }

  /// Whether the folder may be an app as before: its files were not read.
  var isUnreadable: Bool {
    switch self {
    case .unreadable, .malformed(_, .unreadable): true
    case .malformed, .gone, .missing, .noExecutable: false
    }
  }

  /// A sentence without a full stop.
  package var sentence: String {
    switch self {
    case .gone(let path): "\(path) can't be read: there is no such file"
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
