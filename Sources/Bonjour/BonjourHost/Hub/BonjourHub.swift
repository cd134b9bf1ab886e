package import Essentials
package import EventLoop

/// The Multicast DNS of a hub: programs of this machine publish and browse through it, over a UNIX
/// socket.
///
/// It runs responder and querier for all of them, and never searches for another one. What a program has
/// registered is withdrawn when the program ends. It serves until it is closed or released. All methods
/// may be called from any thread.
package final class BonjourHub: Sendable {
  /// Where it listens; nil for sockets that the service manager opened.
  package let path: String?
  let engine: BonjourEngine
  /// Watches the socket at the path.
  private let file: LoopConfined<SocketFileWatch>?

  private init(path: String?, engine: BonjourEngine, file: LoopConfined<SocketFileWatch>?) {
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
      configuration: configuration,
      serving: HubService(
        sockets: [BonjourSocket(descriptor: listener)],
        admits: { descriptor, _ in admits(descriptor) }),
      on: .shared, log: log)
    let file = watch(path, servesOthers: servesOthers, span: fileCheckSpan, engine)
    let hub = BonjourHub(path: path, engine: engine, file: LoopConfined(file, to: engine.loop))
    engine.onLoop { [file = hub.file] in
      $0.start()
      file?.value.start(on: $0.loop)
    }
    return hub
  }

  /// Takes part in Multicast DNS, for the programs that connect to sockets that listen already.
  ///
  /// - Parameters:
  ///   - sockets: The sockets, which are owned from now on. Other processes may have them, too, and keep them open.
  ///   - configuration: Host name and interfaces, in which programs have to agree.
  ///   - admits: How much the program at a connected socket may use of it, by the name of the socket that it
  ///     connected to; nil if nothing. Called on the event loop.
  ///   - log: Called with a sentence for each interface that can't be used, with the reason, and if there is no room
  ///     for more programs.
  package static func start(
    at sockets: [BonjourSocket], configuration: BonjourConfiguration = BonjourConfiguration(),
    admits: @escaping @Sendable (Int32, String?) -> BonjourAdmission?,
    log: (@Sendable (String) -> Void)? = nil
  ) -> BonjourHub {
    let engine = BonjourEngine(
      configuration: configuration, serving: HubService(sockets: sockets, admits: admits),
      on: .shared, log: log)
    engine.onLoop { $0.start() }
    return BonjourHub(path: nil, engine: engine, file: nil)
  }

  /// Stops listening, and hands over what programs have registered: they get no goodbye records, since the
  /// programs go on.
  ///
  /// - Parameter completion: Called on the event loop when all is sent.
  package func close(_ completion: @escaping @Sendable () -> Void) {
    engine.onLoop { [file] in
      file?.value.close()
      $0.stop(completion)
    }
  }
}
