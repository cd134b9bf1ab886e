public import BluetoothHost
public import BluetoothWire
import EventLoop
import Glibc
public import Simulation

/// A simulated radio for hosts of other processes, by H4 over TCP or UNIX sockets. Each connection
/// gets its own controller; all are on the same air in real time. It serves until it is closed or
/// released.
public final class RadioServer: Sendable {
  /// An event of a server.
  public enum Event: Sendable, Hashable {
    /// A host connected and was assigned a controller.
    case connected(controller: String, DeviceAddress)
    /// A host's connection ended, for this reason.
    case disconnected(controller: String, reason: String)
    /// A host was refused, for this reason.
    case refused(reason: String)
  }

  /// The addresses at which the server listens, with the port that the system chose instead of 0.
  /// If the world has places for hosts, the addresses are in the order of `placeNames`, repeatedly.
  public let addresses: [RadioChoice]
  /// The names of the world's places for hosts that connect; empty if it has none.
  public let placeNames: [String]
  let core: LoopConfined<RadioServerCore>
  let loop: EpollLoop

  private init(
    addresses: [RadioChoice], placeNames: [String], core: LoopConfined<RadioServerCore>,
    loop: EpollLoop
  ) {
    self.addresses = addresses
    self.placeNames = placeNames
    self.core = core
    self.loop = loop
  }

  deinit { loop.execute { [core] in core.value.close() } }

  /// Starts a server.
  ///
  /// - Parameters:
  ///   - addresses: `tcp` and `unix` radios; port 0 lets the system choose. If the world has places
  ///     for hosts, each address is that of the first place; the other places use the following
  ///     ports, or the path with `-2`, `-3` and so on.
  ///   - maxConnections: The maximum number of connected hosts; more are refused.
  ///   - makeWorld: Creates the world, on the server's event loop.
  ///   - onEvent: Called on the event loop with each event.
  /// - Throws: `RadioServerError` if it can't listen at one of the addresses.
  public static func start(
    at addresses: [RadioChoice], maxConnections: Int = 64,
    makeWorld: @escaping @Sendable () -> World,
    onEvent: @escaping @Sendable (Event) -> Void = { _ in }
  ) async throws(RadioServerError) -> RadioServer {
    let loop = EpollLoop.shared
    let core = await loop.run {
      LoopConfined(
        RadioServerCore(
          world: makeWorld(), on: loop, maxConnections: maxConnections, onEvent: onEvent), to: loop)
    }
    let places = await loop.run { core.value.air.world.hostPlaces.map(\.name) }
    var bound: [RadioChoice] = []
    do throws(RadioServerError) {
      for address in addresses {
        for index in 0..<max(places.count, 1) {
          let own = try address.following(index)
          let place = places.isEmpty ? nil : index
          bound.append(try await listen(at: own, place: place, core: core, on: loop))
        }
      }
    } catch {
      await RadioServer(addresses: bound, placeNames: places, core: core, loop: loop).close()
      throw error
    }
    return RadioServer(addresses: bound, placeNames: places, core: core, loop: loop)
  }

  private static func listen(
    at address: RadioChoice, place: Int?, core: LoopConfined<RadioServerCore>,
    on loop: EpollLoop
  ) async throws(RadioServerError) -> RadioChoice {
    let candidates: [SocketAddress]
    switch address {
    case .tcp(let host, let port):
      candidates = await withCheckedContinuation { continuation in
        loop.execute {
          NameLookup.addresses(of: host, port: port, isPassive: true, on: loop) {
            continuation.resume(returning: $0 ?? [])
          }
        }
      }
    case .unix(let path):
      do throws(UNIXSocketFile.Obstacle) { try UNIXSocketFile.removeStale(at: path) } catch {
        throw RadioServerError(error, at: path)
      }
      candidates = SocketAddress(path: path).map { [$0] } ?? []
    case .simulated, .uart, .hci:
      throw RadioServerError("A radio is served at tcp:HOST:PORT or unix:PATH, not at \(address).")
    }
    let result = await loop.run { core.value.listen(at: candidates, address, place: place) }
    return try result.get()
  }

  /// Changes the world. The closure runs on the server's event loop, soon.
  public func withWorld(_ work: @escaping @Sendable (World) -> Void) {
    loop.execute { [core] in core.value.air.interact(work) }
  }

  /// The number of connected hosts.
  public var connectionCount: Int {
    get async { await loop.run { [core] in core.value.connections.count } }
  }

  /// Stops listening, closes all connections and removes the sockets.
  public func close() async {
    await loop.run { [core] in core.value.close() }
  }
}

extension RadioChoice {
  /// The address this many after this one: the next ports, or a path with a number.
  fileprivate func following(_ count: Int) throws(RadioServerError) -> RadioChoice {
    guard count > 0 else { return self }
    switch self {
    case .tcp(_, 0): return self
    case .tcp(let host, let port):
      guard let port = UInt16(exactly: Int(port) + count) else {
        throw RadioServerError("There are fewer ports after \(port) than receivers.")
      }
      return .tcp(host: host, port: port)
    case .unix(let path): return .unix(path: "\(path)-\(count + 1)")
    case .simulated, .uart, .hci: return self
    }
  }
}

/// The reason why a radio server can't be started.
public struct RadioServerError: Error, Hashable, Sendable, CustomStringConvertible {
  /// A description in one sentence for users.
  public let description: String

  init(_ description: String) { self.description = description }

  init(_ obstacle: UNIXSocketFile.Obstacle, at path: String) {
    switch obstacle {
    case .isListenedAt:
      self.init(SystemError(number: EADDRINUSE), address: .unix(path: path))
    case .isNoSocket:
      self.init("The radio cannot be served at unix:\(path): the file exists and is not a socket.")
    }
  }

  /// - Parameter error: The system's error; nil if the host has no addresses.
  init(_ error: SystemError?, address: RadioChoice) {
    let reason: String
    switch error?.number {
    case EADDRINUSE: reason = "another program listens there"
    case EADDRNOTAVAIL: reason = "this machine does not have that address"
    case EACCES, EPERM: reason = "this user may not listen there"
    case ENOENT: reason = "the folder does not exist"
    case .some: reason = error?.text ?? ""
    case nil: reason = "the host is not known"
    }
    self.init("The radio cannot be served at \(address): \(reason).")
  }
}
