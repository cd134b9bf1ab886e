import Binding
import Reactive

/// The app: a page to search, on top of it the results, and on top of these one photograph.
final class PhotoApp: ViewModel {
  /// The screen on top. They are stacked, so that Back leads from each to the one before.
  enum Screen: String, BindableValue { case search, results, photo }

  let screen: Property<Screen>
  let showsSearch: Property<Bool>
  let showsResults: Property<Bool>
  let showsPhoto: Property<Bool>
  let back: Action<Void, Never, Never>

  let search: PhotoSearch
  private let stack = PageStack()
  let title: Property<String>
  let summary: Property<String>
  let photos: Property<[Photo]>
  private let facts: VisibleFacts
  /// Whether a page shows the app.
  private let isOpen = MutableProperty(true)
  /// The photographs with the facts of those that were visible.
  var rows: Property<[PhotoRow]> { facts.rows }
  let hasMore: Property<Bool>
  let more: Action<Void, PhotoPage, PhotosError>
  /// Reports the photograph that the user looks at, so that the next ones are loaded in time.
  let reach: Action<String, Never, Never>

  /// Shows a photograph by itself.
  let show: Action<String, Never, Never>
  let photoTitle: Property<String>
  let photoOwner: Property<String>
  let photoDate: Property<String>
  let photoPicture: Property<String?>

  static let bindings: Bindings<PhotoApp> = [
    "screen": .oneWay(\.screen),
    "showsSearch": .oneWay(\.showsSearch),
    "showsResults": .oneWay(\.showsResults),
    "showsPhoto": .oneWay(\.showsPhoto),
    "back": .action(\.back),
    "search": .group(\.search),
    "title": .oneWay(\.title),
    "summary": .oneWay(\.summary),
    "photos": .list(
      \.rows,
      [
        "id": .value(\.id), "name": .value(\.photo.title), "owner": .value(\.photo.owner),
        "date": .value(\.photo.date), "thumbnail": .value(\.photo.thumbnail),
        "caption": .value(\.caption), "facts": .value(\.facts),
      ]),
    "hasMore": .oneWay(\.hasMore),
    "more": .action(\.more, error: \.text),
    "reach": .action(\.reach),
    "show": .action(\.show),
    "photoTitle": .oneWay(\.photoTitle),
    "photoOwner": .oneWay(\.photoOwner),
    "photoDate": .oneWay(\.photoDate),
    "photoPicture": .oneWay(\.photoPicture),
  ]

  /// So near the end the next photographs are asked for.
  nonisolated static let reachMin = 20

  init(service: some Photos, recent: RecentSearches, scheduler: any DateScheduler) {
    let (results, photo) = (stack.results, stack.photo)
    screen = results.combineLatest(with: photo).map { results, photo in
      photo != nil ? .photo : results != nil ? .results : .search
    }
    showsSearch = screen.map { $0 == .search }
    showsResults = screen.map { $0 == .results }
    showsPhoto = screen.map { $0 == .photo }
    back = Action {
      SignalProducer { observer, _ in
        if photo.swap(nil) == nil { results.value = nil }
        observer.sendCompleted()
      }
    }

    title = results.map { $0?.title ?? "" }
    summary = results.flatMap(.latest) { $0?.summary ?? Property(value: "") }
    photos = results.flatMap(.latest) { $0?.photos ?? Property(value: []) }
    hasMore = results.flatMap(.latest) { $0?.hasMore ?? Property(value: false) }
    more = Action(unwrapping: results) { results in
      results.more.apply().flatMapError { error -> SignalProducer<PhotoPage, PhotosError> in
        switch error {
        case .disabled: return .empty
        case .producerFailed(let error): return SignalProducer(error: error)
        }
      }
    }
    facts = VisibleFacts(
      of: photos, isShown: showsResults.and(isOpen), in: service, scheduler: scheduler)
    let (photos, more, hasMore, front) = (photos, more, hasMore, facts.front)
    reach = Action { id in
      SignalProducer { observer, _ in
        front.value = id
        let isNear = photos.value.suffix(Self.reachMin).contains { $0.id == id }
        if isNear, hasMore.value { more.apply().start() }
        observer.sendCompleted()
      }
    }
    show = Action { id in
      SignalProducer { observer, _ in
        photo.value = photos.value.first { $0.id == id }
        observer.sendCompleted()
      }
    }
    photoTitle = photo.map { $0?.title ?? "" }
    photoOwner = photo.map { $0?.owner ?? "" }
    photoDate = photo.map { $0?.date ?? "" }
    photoPicture = photo.map { $0?.picture }
    search = PhotoSearch(photos: service, recent: recent, pages: stack, scheduler: scheduler)
  }

  func appeared() { isOpen.value = true }

  /// Facts are loaded for a page that shows them only.
  func disappeared() { isOpen.value = false }
}

/// The screens on top of the search.
private final class PageStack: Pages {
  let results = MutableProperty<PhotoResults?>(nil)
  let photo = MutableProperty<Photo?>(nil)

  func open(_ results: PhotoResults) { self.results.value = results }
}
