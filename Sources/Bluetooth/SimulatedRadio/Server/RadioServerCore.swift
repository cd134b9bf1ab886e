import BluetoothHost
import BluetoothWire
import Essentials
import EventLoop
import Glibc
import Simulation

/// The part of a radio server that lives on its event loop.
final class RadioServerCore {
  private let realTime: RealTimeAir
  private let loop: EpollLoop
  private let maxConnections: Int
  private let onEvent: @Sendable (RadioServer.Event) -> Void
  private var listeners: [Listener] = []
  private(set) var connections: [ObjectIdentifier: RadioServerConnection] = [:]
  /// How many controllers were made, by listener. Each listener counts by itself, so that a host with
  /// one of its own has the same address after a restart of its own or of the server, whatever
  /// others do.
  private var controllerCounts: [Int: Int] = [:]
  private var controllerCount = 0
  /// Controllers without a host by the index of their listener, the first made last: a host that
  /// reconnects alone gets the same again.
  private var freePorts: [Int: [ControllerPort]] = [:]

  private struct Listener {
    let socket: StreamListener
    /// The path and file of a UNIX socket.
    let file: (path: String, identity: UNIXSocketFile.Identity)?
  }

  /// Which way a host came.
  private struct Entry {
    /// The index of the listener.
    let listener: Int
    /// The index of the world's place for it; nil is the origin.
    let place: Int?
  }

  init(
    world: World, on loop: EpollLoop, maxConnections: Int,
    onEvent: @escaping @Sendable (RadioServer.Event) -> Void
  ) {
    realTime = RealTimeAir(world: world, on: loop)
    self.loop = loop
    self.maxConnections = maxConnections
    self.onEvent = onEvent
  }

  var air: Air { realTime.air }

  /// Listens at the first available one of the addresses, and returns the radio's name, with the
  /// port that the system chose.
  ///
  /// - Parameter place: The index of the world's place for hosts that connect here; nil is the
  ///   origin.
  func listen(
    at candidates: [SocketAddress], _ address: RadioChoice, place: Int?
  ) -> Result<RadioChoice, RadioServerError> {
    var failure: SystemError?
    for candidate in candidates {
      do throws(SystemError) {
        let entry = Entry(listener: listeners.count, place: place)
        let listener = try StreamListener(at: candidate, on: loop) { [weak self] in
          self?.admit($0, by: entry)
        }
        listeners.append(Listener(socket: listener, file: Self.file(of: address)))
        guard case .tcp(let host, _) = address, let port = listener.address.port else {
          return .success(address)
        }
        return .success(.tcp(host: host, port: port))
      } catch {
        // Served at a later address of the name, it would be missed: hosts try the first one first.
        guard error.number != EADDRINUSE else {
          return .failure(RadioServerError(error, address: address))
        }
        failure = failure ?? error
      }
    }
    return .failure(RadioServerError(failure, address: address))
  }

  private static func file(
    of address: RadioChoice
  ) -> (path: String, identity: UNIXSocketFile.Identity)? {
    guard case .unix(let path) = address else { return nil }
    return UNIXSocketFile.Identity(at: path).map { (path, $0) }
  }

  /// Gives a new connection a controller, or closes it where there are too many.
  private func admit(_ descriptor: Int32, by entry: Entry) {
    let connection = RadioServerConnection(descriptor, on: loop) { [weak self] in
      self?.dismiss($0, by: entry, reason: $1)
    }
    guard let connection else { return }
    guard connections.count < maxConnections else {
      onEvent(.refused(reason: "\(maxConnections) hosts are connected already"))
      return connection.close()
    }
    let port = freePorts[entry.listener]?.popLast() ?? makePort(for: entry)
    guard port.connect() else {
      onEvent(.refused(reason: "the controller \(port.name) has no power"))
      freePorts[entry.listener, default: []].insert(port, at: 0)
      return connection.close()
    }
    connections[ObjectIdentifier(connection)] = connection
    onEvent(.connected(controller: port.name, port.controller.address))
    connection.attach(port)
  }

  private func makePort(for entry: Entry) -> ControllerPort {
    controllerCount += 1
    let number = controllerCounts[entry.listener, default: 0] + 1
    controllerCounts[entry.listener] = number
    let bits = 0xA0B2_0000_0000 | UInt64(entry.listener & 0xFFFF) << 16 | UInt64(number & 0xFFFF)
    let address = DeviceAddress(bits: bits, kind: .public)
    let name = "remote-\(controllerCount)"
    guard let place = entry.place, let known = air.world.hostPlaces[safe: place] else {
      return air.makePort(name: name, address: address, at: Position())
    }
    return air.makePort(name: "\(name) (\(known.name))", address: address, at: known)
  }

  /// A connection ended.
  private func dismiss(_ connection: RadioServerConnection, by entry: Entry?, reason: String) {
    guard connections.removeValue(forKey: ObjectIdentifier(connection)) != nil,
      let port = connection.port
    else { return }
    port.disconnect()
    if let entry {
      freePorts[entry.listener, default: []].append(port)
      freePorts[entry.listener]?.sort {
        $0.controller.address.bits > $1.controller.address.bits
      }
    }
    onEvent(.disconnected(controller: port.name, reason: reason))
  }

  func close() {
    realTime.stop()
    for listener in listeners {
      // While the socket is open, no other file gets the number of its file.
      if let file = listener.file { UNIXSocketFile.remove(file.path, if: file.identity) }
      listener.socket.close()
    }
    listeners = []
    for connection in connections.values {
      connection.close()
      dismiss(connection, by: nil, reason: "the server was closed")
    }
  }
}
