import AmbitCLI
import Binding
import Essentials
import Reactive

/// One tab's view of everything nearby: the view model of `ambit page`. It knows no view, no radio and no
/// clock.
final class NearbyPage: ViewModel {
  /// Typing has to pause so long before it is searched for, in seconds.
  nonisolated static let quietTime = 0.5
  /// The number of items per page, by which "show more" extends the list: a browser that lays out
  /// thousands of rows on every change does nothing else.
  nonisolated static let pageCount = 200

  // MARK: What people choose

  let text = MutableProperty("")
  let kind = MutableProperty("")
  let company = MutableProperty("")
  let service = MutableProperty("")
  let minimumStrength = MutableProperty(LevelHistory.range.lowerBound)
  let isStarredOnly = MutableProperty(false)
  let isNewOnly = MutableProperty(false)
  let showsHidden = MutableProperty(false)
  let order = MutableProperty(NearbyOrder.Rule.arrival)
  /// Sorts the list by the chosen order; also done when another order is chosen.
  let sort: Action<Void, Never, Never>
  let clearFilters: Action<Void, Never, Never>
  /// Lists another page of items.
  let showMore: Action<Void, Never, Never>

  // MARK: List

  let items: Property<[NearbyRow]>
  /// How many there are, or why there are none.
  let summary: Property<String>
  let problem: Property<String?>
  let isFiltered: Property<Bool>
  /// Whether the filter hides all items, or the search finds none.
  let isNothingListed: Property<Bool>
  /// What `showMore` would show; nil where all is listed.
  let moreText: Property<String?>
  let strengthText: Property<String>
  let kinds: Property<[NearbyChoice]>
  let companies: Property<[NearbyChoice]>
  let services: Property<[NearbyChoice]>

  // MARK: Actions on an item

  let star: Action<String, Never, Never>
  let hide: Action<String, Never, Never>
  let markAllSeen: Action<Void, Never, Never>
  let open: Action<String, Never, Never>
  let detail: NearbyDetail
  let pairing: PairingPage
  let invitation: InvitationPage
  let hub: HubPage
  private let nearby: Nearby

  static let bindings: Bindings<NearbyPage> = [
    "text": .twoWay(\.text), "kind": .twoWay(\.kind), "company": .twoWay(\.company),
    "service": .twoWay(\.service), "minimumStrength": .twoWay(\.minimumStrength),
    "isStarredOnly": .twoWay(\.isStarredOnly), "isNewOnly": .twoWay(\.isNewOnly),
    "showsHidden": .twoWay(\.showsHidden), "order": .twoWay(\.order), "sort": .action(\.sort),
    "clearFilters": .action(\.clearFilters),
    "items": .list(
      \.items,
      [
        "id": .value(\.id), "title": .value(\.title), "kind": .value(\.kind),
        "summary": .value(\.summary), "strength": .value(\.strength), "points": .value(\.points),
        "seen": .value(\.seen), "isFading": .value(\.isFading), "isStarred": .value(\.isStarred),
        "isHidden": .value(\.isHidden), "isNew": .value(\.isNew),
        "isConnected": .value(\.isConnected), "isOpen": .value(\.isOpen),
        "picture": .value(\.picture), "caption": .value(\.caption),
        "starLabel": .value(\.starLabel), "hideLabel": .value(\.hideLabel),
      ]),
    "summary": .oneWay(\.summary), "problem": .oneWay(\.problem),
    "isFiltered": .oneWay(\.isFiltered), "isNothingListed": .oneWay(\.isNothingListed),
    "moreText": .oneWay(\.moreText), "showMore": .action(\.showMore),
    "strengthText": .oneWay(\.strengthText),
    "kinds": .list(\.kinds, ["id": .value(\.id), "text": .value(\.text)]),
    "companies": .list(\.companies, ["id": .value(\.id), "text": .value(\.text)]),
    "services": .list(\.services, ["id": .value(\.id), "text": .value(\.text)]),
    "star": .action(\.star), "hide": .action(\.hide), "markAllSeen": .action(\.markAllSeen),
    "open": .action(\.open),
    "detail": .group(\.detail), "pairing": .group(\.pairing),
    "invitation": .group(\.invitation), "hub": .group(\.hub),
  ]

