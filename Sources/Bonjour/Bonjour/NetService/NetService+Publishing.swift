internal import BonjourHost
internal import Connections
internal import DiscoveryMachines
internal import DNSWire
internal import EventLoop
internal import RunLoopSupport

extension NetService {
  /// Starts publishing, or posts the error.
  func beginPublishing(_ options: Options) {
    guard let number = beginActivity(refusal: .notPublished(.busy)) else { return }
    do throws(NetServiceFailure) { try startPublishing(options, number) } catch {
      endActivity(number, reporting: .notPublished(error))
    }
  }

  private func startPublishing(_ options: Options, _ number: Int) throws(NetServiceFailure) {
    var description = try registration(options)
    if options.contains(.listenForConnections) {
      let listener = try listen(description.port, number)
      description.port = listener.port
      withState { $0.port = Int(listener.port) }
      updateActivity(number) { $0.held.append(listener) }
    }
    report(.willPublish, of: number)
    let registration = discovery.startRegistration(description) { [inbox] event in
      switch event {
      case .registered(let name):
        guard let name = ServiceName(name) else { return }
        inbox.post(DelegateCall(of: number, .published(name)))
      case .refused: inbox.post(DelegateCall(of: number, .notPublished(.collision)))
      case .failed: inbox.post(DelegateCall(of: number, .notPublished(.service(.unknownError))))
      }
    }
    updateActivity(number) { $0.registration = registration }
    // One that was set meanwhile.
    updateRegisteredText()
  }

  func registration(_ options: Options) throws(NetServiceFailure) -> ServiceRegistration {
    let state = withState { (name: $0.name, type: $0.type, domain: $0.domain, $0.port, $0.text) }
    guard let port = UInt16(exactly: state.3) else { throw .badArgument }
    do throws(DNSWireError) {
      let type = try TypeText(state.type)
      let name = state.name.isEmpty ? BonjourConfiguration().hostName : state.name
      return try ServiceRegistration(
        ServiceName(instance: name, type: type.type, domain: .domain(state.domain)),
        subtypes: type.subtypes, port: port, text: state.4 ?? TXTRecord(),
        conflictPolicy: options.contains(.noAutoRename) ? .refuse : .rename)
    } catch {
      throw .badArgument
    }
  }

  private func listen(_ port: UInt16, _ number: Int) throws(NetServiceFailure) -> TCPListener {
    do throws(SystemError) {
      return try TCPListener(port: port) { [inbox] connection in
        inbox.post(DelegateCall(of: number, .accepted(connection)))
      }
    } catch {
      throw .system(error)
    }
  }

  /// The service has a name of its own, on a run loop.
  func published(_ name: ServiceName) {
    withState { state in
      state.name = name.instanceText
      state.type = name.typeText
      state.domain = name.domainText
    }
    delegate?.netServiceDidPublish(self)
  }
}
