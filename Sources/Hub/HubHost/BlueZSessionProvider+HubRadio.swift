#if BlueZ
  package import BlueZHost
  package import BlueZMachines
  package import BluetoothInterface
  package import HubMachines
  package import HubWire

  extension BlueZSessionProvider: HubRadio {
    package var radioName: String { radio.description }

    /// Services have the handles that bluetoothd chooses, also those of an app that comes back.
    package func openSession(
      of connection: HubConnectionID, _ identity: SessionIdentity, settle: (@Sendable () -> Void)?,
      onEvents: @escaping @Sendable ([HostEvent]) -> Void
    ) -> any HostSession {
      openSession(of: BlueZProgramID(rawValue: connection.rawValue), onEvents: onEvents)
    }

    /// bluetoothd keeps them.
    package var bondFile: HubStatus.BondFile? { nil }

    package func readHubSnapshot() async -> any HubRadioSnapshot { await snapshot() }
  }

  extension BlueZSnapshot: HubRadioSnapshot {
    package var radioState: RadioState { state }
    package var radioAddress: String? { address }
    package var radioRefusals: String? {
      refusals.isEmpty ? nil : refusals.joined(separator: " ")
    }

    package func add(
      to status: inout HubHostStatus, _ sessions: [HubSessionKey: any HostSession],
      of radio: any HubRadio
    ) {
      guard let provider = radio as? BlueZSessionProvider else { return }
      var found: [BlueZSessionID: HubSessionKey] = [:]
      for (key, session) in sessions {
        if let id = provider.identifier(of: session) { found[id] = key }
      }
      add(to: &status, found)
    }

    private func add(to status: inout HubHostStatus, _ sessions: [BlueZSessionID: HubSessionKey]) {
      func keys(_ ids: [BlueZSessionID]) -> [HubSessionKey] { ids.compactMap { sessions[$0] } }
      for key in keys(scans) { status.sessions[key, default: .init()].isScanning = true }
      for key in keys(advertisements) {
        status.sessions[key, default: .init()].isAdvertising = true
      }
      for key in keys(lateClients) { status.sessions[key, default: .init()].isLate = true }
      for key in keys(channels) { status.sessions[key, default: .init()].channelCount += 1 }
      for link in links {
        for key in keys(link.subscribers) {
          status.sessions[key, default: .init()].subscriptionCount += 1
        }
        var shown = HubStatus.Link(
          peer: link.peer, name: link.name, role: link.role, stage: link.stage)
        shown.operationCount = link.operationCount
        status.links.append(HubHostStatus.Link(shown, users: keys(link.clients)))
      }
      status.droppedValueCount = droppedValueCount
      status.droppedReportCount = droppedReportCount
      status.expiredRequestCount = expiredRequestCount
    }
  }
#endif
