import BluetoothInterface
import BluetoothWire
import HubWire

// Requests that an earlier hub had granted and this one refuses: they are sent again after pauses. At their end the
// client is reset.

extension ClientSession {
  /// Whether the hub's radio is on. The client's state may differ.
  private var hubRadioIsOn: Bool { isHoldingState || (state == .poweredOn && !isHubExpected) }

  /// Whether a pause must be under way.
  var needsRetry: Bool { refused.needsTime }

  // MARK: Requests

  /// The pause has ended.
  mutating func retry(into outputs: inout SessionOutputs) {
    requestRefused(into: &outputs)
    noteRetryPause(into: &outputs)
  }

  /// Requests all refused things again.
  mutating func requestRefused(into outputs: inout SessionOutputs) {
    for item in refused.takeWaiting() { restore(item, into: &outputs) }
  }

  /// Requests something that an earlier hub had granted, if the client still wants it.
  mutating func restore(
    _ item: RefusedRestorations.Item, into outputs: inout SessionOutputs
  ) {
    switch item {
    case .attendance:
      if wants.attendance != nil {
        send(.attendance, for: nil, into: &outputs) { .attendAllPairings($0) }
      }
    case .outOfBandData(let peer):
      guard let data = wants.outOfBandData[peer] else { return refused.ended(item) }
      send(.restoringOutOfBandData(peer), for: nil, into: &outputs) {
        .setOutOfBandData(peer, data, $0)
      }
    case .service(let start):
      let service = wants.services.services.first {
        $0.visible.range.start == start && $0.wire == nil
      }
      if let service { restore(service, into: &outputs) }
    case .channel(let psm):
      guard let requiresEncryption = wants.channels[psm] else { return refused.ended(item) }
      send(.restoringChannel(psm: psm), for: nil, into: &outputs) {
        .publishChannel(psm: psm, requiresEncryption: requiresEncryption, $0)
      }
    case .link(let peer):
      if let options = wants.links[peer] { send(.connect(peer, options), into: &outputs) }
    case .advertising: restoreAdvertising(into: &outputs)
    }
  }

  private mutating func restoreAdvertising(into outputs: inout SessionOutputs) {
    guard let options = wants.advertising else { return refused.ended(.advertising) }
    // It would replace what the client has just requested.
    guard !isAdvertisingRequested else {
      refused.postponed(.advertising)
      return noteRetryPause(into: &outputs)
    }
    let version = wants.advertisingVersion
    send(.restoringAdvertising(version: version), for: nil, into: &outputs) {
      .startAdvertising(options, $0)
    }
  }

  /// Whether the client has requested advertising, and the hub has not answered.
  private var isAdvertisingRequested: Bool {
    pending.values.contains { if case .advertising = $0.kind { true } else { false } }
  }

  /// The hub has refused to replace the advertising of the client. Hosts may have ended the earlier one for it.
  mutating func restoreEarlierAdvertising(into outputs: inout SessionOutputs) {
    guard wants.advertising != nil, hubRadioIsOn, !isAdvertisingRequested else { return }
    restore(.advertising, into: &outputs)
  }

  /// The client requests something: the library sends no earlier, refused request for the same thing.
  mutating func settle(_ request: HostRequest) {
    switch request {
    case .stopAdvertising: refused.ended(.advertising)
    case .removeService(let start): refused.ended(.service(start))
    case .removeAllServices:
      refused.endAll { if case .service = $0 { true } else { false } }
    case .unpublishChannel(let psm): refused.ended(.channel(psm: psm))
    case .connect(let peer, _), .disconnect(let peer): linkSettled(peer)
    case .setOutOfBandData(let peer, _, _): refused.ended(.outOfBandData(peer))
    default: break
    }
  }

  mutating func linkSettled(_ peer: DeviceAddress) {
    restoredLinks.remove(peer)
    refused.ended(.link(peer))
  }

  // MARK: Refusals

  /// Whether a link that an earlier hub was to establish is requested again, and the client hears nothing of its
  /// failure.
  mutating func isTriedAgain(
    _ peer: DeviceAddress, _ error: HostError, into outputs: inout SessionOutputs
  ) -> Bool {
    guard restoredLinks.contains(peer), wants.links[peer] != nil else { return false }
    switch refused.refused(.link(peer), error, radioIsOn: hubRadioIsOn) {
    case .delayed(let isNews):
      if isNews {
        outputs.losses.append(
          "A connection is requested again of the next hub, which refuses it: \(error).")
      }
      noteRetryPause(into: &outputs)
      return true
    case .givenUp:
      linkSettled(peer)
      return false
    }
  }

