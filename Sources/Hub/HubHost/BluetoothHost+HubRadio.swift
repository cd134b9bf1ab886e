package import BluetoothHost
package import BluetoothInterface
package import BluetoothMachines
package import HubMachines
package import HubWire

extension BluetoothHost: HubRadio {
  package var radioName: String { radio.description }

  package func openSession(
    of connection: HubConnectionID, _ identity: SessionIdentity, settle: (@Sendable () -> Void)?,
    onEvents: @escaping @Sendable ([HostEvent]) -> Void
  ) -> any HostSession {
    let publisher = PublisherID(
      userID: identity.userID, app: identity.app, manager: identity.manager)
    return openSession(
      of: ProgramID(rawValue: connection.rawValue), publisher: publisher, settle: settle,
      onEvents: onEvents)
  }

  package var bondFile: HubStatus.BondFile? {
    bondPath.map { HubStatus.BondFile(path: $0, problem: bondFailure?.description) }
  }

  package func readHubSnapshot() async -> any HubRadioSnapshot { await snapshot() }
}

extension HostSnapshot: HubRadioSnapshot {
  package var radioState: RadioState { controller.state }
  package var radioAddress: String? { controller.address }

  package func add(
    to status: inout HubHostStatus, _ sessions: [HubSessionKey: any HostSession],
    of radio: any HubRadio
  ) {
    var clients: [UInt32: HubSessionKey] = [:]
    for (key, session) in sessions {
      if let client = session as? HostClient { clients[client.id.rawValue] = key }
    }
    status.add(self, clients)
  }
}
