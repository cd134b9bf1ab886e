import EventLoop
import Glibc
import HubClientMachines

/// Whether a hub listens at a path.
enum HubPresence: Equatable, Sendable {
  /// A hub listens that is believed, or one that has no time for connections at the moment.
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
      switch error.number {
      case ENOENT, ENOTDIR, ECONNREFUSED: self = .isAbsent
      // The queue of connections is full.
      case EAGAIN: self = .listens
      // The folder is another user's, and the path may be that of a hub or not.
      case EACCES where !Self.isVisible(path):
        self = .isRefused("This user may not look for a hub at \(path).")
      default:
        let reason = HubSocket.explain(.system(error), at: path)
        self = .isRefused(HubFailure.notReached(reason).sentence)
      }
    }
  }

  private static func isVisible(_ path: String) -> Bool {
    var information = stat()
    return unsafe lstat(path, &information) == 0
  }

  private static func sentence(_ disbelief: HubFailure, _ path: String) -> String {
    if case .notBelieved(let userID) = disbelief {
      return "The hub at \(path) is not used because another user runs it, with the ID \(userID)."
    }
    return disbelief.sentence
  }
}
