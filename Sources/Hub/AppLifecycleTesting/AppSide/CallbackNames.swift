import BluetoothInterface
import HubWire
import Synchronization

/// Finds the names of Core Bluetooth's callbacks for the events of a session.
final class CallbackNames: Sendable {
  private let state = Mutex(State())
  /// Core Location has no callbacks for them.
  private let isOfLocation: Bool

  private struct State: Sendable {
    /// The names of the callbacks that requests end with.
    var completions: [RequestToken: String] = [:]
    /// The state in the last callback.
    var radioState: RadioState?
    /// Whether the first events are those of a restored manager.
    var isRestoring = false
  }

  init(isOfLocation: Bool) { self.isOfLocation = isOfLocation }

  /// A manager has sent a request.
  func noted(_ request: HostRequest) {
    guard let token = request.token, let name = request.callbackName else { return }
    state.withLock { $0.completions[token] = name }
  }

  /// A manager begins with a restored state.
  func beginsRestored() { state.withLock { $0.isRestoring = true } }

  /// The name of the callback of an event; empty if it has none.
  func names(of event: HostEvent) -> [String] {
    if isOfLocation { return [] }
    return state.withLock { state in
      switch event {
      case .stateChanged(let new):
        let restores = state.isRestoring ? ["willRestoreState"] : []
        state.isRestoring = false
        guard new != state.radioState, new != .unknown || state.radioState != nil else {
          return restores
        }
        state.radioState = new
        return restores + ["didUpdateState(\(new.rawValue))"]
      case .completed(let token, _):
        return state.completions.removeValue(forKey: token).map { [$0] } ?? []
      default: return event.callbackName.map { [$0] } ?? []
      }
    }
  }
}

extension HostEvent {
  /// The callback of an event that completes no request.
  fileprivate var callbackName: String? {
    switch self {
    case .discovered: "didDiscover"
    case .connected: "didConnect"
    case .connectionFailed: "didFailToConnect"
    case .disconnected: "didDisconnect"
    case .valueUpdated: "didUpdateValue"
    case .servicesChanged: "didModifyServices"
    case .subscribed: "didSubscribe"
    case .unsubscribed: "didUnsubscribe"
    case .channelOpened: "didOpenChannel"
    case .serverRequest(let request):
      if case .read = request.kind { "didReceiveRead" } else { "didReceiveWrite" }
    case .completed, .stateChanged, .linkOpened, .linkUpdated, .linkClosed, .pairingPrompt,
      .pairingEnded, .bondNotKept, .valuesDropped, .acknowledgementRequested, .writesDropped,
      .requestsExpired, .channelReceived, .channelClosed:
      nil
    }
  }
}

extension HostRequest {
  /// The callback that follows from its completion.
  fileprivate var callbackName: String? {
    switch self {
    case .gatt(_, let operation, _): operation.callbackName
    case .subscribe, .unsubscribe: "didUpdateNotificationState"
    case .readRSSI: "didReadRSSI"
    case .addService: "didAddService"
    case .startAdvertising: "didStartAdvertising"
    case .openChannel: "didOpenChannel"
    case .publishChannel: "didPublishChannel"
    default: nil
    }
  }
}

extension GATTOperation {
  fileprivate var callbackName: String? {
    switch self {
    case .discoverServices: "didDiscoverServices"
    case .discoverIncludedServices: "didDiscoverIncludedServices"
    case .discoverCharacteristics: "didDiscoverCharacteristics"
    case .discoverDescriptors: "didDiscoverDescriptors"
    case .read, .readByUUID, .readMultiple: "didUpdateValue"
    case .write, .reliableWrite: "didWriteValue"
    case .writeWithoutResponse, .signedWrite: nil
    }
  }
}
