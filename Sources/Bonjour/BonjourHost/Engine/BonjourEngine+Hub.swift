import EventLoop
import Glibc
import PortSharing

// A host that prefers a hub to the owner of the port: it leaves one that doesn't answer, and returns to
// it.

extension BonjourEngine {
  /// Does without a hub.
  ///
  /// - Parameter reason: Why; nil if none was there.
  func leaveHub(_ reason: OwnerSearch.StandaloneReason?) {
    guard let hub, isAtHub else { return }
    isAtHub = false
    if let reason { log?(reason.textAboutHub) }
    if reason == .silence { answers.left(now: .now) }
    // Also one that was there before, and is gone again.
    if reason?.isLasting != true, reason != nil || hub.isNamed || client.mayMove {
      client.keepForAnother()
      lookOut(for: hub)
    }
    beginSearch()
  }

  private func lookOut(for hub: HubAddresses) {
    let lookout = HubLookout(hub.all, trust: trust, configuration.shared, on: loop) {
      [weak self] answer in
      guard let self else { return }
      hubLookout = nil
      switch answer {
      case .serves: returnToHub()
      case .refuses(let reason):
        log?(OwnerSearch.StandaloneReason.rejected(reason).textAboutHub)
      }
    }
    hubLookout = lookout
    lookout.start()
  }

  /// Stops the machines that work for this host, without goodbyes: the hub continues the
  /// registrations.
  private func returnToHub() {
    guard let hub, !isAtHub, !isStopped else { return }
    log?("The hub of this machine answers, and runs Multicast DNS for this program.")
    answered(.works)
    let last = state
    switch last {
    case .following, .searching(.greeting): leave()
    case .searching(.connected(let descriptor)), .searching(.listening(let descriptor)):
      close(descriptor)
    case .alone, .owning, .searching(.nothing), .refused, .stopping, .ended: break
    }
    state = .searching(.nothing)
    switch last {
    case .alone(let driver): driver.stop(handingOver: Array(driver.registrations)) {}
    case .owning(let ownership):
      var actions: [OwnerMachine.Action] = []
      ownership.machine.handOverPublications(into: &actions)
      for case .send(let message, let id) in actions { ownership.server.send(message, to: id) }
      stop(ownership, handingOver: Array(ownership.driver.registrations)) {}
    case .following, .searching, .refused, .stopping, .ended: break
    }
    if last.driver != nil { handle(PortSharingClient.Event.ended) }
    isAtHub = true
    search = OwnerSearch(addressCount: hub.all.count, isForHub: true, rng: .random())
    beginNewSearch()
  }

  private func beginSearch() {
    search = OwnerSearch(addressCount: addresses.count, rng: .random())
    beginNewSearch()
  }

  private func beginNewSearch() {
    handle(OwnerSearch.Event.needed(isOwnerNeeded))
    handle(OwnerSearch.Event.begin)
  }
}

extension OwnerSearch.StandaloneReason {
  /// Whether a hub that is left for this reason is not looked for again: it would refuse as long as this
  /// program runs.
  fileprivate var isLasting: Bool {
    switch self {
    case .rejected, .untrustedUser: true
    case .silence, .invalidMessages, .impossible: false
    }
  }

  /// A sentence about a hub for the log.
  fileprivate var textAboutHub: String {
    let reason =
      switch self {
      case .untrustedUser(let userID): "another user runs it (\(userID))"
      case .rejected(.otherVersion): "it has another protocol version"
      case .rejected(.otherConfiguration): "it has another host name or other interfaces"
      case .rejected(.tooManyClients): "it has too many clients"
      case .rejected(.tooManyRequests): "this program exceeds the limits of one client"
      case .rejected(.invalidMessage), .invalidMessages: "it sends invalid messages"
      case .rejected(.otherUser): "its rules do not allow this program"
      case .silence: "it does not answer"
      case .impossible: "it could not be reached"
      }
    return "This program does without the Multicast DNS of the machine's hub: \(reason)."
  }
}
