import AppMachines
import BluetoothInterface
package import BluetoothWire
import HubMachines

extension AppProcessID {
  /// A process has one connection.
  var connection: HubConnectionID { HubConnectionID(rawValue: rawValue) }
}

extension HubConnectionID {
  var process: AppProcessID { AppProcessID(rawValue: rawValue) }
}

extension HubPeer {
  init(_ process: AppProcessID, of app: AppID?, userID: UInt32) {
    self.init(
      userID: userID, processID: Int32(truncatingIfNeeded: process.rawValue), app: app?.rawValue)
  }
}

extension AppPeer {
  init(_ address: DeviceAddress) {
    self.init(rawValue: address.bits | UInt64(address.kind.rawValue) << 48)
  }

  /// The address of the peer.
  package var address: DeviceAddress {
    DeviceAddress(
      bits: rawValue, kind: DeviceAddress.Kind(rawValue: UInt8(rawValue >> 48 & 1)) ?? .public)
  }
}

extension AppReceiver {
  /// The receiver of the events of a session. One without a name gets a number, which no other one has. So does Core
  /// Location's, which ranges: the regions of an app are the system's.
  init(sessionName name: String, number: UInt64) {
    let parts = name.split(separator: ":", maxSplits: 1, omittingEmptySubsequences: false)
    switch (parts.first, parts.count) {
    case ("central", 2): self = .central(String(parts[1]))
    case ("peripheral", 2): self = .peripheral(String(parts[1]))
    default: self = .unnamedCentral(number)
    }
  }
}

extension HostEvent {
  /// The peer whose link it opens or changes.
  var openLink: DeviceAddress? {
    switch self {
    case .linkOpened(let info), .linkUpdated(let info): info.peer
    default: nil
    }
  }

  /// Whether a link was opened or closed, or has changed.
  var isOfLink: Bool {
    switch self {
    case .linkOpened, .linkUpdated, .linkClosed: true
    default: false
    }
  }

  /// What it is for an app; nil for one that has no callback of its own, or not while an app doesn't run.
  func kind(hasProcess: Bool) -> AppEvent.Kind? {
    switch self {
    case .connected(let peer): .connected(AppPeer(peer))
    case .disconnected(let peer, _, _): .disconnected(AppPeer(peer), isBeyondLimit: false)
    case .valueUpdated(let peer, handle: _, _): .value(AppPeer(peer))
    case .discovered(let report): .discovered(AppPeer(report.address))
    case .serverRequest(let request) where request.needsResponse: .request(AppPeer(request.peer))
    case .stateChanged: hasProcess ? .callback : nil
    case .completed, .connectionFailed, .serverRequest, .servicesChanged, .subscribed,
      .unsubscribed, .channelOpened, .channelReceived, .channelClosed, .pairingPrompt:
      .callback
    case .linkOpened, .linkUpdated, .linkClosed, .pairingEnded, .bondNotKept, .valuesDropped,
      .writesDropped, .requestsExpired, .acknowledgementRequested:
      nil
    }
  }
}