  /// The hub has refused something that an earlier one had granted.
  mutating func restorationFailed(
    _ kind: PendingRequest.Kind, _ error: HostError, into outputs: inout SessionOutputs
  ) {
    if case .restoringService = kind { restoringCount -= 1 }
    defer { restoringEnded(into: &outputs) }
    guard let item = kind.restored, isWanted(kind) else { return }
    if item == .advertising, isAdvertisingRequested {
      refused.postponed(item)
      return noteRetryPause(into: &outputs)
    }
    switch refused.refused(item, error, radioIsOn: hubRadioIsOn) {
    case .delayed(let isNews):
      if isNews {
        outputs.losses.append(
          "\(describe(item)) was refused by the next hub, and is requested again: \(error).")
      }
      noteRetryPause(into: &outputs)
    case .givenUp: giveUp(item, error, into: &outputs)
    }
  }

  /// Whether the client still wants the thing that a request of the library was to restore.
  private func isWanted(_ kind: PendingRequest.Kind) -> Bool {
    switch kind {
    case .restoringAdvertising(let version):
      wants.advertising != nil && version == wants.advertisingVersion
    case .restoringService(let start, let removalCount):
      removalCount == wants.removalCount
        && wants.services.services.contains {
          $0.visible.range.start == start && $0.wire == nil
        }
    case .restoringChannel(let psm): wants.channels[psm] != nil
    case .restoringOutOfBandData(let peer): wants.outOfBandData[peer] != nil
    case .attendance: wants.attendance != nil
    default: false
    }
  }

  private func describe(_ item: RefusedRestorations.Item) -> String {
    switch item {
    case .advertising: return "The advertising"
    case .service(let start):
      let service = wants.services.services.first { $0.visible.range.start == start }
      return "The service \(service.map { "\($0.definition.uuid)" } ?? "of handle \(start)")"
    case .channel(let psm): return "PSM \(psm)"
    case .link: return "A connection"
    case .outOfBandData: return "Out-of-band data"
    case .attendance: return "The attendance of pairings"
    }
  }

  private mutating func giveUp(
    _ item: RefusedRestorations.Item, _ error: HostError, into outputs: inout SessionOutputs
  ) {
    switch item {
    case .attendance:
      // Under the token of the request that the former hub has granted: no event reports its end.
      complete(wants.attendance.take()?.token, .failure(error), into: &outputs)
    case .outOfBandData:
      outputs.losses.append("Out-of-band data was not set again: \(error).")
    case .advertising:
      outputs.losses.append("The advertising was not started again: \(error).")
      reset(into: &outputs)
    case .channel(let psm):
      outputs.losses.append("PSM \(psm) was not published again: \(error).")
      wants.channels[psm] = nil
      reset(into: &outputs)
    case .service:
      outputs.losses.append("\(describe(item)) was not published again: \(error).")
      reset(into: &outputs)
    case .link: assertionFailure("the client hears of a link that failed")
    }
  }

  /// Withdraws all services and the advertising. Core Bluetooth has no callback for one that is lost; where the state is
  /// `resetting` and then another one, an app publishes and advertises anew, and gets the errors of that.
  private mutating func reset(into outputs: inout SessionOutputs) {
    for request in wants.withdraw() {
      settle(request)
      send(request, into: &outputs)
    }
    mustRestoreAdvertising = false
    let subscriptions = subscriptions.sorted {
      ($0.peer.bits, $0.handle) < ($1.peer.bits, $1.handle)
    }
    for subscription in subscriptions {
      deliverOwn(.unsubscribed(subscription.peer, handle: subscription.handle), into: &outputs)
    }
    self.subscriptions = []
    guard let state, state != .resetting else { return }
    setState(.resetting, into: &outputs)
    setState(state, into: &outputs)
  }

  private mutating func noteRetryPause(into outputs: inout SessionOutputs) {
    guard let pause = refused.takePause() else { return }
    outputs.retryPause = max(outputs.retryPause ?? pause, pause)
  }
}

extension PendingRequest.Kind {
  /// What the request was to restore.
  var restored: RefusedRestorations.Item? {
    switch self {
    case .restoringAdvertising: .advertising
    case .restoringService(let start, _): .service(start)
    case .restoringChannel(let psm): .channel(psm: psm)
    case .restoringOutOfBandData(let peer): .outOfBandData(peer)
    case .attendance: .attendance
    case .other, .barrier, .advertising, .service, .channel, .outOfBandData: nil
    }
  }
}
