import Binding
import Reactive

/// What a search has found: more and more of it.
final class PhotoResults: ViewModel {
  /// More are too many to look through.
  nonisolated static let photoCountMax = 2_000

  let title: String
  let photos: Property<[Photo]>
  let summary: Property<String>
  let hasMore: Property<Bool>
  /// Finds the next ones.
  let more: Action<Void, PhotoPage, PhotosError>

  static let bindings: Bindings<PhotoResults> = [
    "title": .value(\.title),
    "summary": .oneWay(\.summary),
    "hasMore": .oneWay(\.hasMore),
    "more": .action(\.more, error: \.text),
  ]

  init(
    of term: SearchTerm, in service: some Photos, first page: PhotoPage,
    scheduler: any DateScheduler
  ) {
    title = term.text
    let state = MutableProperty(ResultsState(page))
    photos = state.map { $0.photos }
    summary = state.map { $0.summary }
    hasMore = state.map { $0.next != nil }
    more = Action(unwrapping: state.map { $0.next }) { next in
      service.page(next, of: term, scheduler)
    }
    more.values.observe(on: UIScheduler()).observeValues { page in state.modify { $0.add(page) } }
  }
}

private struct ResultsState: Sendable {
  private(set) var photos: [Photo] = []
  private(set) var next: Int?
  private var total: Int
  private var ids: Set<String> = []

  init(_ page: PhotoPage) {
    total = page.total
    add(page)
  }

  /// Adds a page, without known photographs: pages shift when photographs are added.
  mutating func add(_ page: PhotoPage) {
    for photo in page.photos where photos.count < PhotoResults.photoCountMax {
      if ids.insert(photo.id).inserted { photos.append(photo) }
    }
    total = max(page.total, photos.count)
    // A service can't lead in circles. A page of known photographs is no circle: others were added in front.
    let isNextLater = page.next.map { $0 > (next ?? 0) } ?? false
    let isEnd = page.photos.isEmpty || photos.count == PhotoResults.photoCountMax
    next = isNextLater && !isEnd ? page.next : nil
  }

  var summary: String {
    if photos.count == total { return total == 1 ? "One photograph" : "\(total) photographs" }
    return (next == nil ? "The first " : "") + "\(photos.count) of \(total) photographs"
  }
}
