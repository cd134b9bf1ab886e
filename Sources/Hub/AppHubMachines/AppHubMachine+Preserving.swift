package import AppMachines
package import BluetoothInterface
import BluetoothWire
import Essentials
import HubMachines
import HubWire

/// What a manager with a restore identifier wants of the radio, for a system that is started again: its scan and its
/// connections, which are pending then, or its services, PSMs and advertising.
package struct PreservedManager: Hashable, Sendable {
  package var app: AppID
  /// The name of its session.
  package var manager: String
  package var holdings: SessionHoldings

  init(app: AppID, manager: String, holdings: SessionHoldings) {
    self.app = app
    self.manager = manager
    self.holdings = holdings
  }

  private static let session = HubSessionID(rawValue: 1)

  /// The holdings as a hub writes them; nil if they are longer than a message.
  package var bytes: [UInt8]? {
    var writer = HubFrameWriter()
    let attachment = SessionAttachment(holdsName: true, keptFor: .zero, holdings: holdings)
    do throws(HubWireError) {
      try writer.append(HubMessage.attached(Self.session, attachment))
    } catch { return nil }
    return writer.takeBytes()
  }

  /// Reads bytes; nil if they are none that were written so.
  package init?(app: AppID, manager: String, bytes: [UInt8]) {
    var reader = HubFrameReader()
    reader.append(bytes[...])
    guard case .attached(_, let attachment) = try? reader.next(HubMessage.self),
      let holdings = attachment.holdings
    else { return nil }
    self.init(app: app, manager: manager, holdings: holdings.preserved)
  }
}

extension SessionHoldings {
  /// Their preserved part: all but what ended with the links, which are pending connections.
  var preserved: SessionHoldings {
    var preserved = SessionHoldings()
    preserved.scan = scan
    preserved.advertising = advertising
    preserved.services = services
    preserved.listeners = listeners
    preserved.links = links.map {
      Link(peer: $0.peer, options: $0.options, isConnected: false, name: $0.name)
    }
    return preserved
  }
}

extension AppHubMachine {
  /// The managers to be kept over a restart of the system, in the order in which the managers were made.
  package var preservedManagers: [PreservedManager] {
    preserved.sorted { $0.key < $1.key }.compactMap { number, holdings in
      guard let session = sessions[number], let name = session.receiver.sessionName else {
        return nil
      }
      return PreservedManager(app: session.app, manager: name, holdings: holdings)
    }
  }

  /// Notes what a session holds; nil for one that has ended.
  mutating func preserve(_ holdings: SessionHoldings?, of number: UInt64) {
    var kept = holdings?.preserved
    if let session = sessions[number],
      session.receiver.sessionName == nil || !life.hasMode(for: session.receiver, of: session.app)
    {
      kept = nil
    }
    if kept == SessionHoldings() { kept = nil }
    guard preserved[number] != kept else { return }
    preserved[number] = kept
    preservedChangeCount += 1
  }

  /// Opens the session of a preserved manager as a process of its app would, which ends then.
  mutating func preserve(_ manager: PreservedManager, now: Instant) {
    let receiver = AppReceiver(sessionName: manager.manager, number: 0)
    guard receiver.sessionName != nil, mayPreserve(manager.app),
      life.hasMode(for: receiver, of: manager.app), sessions(of: manager.app, receiver).isEmpty,
      let bytes = Self.opening(of: manager)
    else { return }
    let id = life.takeProcessNumber()
    processes[id] = AppHubProcess(app: manager.app)
    handle(.connected(id.connection, HubPeer(id, of: manager.app, userID: Self.userID)))
    performHubActions(now: now)
    received(bytes, from: id, now: now)
    let wants = AppWants(manager.holdings)
    if let session = sessions(of: manager.app, receiver).first {
      sessions[session.number]?.wants = wants
      request(manager.holdings, for: session, now: now)
    }
    report(.preserved(manager.app, receiver, wants), now: now)
    ended(id, now: now)
    advertisingBegan(manager.holdings, for: sessions(of: manager.app, receiver).first, now: now)
  }

  /// Whether the preserved state of an app may be taken over: no process has reported the present one.
  func mayPreserve(_ app: AppID) -> Bool {
    life.state(of: app) == .notRunning || life.awaitsResumption(of: app)
  }

  /// The messages with which a process opens the session.
  private static func opening(of manager: PreservedManager) -> [UInt8]? {
    let opening = SessionOpening(
      id: HubSessionID(rawValue: 1), acknowledgesEvents: true, manager: manager.manager,
      keptFor: keptTimeMax)
    var writer = HubFrameWriter()
    do throws(HubWireError) {
      try writer.append(
        AppMessage.greeting(
          HubGreeting(
            app: manager.app.rawValue, abilities: [.bluetooth, .identity], openings: [opening])))
    } catch { return nil }
    return writer.takeBytes()
  }
}

extension AppReceiver {
  /// The name of the session of a manager with a restore identifier; nil for another receiver.
  fileprivate var sessionName: String? {
    switch self {
    case .central(let name): SessionName.central(name)
    case .peripheral(let name): SessionName.peripheral(name)
    default: nil
    }
  }
}
