import EventLoop
import Glibc
import PortSharing

// A host that uses a hub: it leaves one that doesn't answer, and returns to it.

extension BonjourEngine {
  /// Searches for a hub.
  func beginSearch() {
    guard let hub else { return }
    search = OwnerSearch(addressCount: hub.all.count, rng: .random())
    handle(OwnerSearch.Event.needed(isOwnerNeeded))
    handle(OwnerSearch.Event.begin)
  }

  /// Does without a hub: runs the machines here.
  ///
  /// - Parameter reason: Why; nil if none was there.
  func leaveHub(_ reason: OwnerSearch.StandaloneReason?) {
    guard let hub, search != nil else { return }
    search = nil
    if let note = reason?.textAboutHub ?? hub.absenceNote(configuration) { log?(note) }
    if reason == .silence { answers.left(now: .now) }
    // Also one that was there before, and is gone again.
    if reason?.isLasting != true, reason != nil || hub.isNamed || client.mayMove {
      client.keepForAnother()
      lookOut(for: hub)
    }
    runLocally()
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

  /// Stops the machines here, without goodbyes: the hub continues the registrations.
  private func returnToHub() {
    guard case .alone(let driver) = state else { return }
    log?("The hub of this machine answers, and runs Multicast DNS for this program.")
    state = .searching(.nothing)
    driver.stop(handingOver: Array(driver.registrations)) {}
    handle(PortSharingClient.Event.ended)
    beginSearch()
  }
}

extension HubAddresses {
  /// A sentence for the log of a program that has found no hub; nil if it need not be logged.
  fileprivate func absenceNote(_ configuration: BonjourConfiguration) -> String? {
    if isNamed {
      return "The hub that AMBIT_HUB names does not listen at \(paths.joined(separator: " or ")): "
        + "this program uses port 5353 by itself until it does."
    }
    guard configuration.notesAbsentHub else { return nil }
    return "This program uses port 5353 by itself: there is no hub that runs Multicast DNS for the "
      + "programs of this machine."
  }
}

extension OwnerSearch.StandaloneReason {
  /// Whether a hub that is left for this reason is not looked for again: it would refuse as long as this
  /// program runs.
  fileprivate var isLasting: Bool {
    switch self {
    case .rejected: true
    // The socket may be the machine's hub's, later.
    case .untrustedUser: false
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
