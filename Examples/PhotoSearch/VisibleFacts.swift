import Reactive

/// A photograph with its facts, as a row of the results.
struct PhotoRow: Identifiable, Equatable, Sendable {
  let photo: Photo
  /// Nil until they are loaded.
  let facts: String?

  var id: String { photo.id }
  var caption: String { [photo.owner, facts].compactMap(\.self).joined(separator: " · ") }
}

/// Loads the facts of the photographs whose covers are visible, by the service's second call: those near the
/// cover at the front, once it has rested for a moment, and a few at a time. A load ends when its cover isn't
/// visible any more; one that has failed is begun again when the cover is visible the next time.
struct VisibleFacts {
  static let restTime = 0.3
  /// As many covers are visible on each side of the one at the front.
  static let sideCount = 10
  static let loadCountMax = 4

  /// The photograph at the front; the first one until the page reports another.
  let front = MutableProperty<String?>(nil)
  let rows: Property<[PhotoRow]>

  /// - Parameter isShown: Whether the covers are on the screen.
  init(
    of photos: Property<[Photo]>, isShown: Property<Bool>, in service: some Photos,
    scheduler: any DateScheduler
  ) {
    let facts = MutableProperty<[String: String]>([:])
    rows = photos.combineLatest(with: facts).map { photos, facts in
      photos.map { PhotoRow(photo: $0, facts: facts[$0.id]) }
    }
    let visible = Property.combineLatest(front, photos, isShown)
      .map { front, photos, isShown in isShown ? Self.visible(photos, around: front) : [] }
      .skipRepeats()
    visible.producer.debounce(Self.restTime, on: scheduler)
      .flatMap(.latest) { visible in
        Self.load(visible.filter { facts.value[$0.id] == nil }, service, scheduler)
      }
      .startWithValues { id, text in facts.modify { $0[id] = text } }
    photos.signal.observeValues { photos in
      let present = Set(photos.map(\.id))
      facts.modify { $0 = $0.filter { present.contains($0.key) } }
    }
  }

  private static func visible(_ photos: [Photo], around front: String?) -> [Photo] {
    let index = photos.firstIndex { $0.id == front } ?? 0
    let range = max(0, index - sideCount)..<min(photos.count, index + sideCount + 1)
    // Those near the front are loaded first.
    return range.sorted { abs($0 - index) < abs($1 - index) }.map { photos[$0] }
  }

  private static func load(
    _ photos: [Photo], _ service: some Photos, _ scheduler: any DateScheduler
  ) -> SignalProducer<(String, String), Never> {
    SignalProducer(photos).flatMap(.concurrent(limit: UInt(loadCountMax))) { photo in
      service.facts(of: photo)
        .timeout(after: PhotoSearch.timeMax, raising: .noAnswer, on: scheduler)
        .take(first: 1)
        .map { (photo.id, $0) }
        .flatMapError { _ in .empty }
    }
  }
}
