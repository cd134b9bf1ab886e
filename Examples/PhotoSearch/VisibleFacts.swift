import Foundation
import Reactive

/// A photograph with its facts, as a row of the results.
struct PhotoRow: Identifiable, Equatable, Sendable {
  let photo: Photo
  /// Nil until they are loaded. While that fails and the cover is visible, the reason.
  let facts: String?

  var id: String { photo.id }
  var caption: String { [photo.owner, facts].compactMap(\.self).joined(separator: " · ") }
}

/// Loads the facts of the photographs whose covers are visible, by the service's second call: those near the
/// cover at the front, once it has rested for a moment, and a few at a time. A load ends as soon as its cover
/// isn't visible any more.
///
/// After a failure of the service nothing is requested for a while, which doubles with each further failure.
/// Then one request after another tries it, until one succeeds. The facts of a photograph that the service
/// doesn't have are requested again when its cover is visible the next time.
@MainActor
final class VisibleFacts {
  nonisolated static let restTime = 0.3
  /// As many covers are visible on each side of the one at the front.
  nonisolated static let sideCount = 10
  nonisolated static let loadCountMax = 4
  /// Seconds without requests after the first failure.
  nonisolated static let pauseMin = 2.0
  /// Seconds without requests after many failures: a minute is soon enough for a service that was gone for long.
  nonisolated static let pauseMax = 64.0

  /// The photograph at the front; the first one until the page reports another.
  let front = MutableProperty<String?>(nil)
  let rows: Property<[PhotoRow]>

  private let facts = MutableProperty<[String: String]>([:])
  /// Why photographs have no facts: of visible ones only.
  private let notes = MutableProperty<[String: String]>([:])
  private let request: (Photo) -> SignalProducer<String?, PhotosError>
  private let scheduler: any DateScheduler

  /// Those near the front first.
  private var visible: [Photo] = []
  private var isRested = false
  private var loads: [String: ScopedDisposable<SerialDisposable>] = [:]
  /// Photographs that the service doesn't have.
  private var missing: Set<String> = []
  /// The latest failure, until the service answers again.
  private var problem: PhotosError?
  /// Seconds of the latest pause; 0 since the service has answered.
  private var pause = 0.0
  private var pauseEnd: ScopedDisposable<AnyDisposable>?

  /// - Parameter isShown: Whether the covers are on the screen.
  init(
    of photos: Property<[Photo]>, isShown: Property<Bool>, in service: some Photos,
    scheduler: any DateScheduler
  ) {
    self.scheduler = scheduler
    rows = Property.combineLatest(photos, facts, notes).map { photos, facts, notes in
      photos.map { PhotoRow(photo: $0, facts: facts[$0.id] ?? notes[$0.id]) }
    }
    request = { photo in
      service.facts(of: photo)
        .timeout(after: PhotoSearch.timeMax, raising: .noAnswer, on: scheduler)
        .take(first: 1)
        .collect()
        .map { $0.first }
        .observe(on: UIScheduler())
    }
    let visible = Property.combineLatest(front, photos, isShown)
      .map { front, photos, isShown in isShown ? Self.visible(photos, around: front) : [] }
      .skipRepeats()
    // The view model changes all three on the main actor, whose scheduler this is.
    visible.producer.startWithValues { [weak self] photos in
      MainActor.assumeIsolated { self?.show(photos) }
    }
    visible.producer.debounce(Self.restTime, on: scheduler).startWithValues { [weak self] _ in
      MainActor.assumeIsolated { self?.rest() }
    }
    let facts = facts
    photos.signal.observeValues { photos in
      let present = Set(photos.map(\.id))
      facts.modify { $0 = $0.filter { present.contains($0.key) } }
    }
  }

  nonisolated private static func visible(_ photos: [Photo], around front: String?) -> [Photo] {
    let index = photos.firstIndex { $0.id == front } ?? 0
    let range = max(0, index - sideCount)..<min(photos.count, index + sideCount + 1)
    // Those near the front are loaded first.
    return range.sorted { abs($0 - index) < abs($1 - index) }.map { photos[$0] }
  }

  private func show(_ photos: [Photo]) {
    visible = photos
    isRested = false
    let ids = Set(photos.map(\.id))
    loads = loads.filter { ids.contains($0.key) }
    missing.formIntersection(ids)
    note()
  }

  private func rest() {
    isRested = true
    loadNext()
  }

  /// Begins as many loads as may run at a time.
  private func loadNext() {
    guard isRested, pauseEnd == nil else { return }
    let countMax = pause == 0 ? Self.loadCountMax : 1
    for photo in visible where loads.count < countMax {
      guard loads[photo.id] == nil, facts.value[photo.id] == nil, !missing.contains(photo.id)
      else { continue }
      let load = ScopedDisposable(SerialDisposable())
      // Before it may end, which can be at once.
      loads[photo.id] = load
      load.inner.inner = request(photo).startWithResult { [weak self, weak load] result in
        MainActor.assumeIsolated {
          guard let self, let load, self.loads[photo.id] === load else { return }
          self.ended(photo, result)
        }
      }
    }
  }

  private func ended(_ photo: Photo, _ result: Result<String?, PhotosError>) {
    loads[photo.id] = nil
    switch result {
    case .success(let text?):
      facts.modify { $0[photo.id] = text }
      (problem, pause) = (nil, 0)
    case .success(nil), .failure(.missing):
      missing.insert(photo.id)
      (problem, pause) = (nil, 0)
    case .failure(let error):
      problem = error
      beginPause()
    }
    note()
    loadNext()
  }

  /// Loads that failed together begin one pause.
  private func beginPause() {
    guard pauseEnd == nil else { return }
    pause = min(max(2 * pause, Self.pauseMin), Self.pauseMax)
    pauseEnd = scheduler.schedule(after: scheduler.currentDate.addingTimeInterval(pause)) {
      [weak self] in
      MainActor.assumeIsolated {
        self?.pauseEnd = nil
        self?.loadNext()
      }
    }.map { ScopedDisposable($0) }
  }

  private func note() {
    var reasons: [String: String] = [:]
    for photo in visible where facts.value[photo.id] == nil {
      reasons[photo.id] = (missing.contains(photo.id) ? .missing : problem)?.note
    }
    if notes.value != reasons { notes.value = reasons }
  }
}
