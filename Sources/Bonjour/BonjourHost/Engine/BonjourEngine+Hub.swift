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
    limitedRequestCount = reason == .rejected(.tooManyRequests) ? client.requestCount : nil
    // Also one that was there before, and is gone again.
    if reason != nil || hub.isNamed || client.mayMove {
      client.keepForAnother()
      lookOut(for: hub, after: reason)
    }
    runLocally()
  }

  private func lookOut(for hub: HubAddresses, after reason: OwnerSearch.StandaloneReason?) {
    let lookout =
      hubLookout
      ?? HubLookout(
        hub.all, trust: trust, configuration.shared, pauseMin: configuration.hubPauseMin, on: loop,
        isReady: { [weak self] in self?.fitsHub ?? false },
        onAnswer: { [weak self] in self?.take($0) })
    hubLookout = lookout
    lookout.start(afterRefusal: reason?.isRefusal ?? false, reason?.rejection)
  }

  /// Whether this host has fewer requests than a hub has refused: with as many it would be refused again, and
  /// the network would see its services move each time.
  private var fitsHub: Bool { limitedRequestCount.map { client.requestCount < $0 } ?? true }

  private func take(_ answer: HubLookout.Answer) {
    switch answer {
    case .serves: returnToHub()
    case .refuses(let reason): log?(OwnerSearch.StandaloneReason.rejected(reason).textAboutHub)
    }
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
  /// Whether a hub that does work is of no use for the program: it, or the next one, is looked for less often.
  fileprivate var isRefusal: Bool {
    switch self {
    case .rejected, .invalidMessages: true
    case .untrustedUser, .silence, .impossible: false
    }
  }

  fileprivate var rejection: OwnerMessage.RejectionReason? {
    if case .rejected(let reason) = self { reason } else { nil }
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
