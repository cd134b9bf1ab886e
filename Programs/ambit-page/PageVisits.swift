import Essentials

/// Decides when devices that pages have connected are disconnected: a minute after the last page was left, and ten
/// minutes after the last one was hidden or lost its network. Nothing else disconnects them then, and no other
/// program can use them.
@MainActor
struct PageVisits {
  /// Longer than a reload takes, and a look at another page.
  static let leftTime = TimeSpan.seconds(60)
  static let hiddenTime = TimeSpan.seconds(600)

  private struct Page {
    weak var model: NearbyPage?
  }

  /// A view model ends a minute after its page was left, and one of a hidden page is kept.
  private var pages: [Page] = []
  private var shownCount = 0
  /// Since when devices are connected and no page is shown.
  private var idleSince: Instant?

  mutating func add(_ model: NearbyPage) {
    pages.removeAll { $0.model == nil }
    pages.append(Page(model: model))
  }

  mutating func appeared() { shownCount += 1 }
  mutating func disappeared() { shownCount -= 1 }

  /// Whether the devices are to be disconnected now. To be called again and again.
  mutating func isOver(hasDevices: Bool, now: Instant) -> Bool {
    guard shownCount <= 0, hasDevices else {
      idleSince = nil
      return false
    }
    let since = idleSince ?? now
    idleSince = since
    let isHidden = pages.contains { $0.model != nil }
    return now - since >= (isHidden ? Self.hiddenTime : Self.leftTime)
  }
}
