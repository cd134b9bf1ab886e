import Binding
import Reactive

/// The guide: the view model. It knows no view, no radio and no clock.
///
/// While it follows the visitor, the exhibit at which he or she is comes to the front. While it doesn't, the
/// exhibits may be leafed through in peace.
final class MuseumGuide: ViewModel {
  let exhibits: Property<[Exhibit]>
  /// Both ways: whether exhibits come to the front by themselves.
  let follows = MutableProperty(true)
  /// The exhibit to bring to the front; nil leaves the present one there.
  let front: Property<String?>
  /// Called with the exhibit that has come to the front, by itself or by hand.
  let look: Action<String, Never, Never>
  /// The text of the exhibit at the front.
  let text: Property<String>
  /// Where the visitor is.
  let place: Property<String>
  /// How much of the museum the visitor has seen.
  let progress: Property<String>

  static let bindings: Bindings<MuseumGuide> = [
    "exhibits": .list(
      \.exhibits,
      [
        "id": .value(\.id), "name": .value(\.name), "origin": .value(\.origin),
        "picture": .value(\.picturePath),
      ]),
    "follows": .twoWay(\.follows),
    "front": .oneWay(\.front),
    "look": .action(\.look),
    "text": .oneWay(\.text),
    "place": .oneWay(\.place),
    "progress": .oneWay(\.progress),
  ]

  /// - Parameter visit: The visitor's state; several guides may have the same.
  init(exhibits: [Exhibit], visit: Property<Visit.State>) {
    self.exhibits = Property(value: exhibits)
    front = follows.combineLatest(with: visit).map { $0 ? $1.exhibit : nil }.skipRepeats()

    let shown = MutableProperty(exhibits.first?.id)
    shown <~ front.producer.skipNil()
    look = Action { id in
      SignalProducer { observer, _ in
        shown.value = id
        observer.sendCompleted()
      }
    }
    text = shown.map { id in exhibits.first { $0.id == id }?.text ?? "" }
    place = visit.map { Self.place($0, exhibits) }.skipRepeats()
    progress = visit.map { "\($0.seen.count) of \(exhibits.count) seen" }.skipRepeats()
  }

  private nonisolated static func place(_ visit: Visit.State, _ exhibits: [Exhibit]) -> String {
    switch visit.problem {
    case .denied: return "The guide may not know where you are."
    case .bluetoothOff: return "Bluetooth is off."
    case .failed: return "The beacons can’t be heard."
    case nil: break
    }
    guard let latest = exhibits.first(where: { $0.id == visit.latest }) else {
      return visit.isInside ? "Welcome to the museum." : "No exhibit is near yet."
    }
    if visit.exhibit != nil { return "You are at “\(latest.name)”." }
    return visit.isInside ? "You have left “\(latest.name)”." : "You have left the museum."
  }
}
