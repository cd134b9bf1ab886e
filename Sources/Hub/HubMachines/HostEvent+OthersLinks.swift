import BluetoothInterface
import BluetoothWire

extension HostEvent {
  /// Whether the event has the parameters of a link.
  var hasLinkInfo: Bool {
    switch self {
    case .linkOpened, .linkUpdated: true
    default: false
    }
  }

  /// The event for a program that uses the links for which `uses` is true: other links are reduced.
  func reduced(uses: (DeviceAddress) -> Bool) -> HostEvent {
    switch self {
    case .linkOpened(let info) where !uses(info.peer): .linkOpened(info.reduced)
    case .linkUpdated(let info) where !uses(info.peer): .linkUpdated(info.reduced)
    default: self
    }
  }
}

extension LinkInfo {
  /// The part of a link for programs that have not requested it: Apple's API shows which peripherals are
  /// connected, with names and services. Values to a central that has connected need its MTU and interval.
  fileprivate var reduced: LinkInfo {
    var info = LinkInfo(peer: peer, role: role)
    info.name = name
    info.services = services
    guard role == .peripheral else { return info }
    info.mtu = mtu
    info.intervalUnits = intervalUnits
    info.subrateFactor = subrateFactor
    return info
  }
}
