import BluetoothInterface
import BluetoothWire
import Essentials
import HubWire

@testable import HubClientMachines

/// An app and its hub, whose messages are taken one at a time, so that the hub can be killed behind any of them.
struct Conversation {
  /// What a hub knows, from its start until it is killed.
  private struct Hub {
    /// Its events that have not arrived, each of which is a message.
    var outgoing: [HostEvent] = []
    var requests: [HostRequest] = []
    /// How many of its events the app owes an acknowledgement for.
    var unacknowledged = 0
    var pairing: RequestToken?
    var valueHandle: UInt16 = 0
    /// Where it has room for services: another place than the hub before.
    var nextHandle: UInt16
  }

  private var rig = MachineRig()
  private var app: StoryApp
  private var hub = Hub(nextHandle: 20)
  private var kills: [Int]
  private var hubCount: UInt16 = 1
  /// The messages of this hub's conversation.
  private var messageCount = 0
  private(set) var problems: [String] = []

  /// - Parameters:
  ///   - story: What the app wants.
  ///   - kills: Behind how many messages each hub is killed, one after the other.
  init(_ story: AppStory, kills: [Int]) {
    app = StoryApp(story)
    self.kills = kills
  }

  /// How many messages a conversation has whose hub lives.
  static func messageCount(of story: AppStory) -> Int {
    var conversation = Conversation(story, kills: [])
    conversation.run()
    return conversation.messageCount
  }

  /// Lets the app and its hubs talk until no message is left.
  mutating func run() {
    rig.openSession(MachineRig.one)
    rig.handle(.opened)
    send(app.begin())
    takeEvents()
    repeat {
      while problems.isEmpty {
        if let kill = kills.first, kill == messageCount { killHub() }
        guard takeMessage() else { break }
      }
      // The conversation was shorter than that: the hub is killed at its end.
      if !kills.isEmpty { kills[0] = messageCount }
    } while !kills.isEmpty && problems.isEmpty
    check()
  }

  private mutating func killHub() {
    kills.removeFirst()
    rig.handle(.closed(.ended))
    takeEvents()
    hubCount += 1
    hub = Hub(nextHandle: 20 * hubCount)
    messageCount = 0
    rig.sleep(.seconds(2))
    rig.handle(.opened)
  }

  /// Takes the next message of the app, or else of the hub. Returns false if there is none.
  private mutating func takeMessage() -> Bool {
    if !rig.sent.isEmpty {
      take(rig.sent.removeFirst())
    } else if !hub.outgoing.isEmpty {
      let event = hub.outgoing.removeFirst()
      if event.isAcknowledged { hub.unacknowledged += 1 }
      rig.hub(event)
    } else {
      return false
    }
    takeEvents()
    messageCount += 1
    return true
  }

  // MARK: The app

  private mutating func takeEvents() {
    problems += rig.machine.violations() + app.problems
    for event in rig.takeEvents() {
      if event.isAcknowledged { rig.handle(.eventsHandled(MachineRig.one, count: 1)) }
      send(app.take(event))
    }
  }

  private mutating func send(_ requests: [HostRequest]) {
    for request in requests { rig.request(request) }
  }

  // MARK: The hub

  private mutating func take(_ message: AppMessage) {
    switch message {
    case .greeting(let greeting):
      rig.hub(.welcome(HubWelcome(version: 1, abilities: .bluetooth, isSimulated: false)))
      if greeting.openings.count != 1 { problems.append("the app opened no session") }
      hub.outgoing.append(.stateChanged(.poweredOn))
    case .request(_, .known(let request)):
      hub.requests.append(request)
      answer(request)
    case .eventsHandled(_, let count): hub.unacknowledged -= count
    default: problems.append("an unexpected message: \(message)")
    }
  }

  private mutating func answer(_ request: HostRequest) {
    let peer = MachineRig.peer
    switch request {
    case .connect: hub.outgoing += [.linkOpened(.sample), .connected(peer)]
    case .gatt(_, _, let token): hub.outgoing.append(.completed(token, .success(.services([]))))
    case .subscribe(_, _, let token):
      hub.outgoing += [
        .completed(token, .success(.done)), .valueUpdated(peer, handle: 3, [1, 2]),
      ]
    case .pair(_, let token):
      hub.pairing = token
      hub.outgoing.append(.pairingPrompt(peer, .consent, PairingPromptID(rawValue: 1)))
    case .answerPairing:
      hub.outgoing.append(.pairingEnded(peer, nil))
      if let token = hub.pairing { hub.outgoing.append(.completed(token, .success(.done))) }
    case .setPairingAgent: break
    case .addService(_, let token):
      let start = hub.nextHandle
      hub.nextHandle += 4
      hub.valueHandle = start + 2
      let characteristic = PublishedCharacteristic(
        valueHandle: start + 2, configurationHandle: start + 3)
      let published = PublishedService(
        range: HandleRange(start, start + 3), characteristics: [characteristic])
      hub.outgoing.append(.completed(token, .success(.published(published))))
    case .startAdvertising(_, let token):
      hub.outgoing += [
        .completed(token, .success(.done)), .linkOpened(LinkInfo(peer: peer, role: .peripheral)),
        .subscribed(peer, handle: hub.valueHandle),
      ]
    case .updateValue(let handle, _, _, let token):
      if handle != hub.valueHandle { problems.append("a value of handle \(handle) was sent") }
      hub.outgoing.append(.completed(token, .success(.done)))
    default: problems.append("an unexpected request: \(request)")
    }
  }

  // MARK: The end

  /// What the last hub was asked for: all that the app wants, and nothing twice.
  private mutating func check() {
    if !app.hasReachedGoal { problems.append("the app did not reach its goal") }
    if hub.unacknowledged != 0 {
      problems.append("\(hub.unacknowledged) events of the hub are not acknowledged")
    }
    func count(_ isCounted: (HostRequest) -> Bool) -> Int { hub.requests.count(where: isCounted) }
    let links = count { if case .connect = $0 { true } else { false } }
    let services = count { if case .addService = $0 { true } else { false } }
    let advertisements = count { if case .startAdvertising = $0 { true } else { false } }
    let agents = count { if case .setPairingAgent = $0 { true } else { false } }
    let isPublished = app.story == .publication ? 1 : 0
    if (links, services, advertisements) != (1 - isPublished, isPublished, isPublished) {
      problems.append("the hub got \(links) links, \(services) services, \(advertisements) sets")
    }
    if agents != (app.story == .pairing ? 1 : 0) { problems.append("the hub got \(agents) agents") }
  }
}
