import BluetoothHost
import BluetoothWire
import EventLoop
import Simulation

/// The part of a radio server that lives on its event loop.
final class RadioServerCore {
  private let realTime: RealTimeAir
  private let loop: EpollLoop
  private let maxConnections: Int
  private let onEvent: @Sendable (RadioServer.Event) -> Void
  private var listeners: [(listener: StreamListener, address: RadioChoice)] = []
  private(set) var connections: [ObjectIdentifier: RadioServerConnection] = [:]
  private var controllerCount: UInt64 = 0
  /// Controllers without a host, the first made last: a host that reconnects alone gets the same again.
  private var freePorts: [ControllerPort] = []

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

  /// Listens at the first of the addresses where that is possible, and gives the radio's name, with the
  /// port that the system chose.
  func listen(
    at candidates: [SocketAddress], _ address: RadioChoice
  ) -> Result<RadioChoice, RadioServerError> {
    var failure: SystemError?
    for candidate in candidates {
      do throws(SystemError) {
        let listener = try StreamListener(at: candidate, on: loop) { [weak self] in self?.admit($0)
        }
        listeners.append((listener, address))
        guard case .tcp(let host, _) = address, let port = listener.address.port else {
          return .success(address)
        }
        return .success(.tcp(host: host, port: port))
      } catch {
        failure = failure ?? error
      }
    }
    return .failure(RadioServerError(failure, address: address))
  }

  /// Gives a new connection a controller, or closes it where there are too many.
  private func admit(_ descriptor: Int32) {
    let connection = RadioServerConnection(descriptor, on: loop) { [weak self] in
      self?.dismiss($0, reason: $1)
    }
    guard let connection else { return }
    guard connections.count < maxConnections else {
      onEvent(.refused(reason: "\(maxConnections) hosts are connected already"))
      return connection.close()
    }
    let port = freePorts.popLast() ?? makePort()
    guard port.connect() else {
      onEvent(.refused(reason: "the controller \(port.name) has no power"))
      freePorts.insert(port, at: 0)
      return connection.close()
    }
    connections[ObjectIdentifier(connection)] = connection
    onEvent(.connected(controller: port.name, port.controller.address))
    connection.attach(port)
  }

  private func makePort() -> ControllerPort {
    controllerCount += 1
    let address = DeviceAddress(bits: 0xA0B2_0000_0000 + controllerCount, kind: .public)
    return air.makePort(name: "remote-\(controllerCount)", address: address, at: Position())
  }

  /// A connection ended.
  private func dismiss(_ connection: RadioServerConnection, reason: String) {
    guard connections.removeValue(forKey: ObjectIdentifier(connection)) != nil,
      let port = connection.port
    else { return }
    port.disconnect()
    freePorts.append(port)
    freePorts.sort { $0.controller.address.bits > $1.controller.address.bits }
    onEvent(.disconnected(controller: port.name, reason: reason))
  }

  func close() {
    realTime.stop()
    for (listener, address) in listeners {
      listener.close()
      if case .unix(let path) = address { UNIXSocketFile.remove(path) }
    }
    listeners = []
    for connection in connections.values {
      connection.close()
      dismiss(connection, reason: "the server was closed")
    }
  }
}
