package import EventLoop
import Glibc
import PortSharing

/// The Multicast DNS of a hub: programs of this machine publish and browse through it, over a UNIX
/// socket.
///
/// It runs responder and querier for all of them, and never searches for another one. What a program has
/// registered is withdrawn when the program ends. It serves until it is closed or released. All methods
/// may be called from any thread.
package final class BonjourHub: Sendable {
  /// Where it listens.
  package let path: String
  let engine: BonjourEngine
  private let file: UNIXSocketFile.Identity?

  private init(path: String, engine: BonjourEngine) {
    self.path = path
    self.engine = engine
    file = UNIXSocketFile.Identity(at: path)
  }

  deinit {
    removeSocket()
    engine.onLoop { $0.stop {} }
  }

  /// Starts to listen, and to take part in Multicast DNS.
  ///
  /// - Parameters:
  ///   - path: Where it listens, in a folder that no other user may change. The file of a hub that has
  ///     ended is replaced.
  ///   - servesOthers: Whether other users must be able to connect.
  ///   - configuration: Host name and interfaces, in which programs have to agree.
  ///   - admits: Whether the program at a connected socket may use it. Called on the event loop.
  ///   - log: Called with a sentence for each interface that can't be used, with the reason, and if there
  ///     is no room for more programs.
  /// - Throws: If it can't listen, or another hub does.
  package static func start(
    at path: String, servesOthers: Bool = false,
    configuration: BonjourConfiguration = BonjourConfiguration(),
    admits: @escaping @Sendable (Int32) -> Bool, log: (@Sendable (String) -> Void)? = nil
  ) throws(SystemError) -> BonjourHub {
    guard let address = OwnerSocketAddress(path: path) else {
      throw SystemError(number: ENAMETOOLONG)
    }
    do throws(UNIXSocketFile.Obstacle) { try UNIXSocketFile.removeStale(at: path) } catch {
      throw SystemError(number: error == .isListenedAt ? EADDRINUSE : EEXIST)
    }
    let listener = try address.bindAndListen(permissions: 0o600)
    do throws(SystemError) {
      if servesOthers { try UNIXSocketFile.setPermissions(0o666, of: path) }
    } catch {
      Glibc.close(listener)
      throw error
    }
    let engine = BonjourEngine(
      configuration: configuration, serving: HubService(listener: listener, admits: admits),
      on: .shared, log: log)
    engine.onLoop { $0.start() }
    return BonjourHub(path: path, engine: engine)
  }

  /// Stops listening, and hands over what programs have registered: they get no goodbye records, since the
  /// programs go on.
  ///
  /// - Parameter completion: Called on the event loop when all is sent.
  package func close(_ completion: @escaping @Sendable () -> Void) {
    removeSocket()
    engine.onLoop { $0.stop(completion) }
  }

  private func removeSocket() {
    if let file { UNIXSocketFile.remove(path, if: file) }
  }
}
