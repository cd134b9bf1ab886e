import EventLoop
import Glibc
import HubClientMachines

/// Whether a hub listens at a path.
enum HubPresence: Equatable, Sendable {
  /// A hub listens that is believed, or one that has no time for connections at the moment, or that doesn't let
  /// this user connect.
  case listens
  /// No hub listens: there is no socket, or its hub has ended.
  case isAbsent
  /// What listens is not used, for this reason: a sentence with the path.
  case isRefused(String)

  /// Connects to the path and leaves it, without waiting: a hub takes no time of a program that starts, and a hub
  /// without a greeting from it reports nothing.
  ///
  /// - Parameters:
  ///   - path: The path.
  ///   - believes: Whether a user is believed to run the hub.
  init(at path: String, believes: (UInt32) -> Bool = { HubSocket.believes($0) }) {
    // No hub can listen at a path that is too long.
    guard let address = SocketAddress(path: path) else {
      self = .isAbsent
      return
    }
    do throws(SystemError) {
      let descriptor = try address.makeSocket()
      defer { close(descriptor) }
      guard unsafe address.with({ unsafe connect(descriptor, $0, $1) }) == 0 else {
        throw .current
      }
      let disbelief = HubSocket.disbelief(of: descriptor, believes: believes)
      self = disbelief.map { .isRefused(Self.sentence($0, path)) } ?? .listens
    } catch {
      self = Self.presence(at: path, error, socketOwner: Self.socketOwner(path), believes: believes)
    }
  }

  /// What an error of the connection means.
  ///
  /// - Parameters:
  ///   - path: The path.
  ///   - error: The error.
  ///   - socketOwner: The user to whom the socket at the path belongs; nil if none can be seen there.
  ///   - believes: Whether a user is believed to run the hub.
  static func presence(
    at path: String, _ error: SystemError, socketOwner: UInt32?, believes: (UInt32) -> Bool
  ) -> HubPresence {
    switch error.number {
    case ENOENT, ENOTDIR, ECONNREFUSED: return .isAbsent
    // The queue of connections is full.
    case EAGAIN: return .listens
    case EACCES, EPERM:
      // Root's hub without rules. The program is denied, as by a rule: a radio of its own would find invented
      // devices, or none, where the hub has the controller.
      if let socketOwner, believes(socketOwner) { return .listens }
      // The folder is another user's, and the path may be that of a hub or not.
      guard isVisible(path) else {
        return .isRefused("This user may not look for a hub at \(path).")
      }
    default: break
    }
    return .isRefused(HubFailure.notReached(HubSocket.explain(.system(error), at: path)).sentence)
  }

  private static func isVisible(_ path: String) -> Bool {
    var information = stat()
    return unsafe lstat(path, &information) == 0
  }

  private static func socketOwner(_ path: String) -> UInt32? {
    var information = stat()
    guard unsafe lstat(path, &information) == 0, information.st_mode & S_IFMT == S_IFSOCK else {
      return nil
    }
    return information.st_uid
  }

  private static func sentence(_ disbelief: HubFailure, _ path: String) -> String {
    if case .notBelieved(let userID) = disbelief {
      return "The hub at \(path) is not used because another user runs it, with the ID \(userID)."
    }
    return disbelief.sentence
  }
}