  /// - Parameters:
  ///   - id: The item to open, as soon as it is there: the page's address names it.
  ///   - invite: Makes an address that admits another browser.
  init(
    _ nearby: Nearby, scheduler: any DateScheduler, opening id: String? = nil,
    invite: @escaping @MainActor @Sendable () -> String? = { nil }
  ) {
    sort = Action { .empty }
    star = Action(onMainActor: nearby.toggleStar)
    hide = Action(onMainActor: nearby.toggleHidden)
    markAllSeen = Action(onMainActor: nearby.markAllSeen)
    let detail = NearbyDetail(nearby)
    detail.openID.value = id
    self.detail = detail
    open = Action(onMainActor: detail.open)
    pairing = PairingPage(nearby)
    invitation = InvitationPage(invite)
    hub = HubPage(nearby.hub)
    self.nearby = nearby
    let (texts, checks) = (
      [text, kind, company, service], [isStarredOnly, isNewOnly, showsHidden]
    )
    clearFilters = Action(onMainActor: { [minimumStrength] in
      for choice in texts { choice.value = "" }
      for check in checks { check.value = false }
      minimumStrength.value = LevelHistory.range.lowerBound
    })

    let searched = Self.searched(text, scheduler)
    let filter = Property.combineLatest(
      searched, kind, company, service, minimumStrength, isStarredOnly, isNewOnly, showsHidden
    ).map { NearbyFilter($0) }
    let countMax = MutableProperty(Self.pageCount)
    showMore = Action(onMainActor: { countMax.modify { $0 += Self.pageCount } })
    // Another filter starts with the first page.
    filter.signal.skipRepeats().observeValues(on: UIScheduler()) { _ in
      countMax.value = Self.pageCount
    }
    let contents = Property.combineLatest(
      nearby.snapshot, filter, nearby.marks, detail.openID, countMax
    ).map { NearbyList.Content(snapshot: $0, filter: $1, marks: $2, open: $3, countMax: $4) }
    let sorts = SignalProducer.merge([
      order.signal.producer, sort.completed.producer.map { [order] in order.value },
    ])
    let list = Property(
      initial: NearbyList(),
      then: SignalProducer.merge([
        contents.producer.map { NearbyList.Step.content($0) }, sorts.map { .sort($0) },
      ]).scan(NearbyList()) { $0.following($1) })
    items = list.map { $0.rows }
    summary = list.map { $0.summary }.skipRepeats()
    kinds = list.map { $0.kinds }.skipRepeats()
    companies = list.map { $0.companies }.skipRepeats()
    services = list.map { $0.services }.skipRepeats()
    problem = nearby.snapshot.map { $0.problem }.skipRepeats()
    isFiltered = filter.map { $0 != NearbyFilter() }.skipRepeats()
    isNothingListed = list.map { $0.isNothingListed }.skipRepeats()
    moreText = list.map { $0.remainingCount }.skipRepeats().map {
      $0 > 0 ? "Show \(min($0, Self.pageCount)) of \($0) more" : nil
    }
    strengthText = minimumStrength.map {
      $0 <= LevelHistory.range.lowerBound ? "any" : "≥ \(NearbyRow.text(dBm: $0))"
    }
    nearby.visits.add(self)
  }

  func appeared() {
    hub.setSeen(true)
    nearby.visits.appeared()
  }

  func disappeared() {
    hub.setSeen(false)
    nearby.visits.disappeared()
  }

  /// The search text, debounced.
  private static func searched(
    _ text: MutableProperty<String>, _ scheduler: any DateScheduler
  ) -> Property<String> {
    let typed = text.producer.map { NearbyFilter.text(typed: $0) }
    // A text that is too short ends a search at once.
    return Property(
      initial: "",
      then: SignalProducer.merge([
        typed.debounce(quietTime, on: scheduler).observe(on: UIScheduler()),
        typed.filter { $0.isEmpty },
      ]).skipRepeats())
  }
}

extension NearbyFilter {
  /// The filter from the controls of a page.
  fileprivate init(
    _ choices: (String, String, String, String, Int, Bool, Bool, Bool)
  ) {
    (text, kind, company, service, minimumStrength, isStarredOnly, isNewOnly, showsHidden) = choices
  }
}

extension NearbyOrder.Rule: BindableValue {}
