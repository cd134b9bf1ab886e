import EventLoop
import Glibc
import HubPlaces

/// Where a hub listens.
package enum HubSocket: Hashable, Sendable {
  /// At a path, whose folder exists.
  case path(String)
  /// At `path`, in a folder that is made for it if need be, and that the user alone may
  /// change.
  case ownFolder(path: String)
  /// Sockets that listen already, opened by the service manager.
  case open([OpenSocket])

  /// A socket that listens already.
  package struct OpenSocket: Hashable, Sendable {
    package var descriptor: Int32
    /// The name that rules know it by; nil if it has none.
    package var name: String?

    package init(descriptor: Int32, name: String? = nil) {
      self.descriptor = descriptor
      self.name = name
    }
  }

  /// The socket of a user's hub: `ambit/hub` in `$XDG_RUNTIME_DIR`, and in `/run` for root.
  ///
  /// - Throws: If the user has no such folder.
  package static func standard() throws(HubServerError) -> HubSocket {
    if geteuid() == 0 { return .ownFolder(path: HubPath.system) }
    let runtimeFolder = ProcessEnvironment.value("XDG_RUNTIME_DIR")
    guard let path = HubPath.user(runtimeFolder: runtimeFolder) else {
      throw HubServerError(
        .failed,
        "There is no folder for the hub's socket: XDG_RUNTIME_DIR is not set to an absolute path.")
    }
    return .ownFolder(path: path)
  }

  /// The path; nil for a socket that is open.
  package var path: String? {
    switch self {
    case .path(let path), .ownFolder(let path): path
    case .open: nil
    }
  }
}

/// The reason why a hub can't be started.
package struct HubServerError: Error, Hashable, Sendable, CustomStringConvertible {
  /// The kind of reason.
  package enum Kind: Hashable, Sendable {
    /// Another hub runs there.
    case isTaken
    /// The user lacks a permission.
    case notPermitted
    /// The file of rules can't be read.
    case rulesUnreadable
    /// The file of rules has a mistake, or could be changed by other users.
    case rulesInvalid
    /// Another reason.
    case failed
  }

  package let kind: Kind
  /// A description in one sentence for users.
  package let description: String

  package init(_ kind: Kind, _ description: String) {
    self.kind = kind
    self.description = description
  }

  init(_ error: SystemError, at path: String) {
    switch error.number {
    case EACCES, EPERM, EROFS:
      self.init(.notPermitted, "The hub cannot listen at \(path): \(error.text).")
    case ENOENT:
      self.init(.failed, "The hub cannot listen at \(path): the folder does not exist.")
    default: self.init(.failed, "The hub cannot listen at \(path): \(error.text).")
    }
  }

  static func taken(_ path: String) -> HubServerError {
    HubServerError(.isTaken, "Another hub runs at \(path).")
  }
}
