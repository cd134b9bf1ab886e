import Foundation
import Reactive

/// A search that has found something.
struct RecentSearch: Identifiable, Equatable, Sendable {
  /// The same for texts that differ in case only.
  let id: String
  let text: String
  let total: Int
  /// The path of a small picture of the first result.
  let thumbnail: String

  init(_ text: String, _ page: PhotoPage) {
    id = text.folding(options: [.caseInsensitive, .diacriticInsensitive], locale: nil)
    self.text = text
    total = page.total
    thumbnail = page.photos.first?.thumbnail ?? ""
  }
}

/// The searches of late, of all tabs: the newest first, each once.
final class RecentSearches: Sendable {
  static let countMax = 8

  private let list = MutableProperty<[RecentSearch]>([])
  let all: Property<[RecentSearch]>

  init() { all = Property(capturing: list) }

  func add(_ search: RecentSearch) {
    list.modify { list in
      list.removeAll { $0.id == search.id }
      list.insert(search, at: 0)
      list.removeLast(max(0, list.count - Self.countMax))
    }
  }
}
