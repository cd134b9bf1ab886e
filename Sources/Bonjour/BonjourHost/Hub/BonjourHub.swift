package import Essentials
package import EventLoop

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
  private let file: LoopConfined<SocketFileWatch>

  private init(path: String, engine: BonjourEngine, file: LoopConfined<SocketFileWatch>) {
    self.path = path
    self.engine = engine
    self.file = file
  }

  deinit { close {} }

  /// Starts to listen, and to take part in Multicast DNS.
  ///
  /// - Parameters:
  ///   - path: Where it listens, in a folder that no other user may change. The file of a hub that has
  ///     ended is replaced.
  ///   - servesOthers: Whether other users must be able to connect.
  ///   - configuration: Host name and interfaces, in which programs have to agree.
  ///   - admits: How much the program at a connected socket may use of it; nil if nothing. Called on the
  ///     event loop.
  ///   - fileCheckSpan: How often it looks whether its path still names its socket, to listen again if not.
  ///   - log: Called with a sentence for each interface that can't be used, with the reason, if there
  ///     is no room for more programs, and about a socket that was removed.
  /// - Throws: If it can't listen, or another hub does.
  package static func start(
    at path: String, servesOthers: Bool = false,
    configuration: BonjourConfiguration = BonjourConfiguration(),
    admits: @escaping @Sendable (Int32) -> BonjourAdmission?, fileCheckSpan: TimeSpan = .seconds(5),
    log: (@Sendable (String) -> Void)? = nil
  ) throws(SystemError) -> BonjourHub {
    let listener = try listen(at: path, servesOthers: servesOthers)
    let engine = BonjourEngine(
      configuration: configuration, serving: HubService(listener: listener, admits: admits),
      on: .shared, log: log)
    let file = watch(path, servesOthers: servesOthers, span: fileCheckSpan, engine)
    let hub = BonjourHub(path: path, engine: engine, file: LoopConfined(file, to: engine.loop))
    engine.onLoop { [file = hub.file] in
      $0.start()
      file.value.start(on: $0.loop)
    }
    return hub
  }

  /// Stops listening, and hands over what programs have registered: they get no goodbye records, since the
  /// programs go on.
  ///
  /// - Parameter completion: Called on the event loop when all is sent.
  package func close(_ completion: @escaping @Sendable () -> Void) {
    engine.onLoop { [file] in
      file.value.close()
      $0.stop(completion)
    }
  }
}
