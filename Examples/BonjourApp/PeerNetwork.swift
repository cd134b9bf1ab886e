#if canImport(Network)
  import Network
#else
  import Bonjour
#endif
import Foundation

/// Waits for another player and exchanges moves with them.
class PeerListener {
  private var listener: NWListener?
  private var connections: [NWConnection] = []
  private let queue = DispatchQueue(label: "peer.listener")

  var onAdvertised: ((String) -> Void)?
  var onMove: ((String) -> Void)?

  func start(name: String, type: String) throws {
    let parameters = NWParameters.tcp
    parameters.includePeerToPeer = true
    let listener = try NWListener(using: parameters)
    listener.service = NWListener.Service(
      name: name, type: type, txtRecord: NWTXTRecord(["board": "3x3"]))

    listener.stateUpdateHandler = { state in
      switch state {
      case .ready:
        print("listening on port \(listener.port?.rawValue ?? 0)")
      case .failed(let error):
        if error == NWError.dns(DNSServiceErrorType(kDNSServiceErr_DefunctConnection)) {
          listener.cancel()
        } else {
          print("listener failed: \(error)")
        }
      default:
        break
      }
    }
    listener.serviceRegistrationUpdateHandler = { [weak self] change in
      if case .add(let endpoint) = change, case .service(let name, _, _, _) = endpoint {
        self?.onAdvertised?(name)
      }
    }
    listener.newConnectionHandler = { [weak self] connection in
      guard let self = self else { return }
      self.connections.append(connection)
      connection.start(queue: self.queue)
      self.receive(on: connection)
    }
    listener.start(queue: queue)
    self.listener = listener
  }

  func stop() {
    connections.forEach { $0.cancel() }
    listener?.cancel()
    listener = nil
  }

  private func receive(on connection: NWConnection) {
    connection.receive(minimumIncompleteLength: 1, maximumLength: 1024) {
      content, context, isComplete, error in
      if let content = content, let move = String(data: content, encoding: .utf8) {
        self.onMove?(move)
      }
      if error == nil && !isComplete {
        self.receive(on: connection)
      }
    }
  }
}

/// Finds other players.
class PeerBrowser {
  private var browser: NWBrowser?
  private(set) var connection: NWConnection?
  private let queue = DispatchQueue(label: "peer.browser")

  var onPeers: (([String: NWTXTRecord]) -> Void)?
  var onConnected: ((NWEndpoint?) -> Void)?

  func start(type: String) {
    let parameters = NWParameters()
    parameters.includePeerToPeer = true
    let browser = NWBrowser(for: .bonjourWithTXTRecord(type: type, domain: nil), using: parameters)
    browser.browseResultsChangedHandler = { results, changes in
      var peers: [String: NWTXTRecord] = [:]
      for result in results {
        if case let NWEndpoint.service(name: name, type: _, domain: _, interface: _) =
          result.endpoint, case .bonjour(let record) = result.metadata
        {
          peers[name] = record
        }
      }
      self.onPeers?(peers)
    }
    browser.start(queue: queue)
    self.browser = browser
  }

  func connect(to name: String) {
    let result = browser?.browseResults.first { result in
      if case .service(name, _, _, _) = result.endpoint { return true }
      return false
    }
    guard let endpoint = result?.endpoint else { return }
    let tcpOptions = NWProtocolTCP.Options()
    tcpOptions.enableKeepalive = true
    tcpOptions.keepaliveIdle = 2
    tcpOptions.noDelay = true
    let parameters = NWParameters(tls: nil, tcp: tcpOptions)
    parameters.includePeerToPeer = true
    let connection = NWConnection(to: endpoint, using: parameters)
    connection.stateUpdateHandler = { [weak self] state in
      switch state {
      case .ready:
        self?.onConnected?(connection.currentPath?.remoteEndpoint)
      case .waiting(let error):
        print("no connection yet: \(error)")
      default:
        break
      }
    }
    connection.viabilityUpdateHandler = { isViable in
      if !isViable { print("the other player is out of reach") }
    }
    connection.pathUpdateHandler = { path in
      print("playing over \(path.availableInterfaces), wifi: \(path.usesInterfaceType(.wifi))")
    }
    connection.start(queue: queue)
    self.connection = connection
  }

  func send(move: String) {
    connection?.send(
      content: move.data(using: .utf8),
      completion: .contentProcessed { error in
        if let error = error { print("not sent: \(error)") }
      })
  }

  func stop() {
    connection?.cancel()
    browser?.cancel()
  }
}
